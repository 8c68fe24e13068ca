"""What a record says of draws at full size, from a notebook to the run store and to the page of a claim."""
import pytest

from study.commands import claim_page
from study.grades import grading
from study.runs.plan import plan
from study.runs.runner import run
from study.store import results, store

PREDICTS = """from study.grades.remaining_draws import Left
from study.runs import record
left = Left(draws=20, of=20, low=-3.0, middle=80.0, high=150.0, told_by="layout", share=0.2, groups=())
record.prediction("lutz-gain", (90, 95, 99), draws=60, reach=(80, 120), left=left.as_row() | {SIZE})"""


@pytest.mark.slow
@pytest.mark.parametrize(("size", "is_full_size"), [('{"left_full_size": True}', True), ('{"left_full_size": False}', False),
                                                    ("{}", None)])
def test_a_record_says_of_which_size_the_draws_are(runs, notebook, size, is_full_size):
    """A record of before says nothing of it."""
    outcome = run(plan(notebook("predicting", PREDICTS.replace("{SIZE}", size))))
    assert outcome.status == "ok", outcome.reason
    with store.open() as connection:
        row, = connection.execute("SELECT left_full_size, left_low, left_high FROM predictions").fetchall()
        assert grading.of_runs(connection, [outcome.plan.run_id]) == {"lutz-gain": grading.CONSISTENT}
    assert row == (is_full_size, -3.0, 150.0)


@pytest.mark.parametrize(("is_full_size", "notebook", "kind", "name"), [
    (True, "04_oltp_gain", "left", "graded, at full size"), (True, "04_oltp_gain", "unfitted", "simulated to scale"),
    (False, "04_oltp_gain", "unfitted", "simulated to scale"), (False, "01_vdev_cache_oltp", "unfitted", "simulated"),
    (False, "04_oltp_gain", "left", "near the baseline")])
def test_the_page_of_a_claim_says_what_is_at_full_size(is_full_size, notebook, kind, name):
    assert claim_page._name({"full_size": is_full_size, "notebook": notebook}, kind) == name


def test_a_page_without_a_run_has_the_range_that_gave_the_grade(runs, study):
    """Without it a grade stood beside a range that it is not of."""
    page = study("claims", "aggregation-joint").stdout
    low, high = (results.committed()["numbers"][f"04_oltp_gain/full-size.joint-{end}"] for end in ("low", "high"))
    line, = (line for line in page.splitlines() if line.startswith("graded, at full size"))
    assert f"{low:.4g}" in line
    assert f"{high:.4g}" in line
    assert "least, middle, most" in page


def test_a_page_without_a_run_says_what_its_grade_is_of(runs, study):
    """A grade by draws that show a baseline is of another range than the one of all draws."""
    page = study("claims", "oltp-gain").stdout
    assert "of the draws that show the baseline, if twenty do; their range comes with a run" in page
    assert "show the baseline" not in study("claims", "lutz-cycle").stdout

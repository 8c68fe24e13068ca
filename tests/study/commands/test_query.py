"""Questions to the store: two runs side by side, the origin of a figure. And that each figure is seen."""
import nbformat
import pytest
from conftest import one_sentence

from study.runs.folder import lines
from study.runs.plan import plan
from study.runs.runner import run

pytestmark = pytest.mark.slow      # kernels of Jupyter are started

DRAW = """
from study.runs import record
from study.figures import disks
import pandas as pd

record.metric("answer.value", n * n, "1")
table = pd.DataFrame({"drive": ["a"], "year": [1], "version": ["specified"], "second_half_percent": [n]})
table["disksim_percent"] = 1
record.figure("dots", disks.demerits, table, caption="Some dots.")
"""


SEVERAL = DRAW + """
for name in ("second", "third"):
    record.figure(name, disks.demerits, table, caption="More dots.")
record.metric("answer.again", n, "1")
"""


@pytest.mark.parametrize(("cell", "n"), [(DRAW, 1), (SEVERAL, 3)])
def test_a_figure_is_shown_once_wherever_in_a_cell_it_is_recorded(runs, notebook, cell, n):
    outcome = run(plan(notebook("several", cell)))
    assert outcome.status == "ok"
    executed = nbformat.read(runs / "several" / outcome.plan.run_id / "several.ipynb", as_version=4)
    shown = [output for part in executed.cells for output in part.get("outputs", ())]
    assert sum("image/png" in output.get("data", {}) for output in shown) == n      # captions stand below


@pytest.fixture
def two_runs(runs, made_once):
    return [made_once("drawn", {"n": n}, DRAW) for n in (2, 3)]


def test_diff_names_what_differs_and_nothing_else(two_runs, study):
    first, second = two_runs
    printed = study("diff", first.run_id, second.run_id).stdout
    assert [line.split() for line in printed.splitlines()[1:]] == [["n", "2", "3"], ["answer.value", "4.0", "9.0"]]
    assert study("diff", first.run_id[:8], first.run_id).stdout == "no difference\n"


def test_trace_says_where_a_figure_comes_from(two_runs, study):
    printed = study("trace", "dots").stdout
    for word in ("Some dots.", "study.figures.disks.demerits", "drawn", "n=3", "made from sources", "made from lock"):
        assert word in printed
    assert "did you mean 'dots'" in one_sentence(study("trace", "dot"))


def test_diff_of_two_notebooks_is_short(two_runs, made_once, study):
    """They have no number in common, so one table of all of both would be of no use."""
    other = made_once("apart", {"n": 2}, DRAW)
    printed = study("diff", two_runs[0].run_id, other.run_id).stdout
    assert printed.count("\n") == 3
    for word in (f"{other.run_id} is of apart: n=2", "two notebooks", "lock"):
        assert word in printed


def test_a_figure_names_its_run_and_its_digest_does_not(two_runs, runs, made_once):
    """In all formats; the digest tells whether two runs drew the same."""
    first, again = two_runs[0], made_once("drawn", {"n": 2}, DRAW, "m = n")
    for planned in (first, again):
        for form in ("svg", "pdf", "png"):
            assert f"run {planned.run_id}".encode() in (planned.folder / "figures" / f"dots-page.{form}").read_bytes()
    digests = {lines(planned.folder / "figures.jsonl")[0]["digest"] for planned in (first, again)}
    assert (len(digests), first.run_id != again.run_id) == (1, True)


@pytest.mark.parametrize("n", [2, 3])
def test_trace_and_run_agree_on_what_is_current(runs, notebook, study, tmp_path, n):
    """Also of a notebook of the user's own, and with values that are not its defaults."""
    (tmp_path / "runs.csv").write_text("1")
    path = notebook("mine", f"open('runs.csv').read()\n{DRAW}")
    assert study("run", path, "-p", f"n={n}").returncode == 0
    assert ", current\n" in study("trace", "dots").stdout
    (tmp_path / "runs.csv").write_text("2")
    printed = study("trace", "dots").stdout
    assert ", of older code or data\n" in printed
    assert "read: runs.csv\n" in printed
    assert "done before" not in study("run", path, "-p", f"n={n}").stdout
    assert ", current\n" in study("trace", "dots").stdout


def test_claims_are_found_by_name(runs, study):
    done = study("claims", "pgbench-1")
    assert (done.returncode, "pgbench-1" in done.stdout, "seqread" in done.stdout) == (0, True, False)
    assert "did you mean 'oltp-gain'" in one_sentence(study("claims", "oltp-gan"))


@pytest.mark.parametrize(("value", "printed"), [("1.0 / 0", "inf"), ("-1.0 / 0", "-inf"), ("[1, 2]", "[1 2]"),
                                                ("2.5", "2.5"), ("3.0::DOUBLE", "3"), ("'nan'::DOUBLE", ""), ("NULL", "")])
def test_query_prints_each_value_that_a_question_can_have(runs, study, value, printed):
    assert study("query", f"SELECT {value} AS answer").stdout.split() == ["answer", *printed.split()]


@pytest.mark.parametrize(("name", "begins"), [
    ("a.csv", b"answer\n1"), ("a.json", b"["), ("a.PARQUET", b"PAR1"), ("a.txt", b" answer")])
def test_a_file_is_of_the_format_that_its_name_ends_in(runs, study, tmp_path, name, begins):
    assert study("query", "SELECT 1 AS answer", "--to", tmp_path / name).returncode == 0
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_file_whose_name_ends_in_another_format_is_refused(runs, study, tmp_path):
    done = study("query", "SELECT 1 AS answer", "--format", "csv", "--to", tmp_path / "a.parquet")
    assert "ends in .parquet and the format is csv; leave the format out" in one_sentence(done)
    assert not (tmp_path / "a.parquet").exists()


def test_a_grade_that_no_named_claim_has_is_said(runs, study):
    assert "no claim of these is graded 'predicted'" in study("claims", "oltp-gain", "--grade", "predicted").stdout

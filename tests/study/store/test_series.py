"""Series of benchmark runs in records and store; notebooks that need the records of others."""
import io

import pandas as pd
import pytest
from conftest import one_sentence
from rich.console import Console

from study.commands.reproduction import run_plans
from study.errors import UserError
from study.grades import recorded_cases
from study.runs import batch, catalogue, samples
from study.runs import plan as plans
from study.runs.plan import UNLIMITED, done_before, plan
from study.runs.runner import run
from study.store import series, store

pytestmark = pytest.mark.slow      # kernels of Jupyter are started

ROWS = [(1, "tps", 101.0, "1/s"), (2, "tps", 102.0, "1/s"), (3, "tps", 103.0, "1/s"),
        (1, "io_size", 4096.0, "B"), (3, "io_size", 12288.0, "B")]
FRAME = pd.DataFrame(ROWS, columns=samples.COLUMNS)
RECORD = ("import pandas as pd\nfrom study.runs import record, samples\n"
          f"frame = pd.DataFrame({ROWS!r}, columns=samples.COLUMNS)\n")
GIVES = RECORD + "record.runs('old-rules', frame)\nrecord.runs('new-rules', frame.assign(value=frame.value * n))"
TAKES = ("from study.runs import record\nfrom study.store import series\ntable = series.table('01_gives', 'new-rules')\n"
         "record.metric('tps.mean', table.tps.mean(), '1/s')")


@pytest.fixture
def shelf(runs, notebook, tmp_path, monkeypatch):
    """shelf(gives=…, takes=…) makes a study of two notebooks, of which the second needs the first; their paths."""
    def make(gives=GIVES, takes=TAKES):
        monkeypatch.setattr(catalogue, "NOTEBOOKS", tmp_path)
        monkeypatch.setattr(plans, "NOTEBOOKS", tmp_path)
        number = catalogue.Parameter(kind="int")
        monkeypatch.setattr(catalogue, "STUDY", {
            "01_gives": catalogue.Notebook(parameters={"n": number}),
            "02_takes": catalogue.Notebook(parameters={"n": number}, needs=("01_gives",), reads=("**/*",))})
        return notebook("01_gives", gives), notebook("02_takes", takes)
    return make


# --- series ---------------------------------------------------------------------------------------------------------------

def test_a_series_ends_in_the_store_and_comes_back_as_a_table(runs, shelf):
    gives, _ = shelf()
    done = run(plan(gives))
    assert done.status == "ok", done.reason
    assert series.names("01_gives") == ["new-rules", "old-rules"]
    table = series.table("01_gives", "new-rules")
    assert table.index.tolist() == [1, 2, 3]
    assert table.tps.tolist() == [303.0, 306.0, 309.0]
    assert table.io_size.isna().tolist() == [False, True, False]
    assert table.attrs["units"] == {"tps": "1/s", "io_size": "B"}
    with store.open() as connection:
        origins = connection.execute("SELECT DISTINCT origin FROM samples JOIN runs USING (run_id)").fetchall()
    assert origins == [("simulated",)]


def test_a_record_that_is_gone_takes_its_samples_along(runs, shelf):
    gives, _ = shelf()
    planned = run(plan(gives)).plan
    store.refresh()
    (planned.folder / "manifest.json").unlink()
    with store.open() as connection:
        assert connection.execute("SELECT count(*) FROM samples").fetchone() == (0,)


@pytest.mark.parametrize(("name", "frame", "words"), [
    ("Old rules", FRAME, "not of the form"),
    ("old", FRAME.drop(columns="unit"), "rows of run, name, value"),
    ("old", FRAME.head(0), "0 rows"),
    ("old", FRAME.assign(name="IO size"), "run 1, IO size: a name"),
    ("old", FRAME.assign(value=float("nan")), "run 1, tps: a value that is not finite"),
    ("old", FRAME.assign(unit=""), "no unit"),
    ("old", pd.concat([FRAME, FRAME]), "second value"),
    ("old", FRAME.assign(unit=[str(row) for row in range(len(FRAME))]), "two units")])
def test_what_is_no_series_is_one_sentence(name, frame, words):
    with pytest.raises(UserError, match=words) as error:
        samples.checked(name, frame)
    assert "\n" not in str(error.value)


def test_a_series_is_recorded_once(runs, notebook):
    outcome = run(plan(notebook("twice", RECORD + "record.runs('old', frame)\nrecord.runs('old', frame)")))
    assert (outcome.status, "series old is recorded twice" in outcome.reason) == ("failed", True)


def test_a_series_or_source_that_is_not_there_is_one_sentence(runs, shelf):
    gives, _ = shelf()
    run(plan(gives))
    with pytest.raises(UserError, match="no series 'middle'; it has new-rules, old-rules"):
        series.table("01_gives", "middle")
    with pytest.raises(UserError, match="label of no imported or measured runs and no notebook"):
        series.table("my server", "old-rules")


# --- notebooks that need others -------------------------------------------------------------------------------------------

def outcomes_of(paths, workers=2):
    return run_plans([plan(path) for path in paths], workers, UNLIMITED, Console(file=io.StringIO()))


def test_what_a_notebook_needs_is_run_before_it(runs, shelf):
    gives, takes = shelf()
    outcome, = outcomes_of([takes])
    assert (outcome.status, outcome.reason) == ("ok", None)
    assert done_before(plan(gives))
    with store.open() as connection:
        assert connection.execute("SELECT value FROM metrics WHERE name = 'tps.mean'").fetchall() == [(306.0,)]


def test_the_order_in_which_notebooks_are_asked_for_does_not_matter(runs, shelf):
    gives, takes = shelf()
    assert [outcome.plan.name for outcome in outcomes_of([takes, gives])] == ["02_takes", "01_gives"]
    assert {outcome.status for outcome in outcomes_of([takes, gives])} == {"ok"}


def test_another_run_of_what_is_needed_makes_another_run(runs, shelf):
    _, takes = shelf()
    before = plan(takes).run_id
    assert plan(takes).run_id == before
    _, takes = shelf(gives=GIVES + "\n0")
    assert plan(takes).run_id != before


def test_nothing_that_is_needed_is_repeated_for_a_run_that_has_been_done(runs, shelf):
    gives, takes = shelf()
    outcomes_of([takes])
    (plan(gives).folder / "manifest.json").unlink()
    assert [outcome.again for outcome in outcomes_of([takes])] == [False]
    assert not done_before(plan(gives))


def test_a_needed_run_that_breaks_is_one_sentence_and_stops_no_other(runs, shelf, notebook):
    _, takes = shelf(gives="1 / 0")
    printed = io.StringIO()
    needing, other = run_plans([plan(takes), plan(notebook("03_other", "n"))], 2, UNLIMITED, Console(file=printed))
    assert (needing.status, other.status) == ("not run", "ok")
    assert needing.reason == "because 01_gives, which it needs, has not gone well: failed"
    assert "02_takes: not run (because 01_gives" in printed.getvalue().replace("\n", " ")
    assert not needing.plan.folder.exists()


def test_a_run_by_itself_says_what_it_lacks(runs, shelf):
    _, takes = shelf()
    outcome = run(plan(takes))
    assert (outcome.status, outcome.reason) == ("not run", "because 01_gives, which it needs, has not gone well: not run")


def test_the_command_line_runs_what_is_needed_too(runs, shelf, study):
    shelf()
    done = study("run", "02")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("02_takes ok")
    query = "SELECT series, count(*) AS n FROM samples GROUP BY series ORDER BY series"
    assert study("query", query, "--format", "csv").stdout == "series,n\nnew-rules,5\nold-rules,5\n"
    one_sentence(study("run", "02", "-p", "m=3"))


def test_what_is_needed_begins_first_and_then_what_was_asked_for_first(runs, shelf, notebook, tmp_path):
    """With one worker, and the needed one asked for last: it is as urgent as both together
    (tests/study/runs/test_batch.py)."""
    flag = tmp_path / "flag"
    wrote = f"open({str(flag)!r}, 'a').write('%s ')\n"
    gives, takes = shelf(GIVES + "\n" + wrote % "gives", wrote % "takes")
    batch.run_all([plan(takes), plan(notebook("03_other", wrote % "other")), plan(gives)], workers=1)
    assert flag.read_text().split() == ["gives", "takes", "other"]


def test_every_notebook_of_the_study_needs_what_there_is():
    for name, listed in catalogue.STUDY.items():
        for needed in listed.needs:
            assert needed in catalogue.STUDY, name
            assert needed < name


# --- cases of an ensemble -------------------------------------------------------------------------------------------------

KEEPS = """import pandas as pd
from study.grades import recorded_cases
results = pd.DataFrame([{"part": part, "fitted": fitted, "after/a.b": n * i, "after/c": float("nan") if i == 2 else 1}
                        for i, part in enumerate(["central", "seed", "parameter", "structure", "all", "all"])
                        for fitted in (False, True)])
recorded_cases.keep(results, {"a.b": "1/s", "c": "1"})"""


def test_cases_come_back_part_by_part_and_unfitted(runs, shelf):
    gives, _ = shelf(gives=KEEPS)
    outcome = run(plan(gives))
    assert outcome.status == "ok", outcome.reason
    table = recorded_cases.read("01_gives")
    assert table.part.tolist() == ["central", "seed", "parameter", "structure", "all", "all"]
    assert table["after/a.b"].tolist() == [0, 3, 6, 9, 12, 15]
    assert table["after/c"].isna().tolist() == [False, False, True, False, False, False]
    assert not table.fitted.any()
    assert series.parameters("01_gives") == {"n": 3}


def test_a_notebook_that_was_not_run_is_named_with_the_command_that_records_it(shelf):
    shelf()
    with pytest.raises(UserError, match=r"no run of 01_gives is current.*in a terminal: study run 01_gives"):
        series.table("01_gives", "new-rules")

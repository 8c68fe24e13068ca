"""The laws of `study reproduce`, on a few notebooks: from a notebook to a result that is compared. All notebooks are run by
`make reproduce`; what is asked of them together is in `test_whole_reproduction.py`."""
import io
import json

import pytest
from conftest import write_notebook
from rich.console import Console

from study.commands import reproduction
from study.documents import claims
from study.grades import grading
from study.paper import typeset
from study.project import PAPER
from study.runs.catalogue import find
from study.runs.plan import UNLIMITED, plan
from study.store import results, store

SILENT = Console(file=io.StringIO())
FEW = ("00", "15", "90")        # an audit, an ensemble that is kept and graded, recorded decisions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]      # notebooks run


@pytest.fixture(scope="module")
def reproduced():
    """The plans of a few notebooks, all run. They go to where `make reproduce` looks for them, so that a run is made once:
    its identity covers everything that it is made of."""
    outcomes = reproduction.run_plans([plan(find(number)) for number in FEW], 2, UNLIMITED, SILENT)
    assert {outcome.status for outcome in outcomes} == {"ok"}
    return [outcome.plan for outcome in outcomes]


@pytest.fixture(scope="module")
def collected(reproduced):
    """The results of a few notebooks. Claims of others are in it too, without a grade."""
    with store.open() as connection:
        graded = grading.all_of_runs(connection, [planned.run_id for planned in reproduced])
        return results.collect(connection, reproduced, grading.scoreboard(connection, graded))


def of_few(all_results, plans):
    """The part of results that is of the notebooks of `plans`."""
    names = {planned.name for planned in plans}
    own = {claim.id for claim in claims.read() if claim.notebook in names}
    return {"claims": {claim: row for claim, row in all_results["claims"].items() if claim in own},
            "numbers": {name: value for name, value in all_results["numbers"].items() if name.partition("/")[0] in names}}


def test_results_are_the_committed_ones_bit_for_bit(reproduced, collected):
    few = of_few(collected, reproduced)
    assert len(few["claims"]) >= 3
    assert len(few["numbers"]) > 100
    assert results.as_text(few) == results.as_text(of_few(results.committed(), reproduced))


SAME = "all results are those of paper/results.json"
DIFFERS = "1 result differs from paper/results.json; if that is meant: make results"


@pytest.mark.parametrize(("changes", "code", "last"), [
    ({}, 0, SAME), ({"90_model_vs_zfs/replay.differences": 1}, 1, DIFFERS),
    ({"90_model_vs_zfs/replay.gone": 1}, 1, DIFFERS)])
def test_a_result_that_differs_is_named_and_refused(reproduced, collected, monkeypatch, changes, code, last):
    """As if the study had these notebooks alone; its paper needs all of them."""
    committed = json.loads(results.as_text(collected))
    committed["numbers"] |= changes
    monkeypatch.setattr(reproduction, "all_plans", lambda whole: reproduced)
    monkeypatch.setattr(results, "committed", lambda: committed)
    monkeypatch.setattr(typeset, "build", lambda plans, board: PAPER / "paper.pdf")
    out = Console(file=io.StringIO(), width=200, markup=False)
    done = reproduction.reproduce(list(FEW), 1, False, False, UNLIMITED, out)
    assert done.code == code
    assert [line.partition(": ")[0] for line in done.changed] == list(changes)
    printed = out.file.getvalue()
    assert printed.splitlines()[-1] == last
    assert all(name in printed for name in changes)
    assert f"{len(FEW)} of {len(FEW)} notebooks went well, 0 of them run now" in printed


def test_without_one_of_its_notebooks_there_are_no_results(reproduced, monkeypatch):
    left_out = plan(find("90"), {"seconds": 1.0})
    monkeypatch.setattr(reproduction, "all_plans", lambda whole: [*reproduced, left_out])
    out = Console(file=io.StringIO(), width=200)
    done = reproduction.reproduce(list(FEW), 1, False, False, UNLIMITED, out)
    assert (done.missing, done.changed, done.paper) == (["90_model_vs_zfs"], {}, None)
    assert "no scoreboard, results and paper without 90_model_vs_zfs" in out.file.getvalue()


def test_one_changed_result_is_named():
    accepted = results.committed()
    changed = json.loads(results.as_text(accepted))
    changed["numbers"]["90_model_vs_zfs/replay.differences"] = 1
    assert results.differences(accepted, changed) == ["90_model_vs_zfs/replay.differences: 0 -> 1"]
    assert results.differences(accepted, accepted) == []


def test_rounding_keeps_six_digits_and_whole_numbers():
    assert results.rounded(1955989.0) == 1955989
    assert results.rounded(0.123456789) == 0.123457
    assert results.rounded(-0.0) == 0


ENSEMBLE = """from study.experiments.alignment_2010 import lun
from study.grades import claim_predictions
from study.runs import record
results = lun.predict(lun.setup(seconds=2.0), 2, 2, n)
claim_predictions.record_all(results, lun.NOTEBOOK, lun.not_modelled)
for column in results.columns[results.columns.str.contains("/")]:
    for case, value in results[column].dropna().items():
        record.metric(f"{column.replace('/', '.')}-{case}", value, "1")
"""


def test_one_worker_finds_what_two_find(tmp_path, monkeypatch):
    """Also where a run uses all processors, as that of an ensemble does."""
    cell = "from study.runs import record\nrecord.metric('n', n, '1')"
    numbers_and_grades = []
    notebooks = [write_notebook(tmp_path / f"{name}.ipynb", "n = 1", [of_name])
                 for name, of_name in (("beside", cell), ("ensemble", ENSEMBLE))]
    for workers in (1, 2):
        monkeypatch.setenv("STUDY_RUNS", str(tmp_path / str(workers)))
        plans = [plan(path) for path in notebooks]
        assert {outcome.status for outcome in reproduction.run_plans(plans, workers, UNLIMITED, SILENT)} == {"ok"}
        with store.open() as connection:
            ids = [planned.run_id for planned in plans]
            numbers_and_grades.append((results.numbers(connection, plans), grading.of_runs(connection, ids)))
    (numbers, grades), of_two = numbers_and_grades
    assert len(numbers) > 100
    assert len(grades) >= 1
    assert (numbers, grades) == of_two

"""Questions to the store: two runs side by side, the origin of a figure. And that each figure is seen."""
import nbformat
import pytest
from conftest import one_sentence

from study.runs.plan import plan
from study.runs.runner import run

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
    assert ["image/png" in output.get("data", {}) for output in shown] == [True] * n


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


def test_claims_are_found_by_name(runs, study):
    done = study("claims", "pgbench-1")
    assert (done.returncode, "pgbench-1" in done.stdout, "seqread" in done.stdout) == (0, True, False)
    assert "did you mean 'oltp-gain'" in one_sentence(study("claims", "oltp-gan"))

"""A measured ladder through notebook 11: rungs are labels below that of the ladder, repeats are runs."""
import re

import numpy as np
import pytest

from study.errors import UserError
from study.ingest import given_runs, imports
from study.project import DATA, NOTEBOOKS
from study.runs.plan import plan
from study.your_runs import chosen, clock, comparison, correlating, quantities

LADDER = DATA / "measured" / "virtual-machine-quiet" / "runs"
TPS = "pgbench.progress.tps"


def brought(rung, repeat, label="mine"):
    [run] = given_runs.given([LADDER / f"{rung}-{repeat}"], f"{label}/{rung}")
    return imports.imported(run, imports.Options())


@pytest.fixture
def ladder(runs):
    for rung in ("defaults", "memory"):
        for repeat in (1, 2, 3):
            brought(rung, repeat)
    return chosen.read("mine")


def printed(rung, repeat):
    text = (LADDER / f"{rung}-{repeat}" / "pgbench.txt").read_text()
    return np.array(re.findall(r"^progress: [\d.]+ s, ([\d.]+) tps", text, re.M), float)


def test_a_label_names_all_runs_below_it(ladder):
    counts = chosen.labels(ladder, TPS).set_index("label")
    assert counts.runs.to_dict() == {"mine/defaults": 3, "mine/memory": 3}
    assert (counts.whole == counts[f"with {TPS}"]).all()
    assert chosen.read("mine/memory").runs.run.tolist() == [f"mine/memory {n}" for n in (1, 2, 3)]
    assert chosen.run_of(ladder, "mine/memory", TPS) == "mine/memory 1"
    with pytest.raises(UserError, match="no run is chosen by 'min'"):
        chosen.read("min")


def test_repeats_are_compared_as_repeats(ladder):
    compared = comparison.compare(ladder, TPS, "mine/defaults", "mine/memory")
    means = [[printed(rung, repeat).mean() for repeat in (1, 2, 3)] for rung in ("defaults", "memory")]
    assert compared.of_runs
    assert compared.n == (3, 3)
    for mine, theirs in zip(compared.values, means, strict=True):
        assert sorted(mine) == pytest.approx(sorted(theirs))
    assert "transactions a second" in comparison.verdict(compared)
    assert "e+" not in comparison.verdict(compared)
    overlapping = comparison.compare(ladder, TPS, "mine", "mine/memory")
    assert "none below the other" in overlapping.reason


def test_labels_of_former_ladders_have_the_repeat_and_are_taken_too(runs):
    for repeat in (1, 2, 3):
        for rung in ("defaults", "memory"):
            [run] = given_runs.given([LADDER / f"{rung}-{repeat}"], f"old/{rung}/{repeat}")
            imports.imported(run, imports.Options())
    compared = comparison.compare(chosen.read("old"), TPS, "old/defaults", "old/memory")
    assert (compared.n, compared.of_runs) == ((3, 3), True)


def test_outcome_and_statistic_are_what_the_run_has(ladder):
    assert chosen.outcome_of(ladder, "") == TPS
    table = clock.table(ladder, "mine/memory 1")
    statistic = quantities.statistic_of(table, TPS, "")
    assert statistic == "measure.disk.write_size"
    assert table.attrs["units"][statistic] == "KiB"
    rate = table["measure.disk.written_bytes"] * 1024 / table["measure.disk.writes"]     # of means, not the mean of ratios
    assert table[statistic].to_numpy() == pytest.approx(rate.to_numpy(), rel=0.2)
    assert "20 or more are needed" in correlating.look(table, TPS, statistic, 1).reason


@pytest.mark.parametrize(("value", "shown"), [
    (2290.4, "2,290"), (0.0123, "0.0123"), (-4.5, "−4.50"), (0.0, "0"), (1.2e7, "12,000,000"), (99.96, "100"),
    (float("nan"), "no number")])
def test_numbers_in_sentences_have_no_power_of_ten(value, shown):
    assert quantities.in_words(value) == shown


def test_another_import_under_a_label_is_another_run_of_the_notebook(runs):
    """A question whose answer has not changed stays the same run, and so does one that names no import."""
    path, asked = NOTEBOOKS / "11_your_runs.ipynb", {"source": "SELECT run_id FROM runs WHERE label = 'mine/defaults'"}
    brought("defaults", 1)
    before = [plan(path, given).run_id for given in ({"source": "mine"}, asked, {})]
    brought("memory", 1)
    after = [plan(path, given).run_id for given in ({"source": "mine"}, asked, {})]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True, True]

"""The shipped runs through what notebook 11 calls, held against the tools' own files read in another way."""
import re

import numpy as np
import pandas as pd
import pytest

from study import drawing
from study.errors import UserError
from study.figures import correlation as correlation_pictures
from study.figures import your_runs as pictures
from study.ingest import given_runs, imports
from study.project import DATA, ROOT
from study.your_runs import change_points, chosen, clock, comparison, correlating, distributions, lags

FOLDER = DATA / chosen.EXAMPLES
TPS, SIZE = "pgbench.progress.tps", "iostat.disks.write.size"


@pytest.fixture(scope="module")
def shipped():
    return chosen.read(chosen.SHIPPED)


@pytest.fixture(scope="module")
def table(shipped):
    return clock.table(shipped, "sync-on 1")


def printed_tps(folder):
    """(epoch seconds, transactions per second) of pgbench's lines of progress."""
    text = (folder / "progress.txt").read_text()
    return np.array(re.findall(r"^progress: ([\d.]+) s, ([\d.]+) tps", text, re.M), float)


def test_all_shipped_runs_are_whole_and_agree_with_their_tools(shipped):
    assert sorted(shipped.runs.run) == ["paced 1", *(f"sync-{way} {n}" for way in ("off", "on") for n in (1, 2, 3))]
    assert set(shipped.runs.status) == {"ok"}
    assert shipped.tools.rows_refused.sum() == 0
    assert shipped.tools.checks.tolist() == shipped.tools.agree.tolist()
    assert shipped.tools.checks[shipped.tools.tool == "iostat"].sum() == 0      # it prints no totals
    warned = chosen.missing(shipped)
    [closed] = warned[warned.text.str.contains("coordinated omission")].runs
    assert closed == 6


def test_a_row_holds_what_the_tools_printed_of_its_interval(table):
    """By hand: the area below pgbench's steps over the interval."""
    lines = printed_tps(FOLDER / "sync-on" / "1")
    begins = pd.Timestamp(table.attrs["begins"]).timestamp()
    fine = begins + np.arange(0, 20, 0.001) + 0.0005
    held = lines[np.searchsorted(lines[:, 0], fine), 1]
    assert table[TPS].to_numpy()[:20] == pytest.approx(held.reshape(20, -1).mean(axis=1), rel=2e-3)
    assert table.index.tolist() == [float(n) for n in range(1, len(table) + 1)]
    assert table.attrs["units"][SIZE] == "KiB"
    assert table.attrs["apart_s"] == pytest.approx(1.001)


def test_iostats_second_is_in_its_row(table):
    text = (FOLDER / "sync-on" / "1" / "iostat.txt").read_text()
    sizes = re.findall(r"^(2026\S+)\n.*\nvda +(.*)$", text, re.M)
    printed = {pd.Timestamp(when).tz_localize(None): float(row.split()[11]) for when, row in sizes}
    ends = pd.Timestamp(table.attrs["begins"]) + pd.to_timedelta(table.index, unit="s")
    assert [printed[end] for end in ends] == pytest.approx(table[SIZE].tolist())


def test_longer_rows_are_means_and_percentiles_are_left_out(shipped, table):
    longer = clock.table(shipped, "sync-on 1", 4.0)
    n = len(longer)
    assert longer[TPS].to_numpy() == pytest.approx(table[TPS].to_numpy()[:4 * n].reshape(n, 4).mean(axis=1), rel=1e-6)
    assert not [name for name in table if "stddev" in name or "p99" in name]


def test_what_was_not_recorded_is_missing_and_never_filled_in(shipped):
    times = shipped.points.utc
    hole = (times > pd.Timestamp("2026-11-27 02:13:50")) & (times <= pd.Timestamp("2026-11-27 02:13:58"))
    holed = shipped._replace(points=shipped.points[~(hole & (shipped.points.series == "iostat.disks"))])
    table = clock.table(holed, "sync-on 1")
    assert table[SIZE].isna().sum() == 8
    assert table[TPS].notna().all()
    compared = correlating.look(table, TPS, SIZE, 1)
    assert "lack 8 of" in compared.reason
    assert "lack 8 of" in lags.of_table(table, SIZE, TPS, 5, 1).reason
    assert correlating.verdict(compared).startswith("nothing is correlated")


def test_percentiles_are_those_of_all_requests(shipped):
    logs = (FOLDER / "paced" / "1").glob("pgbench_log.*")
    taken = np.sort(np.concatenate([np.loadtxt(log, usecols=2) for log in logs])) / 1e3
    mine = shipped.responses[shipped.responses.run == "paced 1"].set_index("share")
    for share in (0.5, 0.9, 0.95, 0.99):
        assert mine.low[share] == taken[int(np.ceil(share * len(taken))) - 1] == mine.high[share]
    assert np.isnan(mine.low[0.999])        # two of 2678 took longer
    assert distributions.shown(shipped.responses).set_index("run").loc["paced 1", "p99.9"] == "–"
    tail = shipped.tails[shipped.tails.run == "paced 1"]
    assert tail.response.max() == taken[-1]
    assert tail.longer.is_monotonic_decreasing
    for row in tail.iloc[::20].itertuples():
        assert row.longer <= (taken >= row.response).mean() + 0.02


def test_a_histogram_gives_ends_of_a_bin_and_no_guess(runs):
    [run] = given_runs.given([ROOT / "tests/study/ingest/fixtures/sysbench/oltp.txt"], "bins")
    imports.imported(run, imports.Options("bins"))
    mine = chosen.read("bins").responses
    assert len(mine)
    known = mine.dropna()
    assert (known.low < known.high).all()
    assert " to " in " ".join(distributions.shown(mine).p50)


def test_what_explains_comes_from_another_tool(table):
    mine = clock.explaining(table, TPS)
    assert {name.partition(".")[0] for name in mine.columns.drop(TPS)} == {"iostat"}
    assert "iostat.disks.utilisation" in mine
    compared = correlating.look(table, TPS, SIZE, 1)
    ranked = compared.analysis.ranked.set_index("statistic")
    assert ranked.disguise["iostat.disks.utilisation"] != ""
    assert ranked.r2[SIZE] == pytest.approx(np.corrcoef(table[SIZE], table[TPS])[0, 1] ** 2)
    assert compared.slope.low < compared.slope.value < compared.slope.high
    assert f"{SIZE} is not shown to go with {TPS}" in correlating.verdict(compared)


def test_a_name_that_is_not_there_is_a_reason_or_one_sentence(shipped, table):
    assert "the run has no 'no.such'" in correlating.look(table, TPS, "no.such", 1).reason
    assert "have no 'no.such'" in lags.of_table(table, "no.such", TPS, 5, 1).reason
    with pytest.raises(UserError, match=r"no series 'no\.such'; it has iostat"):
        correlating.look(table, "no.such", SIZE, 1)
    with pytest.raises(UserError, match="'third' is none of the runs"):
        chosen.run_of(shipped, "third")
    with pytest.raises(UserError, match="'third' is no label"):
        comparison.compare(shipped, TPS, "third", "sync-on")
    with pytest.raises(UserError, match=r"'no\.such' is no quantity over time"):
        comparison.compare(shipped, "no.such", "sync-on", "sync-off")
    assert chosen.run_of(shipped, "sync-off") == "sync-off 1"
    assert chosen.run_of(shipped, "") == "sync-on 1"
    assert comparison.labels(shipped, "", "") == ("sync-on", "sync-off")


def test_three_runs_of_each_label_are_welchs_test_of_their_means(shipped):
    means = [[printed_tps(FOLDER / label / str(n))[:, 1].mean() for n in (1, 2, 3)] for label in ("sync-on", "sync-off")]
    compared = comparison.compare(shipped, TPS, "sync-on", "sync-off")
    assert compared.of_runs
    assert sorted(compared.values[0]) == pytest.approx(sorted(means[0]))
    error = np.sqrt(sum(np.var(side, ddof=1) / 3 for side in means))
    assert compared.by == pytest.approx(np.mean(means[1]) - np.mean(means[0]))
    assert (compared.low + compared.high) / 2 == pytest.approx(compared.by)
    assert 2.77 < (compared.high - compared.by) / error < 4.31      # t of 4 to 2 degrees of freedom
    assert "A run counts as one value: 3 runs and 3" in comparison.verdict(compared)


def test_fewer_runs_say_nothing_of_others_and_one_label_is_a_reason(shipped):
    compared = comparison.compare(shipped, TPS, "sync-on", "paced")
    assert not compared.of_runs
    assert compared.low < compared.by < compared.high < 0
    assert "it says nothing of how runs differ" in comparison.verdict(compared)
    alone = shipped._replace(runs=shipped.runs[shipped.runs.label == "paced"])
    assert "runs of two labels are wanted" in comparison.verdict(comparison.compare(alone, TPS, "", ""))
    gaps = shipped._replace(clocks=shipped.clocks.assign(gaps=1))
    assert comparison.compare(gaps, TPS, "sync-on", "paced").reason == "pgbench.progress has gaps"


@pytest.mark.slow
def test_runs_of_the_store_are_chosen_by_label_or_question(runs, study):
    for folder, label in (("sync-on/1", "first"), ("sync-off/1", "it's; DROP TABLE runs")):
        study("ingest", FOLDER / folder, "--label", label)
    assert chosen.read("first").runs.run.tolist() == ["first 1"]
    assert chosen.read("it's; DROP TABLE runs").runs.label.tolist() == ["it's; DROP TABLE runs"]
    both = chosen.read("SELECT run_id FROM runs WHERE origin = 'imported'")
    assert len(both.runs) == 2
    assert clock.table(both, chosen.run_of(both, "first")).shape[0] > 80
    for source, words in (("nothing", "no run is chosen by 'nothing'"), ("SELECT 1, 2", "gives 2 columns"),
                          ("/", "'/' is a file or a folder, and no label; import it"),
                          ("SELECT nothing", "cannot be answered"), ("SELECT 'x'", "'x', which is no run_id"),
                          ("SELECT run_id FROM runs WHERE false", "no run is chosen"),
                          ("SELECT content FROM read_text('/etc/passwd')", "cannot be answered")):
        with pytest.raises(UserError, match=re.escape(words)):
            chosen.read(source)


def test_the_shipped_runs_leave_nothing_in_the_folder_of_runs(runs):
    chosen.read(chosen.SHIPPED)
    assert not list(runs.rglob("*.parquet"))
    assert not list(runs.rglob("manifest.json"))


@pytest.mark.slow
def test_figures_are_drawn_of_what_is_shipped(shipped, table):
    scan, changed = lags.of_table(table, SIZE, TPS, 10, 1), change_points.changes(table[TPS].to_numpy(), 1)
    analysis = correlating.look(table, TPS, SIZE, 1).analysis
    drawn = [(pictures.on_one_clock, table, [TPS, SIZE]), (pictures.tails, shipped.tails), (pictures.lags, scan, 1.0, 1.0),
             (pictures.levels, table, TPS, changed), (correlation_pictures.ranking, analysis),
             (correlation_pictures.scatter, analysis),
             (pictures.two_labels, comparison.compare(shipped, TPS, "sync-on", "sync-off"), TPS)]
    for draw, *data in drawn:
        assert drawing.render(draw, *data, formats=("png",))["png"]

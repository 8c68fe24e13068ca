"""Numbers read off curves that are known; scenarios of June 2008; what a scale changes."""
import numpy as np
import pandas as pd
import pytest

from model.zfs.txg import throttle
from study.documents import claims, priors, published
from study.ensembles import kept
from study.experiments.postgres_2008 import curves
from study.experiments.postgres_2008 import setups as checkpoints
from study.experiments.postgres_2008.curves import Run
from study.experiments.postgres_2008.setups import TESTS, of_test, scaled_values
from study.grades import claim_predictions
from study.machines import scenario
from study.machines import simulate as machines

VALUES = priors.read("checkpoints").central()
KNOWN = checkpoints.known().central()


def made(written, writes=None, tpm=None, reads=None, step=2):
    n = len(written)
    of = lambda values: {"data": np.asarray(values, float)}  # noqa: E731
    return Run(
        name="made", step_s=step, tpm=np.full(n, 6e4) if tpm is None else np.asarray(tpm, float),
        read_mb=of(np.zeros(n) if reads is None else reads), written_mb=of(written),
        writes=of(written if writes is None else writes), counts={}, mean_ms=1.0, busy=0.0,
        by_checkpointer=np.zeros(n), pages_mb=np.zeros(n), log_mb=np.zeros(n))


def square(period, high_s, low, high, n=5, step=2):
    return np.tile(np.where(np.arange(0, period, step) < high_s, high, low), n)


@pytest.mark.parametrize("high_s", [100, 200, 400])
def test_phase_and_bandwidth_of_a_square_wave(high_s):
    numbers = curves.writes(made(square(900, high_s, 3.0, 20.0)), 900)
    assert numbers["write.phase"] == pytest.approx(high_s, abs=20)
    assert numbers["write.bandwidth"] == pytest.approx(20, rel=0.07)
    assert numbers["write.rate"] == pytest.approx((20 * high_s + 3 * (900 - high_s)) / 900, rel=0.01)


@pytest.mark.parametrize(("level", "share"), [(-1, 1), (0, 1), (2.5, 0.75), (7.5, 0.25), (10, 0), (11, 0)])
def test_time_above_a_level_is_that_of_the_lines_between_points(level, share):
    """Of points alone it had steps, so that a phase of 200 s could not be met at all to a scale of 1:32."""
    assert curves.share_above(np.array([0.0, 10.0]), level) == share
    assert curves.share_above(np.array([0.0, 10.0, 0.0]), level) == share
    assert curves.share_above(np.array([3.0, 3.0, 3.0]), level) == (level < 3)


@pytest.mark.parametrize("length", [30, 60, 120])
def test_burst_of_a_square_wave(length):
    numbers = curves.burst(made(square(300, length, 5.0, 50.0)), 300)
    assert numbers["write.burst"] == pytest.approx(length, abs=6)
    assert numbers["write.bandwidth_peak"] == pytest.approx(50)


@pytest.mark.parametrize("step", [2, 8, 16, 32])
def test_the_mean_checkpoint_stays_in_step_where_its_period_is_no_whole_number_of_steps(step):
    """Of steps of 32 s an interval of 300 s has 9.4: an interval of nine was 12 s too early each time."""
    t = (np.arange(2100 // step) + 0.5) * step
    mean = curves.folded(np.where(t % 300 < 100, 50.0, 5.0), step, 300)
    assert len(mean) == 300 // step
    assert ((mean > 5) & (mean < 50)).sum() <= 2
    assert (mean > 27.5).mean() * 300 == pytest.approx(100, abs=step)


def test_the_first_checkpoint_is_no_part_of_the_mean_and_one_that_is_cut_short_is_as_far_as_it_goes():
    t = np.arange(1, 700, 2)
    mean = curves.folded(np.where(t < 300, 1e9, np.where(t < 600, 1.0, 3.0)), 2, 300)
    assert mean == pytest.approx(np.where(np.arange(150) < 50, 2, 1))


RAMP = np.linspace(1, 0, 101)


@pytest.mark.parametrize(("values", "line", "step"), [
    (RAMP, 1, 0.75),                                                        # a fall that takes all of the time
    (np.where(np.arange(100) < 50, 60.0, 20.0), 0.75, 1),                   # a step half-way
    (np.where(np.arange(100) < 20, 60.0, 20.0), 3 * 0.2 * 0.8, 1),          # sooner
    (np.linspace(0, 1, 101), 0, 0), (np.full(100, 3.0), 0, 0)])             # no fall at all
def test_a_line_and_a_step_explain_what_arithmetic_says(values, line, step):
    assert curves.explained_by_line(values) == pytest.approx(line, abs=0.01)
    assert curves.explained_by_step(values) == pytest.approx(step, abs=0.01)


@pytest.mark.parametrize(("share", "is_line"), [(0.2, False), (0.4, False), (0.6, True), (1.0, True)])
def test_a_straight_fall_is_rather_a_line_if_it_takes_half_of_the_time(share, is_line):
    """And one of which 80 % take 0.8 of its time is as long as it is, after however long a burst."""
    t = np.arange(0, 300, 2.0)
    wave = np.clip(1 - (t - 50) / (250 * share), 0, 1) * 40 + 20
    numbers = curves.burst(made(np.tile(wave, 5)), 300)
    assert (numbers["write.fall_line_over_step"] > 1) == is_line
    assert numbers["write.fall"] == pytest.approx(0.8 * 250 * share, abs=8)


def test_what_falls_is_told_by_who_writes_it():
    t = np.arange(0, 1500, 2.0)
    high = t % 300 < 50
    run = made(np.where(high, 60.0, 20), writes=np.where(high, 1000.0, 500))._replace(
        pages_mb=np.where(high, 30.0, 0), log_mb=np.where(high, 6.0, 4))
    parts = curves.fall_by_part(run, 300)
    assert parts == pytest.approx({"disks": 40, "pages": 30, "log": 2, "write_size": 2 / 3}, rel=0.04)


def test_reads_are_those_about_a_second():
    run = made(np.ones(1400), reads=np.where(np.arange(1400) * 2 < 1500, 1.0, 3.0))
    assert curves.reads_at(run, 1500) == pytest.approx(2000, rel=0.05)
    assert curves.reads_at(run, 2500) == 3000
    falling = made(np.ones(1400), reads=np.where(np.arange(1400) * 2 < 50, 13.0, 1.0))
    assert curves.of(falling, 900)["read.bandwidth@0"] == pytest.approx(11, abs=0.5)


def test_throughput_settles_where_it_stops_changing():
    tpm = np.where(np.arange(1400) * 2 < 900, 3e4, 6e4)
    assert curves.stable_from(made(np.ones(1400), tpm=tpm)) == pytest.approx(900, abs=60)
    assert curves.stable_from(made(np.ones(1400))) == 0
    with np.errstate(all="raise"):
        assert curves.stable_from(made(np.ones(1400), tpm=np.zeros(1400))) == 2800     # a server that hangs is not steady
    assert curves.stable_from(made(np.ones(1400), tpm=np.where(np.arange(1400) < 900, 6e4, 0))) == 2800
    swinging = np.where(np.arange(1400) // 100 % 2, 3e4, 6e4)
    assert curves.stable_from(made(np.ones(1400), tpm=swinging)) == 2800


def test_means_over_windows_keep_the_sum_of_what_is_inside():
    smoothed = curves.smooth(np.arange(50.0), 10, 2)
    assert smoothed[10:40] == pytest.approx(np.arange(50.0)[10:40])


@pytest.mark.parametrize("name", TESTS)
def test_every_test_is_a_scenario_and_a_scale_divides_what_is_a_length(name):
    whole, part = of_test(name, VALUES, 1), of_test(name, VALUES, 8)
    assert whole.host.memory_gib == 8 * part.host.memory_gib
    assert whole.database.clients == part.database.clients == 128
    assert whole.database.seconds == 8 * part.database.seconds
    differing = {path.split(".")[-1] for path in scenario.differences(whole, part)}
    assert differing <= {"memory_gib", "use_gib", "seconds", "transactions", "shared_buffers",
                         "checkpoint_segments", "autoup_s", "arc_max_mib", "log_files"}


def test_tests_that_are_compared_differ_in_what_their_names_say():
    ufs, zfs = of_test("ufs-nine-disks", VALUES, 8), of_test("zfs-nine-disks-128k", VALUES, 8)
    assert {path.split(".")[0] for path in scenario.differences(ufs, zfs)} == {"files"}
    right = of_test("zfs-900s", VALUES, 8)
    assert set(scenario.differences(zfs, right)) == {"files.record_kib"}
    assert set(scenario.differences(of_test("zfs-300s-15", VALUES, 8), of_test("zfs-no-zil-15", VALUES, 8))) == {"files.zil"}
    assert {path[:8] for path in scenario.differences(of_test("zfs-300s-15", VALUES, 8),
                                                      of_test("zfs-log-array", VALUES, 8))} == {"pool.log"}


def test_stocks_are_divided_and_rates_are_not():
    values = scaled_values(VALUES, 8)
    assert values["working_gib"] == VALUES["working_gib"] / 8
    assert {name for name in VALUES if values[name] != VALUES[name]} == {"working_gib", "other_gib"}
    assert values["cached-array.buffer_bytes"] == 2**27


@pytest.mark.parametrize("name", [name for name, test in TESTS.items() if test.files["kind"] == "zfs"])
@pytest.mark.parametrize("scale", [8, 16, 32])
def test_memory_of_zfs_and_its_groups_are_to_scale(name, scale):
    """What is left for the ARC once lost 1 GiB to other programs at any scale, so that at 1:32 nothing was left."""
    whole, part = (machines.zfs_settings(of_test(name, VALUES, k), KNOWN | scaled_values(VALUES, k)) for k in (1, scale))
    assert part.arc_max_bytes == pytest.approx(whole.arc_max_bytes / scale, rel=0.01)
    assert part.memory_bytes == whole.memory_bytes / scale
    whole, part = (machines.build(of_test(name, VALUES, k), scaled_values(VALUES, k)).txg for k in (1, scale))
    assert part == throttle.to_scale(whole, scale)


def test_every_choice_of_what_is_not_known_makes_a_scenario():
    for choice in checkpoints.known().switches:
        for value in choice.choices:
            of_test("zfs-log-array", VALUES | {choice.name: value}, 8)


# ---- what is kept of a run ----


def the_same(runs, others):
    for run, other in zip(runs, others, strict=True):
        for value, other_value in zip(run, other, strict=True):
            np.testing.assert_equal(value, other_value)


def test_a_run_comes_back_from_its_rows():
    run = made(square(900, 100, 3.0, 20.0), tpm=square(900, 200, 1.0, 7.0))
    run = run._replace(written_mb=run.written_mb | {"log pool": 2 * run.tpm}, counts={"checkpoints": 3}, busy=0.25)
    the_same([run], [curves.of_rows(curves.rows(run))])


def test_tests_that_are_read_are_those_that_were_run(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "ensembles")
    monkeypatch.setenv("STUDY_RUN", str(tmp_path))
    monkeypatch.setattr(checkpoints, "run", fake)
    first = checkpoints.run_all(TESTS, VALUES, 8, 1)
    assert list(first) == list(TESTS)
    n_run = []
    monkeypatch.setattr(checkpoints, "run", lambda *call: n_run.append(call) or fake(*call))
    the_same(checkpoints.run_all(TESTS, VALUES, 8, 1).values(), first.values())
    assert len(n_run) == kept.HANDFUL


# ---- what a prediction may read ----


def fake(name, values, scale, seed, target=None, seconds=None):
    """A run whose phases are longer, the larger the working set is."""
    period = TESTS[name].timeout_s
    n = 3 if period == 900 else 7
    run = made(square(period, 0.02 * period * values["working_gib"], 1.0, 10 + seed % 3, n), step=2)
    return run._replace(name=name, written_mb=run.written_mb | {"log": run.written_mb["data"]})


def test_what_may_be_fitted_of_this_document_is_what_is_fitted():
    """Two figures were called a baseline that no fit read, and so were not graded."""
    may = claims.baselines().query("run_id.str.startswith(@checkpoints.DOCUMENT)")
    assert {(row.run_id, row.name) for row in may.itertuples(index=False)} == {
        (f"{checkpoints.DOCUMENT}/ufs-nine-disks", "write.phase")}
    assert 1 / checkpoints.baseline().baseline == may.value.iloc[0]


def test_every_claim_that_is_to_be_predicted_is(monkeypatch):
    monkeypatch.setattr(checkpoints, "run", fake)
    asked = {claim.id for claim in claim_predictions.of_notebook("09_postgres_checkpoints")}
    assert {"pg-parity", "pg-target-85", "pg-fall", "pg-throughput", "pg-reads-ufs-start"} < asked
    assert set(claim_predictions.predictions(predicted(), "09_postgres_checkpoints")) == asked


def test_a_ratio_is_of_the_runs_of_one_case(monkeypatch):
    monkeypatch.setattr(checkpoints, "run", fake)
    results = predicted()
    for ratio, (over, under) in checkpoints.RATIOS.items():
        np.testing.assert_array_equal(results[ratio], results[over] / results[under])


@pytest.mark.parametrize(("claim", "value", "words"), [
    ("pg-parity", 0.97, "as the post says"), ("pg-parity", 1.2, "which contradicts the post"),
    ("pg-target-85", 0.9, "as the post says"), ("pg-target-85", 1.1, "which contradicts the post")])
def test_captions_say_whether_a_number_is_what_the_post_says(claim, value, words):
    assert checkpoints.against(claim, value) == words


def test_the_scale_of_the_ensemble_is_one_of_its_conditions(monkeypatch):
    scales = []
    monkeypatch.setattr(checkpoints, "run", lambda name, values, scale, seed, seconds: scales.append(scale) or fake(
        name, values, scale, seed))
    predicted()
    assert set(scales) == {16, 32}


def predicted():
    return checkpoints.predict(32, 3, 2, 1)


@pytest.mark.parametrize("scale", [2**i for i in range(8)])
def test_the_logs_peak_has_a_point_to_any_scale(scale):
    n = checkpoints.ENOUGH_S["zfs-log-array"] // scale
    numbers = curves.of(made(np.zeros(n), step=scale)._replace(
        written_mb={"data": np.zeros(n), "log": np.where(np.arange(n) == n - 1, 40.0, 10.0)}), 300)
    assert numbers["log.write_bandwidth@1800"] >= 10


@pytest.mark.slow
def test_nonsense_in_every_figure_to_be_predicted_changes_no_prediction(monkeypatch):
    monkeypatch.setattr(checkpoints, "run", fake)
    before, honest = predicted(), published.runs
    baselines = {(row.run_id, row.name) for row in claims.baselines().itertuples(index=False)}

    def nonsense():
        keep = {run.run_id: [(run.run_id, name) in baselines for name in run.metrics["name"]] for run in honest()}
        return [run._replace(metrics=run.metrics.assign(value=run.metrics["value"].where(keep[run.run_id], 12345.678)))
                for run in honest()]
    monkeypatch.setattr(published, "runs", nonsense)
    assert checkpoints.published_numbers()["zfs-300s-15 write.burst"] == 12345.678
    pd.testing.assert_frame_equal(before, predicted())


@pytest.mark.slow
def test_another_baseline_changes_what_is_fitted_and_nothing_else(monkeypatch):
    """So the test above can fail."""
    monkeypatch.setattr(checkpoints, "run", fake)
    before, fit = predicted(), checkpoints.baseline()
    monkeypatch.setattr(checkpoints, "baseline", lambda: fit._replace(baseline=1.3 * fit.baseline))
    after = predicted()
    pd.testing.assert_frame_equal(before[~before.fitted], after[~after.fitted])
    assert not before[before.fitted].equals(after[after.fitted])

"""The sequential test of 2007: one run function for all, no figure to be predicted is read, impossible machines say so."""
import pandas as pd
import pytest

from study.documents import claims, priors, published
from study.drawing import on_screen
from study.ensembles import effects, ensembles
from study.experiments.vdev_cache_2007 import sequential_reads
from study.figures import sequential_reads as sequential_reads_pictures
from study.grades import claim_predictions
from study.project import NOTEBOOKS
from study.runs import catalogue, sliders
from study.runs.parameters import of_cell

NAME = "02_vdev_cache_seqread"
DEFAULTS = {name: value for name, value in of_cell(NOTEBOOKS / f"{NAME}.ipynb").items()
            if name not in ("draws", "seeds", "seed")}
SMALL = DEFAULTS | {"n_leaves": 8, "file_gib": 1.0, "seconds": 2.0}


@pytest.fixture(scope="module")
def machine():
    return sequential_reads.setup(**SMALL)


@pytest.fixture(scope="module")
def runs(machine):
    return sequential_reads.compare(machine, 1)


def predicted(machine):
    """The smallest ensemble, small machines only."""
    return sequential_reads.predict(machine, 2, 2, 1)


@pytest.fixture
def small_files(monkeypatch):
    """Priors with small files, so that a test is quick."""
    real = priors.read

    def read(experiment):
        known = real(experiment)
        changed = [prior.model_copy(update={"low": 1, "central": 1, "high": 2}) if prior.name == "file_gib" else prior
                   for prior in known.priors]
        return known._replace(priors=tuple(changed))
    monkeypatch.setattr(priors, "read", read)


def test_nonsense_in_the_figures_to_be_predicted_changes_no_prediction(machine, small_files, monkeypatch):
    """Only those that may be fitted keep their value."""
    honest, honest_targets = predicted(machine), claims.targets()
    open_to_fitting = {(row.run_id, row.name) for row in claims.baselines().itertuples(index=False)}
    real = published.runs

    def nonsense():
        changed = []
        for run in real():
            keep = [(run.run_id, name) in open_to_fitting for name in run.metrics.name]
            metrics = run.metrics.assign(value=run.metrics.value.where(keep, 12345.678))
            changed.append(run._replace(metrics=metrics))
        return changed
    monkeypatch.setattr(published, "runs", nonsense)
    assert not honest_targets.value.equals(claims.targets().value)
    pd.testing.assert_frame_equal(predicted(machine), honest)


def test_another_baseline_changes_what_is_fitted_and_nothing_else(machine, small_files, monkeypatch):
    """So the test above can fail. The baseline is half of what the small machine reads."""
    honest, fit = predicted(machine), sequential_reads.baseline()
    rate = honest["before/summary.rate"].iloc[0] / 2
    monkeypatch.setattr(sequential_reads, "baseline", lambda: fit._replace(baseline=rate))
    refitted = predicted(machine)
    pd.testing.assert_frame_equal(ensembles.unfitted(refitted), ensembles.unfitted(honest))
    met = refitted[refitted.fitted & refitted.reached & (refitted.part == "central")]
    assert met["before/summary.rate"].tolist() == pytest.approx([rate], rel=0.01)
    assert met.copy_ns.iloc[0] > honest.copy_ns.iloc[0]


def test_runs_that_there_are_already_are_not_repeated(machine, small_files, monkeypatch):
    machine = sequential_reads.with_values(machine, priors.read(sequential_reads.EXPERIMENT).central())
    runs, made, real = sequential_reads.compare(machine, 1), [], sequential_reads.run
    monkeypatch.setattr(sequential_reads, "run", lambda *call: made.append(call) or real(*call))
    anew = predicted(machine)
    n_anew = len(made)
    pd.testing.assert_frame_equal(sequential_reads.predict(machine, 2, 2, 1, runs), anew)
    assert len(made) == 2 * n_anew - 2


def test_a_slider_calls_what_the_run_calls(runs):
    """The figure that a slider draws is that of the very comparison whose metrics are recorded."""
    known = catalogue.STUDY[NAME].parameters
    box = sliders.explore(
        NAME, lambda **changed: sequential_reads.throughput(
            sequential_reads.compare(sequential_reads.setup(**(SMALL | changed)), 1)),
        sequential_reads_pictures.throughput, max_pending=35, sorts=True)
    assert "of these values" in box.status.value
    assert box.picture.value == on_screen(sequential_reads_pictures.throughput, sequential_reads.throughput(runs))
    again = sequential_reads.metrics(sequential_reads.compare(sequential_reads.setup(**SMALL), 1))
    pd.testing.assert_frame_equal(again, sequential_reads.metrics(runs))
    assert set(DEFAULTS) < set(known)


def test_each_second_adds_up_to_the_rate(runs):
    means = sequential_reads.throughput(runs).groupby("variant").mib_per_s.mean()
    for variant, x in runs.items():
        assert means[variant] == pytest.approx(x.mib_per_s)
        numbers = sequential_reads.quantities(x, runs.machine)
        assert sum(numbers[f"seqread{i}.rate"] for i in (1, 2, 3, 4)) == pytest.approx(numbers["summary.rate"])


def test_streams_are_numbered_from_the_last_file(runs):
    """largefile4 is written first, so the first thread is stream 4."""
    x = runs.before
    assert sequential_reads.quantities(x, runs.machine)["seqread4.bandwidth"] == pytest.approx(x.stream_mib_per_s[0])


def test_without_stalls_the_cache_is_worth_nothing(runs):
    steps = sequential_reads.steps(runs, 1).set_index("key")
    assert steps.mib_per_s["warm-on"] == steps.mib_per_s["warm-off"] >= steps.mib_per_s["on"] > steps.mib_per_s["off"]
    assert (steps.loc[["warm-on", "warm-off"], "reader.stalled"] == 0).all()
    shares = sequential_reads.shares(steps.reset_index()).set_index("name").value
    assert shares["steps.without-stalls"] == 0
    on, off, whole = (1 - shares[f"steps.{name}"] / 100 for name in ("stalls.on", "stalls.off", "loss"))
    assert whole == pytest.approx(off / on)


def test_all_claims_of_the_notebook_are_predicted_or_said_not_to_be(machine, small_files):
    results = predicted(machine)
    predictions = claim_predictions.predictions(results, NAME)
    assert {claim.id for claim in claim_predictions.of_notebook(NAME)} == set(predictions)
    assert len(predictions) == 15
    known = priors.read("seqread")
    shown = effects.conditions(results, known, sequential_reads.EFFECT)
    assert len(shown) == 1 + sum(len(ensembles.others(condition)) for condition in known.conditions)
    assert shown.label.is_unique


@pytest.mark.parametrize("name", catalogue.STUDY[NAME].parameters["disk"].choices)
def test_a_drive_takes_one_command_and_has_the_buffer_asked_for(name):
    machine = sequential_reads.setup(**(SMALL | {"disk": name, "segments": 4, "reads_ahead": False}))
    assert (machine.disk.depth, machine.disk.window, machine.disk.segments, machine.disk.reads_ahead) == (1, 1, 4, 0)
    assert sequential_reads.run(machine, "before", 1).mib_per_s > 0


def test_a_pool_that_is_half_full_begins_in_the_middle_of_the_disks(machine):
    half = sequential_reads.setup(**(SMALL | {"pool": "half full"}))
    assert half.first_byte == machine.disk.disk_bytes // 2
    assert sequential_reads.run(half, "before", 1).mib_per_s < sequential_reads.run(machine, "before", 1).mib_per_s


@pytest.mark.parametrize(("changed", "words"), [
    ({"n_leaves": 0}, "n_leaves is 0"), ({"n_streams": 0}, "n_streams is 0"), ({"record_kib": 3}, "record_bytes is 3072"),
    ({"file_gib": 0.00001}, "record_bytes is 131072, but a file has only"),
    ({"n_leaves": 1, "file_gib": 200.0}, "file_bytes is 214748364800 for each of 4 readers"),
    ({"segments": 100_000}, "segments of a disk is 100000"), ({"max_pending": 0}, "pending"),
    ({"line_kib": 0}, "line_shift"), ({"seconds": 0.0}, "duration_ns is 0")])
def test_an_impossible_machine_is_one_sentence(changed, words):
    with pytest.raises(ValueError, match=words) as error:
        sequential_reads.run(sequential_reads.setup(**(SMALL | changed)), "before", 1)
    assert "\n" not in str(error.value)
    assert "; choose" in str(error.value)

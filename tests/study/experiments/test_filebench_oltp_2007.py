"""The experiment of notebook 01: what reaches a prediction, and what does not."""
import numpy as np
import pandas as pd
import pytest

from model.simulations.filebench_oltp import columns as oltp
from study.documents import claims, priors, published
from study.drawing import on_screen
from study.ensembles import ensembles, history_matching, nearest_machine
from study.experiments.vdev_cache_2007 import cpu_times, filebench_oltp
from study.experiments.vdev_cache_2007.cpu_times import OF_PROCESSORS
from study.figures import filebench_oltp as filebench_oltp_pictures
from study.grades import claim_predictions
from study.project import NOTEBOOKS
from study.runs import catalogue, parameters, sliders

NOTEBOOK = "01_vdev_cache_oltp"
SMALL = {"record_kib": 8, "file_gib": 0.05, "n_leaves": 4, "n_shadows": 12, "line_kib": 64, "cache_mib": 1,
         "max_pending": 35, "ncq": True, "window": 4, "start": "empty", "seconds": 6.0}


@pytest.fixture(scope="module", autouse=True)
def of_little_memory():
    """Memory is not drawn here: 4 GiB would hold all files of a small machine."""
    real = priors.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priors, "read", lambda experiment: (known := real(experiment))._replace(
            switches=tuple(switch for switch in known.switches if switch.name != "memory_bytes")))
        yield


def small(**changed):
    """A machine that cannot hold its files in memory."""
    machine = filebench_oltp.setup(**SMALL | changed)
    return machine._replace(settings=machine.settings._replace(memory_bytes=2**27))


def predicted():
    """The smallest ensemble."""
    return filebench_oltp.predict(small(), 2, 2, 1)


@pytest.fixture(scope="module")
def results():
    return predicted()


@pytest.mark.slow
def test_nonsense_in_every_figure_to_be_predicted_changes_no_prediction(results, monkeypatch):
    """All published numbers but baselines."""
    baselines = {(row.run_id, row.name) for row in claims.baselines().itertuples(index=False)}
    honest = published.runs

    def nonsense():
        changed = []
        for run in honest():
            keep = [(run.run_id, name) in baselines for name in run.metrics["name"]]
            changed.append(run._replace(metrics=run.metrics.assign(value=run.metrics["value"].where(keep, 12345.678))))
        return changed
    monkeypatch.setattr(published, "runs", nonsense)
    assert claims.targets().set_index("claim_id").loc["oltp-gain", "value"] == pytest.approx(12345.678 / 8543.3)
    again = predicted()
    pd.testing.assert_frame_equal(results, again)
    assert repr(claim_predictions.predictions(results, NOTEBOOK)) == repr(claim_predictions.predictions(again, NOTEBOOK))


@pytest.mark.slow
def test_another_baseline_changes_what_is_fitted_and_nothing_else(results, monkeypatch):
    """So the test above can fail. The baseline is three quarters of what the small machine does."""
    fit, rate = filebench_oltp.baseline(), 0.75 * results["before/summary.rate"].iloc[0]
    monkeypatch.setattr(filebench_oltp, "baseline", lambda: fit._replace(baseline=rate))
    again = predicted()
    pd.testing.assert_frame_equal(results[~results.fitted], again[~again.fitted])
    met = again[again.fitted & again.reached]
    assert len(met) >= 1
    assert met["before/summary.rate"].to_numpy() == pytest.approx(rate, rel=ensembles.MET)
    assert not results[results.fitted].equals(again[again.fitted])


@pytest.mark.slow
def test_runs_that_there_are_already_are_not_repeated_and_those_of_another_machine_not_taken(monkeypatch):
    machine = filebench_oltp.with_values(small(), priors.read(filebench_oltp.EXPERIMENT).central())
    runs, made, real = filebench_oltp.compare(machine, 1), [], filebench_oltp.run
    monkeypatch.setattr(filebench_oltp, "run", lambda *call: made.append(call) or real(*call))
    anew = filebench_oltp.predict(machine, 2, 2, 1)
    n_anew = len(made)
    pd.testing.assert_frame_equal(filebench_oltp.predict(machine, 2, 2, 1, runs), anew)
    assert len(made) == 2 * n_anew - 2
    other = small(n_shadows=6)
    pd.testing.assert_frame_equal(filebench_oltp.predict(other, 2, 2, 1, runs), filebench_oltp.predict(other, 2, 2, 1))


def test_the_one_number_fitted_on_is_the_throughput_before():
    assert filebench_oltp.baseline() == ensembles.Fit("overhead_ns", *filebench_oltp.FIT_RANGE_NS, "summary.rate", 8543.3)


def test_every_claim_of_the_notebook_is_predicted(results):
    claims_of_it = {claim.id for claim in claim_predictions.of_notebook(NOTEBOOK)}
    assert {"oltp-gain", "oltp-hog-cpu", "oltp-post-time", "oltp-log-wait"} <= claims_of_it
    assert claims_of_it <= set(claim_predictions.predictions(results, NOTEBOOK))


def test_every_row_of_the_transcripts_is_simulated(results):
    """But `random-rate`, which limits nothing."""
    of_rows = {name for run in published.runs() if run.run_id in filebench_oltp.PRINTED_RUNS.values()
               for name in run.metrics.name if name.split(".")[-1] in ("rate", "bandwidth", "response", "cpu")}
    simulated = {column.removeprefix("before/") for column in results if column.startswith("before/")}
    missing = {name for name in of_rows - simulated if not name.startswith("random-rate.")}
    assert all(name.endswith(".bandwidth") for name in missing)
    assert len(OF_PROCESSORS) == 19


def test_of_what_processors_make_only_hogs_choose_draws(results):
    """The rows were added with the printed ones in sight. Those of hogs say how many turns a hog has, and
    how long one takes."""
    effect, runs = filebench_oltp.EFFECT.of(results), tuple(filebench_oltp.PRINTED_RUNS.values())
    matched = history_matching.match(filebench_oltp.chosen_by(results), effect, *runs)
    names = set(matched.all.column.str.partition("/")[2])
    assert names & set(OF_PROCESSORS) == set(cpu_times.OF_HOGS)
    assert {"summary.rate", "summary.cpu", "shadowread.response"} <= names
    of_all = history_matching.match(results, effect, *runs).all.column.str.partition("/")[2]
    assert set(OF_PROCESSORS) <= set(of_all)


def test_a_search_for_one_machine_looks_at_the_rows_of_hogs_alone(results):
    drawn = filebench_oltp.drawn(**SMALL)
    draws, facts = nearest_machine.compared(drawn, results)
    assert draws is results
    assert set(facts.column.str.partition("/")[2]) & set(OF_PROCESSORS) == set(cpu_times.OF_HOGS)


def test_rows_beside_those_printed_are_the_transcripts_own():
    table = filebench_oltp.table(filebench_oltp.compare(filebench_oltp.setup(**SMALL), 1))
    rows = cpu_times.beside_printed(table, filebench_oltp.PRINTED_RUNS).set_index("row")
    assert rows.loc["shadowhog.cpu", ["before, printed", "after, printed"]].tolist() == [257, 255]
    assert rows.loc["lg-aiowait.response", "unit"] == "ms"
    assert rows.loc["dbwr-hog.cpu", "before"] == table.loc["dbwr-hog.cpu", "before"]


def test_what_never_returned_in_a_short_run_has_no_times():
    x = filebench_oltp.quantities(filebench_oltp.run(small(seconds=0.1), "after", 1), small(seconds=0.1))
    no_times = {name.partition(".")[0] for name, value in x.items() if np.isnan(value)}
    assert {"lg-block", "dbwr-block"} <= no_times
    assert not no_times & {"shadowread", "shadowhog", "summary", "dbwrite-a"}
    assert np.isnan(x["lg-block.response"])


def test_a_wait_for_posts_is_the_mean_of_those_measured():
    x = filebench_oltp.run(small(), "after", 1)
    of_blocks, q = x.operations[oltp.BLOCK], filebench_oltp.quantities(x, small())
    assert of_blocks[oltp.N_RETURNED] > 0
    assert q["dbwr-block.response"] == pytest.approx(of_blocks[oltp.RESPONSE_NS] / of_blocks[oltp.N_RETURNED] / 1e6)


def test_cpu_time_of_the_summary_is_that_of_io_alone():
    """A hog that takes ten times as long is not in it (stats.c), and is in its own row."""
    runs = [filebench_oltp.run(small()._replace(workload=small().workload._replace(hog_thousands=n)), "after", 1)
            for n in (20, 200)]
    (first, second), w = [filebench_oltp.quantities(x, small()) for x in runs], small().workload
    assert second["shadowhog.cpu"] - first["shadowhog.cpu"] == pytest.approx(9 * w.hog_ns / 1e3)
    assert second["summary.cpu"] == pytest.approx(first["summary.cpu"], rel=0.1)


def test_quantities_that_follow_from_each_other_do():
    runs = filebench_oltp.compare(filebench_oltp.setup(**SMALL), 1)
    q = filebench_oltp.quantities(runs.before, runs.machine)
    assert q["summary.rate"] == pytest.approx(q["shadowread.rate"] + q["dbwrite-a.rate"] + q["dbwr-aiowait.rate"]
                                              + q["lg-write.rate"] + q["lg-aiowait.rate"])
    assert q["shadowread.bandwidth"] == pytest.approx(q["shadowread.rate"] * 8 / 1024)
    assert q["shadowread.p50"] <= q["shadowread.p99"] <= runs.before.response_ns.max() / 1e6
    assert q["shadowread.response"] == pytest.approx(np.mean(runs.before.response_ns) / 1e6)


def test_a_slider_calls_what_the_run_calls():
    """The figure that a slider draws is that of the very comparison whose metrics are recorded."""
    def simulate(**changed):
        return filebench_oltp.compare(filebench_oltp.setup(**(SMALL | changed)), 1)
    def draw(runs):
        return filebench_oltp_pictures.throughput(runs, {"before": 9000.0, "after": 10_000.0})
    box = sliders.explore(NOTEBOOK, simulate, draw, max_pending=35, window=4)
    runs = filebench_oltp.compare(filebench_oltp.setup(**SMALL), 1)
    assert "of these values" in box.status.value
    assert box.picture.value == on_screen(draw, runs)
    pd.testing.assert_frame_equal(filebench_oltp.metrics(simulate()), filebench_oltp.metrics(runs))


def test_the_steps_lead_from_the_old_rule_to_the_new_one():
    runs = filebench_oltp.compare(filebench_oltp.setup(**SMALL), 1)
    table = filebench_oltp.steps(runs, 1).set_index("key").rate
    assert table["before"] == filebench_oltp.quantities(runs.before, runs.machine)["summary.rate"]
    assert table["after"] == filebench_oltp.quantities(runs.after, runs.machine)["summary.rate"]
    assert table["not-kept"] < table["after"]


def test_simpler_models_know_only_sizes_and_the_data_sheet():
    table = filebench_oltp.simpler_models(filebench_oltp.setup(**SMALL)).set_index("key").effect
    assert table["bytes"] == pytest.approx(350)
    assert table["ios"] == 0
    assert 0 < table["service"] < table["bytes"]


@pytest.mark.parametrize(("change", "words"), [
    ({"n_leaves": 0}, "n_leaves is 0"), ({"record_kib": 3}, "record_bytes is 3072"), ({"file_gib": 0.000001}, "file_bytes"),
    ({"seconds": 0.0}, "duration_ns is 0")])
def test_an_impossible_machine_is_one_sentence(change, words):
    with pytest.raises(ValueError, match=words) as caught:
        filebench_oltp.compare(filebench_oltp.setup(**(SMALL | change)), 1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", catalogue.STUDY[NOTEBOOK].parameters["disk"].choices)
def test_each_model_of_disk_runs_with_its_own_mechanics_and_the_queueing_asked_for(name):
    machine, of_2007 = (filebench_oltp.setup(**SMALL, disk=disk) for disk in (name, filebench_oltp.OF_2007))
    assert (machine.disk.rpm == of_2007.disk.rpm) == (name in (filebench_oltp.OF_2007, "sata-7k2-1tb"))
    assert (machine.disk.depth, machine.disk.window) == (filebench_oltp.NCQ_DEPTH, SMALL["window"])
    assert filebench_oltp.run(machine, "after", 1).reads_per_s > 0


def test_the_ensemble_is_of_the_disk_of_the_priors_whatever_a_reader_tries(results):
    machine = filebench_oltp.setup(**SMALL, disk="sas-15k-300")
    machine = machine._replace(settings=machine.settings._replace(memory_bytes=2**27))
    pd.testing.assert_frame_equal(filebench_oltp.predict(machine, 2, 2, 1), results)


def test_the_notebook_has_the_parameters_of_the_machine():
    known = catalogue.STUDY[NOTEBOOK].parameters
    assert set(SMALL) <= set(known)
    defaults = parameters.of_cell(NOTEBOOKS / f"{NOTEBOOK}.ipynb")
    filebench_oltp.setup(**{name: defaults[name] for name in SMALL})
    assert defaults["seconds"] == 120

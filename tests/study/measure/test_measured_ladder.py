"""The ladder, its plan, the samples and the prediction, without a server."""
import fcntl
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from study.commands.measure import notebook_of
from study.errors import UserError
from study.figures import measured as pictures
from study.ingest import given_runs, imports, measured
from study.machines import conf
from study.machines import simulate as machines
from study.measure import (
    cluster,
    device,
    ladder,
    plan,
    predicted,
    prediction_gap,
    processes,
    programs,
    provenance,
    sampling,
    sets,
)
from study.measure.programs import Programs
from study.measure.sampling import Moment
from study.project import DATA

RUNGS = ladder.rungs(ladder.QUICK, 8 * ladder.GIB, with_wal=True)
SHIPPED = sets.names()
TEST_RUN = {"set": "s", "rung": "defaults", "order": 1, "chosen": {"shared_buffers": "1GB"}}
DISK = "   8  0 sda 100 0 2000 9 50 0 400 9 0 30 40 0 0 0 0 7 5\n   8  1 sda1 1 0 8 0 0 0 0 0 0 0 0\n"


# --- rungs and plan -------------------------------------------------------------------------------------------------------

def test_every_rung_changes_one_that_is_there_and_every_setting_is_known():
    names = [rung.name for rung in RUNGS]
    assert len(set(names)) == len(names)
    assert [rung.name for rung in RUNGS if rung.against not in names] == ["defaults"]
    for rung in RUNGS:
        conf.check("postgres", rung.settings)
        assert bool(rung.unsafe) == any(rung.settings.get(name) == "off" for name in ladder.UNSAFE)


def test_a_single_change_changes_one_thing():
    by_name = {rung.name: rung for rung in RUNGS}
    for rung in RUNGS:
        if rung.against == ladder.BASE:
            base = by_name[ladder.BASE]
            differs = dict(rung.settings.items() - base.settings.items())
            assert len(differs) + (rung.scale != base.scale) + (rung.clients != base.clients) + rung.wal_apart == 1


def test_a_rung_brings_those_it_builds_on_and_an_unknown_one_is_refused():
    assert [rung.name for rung in ladder.chosen(RUNGS, ["commit-delay"])] == ["defaults", "memory", "checkpoints",
                                                                           "commit-delay"]
    with pytest.raises(UserError, match="--rung is fast, but the rungs are defaults"):
        ladder.chosen(RUNGS, ["fast"])


def test_the_order_is_of_the_seed_and_each_repeat_has_every_rung_once():
    sizes = ladder.QUICK._replace(repeats=3)
    first, same, other = (plan.of(RUNGS, sizes, seed) for seed in (1, 1, 2))
    assert first == same
    assert [run.rung.name for run in first.runs] != [run.rung.name for run in other.runs]
    for repeat in (1, 2, 3):
        assert sorted(run.rung.name for run in first.runs if run.repeat == repeat) == sorted(rung.name for rung in RUNGS)
    assert [run.order for run in first.runs] == list(range(1, 3 * len(RUNGS) + 1))


def test_quick_takes_under_three_minutes_by_its_own_estimate():
    assert plan.of(RUNGS, ladder.QUICK, 1).seconds < 180


def test_a_ladder_too_large_for_the_disk_is_refused_with_figures(tmp_path, monkeypatch):
    sizes = ladder.QUICK._replace(scale=1000)
    to_do = plan.of(ladder.rungs(sizes, 8 * ladder.GIB, with_wal=False), sizes, 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100 * 2**30, 80 * 2**30, 20 * 2**30))
    with pytest.raises(UserError, match=r"may take 1\d\d\.\d\d GiB in .*, but 20\.00 GiB are free and 5\.00 of these stay"):
        plan.refuse_too_large(to_do, tmp_path, None)


def test_a_ladder_too_large_for_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "free_memory_bytes", lambda: 2**29)
    with pytest.raises(UserError, match=r"of memory, but 0\.50 GiB are free"):
        plan.refuse_too_large(plan.of(RUNGS, ladder.QUICK, 1), tmp_path, None)


# --- programs and cluster -------------------------------------------------------------------------------------------------

def test_a_folder_without_programs_is_refused(tmp_path):
    with pytest.raises(UserError, match="which has no initdb and no postgres and no pgbench and no psql"):
        programs.named(tmp_path)


@pytest.mark.parametrize(("says", "complaint"), [("pgbench (PostgreSQL) 9.6.24", "has PostgreSQL 9, but releases 14 to 18"),
                                                 ("hello", "does not say its version")])
def test_programs_of_another_release_are_refused(tmp_path, says, complaint):
    for name in programs.NEEDED:
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(UserError, match=complaint):
        programs.named(tmp_path)


@pytest.fixture
def open_folder():
    """A folder that every user may enter, as those of pytest are not."""
    path = Path(tempfile.mkdtemp(prefix="study-test-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def test_a_path_too_long_for_a_socket_is_refused_before_anything_runs(open_folder):
    deep = open_folder / ("d" * 80)
    deep.mkdir(mode=0o755)
    (deep / "postgres").write_text("#!/bin/sh\nexit 1\n")
    (deep / "postgres").chmod(0o755)
    with pytest.raises(UserError, match=f"bytes, but the system takes {cluster.SOCKET_BYTES}; choose a --dir"), \
            cluster.private(Programs(deep, 18, "18.0", None), deep):
        pass
    assert [path.name for path in deep.iterdir()] == ["postgres"]


def test_what_a_killed_command_left_is_removed_and_what_is_in_use_stays(tmp_path):
    left, used, other = (tmp_path / name for name in ("study-measure-left", "study-measure-used", "something-else"))
    for folder in (left, used, other):
        folder.mkdir()
        os.utime(folder, (0, 0))
    lock = os.open(used, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with subprocess.Popen(["sleep", "600"], cwd=left) as process:
        assert cluster.remove_left(tmp_path) == [left]
        assert process.wait(60) == -signal.SIGKILL
    os.close(lock)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["something-else", "study-measure-used"]


@pytest.mark.parametrize("number", processes.SIGNALS)
def test_a_signal_ends_what_waits_and_not_what_tidies_up(number):
    tidied = []

    def work():
        with processes.stoppable():
            try:
                os.kill(os.getpid(), number)
                processes.waited(waiting, 0.01)
            finally:
                processes.end(waiting, signal.SIGTERM)
                tidied.append(True)
    waiting = processes.start(["sleep", "600"], processes.Owner(None, None), Path("/"))
    with pytest.raises(processes.Stopped) as stopped:
        work()
    assert (tidied, stopped.value.number) == ([True], number)


# --- samples and provenance -----------------------------------------------------------------------------------------------

def test_counters_of_disks_are_in_bytes_and_seconds_and_old_kernels_lack_some():
    counted = sampling.disk_counters(DISK, ["sda", "sda1"])
    assert counted["sda"] == {"reads": 100, "read_bytes": 1024000, "writes": 50, "written_bytes": 204800, "busy": 0.03,
                              "flushes": 7}
    assert "flushes" not in counted["sda1"]


def test_rates_are_differences_over_the_time_between_and_shares_add_up_to_one():
    ticks = [{"user": 10.0, "system": 5.0, "waiting": 0.0, "stolen": 1.0, "idle": 100.0, "ours": 4.0},
             {"user": 110.0, "system": 55.0, "waiting": 10.0, "stolen": 1.0, "idle": 140.0, "ours": 54.0}]
    samples = sampling.Samples(
        [Moment(10.0, {"sda": {"reads": 5.0}}), Moment(12.0, {"sda": {"reads": 25.0}})],
        [Moment(10.0 + n, {"": counters}) for n, counters in enumerate(ticks)], [])
    made = sampling.series(samples)
    assert made["disk"]["rows"][0][:3] == [12.0, "sda", 10.0]
    assert made["disk"]["rows"][0][3] is None
    [row] = made["processors"]["rows"]
    assert sum(row[2:7]) == pytest.approx(1)
    assert row[7] == pytest.approx(50 / 200)
    assert made["postgres"]["rows"] == []


def test_provenance_names_neither_the_host_nor_a_path(tmp_path):
    described = json.dumps([provenance.host(), provenance.place(tmp_path).described])
    assert platform.node() not in described or len(platform.node()) < 4
    assert str(tmp_path.parent) not in described
    assert provenance.place(tmp_path).described["filesystem"]


# --- the importer ---------------------------------------------------------------------------------------------------------

def written(folder, **series):
    measured.write(folder / measured.FILE, TEST_RUN, series)
    return given_runs.given([folder])[0]


def test_a_run_comes_back_as_it_was_written(runs, tmp_path):
    rows = [[1e9 + n, "sda", float(n), None] for n in range(1, 4)]
    run = written(tmp_path, disk={"columns": ["reads", "busy"], "units": ["1/s", "1"], "rows": rows})
    report = imports.imported(run, imports.Options())
    [(known, folder)] = imports.kept()
    assert known["parameters"]["measure.chosen.shared_buffers"] == "1GB"
    table = pd.read_parquet(folder / "observations.parquet")
    assert list(table.value) == [1, 2, 3]
    assert (report.status, set(table.subject), set(table.unit), list(table.t)) == ("ok", {"sda"}, {"1/s"}, [0, 1, 2])


@pytest.mark.parametrize("series", [
    {"columns": ["reads"], "units": [], "rows": [[1.0, "sda", 2.0]]},
    {"columns": ["reads"], "units": ["1/s"], "rows": [[1.0, "sda"]]},
    {"columns": ["reads"], "units": ["1/s"], "rows": [["sda", 1.0, 2.0]]},
    {"columns": ["'; DROP TABLE runs"], "units": ["1/s"], "rows": []}])
def test_a_damaged_file_is_refused(runs, tmp_path, series):
    with pytest.raises(UserError, match="nothing of it was imported"):
        imports.imported(written(tmp_path, disk=series), imports.Options())
    assert not list(imports.kept())


# --- the device by fio ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", SHIPPED)
def test_jobs_of_fio_are_known_by_their_options_not_their_names(name):
    of = sets.shipped(name)
    params, totals = of.fio[0]
    jobs = [job.name for job in device.jobs(params)]
    renamed = ({_renamed(key, jobs): value for key, value in params.items()},
               {_renamed(key, jobs, "fio."): value for key, value in totals.items()})
    assert device.numbers(of._replace(fio=[renamed])) == device.numbers(of._replace(fio=[of.fio[0]]))


def _renamed(key, jobs, before=""):
    for n, job in enumerate(jobs):
        if key.startswith(f"{before}{job}."):
            return f"{before}job{n}{key.removeprefix(f'{before}{job}')}"
    return key


@pytest.mark.parametrize("name", SHIPPED)
def test_all_jobs_that_are_missing_are_named(name):
    of = sets.shipped(name)
    params, totals = of.fio[0]
    less = {key: value for key, value in totals.items() if not key.startswith(("fio.flush.", "fio.read-one."))}
    with pytest.raises(UserError, match=r"has no job like read-one, flush; data/measured/device\.fio"):
        device.numbers(of._replace(fio=[(params, less)]))
    with pytest.raises(UserError, match="has no output of fio"):
        device.numbers(of._replace(fio=[]))


@pytest.mark.parametrize("name", SHIPPED)
def test_no_number_of_the_sheet_is_left_but_its_size_and_form(name):
    of = sets.shipped(name)
    machine = predicted.base(of)
    known = device.known_with(machines.known([machine]), device.numbers(of))
    fitted = {prior.name.removeprefix(f"{device.FORM}.") for prior in known.priors if prior.of == "device"}
    fields = set(machines.sheet(device.FORM).params._fields)
    assert fields - fitted == {"disk_bytes", "buffer_bytes", "is_volatile", "random_rate"}


# --- the shipped set ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_set_is_whole_and_names_no_machine(name):
    of = sets.shipped(name)
    rates = sets.rates(of)
    assert set(rates.rung) == {rung.name for rung in RUNGS}
    assert (rates.n == 3).all()
    assert (rates.low > 0).all()
    for path in (DATA / "measured" / name).rglob("*.*"):
        text = path.read_text()
        assert not any(word in text for word in ("/home", "/root", "/tmp", "/var", '"hostname"')), path


@pytest.mark.parametrize("name", SHIPPED)
def test_the_prediction_reads_nothing_that_was_measured_of_the_database(name):
    of = sets.shipped(name)
    nonsense = of._replace(runs=[run._replace(totals={}, samples=pd.DataFrame()) for run in of.runs])
    assert predicted.scenarios(nonsense) == predicted.scenarios(of)
    assert device.numbers(nonsense) == device.numbers(of)
    assert predicted.blind(name).keys() == predicted.scenarios(of).keys()
    with pytest.raises(UserError, match="would not be blind"):
        predicted.commit(of)


def test_a_log_on_another_device_is_not_predicted():
    of = sets.shipped(SHIPPED[0])
    other = of._replace(runs=[run._replace(params=run.params | {"machine.log.device_is": "another"}) for run in of.runs])
    assert predicted.scenarios(of).keys() - predicted.scenarios(other).keys() == {"log-apart"}


def test_without_an_output_of_fio_a_ladder_is_drawn_as_measured_and_nothing_is_graded():
    name = SHIPPED[0]
    of = sets.shipped(name)._replace(name="mine", fio=[])
    cells, how = predicted.of(of, 2)
    assert (cells, predicted.n_draws(cells), how) == ({}, 0, predicted.WITHOUT_FIO)
    rates, steps = predicted.compared(of, cells), predicted.compared_steps(of, cells)
    assert rates.measured.tolist() == sets.rates(of).tps.tolist()
    for table, picture in ((rates, pictures.rates), (steps, pictures.steps)):
        assert table.middle.isna().all()
        assert set(predicted.graded(table, 0)) == {predicted.NOT_PREDICTED}
        drawn = picture(table).axes[0].get_legend_handles_labels()[1]
        assert drawn == ["measured, all runs"]
    assert "fio" in predicted.verdict(rates, steps)
    assert "nothing to explain" in prediction_gap.sentence(prediction_gap.table(of, "checkpoints", 1), None)


def test_a_rung_that_is_not_predicted_is_shown_and_takes_no_part_in_the_score():
    of, cells = sets.shipped(SHIPPED[0]), predicted.blind(SHIPPED[0])
    less = {name: cell for name, cell in cells.items() if name != "log-apart"}
    every, most = predicted.compared(of, cells), predicted.compared(of, less)
    assert most.rung.tolist() == every.rung.tolist()
    assert predicted.graded(most, 8)[most.rung.tolist().index("log-apart")] == predicted.NOT_PREDICTED
    assert f"Of {len(every) - 1} measured rates" in predicted.verdict(most, predicted.compared_steps(of, less))


def test_a_set_that_is_none_is_refused(runs):
    with pytest.raises(UserError, match="no ladder called 'mine' was measured"):
        sets.read("mine")


def test_only_steps_that_are_clear_in_all_runs_have_a_side():
    steps = pd.DataFrame({"measured_low": [1.2, 0.5, 0.9, 0.2], "measured_high": [1.5, 0.8, 1.6, 0.3],
                          "middle": [1.3, 1.0, 2.0, 0.5], "n": 3})
    assert predicted.directions(steps) == (3, 2)
    assert predicted.directions(steps.assign(n=[3, 3, 3, 2])) == (2, 1)
    assert predicted.directions(steps.assign(n=1)) == (0, 0)       # one run lies on one side of 1 by itself


def test_runs_that_spread_more_are_not_met_more_easily():
    table = pd.DataFrame({"measured": [2.0, 2.0], "measured_low": [1.9, 0.1], "measured_high": [2.1, 9.0], "low": 0.9,
                          "middle": 1.0, "high": 1.1})
    assert len(set(predicted.graded(table, 20))) == 1


def test_rungs_stand_below_what_they_change():
    rates = list(sets.rates(sets.shipped(SHIPPED[0])).rung)
    against = {rung.name: rung.against for rung in RUNGS}
    for name in rates:
        assert against[name] == "" or rates.index(against[name]) < rates.index(name)


def test_what_was_sampled_is_within_what_can_be():
    seen = prediction_gap.sampled(sets.shipped(SHIPPED[0]))
    assert (seen.others >= 0).all()
    assert (seen.ours + seen.others <= 1 + 1e-6).all()
    assert seen.per_sync["one-client"] == pytest.approx(1, abs=0.05)       # nobody to share a sync with
    assert seen.per_sync["synchronous-commit-off"] > 10
    assert seen.wal_bytes["full-page-writes-off"] < seen.wal_bytes["checkpoints"]


def test_the_nearest_mechanism_is_nearest_in_either_direction():
    table = pd.DataFrame({"mechanism": [prediction_gap.OTHERS, prediction_gap.TIME, prediction_gap.SYNC, prediction_gap.ALL],
                          "factor": [0.5, 3.0, 1.8, 1.0]})
    assert prediction_gap.nearest(table) == prediction_gap.SYNC
    assert prediction_gap.SYNC in prediction_gap.sentence(table, pd.Series({"others": 0.01, "ours": 0.97}))
    assert "No mechanism" in prediction_gap.sentence(table, pd.Series({"others": 0.6, "ours": 0.39}))
    assert prediction_gap.SYNC in prediction_gap.sentence(table, pd.Series({"others": 0.2, "ours": 0.3}))


@pytest.mark.parametrize("label", ["mine", "O'Brien; DROP TABLE runs; --", 'a "b" $(c)'])
def test_the_command_that_is_told_is_the_label_for_a_shell(label):
    assert shlex.split(notebook_of(label)) == ["study", "run", "12", "-p", f"measured={label}"]


def test_a_rung_whose_log_lies_on_another_device_is_not_predicted_and_that_is_told():
    same = sets.shipped("virtual-machine-quiet")
    assert predicted.not_predicted(same) == ""
    other = {"machine.log.device_is": "another", "machine.log.filesystem": "tmpfs"}
    apart = same._replace(runs=[run._replace(params=run.params | other) for run in same.runs])
    assert "log-apart" not in predicted.scenarios(apart)
    sentence = predicted.not_predicted(apart)
    assert sentence.startswith("Measured and not predicted: log-apart.")
    assert "(tmpfs)" in sentence
    [measured_tps] = sets.rates(apart).set_index("rung").tps[["log-apart"]]
    assert f"TPS: {measured_tps:,.0f}." in sentence

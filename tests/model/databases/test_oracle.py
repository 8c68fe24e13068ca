"""Oracle under order entry: against theory of caches and of checkpoints, with defects that break it; and on ZFS."""
import json

import pytest
from conftest import one_sentence

from model.databases.oracle.state import Settings
from model.events.clock import MS
from model.simulations.database_server import on_device, simulate_oracle
from study import project
from study.errors import UserError
from study.machines import power_cut_risks, scenario
from study.machines import simulate as machines
from study.predictions import advise, predict, tuning_steps
from support.processes import interpreted

ALONE = Settings(1, 300, n_cpus=1, cpu_ns=2 * MS, n_blocks=2000, cache_bytes=2**25, log_file_bytes=2**30, changed_share=1.0)
WAL = 3 * MS


@pytest.mark.slow
def test_defects_are_noticed_by_the_laws():
    for defect, (without, noticed) in json.loads(interpreted("defects.oracle")).items():
        assert not without, f"{defect}: the law is broken without it"
        assert noticed, defect


# ---- on a device of constant times ----


@pytest.mark.slow
def test_one_user_who_finds_everything_waits_for_processor_and_log_alone():
    run = simulate_oracle(ALONE, on_device(wal_ns=WAL))
    assert run.counts["reads"] == 0
    assert set(run.response_ns) == {ALONE.cpu_ns + WAL}
    assert run.counts["flushes"] == run.counts["commits"]


def test_littles_law_holds():
    s = ALONE._replace(n_users=8, n_cpus=2, n_transactions=4000, cache_bytes=2**23, changed_share=0.5)
    run = simulate_oracle(s, on_device(read_ns=MS, wal_ns=WAL, write_ns=MS))
    assert run.tps * run.response_ns.mean() / 1e9 == pytest.approx(s.n_users, rel=0.01)


def test_users_share_writes_of_the_log():
    """None waits for more than the write under way and the next one."""
    s = ALONE._replace(n_users=20, n_cpus=20, n_transactions=2000)
    run = simulate_oracle(s, on_device(wal_ns=WAL))
    assert run.counts["flushes"] < run.counts["commits"] / 4
    assert run.response_ns.max() <= s.cpu_ns + 2 * WAL


@pytest.mark.parametrize(("wrong", "word"), [({"cache_bytes": 2**16}, "buffers"), ({"n_log_files": 1}, "n_log_files"),
                                             ({"cpu_ns": 0}, "no time at all"), ({"changed_share": 2}, "changed_share")])
def test_an_instance_that_cannot_be_is_one_sentence(wrong, word):
    with pytest.raises(ValueError, match=word):
        simulate_oracle(ALONE._replace(**wrong))


# ---- on ZFS ----

SMALL = {"host": {"memory_gib": 2}, "files": {"era": "b141", "record_kib": 8, "log_record_kib": 128, "warm": False},
         "pool": {"data": {"sheet": "savvio-10k2", "count": 2, "layout": "mirror"}},
         "database": {"kind": "oracle", "gib": 1, "clients": 16, "seconds": 40,
                      "conf": {"db_cache_size": "128M", "redo_log_size": "32M"}}}


@pytest.fixture(scope="module")
def ran():
    """One run of each machine, by best guess."""
    known = {}

    def outcome(**changes):
        machine = scenario.changed(scenario.of(SMALL), {path.replace("__", "."): to for path, to in changes.items()})
        key = machine.model_dump_json()
        if key not in known:
            known[key] = machines.simulate(machine, machines.known([machine], "oracle").central(), seed=1)
        return known[key]
    return outcome


def test_a_record_larger_than_a_block_is_read_before_it_is_written(ran):
    """Records of the blocks' size: a read for each miss, and nothing else is read but block pointers. Records of 128 KiB:
    each read is sixteen times as much, and there are more, for writes of blocks whose record has left the ARC."""
    small, large = ran(), ran(files__record_kib=128)
    bytes_read = [run.devices["data"]["read_bytes"] / run.counts["reads"] for run in (small, large)]
    assert bytes_read[0] < 2 * 8192
    assert bytes_read[1] > 4 * 8192
    assert large.tps < small.tps


def test_a_log_device_never_slows_commits(ran):
    without, with_it = ran(), ran(pool__log={"sheet": "x25-e"})
    assert with_it.tps > 0.98 * without.tps
    assert with_it.devices["log"]["writes"] > 0


def test_bias_to_throughput_keeps_data_off_the_log_device(ran):
    both = ran(pool__log={"sheet": "x25-e"})
    redo = ran(pool__log={"sheet": "x25-e"}, files__logbias="throughput", files__log_logbias="latency")
    written = [run.devices["log"]["written_bytes"] / run.counts["commits"] for run in (both, redo)]
    assert written[1] < written[0] / 2
    assert written[1] > 0.9 * redo.wal_bytes


def test_without_its_intent_log_a_commit_is_faster(ran):
    assert ran(files__zil=False).tps > ran().tps


def test_what_it_writes_through_is_a_commit_of_the_file_system(ran):
    run = ran()
    assert run.result.machine.s.n_users == 16
    assert run.counts["block_writes"] > run.counts["commits"]
    assert run.devices["data"]["written_bytes"] > run.counts["block_writes"] * 8192


# ---- scenarios and advice ----


def test_dangers_of_the_file_system_are_its_own_too():
    machine = scenario.changed(scenario.of(SMALL), {"files.zil": False})
    assert power_cut_risks.dangers(machine) == (power_cut_risks.NO_ZIL,)
    assert power_cut_risks.dangers(scenario.of(SMALL)) == ()


@pytest.mark.parametrize(("changes", "word"), [
    ({"files": {"kind": "ufs"}}, "Oracle is simulated on ZFS only"),
    ({"database.clients": 0}, "without a client"),
    ({"database.gib": 100}, None),
    ({"database.conf": {"db_cache_size": "3G"}}, "more than the memory"),
    ({"database.conf": {"sga_target": "3G"}}, "sga_target"),
])
def test_what_cannot_be_is_one_sentence(changes, word):
    if word is None:
        machine = scenario.changed(scenario.of(SMALL), changes | {"pool.data.use_gib": 50})
        with pytest.raises(UserError, match="choose a smaller one or more disks"):
            machines.checked(machine)
        return
    with pytest.raises(UserError, match=word):
        scenario.changed(scenario.of(SMALL), changes)


def test_predictions_have_every_quantity():
    machine = scenario.changed(scenario.of(SMALL), {"database.seconds": 3})
    prediction = predict.interval(machine, draws=2)
    assert {"tps", "response mean", "wal per transaction", "data: reads"} <= set(prediction.table.quantity)
    assert (prediction.runs.tps > 0).all()


def test_every_recipe_for_it_is_a_switch_or_says_why_not():
    machine, spare = advise.read(project.DATA / "machines" / "two-disks-and-an-ssd.toml", "oracle")
    steps = tuning_steps.steps(machine, spare)
    tried = {step.recipe.id for step in steps if step.after is not None}
    assert {"recordsize-block", "primarycache", "cache-device", "log-device", "log-pool", "logbias-of-data"} <= tried
    assert all(step.why_not for step in steps if step.after is None)


def test_a_scenario_of_it_without_disks_is_one_sentence(study, tmp_path):
    (tmp_path / "one.toml").write_text('[pool.data]\nsheet = "x25-e"\ncount = 0\n[database]\nkind = "oracle"\n')
    assert "no pool without a disk" in one_sentence(study("predict", tmp_path / "one.toml"))

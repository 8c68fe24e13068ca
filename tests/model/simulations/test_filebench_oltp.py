"""The OLTP simulation: laws of every run, theory of closed networks, determinism, and defects that must be noticed."""

import json

import numpy as np
import pytest

from defects.filebench_oltp import DEFECTS
from laws.filebench_oltp import FREE, LAWS, MANY, mva
from model.devices import drive_columns as queued
from model.devices.data_sheet import SheetParams
from model.events.streams import stream
from model.jit import lent_memory
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp import run as filebench_run
from model.simulations.filebench_oltp.filebench import Workload
from model.simulations.filebench_oltp.run import preallocated_core, simulate
from model.simulations.filebench_oltp.state import Room, Settings, new_site
from model.simulations.rules import rules_of
from model.zfs.arc import columns as header
from model.zfs.arc import scalars as scalar
from model.zfs.arc.arc import greatest_c
from model.zfs.arc.lists import MFU, MRU, MRU_GHOST, total_bytes
from model.zfs.eras import era
from model.zfs.vdev import recorder_columns as recorded
from model.zfs.vdev.cache import MAY_NOT_FILL
from model.zfs.vdev.leaves import new_recorder
from model.zfs.vdev.places import FRONT_BYTES
from support.processes import interpreted

SECOND = 10**9
SMALL = Workload(file_bytes=2**27)


@pytest.fixture(scope="module")
def site():
    return new_site(SMALL, 6)


@pytest.fixture(scope="module")
def runs(site):
    """Runs of 8 s under some rules, each with its recorder."""
    settings = Settings(n_leaves=6, duration_ns=8 * SECOND, txg_ns=2 * SECOND)
    plain, queueing = SheetParams(), SheetParams(depth=32, window=32, buffers_writes=0)
    rules = {"onnv_69": rules_of("onnv_69", plain), "onnv_70, NCQ": rules_of("onnv_70", queueing),
             "b141": rules_of("b141", plain)}
    issue = {name: era(name.partition(",")[0]).issue for name in rules}
    x = {name: simulate(site, r, settings._replace(issue=issue[name]), recorder=new_recorder(2, 200_000))
         for name, r in rules.items()}
    x["little memory"] = simulate(site, rules["onnv_69"], settings._replace(memory_bytes=2**25), 0, new_recorder(2, 200_000))
    return x


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("name", ["onnv_69", "onnv_70, NCQ", "b141", "little memory"])
def test_the_law_holds_exactly(runs, name, law):
    assert LAWS[law](runs[name])


def test_transaction_groups_write_what_was_dirtied_and_all_that_stands_above(runs):
    c = runs["onnv_69"].counts
    assert c["txgs"] >= 1
    assert c["records_written"] <= c["writes_done"] + 32 * c["log_writes_done"]
    assert 0 < c["indirect_written"] <= c["records_written"] * 3


def test_what_lent_memory_held_before_changes_nothing(site):
    settings = Settings(n_leaves=6, duration_ns=2 * SECOND, txg_ns=SECOND // 2)
    x = simulate(site, rules_of("onnv_70"), settings)
    counts, response_ns = dict(x.counts), x.response_ns.copy()
    del x
    assert lent_memory._spare
    for memory in lent_memory._spare.values():
        memory.fill(0xA5)
    again = simulate(site, rules_of("onnv_70"), settings)
    assert dict(again.counts) == counts
    np.testing.assert_array_equal(again.response_ns, response_ns)


def test_memory_that_is_too_small_costs_hits_and_memory_that_is_not_changes_nothing(site, runs):
    settings = Settings(n_leaves=6, duration_ns=8 * SECOND, txg_ns=2 * SECOND, memory_bytes=2**40)
    more = simulate(site, rules_of("onnv_69", SheetParams()), settings)
    assert (more.response_ns == runs["onnv_69"].response_ns).all()
    little, plenty = runs["little memory"].counts, more.counts
    assert little["read_hits"] / little["reads_done"] < plenty["read_hits"] / plenty["reads_done"]
    assert runs["little memory"].machine.arc.n_bytes[MRU_GHOST:].sum() > 0


def test_a_record_from_a_disk_costs_the_reader_processor_time(site, runs):
    """Of a reader no more records come from disks than its processor time allows."""
    settings = Settings(n_leaves=6, duration_ns=8 * SECOND, txg_ns=2 * SECOND, memory_bytes=2**25, read_issue_ns=400_000_000,
                        n_cpus=MANY)
    x = simulate(site, rules_of("onnv_69", SheetParams()), settings)
    at_most = site.workload.n_shadows * (settings.duration_ns / settings.read_issue_ns + 1)
    assert 0.7 * at_most < x.counts["data_reads"] <= at_most < runs["little memory"].counts["data_reads"]


def test_the_same_seed_gives_the_same_bits_and_another_one_others(site):
    settings = Settings(n_leaves=6, duration_ns=SECOND)
    first, same, differing = (simulate(site, rules_of("onnv_69"), settings, seed) for seed in (1, 1, 2))
    assert (first.response_ns == same.response_ns).all()
    assert (first.busy_ns == same.busy_ns).all()
    assert len(first.response_ns) != len(differing.response_ns) or (first.response_ns != differing.response_ns).any()


def test_too_little_room_is_made_up_for_and_changes_nothing(site, monkeypatch):
    settings = Settings(n_leaves=6, duration_ns=SECOND, txg_ns=SECOND // 4)
    plenty = simulate(site, rules_of("onnv_69"), settings)
    monkeypatch.setattr(filebench_run, "first_room", lambda settings: Room(n_draws=10, n_ios=300, n_entries=60, n_nodes=500))
    scarce = simulate(site, rules_of("onnv_69"), settings)
    assert (plenty.response_ns == scarce.response_ns).all()
    assert plenty.counts == scarce.counts


def test_indirect_blocks_that_begin_in_core_of_too_little_memory_all_have_headers():
    settings = Settings(n_leaves=6, duration_ns=SECOND, memory_bytes=2**22, warm_indirect=1)
    x = simulate(new_site(Workload(file_bytes=2**28), 6), rules_of("onnv_69"), settings)
    files, arc = x.machine.files, x.machine.arc
    assert files.n_blocks - files.n_records > filebench_run.first_room(settings).n_nodes
    assert arc.scalars[scalar.N_NODES] <= len(arc.nodes)


# ---- what is recorded of a disk, and a rule that never was ----


def test_the_commands_recorded_are_all_that_the_disk_began_to_serve(site):
    settings, recorder = Settings(n_leaves=6, duration_ns=4 * SECOND, txg_ns=SECOND), new_recorder(2, 0, 100_000)
    x = simulate(site, rules_of("onnv_69"), settings, 0, recorder)
    began, ends, offset, n_bytes, n_held, n_waiting = recorder.commands[:recorder.n[recorded.COMMANDS]].T
    served, units = ends < settings.duration_ns, x.leaves.drives.units[2]
    assert (served.sum(), (ends - began).sum()) == (units[queued.N_SERVED], units[queued.SERVICE_NS])
    assert n_bytes.sum() == units[queued.SERVED_BYTES]
    assert (began[1:] >= ends[:-1]).all()
    assert (offset >= FRONT_BYTES).all()
    assert n_held.min() >= 1
    assert n_waiting.min() == 0 < n_waiting.max()


def test_whole_lines_moved_for_nothing_cost_what_fills_cost_and_leave_no_line(site):
    settings = Settings(n_leaves=6, duration_ns=4 * SECOND, txg_ns=1000 * SECOND, warm_indirect=1)
    rules, line = rules_of("onnv_70"), 2**16
    rules = rules._replace(queue=rules.queue._replace(aggregation_bytes=0))
    plain, moved = (simulate(site, rules._replace(moves_whole_lines=flag), settings, 0, new_recorder(2, 0, 100_000))
                    for flag in (0, 1))
    for x, n_bytes in ((plain, 8192), (moved, line)):
        rows = x.leaves.recorder.commands[:x.leaves.recorder.n[recorded.COMMANDS]]
        assert len(rows) > 100
        assert (rows[:, recorded.BYTES] == n_bytes).all()
        assert (rows[:, recorded.OFFSET] % n_bytes == 0).all()
        assert x.outcomes.sum() == x.outcomes[0, MAY_NOT_FILL]
        assert x.leaves.cache.n_lines.sum() == 0
    assert moved.reads_per_s < plain.reads_per_s


# ---- theory ----


def closed_network(n_leaves, n_shadows, think_ns, service_ns, seed=0):
    """(operations per second in each of 20 batches, MVA) of readers without caches and writers, with drawn services."""
    workload = Workload(n_files=1, file_bytes=2**31, n_shadows=n_shadows, n_writers=0, **FREE | {"hog_ns": think_ns})
    site = new_site(workload, n_leaves)
    rules = rules_of("onnv_69", drawn_ns=service_ns)
    rules = rules._replace(cache=rules.cache._replace(max_read_bytes=1), queue=rules.queue._replace(aggregation_bytes=0))
    settings = Settings(n_leaves=n_leaves, duration_ns=210 * SECOND, txg_ns=1000 * SECOND, warm_indirect=1, keeps_records=0,
                        n_cpus=MANY)
    x = simulate(site, rules, settings, seed)
    visits = np.bincount(site.layout.place[:workload.file_bytes // 8192] >> 48, minlength=n_leaves)
    expected = mva(n_shadows, think_ns / 1e9, visits / visits.sum() * service_ns.mean() / 1e9)
    return x.per_second[oltp.READS_IN, 10:].reshape(20, 10).mean(axis=1), expected


def is_within_limits(batches, expected):
    """Whether `expected` lies within 99.9 % confidence limits of the mean of the batches (Student, 19 degrees)."""
    return abs(batches.mean() - expected) < 3.88 * batches.std(ddof=1) / np.sqrt(len(batches))


@pytest.mark.parametrize(("n_leaves", "n_shadows", "think_ms"), [(1, 4, 30), (1, 30, 200), (8, 40, 20)])
def test_a_closed_network_with_exponential_services_agrees_with_mva(n_leaves, n_shadows, think_ms):
    """One leaf is the machine repairman."""
    drawn = (-np.log1p(-stream(5, "services").random(2**18)) * 8e6).astype(np.int64)
    batches, expected = closed_network(n_leaves, n_shadows, think_ms * 10**6, drawn)
    assert batches.std(ddof=1) / np.sqrt(20) < 0.01 * expected
    assert is_within_limits(batches, expected)


def test_services_that_are_not_exponential_do_not_agree_with_mva():
    batches, expected = closed_network(8, 40, 20 * 10**6, np.full(16, 8 * 10**6))
    assert not is_within_limits(batches, expected)


# ---- what cannot be ----


@pytest.mark.parametrize(("change", "words"), [
    (lambda: new_site(SMALL, 0), "n_leaves is 0"),
    (lambda: new_site(SMALL._replace(file_bytes=4096)), "file_bytes is 4096"),
    (lambda: new_site(SMALL, 6, first_byte=-5), "first_byte is -5"),
    (lambda: new_site(SMALL._replace(record_bytes=5000)), "record_bytes is 5000"),
    (lambda: rules_of("onnv_69", SheetParams(average_seek_ns=-1)), "average_seek_ns of a disk is -1"),
    (lambda: rules_of("onnv_1"), "era is 'onnv_1'"),
])
def test_an_impossible_machine_is_one_sentence(change, words):
    with pytest.raises(ValueError, match=words + ".*; choose|" + words + ".*; make") as error:
        change()
    assert "\n" not in str(error.value)


def test_impossible_settings_are_one_sentence(site):
    for settings, words in ((Settings(n_leaves=7), "n_leaves is 7"), (Settings(n_leaves=6, txg_ns=0), "txg_ns is 0"),
                            (Settings(n_leaves=6, n_cpus=0), "n_cpus is 0"),
                            (Settings(n_leaves=6, n_cpus=257), "n_cpus is 257"),
                            (Settings(n_leaves=6, memory_bytes=2**20), "memory_bytes is 1048576")):
        with pytest.raises(ValueError, match=words + ".*; choose"):
            simulate(site, rules_of("onnv_69"), settings)


@pytest.mark.parametrize("first_byte", [SheetParams().disk_bytes, SheetParams().disk_bytes - 2**28])
def test_files_that_do_not_fit_on_the_disks_are_one_sentence(first_byte):
    """At the start, or in the middle of the run."""
    site = new_site(SMALL, 6, first_byte=first_byte)
    with pytest.raises(ValueError, match=r"the files end at byte .* of a disk of .* bytes, .*[.] Choose"):
        simulate(site, rules_of("onnv_69"), Settings(n_leaves=6, duration_ns=40 * SECOND))


# ---- defects ----


@pytest.mark.slow
def test_each_defect_is_noticed_by_its_law():
    failed = json.loads(interpreted("defects.filebench_oltp"))
    assert failed["none"] == []
    for name, (*_, law) in DEFECTS.items():
        assert law is None or law in failed[name], (name, failed[name])


# ---- what preallocation leaves in core ----


def test_the_end_of_the_files_is_in_core_after_they_were_written():
    """As much as fits, records and the indirect blocks above them, in order of writing; nothing of what came before."""
    site = new_site(Workload(file_bytes=2**29, n_files=4), 6)
    memory = 2**30
    core = preallocated_core(site, memory)
    nodes, n_records, c = core.nodes[core.node_of], site.files.n_records, greatest_c(memory)
    is_here = (core.node_of > 0) & (nodes[:, header.STATE] <= MFU)
    records = np.flatnonzero(is_here[:n_records])
    assert (np.diff(records) == 1).all()
    assert records[-1] == n_records - 1
    assert c <= total_bytes(core) <= 1.01 * c  # indirect blocks of the last second are spared
    indirect = np.flatnonzero(is_here[n_records:] & (site.layout.level == 1))
    assert len(indirect) == pytest.approx(len(records) / 128, rel=0.02)
    assert (core.nodes[:core.scalars[scalar.N_NODES], header.TICK] <= 0).all()


def test_a_run_that_starts_with_a_core_finds_its_records_there_and_leaves_it_alone():
    site = new_site(Workload(file_bytes=2**25), 6)
    settings = Settings(n_leaves=6, duration_ns=2 * SECOND, memory_bytes=2**28)
    core = preallocated_core(site, settings.memory_bytes)
    before = [array.copy() for array in core]
    share = (core.nodes[core.node_of[:site.files.n_records], header.STATE] == MRU).mean()
    empty, warm = (simulate(site, rules_of("onnv_70"), settings, core=c) for c in (None, core))
    assert all((old == new).all() for old, new in zip(before, core, strict=True))
    assert empty.counts["read_hits"] / empty.counts["reads_done"] < share
    assert warm.counts["read_hits"] / warm.counts["reads_done"] == pytest.approx(share, rel=0.1)

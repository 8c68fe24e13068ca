"""The simulation of sequential readers: laws of every run, closed forms, counts of stalls, and defects to be noticed."""

import json

import numpy as np
import pytest

from defects.sequential_reads import DEFECTS
from laws.sequential_reads import LAWS
from model.devices.data_sheet import SheetParams
from model.simulations.rules import rules_of as rules_of_disks
from model.simulations.sequential_reads import columns as reader
from model.simulations.sequential_reads import run as sequential_run
from model.simulations.sequential_reads import watch_columns as watched
from model.simulations.sequential_reads.run import simulate
from model.simulations.sequential_reads.state import ABSENT, STALLED, Readers, Settings, new_recorder, new_site, rules_of
from model.zfs.vdev.cache import MISS, OUTCOMES, TOO_LARGE, max_lines
from model.zfs.vdev.places import LEAF_SHIFT, OFFSET_MASK
from support.processes import interpreted

SECOND = 10**9
READERS = Readers(n_streams=3, file_bytes=4 * 2**30)
LEAVES = 12
SETTINGS = Settings(n_leaves=LEAVES, duration_ns=8 * SECOND)


def without_cache(rules):
    return rules._replace(cache=rules.cache._replace(max_read_bytes=1))


@pytest.fixture(scope="module")
def site():
    return new_site(READERS, LEAVES)


@pytest.fixture(scope="module")
def runs(site):
    """Runs of 8 s, cache on and off; and of 2 s, of another build and record size."""
    rules, small = rules_of("onnv_70"), Readers(2, 2**29, 2**13, 2**16)
    return {"on": simulate(site, rules, SETTINGS, recorder=new_recorder(1, 3, 200_000)),
            "off": simulate(site, without_cache(rules), SETTINGS, recorder=new_recorder(0, 0, 200_000)),
            "8 KiB, onnv_69": simulate(new_site(small, LEAVES), rules_of("onnv_69"),
                                       SETTINGS._replace(duration_ns=2 * SECOND), recorder=new_recorder(0, 1, 800_000))}


@pytest.mark.slow
@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("name", ["on", "off"])
def test_the_law_holds_exactly(runs, name, law):
    assert LAWS[law](runs[name])


@pytest.mark.slow
@pytest.mark.parametrize("law", sorted(set(LAWS) - {"conservation"}))
def test_the_law_holds_for_records_that_go_through_the_vdev_cache(runs, law):
    assert LAWS[law](runs["8 KiB, onnv_69"])


def test_records_that_go_through_the_vdev_cache_evict_its_lines(runs):
    fills = runs["8 KiB, onnv_69"].outcomes[0, MISS]
    assert fills > 2 * LEAVES * max_lines(rules_of("onnv_69").cache)


def test_without_the_cache_each_indirect_block_is_one_stall(runs):
    x = runs["off"]
    m = x.machine
    seen = (m.status[m.files.n_records:] != ABSENT).sum()
    rows = m.recorder.activities[:m.recorder.n[watched.ACTIVITIES]]
    stalled = rows[:, watched.ACTIVITY] == STALLED
    of_thread = {int(b) for b in rows[stalled, watched.WAITED_FOR]}
    assert x.outcomes[1, TOO_LARGE] == seen == x.outcomes[1].sum()
    assert stalled.sum() == len(of_thread)
    assert m.threads[0, reader.N_WRAPS] == 0
    base, records = m.files.base[0, 1], (m.status[:m.files.n_records_of[0]] != ABSENT).sum()
    assert len([b for b in of_thread if base <= b < base + 256]) in (-(-records // 128), -(-records // 128) + 1)


def test_with_the_cache_each_line_is_one_stall(runs):
    """Nothing is evicted from it: as many fills as there are lines around the copies read; all others hit, or join, or
    lie across two lines."""
    x = runs["on"]
    m, layout = x.machine, x.machine.layout
    asked = np.flatnonzero(m.status[m.files.n_records:] != ABSENT)
    place = np.where(m.tally.copy_read[0, asked], layout.second[asked], layout.place[asked + m.files.n_records])
    first, last = ((place & OFFSET_MASK) + i * (layout.n_bytes[asked] - 1) >> 16 for i in (0, 1))
    lines = set(zip((place >> LEAF_SHIFT)[first == last].tolist(), first[first == last].tolist(), strict=True))
    assert x.outcomes[1, MISS] == len(lines)
    assert x.outcomes[1, OUTCOMES.index("straddles")] == (first != last).sum()
    assert x.outcomes[1].sum() == len(asked)


def test_stalls_are_what_the_cache_saves(site):
    """With a driver that does not sort; a sorting one can let a stalled reader wait for as long as others read in front."""
    rules = rules_of("onnv_70", SheetParams(sorts=0))
    on, off = (simulate(site, build, SETTINGS).spent_ns["stalled on an indirect block"].sum()
               for build in (rules, without_cache(rules)))
    assert on < 0.25 * off


def test_one_reader_with_all_in_core_does_nothing_but_copy():
    site = new_site(Readers(1, 2**26), 4)
    x = simulate(site, rules_of("onnv_70"), Settings(n_leaves=4, duration_ns=SECOND, warm_records=1, copy_ns=700_000))
    assert (x.response_ns == 700_000).all()
    assert x.counts["reads_done"] == (SECOND - 1) // 700_000
    assert x.counts["ios"] == 0
    assert x.spent_ns["copying"].sum() == SECOND


@pytest.mark.parametrize(("n_streams", "copy_ns", "memory_ns"), [
    (1, 700_000, 500_000), (4, 700_000, 100_000), (4, 700_000, 500_000), (3, 200_000, 200_000)])
def test_copies_at_once_share_the_memory(n_streams, copy_ns, memory_ns):
    """All in core, so that all readers copy all the time: together they are as fast as their processors or as the memory,
    whichever is slower."""
    site = new_site(Readers(n_streams, 2**26), 4)
    settings = Settings(n_leaves=4, duration_ns=SECOND, warm_records=1, copy_ns=copy_ns, memory_ns=memory_ns)
    x = simulate(site, rules_of("onnv_70"), settings)
    least_ns = max(copy_ns / n_streams, memory_ns)
    assert x.mib_per_s == pytest.approx(1e9 / least_ns, rel=0.01)


def test_a_reader_that_copies_alone_does_not_notice_the_memory(site):
    alone = new_site(Readers(1, 2**26), LEAVES)
    free, shared = (simulate(alone, rules_of("onnv_70"), SETTINGS._replace(memory_ns=ns)) for ns in (0, SETTINGS.copy_ns))
    np.testing.assert_array_equal(free.response_ns, shared.response_ns)


def test_processor_time_is_copying_issuing_and_interrupts(site):
    x = simulate(site, rules_of("onnv_70"), SETTINGS)
    fresh = SETTINGS.complete_ns * x.counts["records_used"]
    assert 0 <= x.interrupt_ns.sum() - fresh <= len(x.interrupt_ns) * 8 * SETTINGS.complete_ns      # of copies under way
    read = x.counts["reads_done"]
    assert x.cpu_ns_per_read == pytest.approx(
        (read * SETTINGS.copy_ns + fresh + x.spent_ns["issuing"].sum()) / read, rel=0.01)


def with_services(site, settings, *drawn_ns):
    rules = rules_of_disks("onnv_70", drawn_ns=drawn_ns)
    return simulate(site, rules_of("onnv_70")._replace(disk=rules.disk), settings)


def test_with_disks_that_take_no_time_the_processor_decides(site):
    settings = SETTINGS._replace(warm_indirect=1, keeps_indirect=1, arc_bytes=2**28)
    x = with_services(site, settings, 1000)
    bound = 3 * 1e9 / (settings.copy_ns + 8 * (settings.issue_ns + settings.complete_ns))
    assert bound * 0.995 < x.mib_per_s <= bound * 1.005, x.spent_ns


def test_with_slow_disks_the_disks_decide(site):
    """Services of 20 ms, whatever is asked for: at most 50 a second and disk, and nearly that many."""
    x = with_services(site, SETTINGS._replace(warm_indirect=1, copy_ns=10_000), 20_000_000)
    assert x.busy_ns.min() > 0.95 * SETTINGS.duration_ns
    assert 0.9 * LEAVES * 50 / 8 < x.mib_per_s <= LEAVES * 50 / 8


def test_warm_indirect_blocks_stall_nobody(site):
    x = simulate(site, without_cache(rules_of("onnv_70")), SETTINGS._replace(warm_indirect=1))
    assert x.spent_ns["stalled on an indirect block"].sum() == 0
    assert x.counts["indirect_came"] == 0


def test_without_prefetch_every_record_is_waited_for(site):
    rules = rules_of("onnv_70")
    x = simulate(site, rules._replace(zfetch=rules.zfetch._replace(max_request_bytes=0)), SETTINGS)
    assert x.came["prefetch"] == 0
    assert x.came["demand"] == x.counts["records_came"]


# ---- coming to the end of the file ----


@pytest.mark.slow
@pytest.mark.parametrize("keeps_indirect", [0, 1])
@pytest.mark.parametrize("arc_bytes", [2**25, 2**30])
def test_a_file_read_again_comes_from_core_just_if_it_fits(arc_bytes, keeps_indirect):
    """A file of 64 MiB, over and over: least recently used first out means all or nothing."""
    site = new_site(Readers(1, 2**26), 4)
    settings = Settings(n_leaves=4, duration_ns=20 * SECOND, arc_bytes=arc_bytes, keeps_indirect=keeps_indirect)
    x = simulate(site, rules_of("onnv_70"), settings, recorder=new_recorder(0, 0, 200_000))
    n_passes, n_records = x.machine.threads[0, 11], 512
    assert n_passes > 3
    assert all(LAWS[law](x) for law in ("little", "time", "timeline", "utilisation", "conservation", "replays"))
    if arc_bytes == 2**30:
        assert (x.counts["records_came"], x.counts["evicted"]) == (n_records, 0)
    else:
        assert x.counts["records_came"] >= n_passes * n_records
        assert x.machine.core.n[0] <= arc_bytes // 2**17
    n_indirect = x.machine.files.n_blocks - x.machine.files.n_records
    if keeps_indirect or arc_bytes == 2**30:
        assert x.counts["indirect_came"] == n_indirect
    else:
        assert x.counts["indirect_came"] > n_indirect * n_passes / 2


# ---- determinism ----


def test_the_same_seed_gives_the_same_bits_and_another_one_others(site):
    settings = SETTINGS._replace(duration_ns=SECOND)
    first, same, differing = (simulate(site, rules_of("onnv_70"), settings, seed) for seed in (1, 1, 2))
    assert (first.response_ns == same.response_ns).all()
    assert (first.busy_ns == same.busy_ns).all()
    assert len(first.response_ns) != len(differing.response_ns) or (first.response_ns != differing.response_ns).any()


def test_too_little_room_is_made_up_for_and_changes_nothing(site, monkeypatch):
    settings = SETTINGS._replace(duration_ns=SECOND)
    plenty = simulate(site, rules_of("onnv_70"), settings, recorder=new_recorder(0, 0, 9000))
    monkeypatch.setattr(sequential_run, "first_room", lambda *_: (5, 5))
    scarce = simulate(site, rules_of("onnv_70"), settings, recorder=new_recorder(0, 0, 9000))
    assert (plenty.response_ns == scarce.response_ns).all()
    assert plenty.counts == scarce.counts
    assert (plenty.machine.recorder.activities == scarce.machine.recorder.activities).all()


def test_recording_changes_nothing(site, runs):
    assert (simulate(site, rules_of("onnv_70"), SETTINGS).response_ns == runs["on"].response_ns).all()


# ---- what cannot be ----


@pytest.mark.parametrize(("readers", "words"), [
    (Readers(n_streams=0), "n_streams is 0"),
    (Readers(record_bytes=2**18), "record_bytes is 262144"),
    (Readers(record_bytes=5000), "record_bytes is 5000"),
    (Readers(read_bytes=2**21), "read_bytes is 2097152"),
    (Readers(file_bytes=2**16), "record_bytes is 131072, but a file has only 65536 B"),
])
def test_impossible_readers_are_one_sentence(readers, words):
    with pytest.raises(ValueError, match=words + ".*; choose") as error:
        new_site(readers, 4)
    assert "\n" not in str(error.value)


def test_files_that_do_not_fit_are_one_sentence(site):
    with pytest.raises(ValueError, match=r"file_bytes is 4294967296 for each of 3 readers, .*; choose") as error:
        simulate(site, rules_of("onnv_70", SheetParams(disk_bytes=2**29)), SETTINGS)
    assert "\n" not in str(error.value)


def test_impossible_settings_are_one_sentence(site):
    for settings, words in ((Settings(n_leaves=7), "n_leaves is 7"), (SETTINGS._replace(copy_ns=0), "copy_ns is 0"),
                            (SETTINGS._replace(warm_records=2), "warm_records is 2")):
        with pytest.raises(ValueError, match=words + ".*; choose"):
            simulate(site, rules_of("onnv_70"), settings)


# ---- defects ----


@pytest.mark.slow
def test_each_defect_is_noticed_by_its_law():
    failed = json.loads(interpreted("defects.sequential_reads"))
    assert failed["none"] == []
    for name, (*_, law) in DEFECTS.items():
        assert law is None or law in failed[name], (name, failed[name])

"""Whether dedup pays on a machine."""
from pathlib import Path
from types import SimpleNamespace

import pytest

from model.zfs.dedup.zap import ZapParams, leaf_entries
from study.errors import UserError
from study.machines import dedup_pool
from study.machines.dedup_pool import Rate
from study.pools import ddt

SAMPLES = Path(__file__).parents[1] / "pools" / "ddt"
GIB = 2**30


@pytest.fixture(autouse=True)
def no_simulation(monkeypatch):
    monkeypatch.setattr(dedup_pool, "rates", lambda machine, seed=1: (Rate(9.0, "disks"), Rate(10.0, "disks")))


def asked(name, memory=16 * GIB, release="openzfs", size=None):
    return dedup_pool.forecast(ddt.read(SAMPLES / name), memory, release, size, 8, "sata-7k2-1tb")


@pytest.mark.parametrize(("name", "memory", "pays", "reason"), [
    ("zol_06_zdb_ddd.txt", 16 * GIB, True, "fit into"), ("openzfs_zdb_s.txt", 16 * GIB, False, "the ratio is 1.03"),
    ("openzfs_23_zpool_status_d.txt", GIB // 8, False, "memory leaves 0.0469 GiB")])
def test_yes_or_no_has_a_reason(name, memory, pays, reason):
    made = asked(name, memory)
    assert (made.pays, reason in made.reason) == (pays, True)


def test_a_table_that_fits_and_slows_writes_down_does_not_pay(monkeypatch):
    monkeypatch.setattr(dedup_pool, "rates", lambda machine, seed=1: (Rate(4.0, "reads"), Rate(10.0, "disks")))
    made = asked("zol_06_zdb_ddd.txt")
    assert (made.pays, "40 % of the rate without dedup" in made.reason) == (False, True)


@pytest.mark.parametrize(("rate", "expected"), [
    (2e8, [(20.0, 8.0)]), (2e6, [(20.0, 8.0), (600.0, 200.0)])])
def test_a_slow_run_is_made_again_and_longer(monkeypatch, rate, expected):
    lengths = []

    def simulated(machine, has_dedup, seed):
        lengths.append((machine.seconds, machine.warm_s))
        return SimpleNamespace(bytes_per_s=rate)
    monkeypatch.setattr(dedup_pool, "simulated", simulated)
    dedup_pool.sustained(dedup_pool.DedupMachine(1e9, seconds=20.0, warm_s=8.0), True, 1)
    assert lengths == expected


def test_a_table_far_beyond_the_room_is_simulated_at_the_most_that_matters(monkeypatch):
    machines = []
    monkeypatch.setattr(dedup_pool, "rates", lambda machine, seed=1: machines.append(machine) or (
        Rate(1.0, "reads"), Rate(10.0, "disks")))
    made = asked("zol_06_zdb_ddd.txt", size=2**52)
    assert made.full_bytes > dedup_pool.MAX_TIMES * made.room_bytes
    assert machines[0].unique_bytes + machines[0].duplicate_bytes == pytest.approx(dedup_pool.MAX_TIMES * made.room_bytes)


def test_a_table_grows_with_the_pool_and_may_not_fit_when_it_is_full():
    now, full = asked("zol_06_zdb_ddd.txt", 4 * GIB), asked("zol_06_zdb_ddd.txt", 4 * GIB, size=2**40 * 20)
    assert (now.pays, full.pays) == (True, False)
    assert full.full_bytes == pytest.approx(now.table_bytes * 20 * 2**40 / (1023 * 2**20), rel=0.01)


def test_without_a_histogram_what_is_found_follows_from_the_ratio_and_the_rest_is_said_to_be_assumed(monkeypatch):
    machines = []

    def rates(machine, seed=1):
        machines.append(machine)
        return Rate(9.0, "reads"), Rate(10.0, "disks")
    monkeypatch.setattr(dedup_pool, "rates", rates)
    plain = ddt.read(SAMPLES / "zol_06_zdb_ddd.txt")
    bare = plain._replace(buckets=(), printed_ratio=2.5)
    made = dedup_pool.forecast(bare, 16 * GIB, "openzfs", None, 8, "sata-7k2-1tb")
    assert made.is_split_assumed
    assert made.found_share == machines[0].found_share == pytest.approx(0.6)
    assert machines[0].duplicate_bytes > 0
    assert not asked("zol_06_zdb_ddd.txt").is_split_assumed


def test_the_rules_of_2010_leave_a_quarter():
    assert dedup_pool.metadata_room(32 * GIB, "2010") == 31 * GIB / 4
    assert dedup_pool.metadata_room(32 * GIB, "openzfs") == 12 * GIB


def test_an_entry_takes_what_leaves_of_31_filled_by_ln_2_give():
    assert dedup_pool.entry_bytes() == pytest.approx(4096 / (leaf_entries(ZapParams()) * 0.693))


@pytest.mark.parametrize(("changed", "named"), [
    ({"memory": 2**26}, "64 MiB at least"), ({"release": "2031"}, "release is '2031'"),
    ({"size": 1000}, "give a larger size")])
def test_what_cannot_be_is_one_sentence(changed, named):
    with pytest.raises(UserError, match=named) as error:
        asked("zol_06_zdb_dd.txt", **changed)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("changed", "has_dedup", "words"), [
    ({}, True, "which wait for their slowest disk"),
    ({"busiest_share": 0.95}, False, "the disks, of which one is busy 95 %"),
    ({"bytes_per_s": 3.9e9}, False, "those who write, with 4000 MB/s"),
    ({"bytes_per_s": 1.2e9}, True, "SHA-256, by 8 threads"),
    ({"bytes_per_s": 1.2e9, "busiest_share": 0.95}, False, "the disks"),
    ({"counts": {"disk_reads": 80, "l2_reads": 20, "lookups": 100}, "busiest_share": 0.95}, True,
     "8 threads that wait for reads of the table, about"),
    ({"bytes_per_s": 1.52e8, "counts": {"disk_reads": 33, "l2_reads": 0, "lookups": 1000}, "busiest_share": 0.69}, True,
     "8 threads that wait for reads of the table, about 88% of their time"),      # the edge of the cliff: few reads suffice
    ({"bytes_per_s": 1.52e8, "counts": {"disk_reads": 0, "l2_reads": 33, "lookups": 1000}}, True, "transaction groups")])
def test_what_limits_a_rate_is_always_said(changed, has_dedup, words):
    done = {"bytes_per_s": 1e8, "busiest_share": 0.5, "counts": {"disk_reads": 0, "l2_reads": 0, "lookups": 100}} | changed
    assert words in dedup_pool.limit_of(SimpleNamespace(**done), dedup_pool.DedupMachine(1e9), has_dedup)


def test_the_tables_objects_and_what_moves_are_those_of_published_pools():
    """Of six (data/priors.toml, found_share): share found, share of entries with two references or more."""
    for found_share, duplicates in ((0.06, 0.05), (0.07, 0.08), (0.10, 0.07), (0.18, 0.14), (0.22, 0.14), (0.54, 0.37)):
        machine = dedup_pool.with_duplicates(dedup_pool.DedupMachine(1e9), found_share)
        assert machine.duplicate_bytes / 1e9 == pytest.approx(duplicates, abs=0.04)
        assert machine.second_share == pytest.approx((1 - found_share) * machine.duplicate_bytes / 1e9)
    assert dedup_pool.second_share(0.5, 1.0) == 0.5
    assert dedup_pool.second_share(0.1, 0.9) == 0.1

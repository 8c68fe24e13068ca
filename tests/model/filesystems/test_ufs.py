"""UFS under a database: its twin and defects (in a process without the compiler), closed forms, what cannot be."""
import json

import numpy as np
import pytest

from model.devices.data_sheet import SheetParams, new_drive
from model.devices.ssd import SsdParams
from model.events.calendar import new_calendar
from model.filesystems.calls import FSYNC, READ, WAL_CREATE, WAL_SYNC, WAL_WRITE, WAL_WRITE_THROUGH, WRITE, ask, new_calls
from model.filesystems.ufs import volume_columns as volume
from model.filesystems.ufs.calls import next_time, store_event, take_calls
from model.filesystems.ufs.state import UfsParams, new_ufs, place_of
from model.filesystems.ufs.volumes import Stripe
from support.processes import interpreted

pytestmark = pytest.mark.interpreted

MB, BLOCK = 2**20, 8192
SHEET = SheetParams(disk_bytes=10**9, n_zones=2, n_heads=2)


@pytest.fixture(scope="module")
def noticed():
    return json.loads(interpreted("laws.ufs"))


@pytest.mark.slow
def test_twin_elevator_and_fsflush_agree(noticed):
    assert noticed.pop("none") == ""


@pytest.mark.slow
def test_every_defect_is_noticed(noticed):
    assert [name for name, law in noticed.items() if name != "none" and not law] == []


def store(device, members=1, n=4, **changed):
    s = UfsParams(memory_bytes=MB, autoup_s=10**6)._replace(**changed)
    drive = new_drive(SHEET) if isinstance(device, SsdParams) else device
    return new_ufs([16 * MB, 4 * MB], [Stripe(device, members)], [0, 0, 0], n, s, drive, [0] * members, 8192, 30)


def elapsed(u, operation, file, offset, n_bytes, now=0, process=0):
    """ns until the call returns."""
    calls, calendar = new_calls(4), new_calendar(4)
    ask(calls, process, operation, file, offset, n_bytes)
    take_calls(u, calls, calendar, now)
    before = calendar.time[process]
    while calendar.time[process] == before:
        store_event(u, calendar, int(next_time(u)))
    return int(calendar.time[process]) - now


@pytest.mark.parametrize("n_blocks", [1, 2, 7])
def test_a_synchronous_write_takes_a_command_per_block_and_one_if_it_is_direct(n_blocks):
    drive, call_ns = new_drive(SHEET, [10**6]), UfsParams().call_ns
    assert elapsed(store(drive), WAL_WRITE_THROUGH, 0, 0, n_blocks * BLOCK) == n_blocks * 10**6 + call_ns
    assert elapsed(store(drive, log_directio=1), WAL_WRITE_THROUGH, 0, 0, n_blocks * BLOCK) == 10**6 + call_ns


def test_a_block_that_follows_the_last_one_on_a_disk_without_write_cache_waits_for_a_revolution():
    drive = new_drive(SHEET._replace(buffers_writes=0))
    u = store(drive)
    first = elapsed(u, WAL_WRITE_THROUGH, 0, 0, BLOCK)
    later = elapsed(u, WAL_WRITE_THROUGH, 0, BLOCK, 20 * BLOCK, now=first + 10**6)
    assert 20 * drive.disk.rev_ns <= later < 22.5 * drive.disk.rev_ns


def test_a_read_is_an_io_once_and_always_if_it_is_direct():
    for direct, second in ((0, UfsParams().call_ns), (1, 10**6 + UfsParams().call_ns)):
        u = store(new_drive(SHEET, [10**6]), table_directio=direct, starts_full=0)
        assert elapsed(u, READ, 0, 0, BLOCK) == 10**6 + UfsParams().call_ns
        assert elapsed(u, READ, 0, 0, BLOCK, now=10**8) == second


def test_a_read_of_two_pages_wants_both_in_core():
    u = store(new_drive(SHEET, [10**6]), starts_full=0)
    assert elapsed(u, READ, 0, 0, BLOCK) > 10**6
    assert elapsed(u, READ, 0, 0, 2 * BLOCK, now=10**8) > 10**6
    assert elapsed(u, READ, 0, BLOCK, BLOCK, now=2 * 10**8) == UfsParams().call_ns
    assert u.cache.n[0] == 2


def test_a_part_of_a_page_is_written_as_that_page_and_not_held_after_it():
    """InnoDB writes blocks of 512 B; this one ends an interlace."""
    u = store(new_drive(SHEET, [10**6]), members=2)
    elapsed(u, WAL_WRITE, 0, 2**19 - 512, 512)
    elapsed(u, WAL_SYNC, 0, 0, 0, now=10**8)
    assert u.volumes.per_second[0, 2:].sum(axis=1).tolist() == [1, BLOCK]
    assert u.cache.held.sum() == 0


def test_random_writes_are_an_io_each_and_neighbours_one_io_together():
    for step, ios in ((2, 20), (1, 1)):
        u = store(new_drive(SHEET, [10**5]))
        for i in range(20):
            elapsed(u, WRITE, 0, i * step * BLOCK, BLOCK, now=i * 10**7)
        elapsed(u, FSYNC, 0, 0, 0, now=10**9)
        assert u.volumes.per_second[0, 2].sum() == ios + 1  # and the inode
        assert u.volumes.per_second[0, 3].sum() == 20 * BLOCK + 1024


def test_the_largest_call_in_the_smallest_clusters_takes_no_more_ios_than_are_kept_for_it():
    u, calls, calendar, free = store(SsdParams(), cluster_bytes=BLOCK), new_calls(4), new_calendar(4), []
    ask(calls, 0, WAL_CREATE, 0, 0, 16 * MB)
    take_calls(u, calls, calendar, 0)
    for _ in range(10):
        free.append(u.volumes.n[volume.N_FREE])
        store_event(u, calendar, int(next_time(u)))
    assert 16 * MB // BLOCK - 10 <= len(u.volumes.free) - min(free) <= u.n_reserved


def test_an_array_returns_from_its_cache_and_is_never_flushed():
    array = SsdParams(write_ns=400_000, buffer_bytes=MB, disk_bytes=10**9)
    call = array.write_ns + (BLOCK - 4096) * 10**9 // array.bus_rate + UfsParams().call_ns
    u = store(array, log_directio=1)
    for i in range(5):
        assert elapsed(u, WAL_WRITE_THROUGH, 0, i * BLOCK, BLOCK, now=i * 10**8) == call


def test_a_stripe_shares_its_work_evenly():
    u = store(new_drive(SHEET, [10**6]), members=4, table_directio=1)
    for i in range(4):
        elapsed(u, READ, 0, i * 2**19, BLOCK, now=i * 10**7)
    assert u.volumes.drives.units[:, 5].tolist() == [1, 1, 1, 1]


def test_pieces_of_files_lie_a_group_apart():
    s = UfsParams()
    places = np.array([place_of(dense, s) for dense in range(0, 4 * s.piece_bytes, s.piece_bytes)])
    assert (np.diff(places) == 3 * s.piece_bytes).all()
    assert place_of(BLOCK, s) - place_of(0, s) == BLOCK


@pytest.mark.parametrize(("changed", "word"), [
    ({"memory_bytes": -8192}, "page cache has -1 pages"), ({"autoup_s": 0}, "autoup_s 0"),
    ({"cluster_bytes": 4096}, "cluster_bytes is 4096"), ({"low_water": 2**30}, "marks of")])
def test_what_cannot_be_is_one_sentence(changed, word):
    with pytest.raises(ValueError, match=word):
        store(new_drive(SHEET), **changed)


def test_volumes_that_cannot_be():
    drive = new_drive(SHEET)
    with pytest.raises(ValueError, match="0 members"):
        store(drive, members=0)
    with pytest.raises(ValueError, match="reach up to"):
        new_ufs([16 * MB, 2**32], [Stripe(drive, 1)], [0, 0, 0], 1, UfsParams(), drive, [0])
    with pytest.raises(ValueError, match="on volume 3"):
        new_ufs([16 * MB], [Stripe(drive, 1)], [0, 3], 1, UfsParams(), drive, [0])

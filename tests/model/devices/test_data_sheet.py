"""Disks of a data sheet, against what the sheet says and closed forms."""

import numpy as np
import pytest

from model.devices import arm_columns as arm
from model.devices import layout_columns as laid
from model.devices.cache_flush import write_out
from model.devices.data_sheet import SheetParams, new_drive, sheet_disk
from model.devices.disk import advance, service
from model.devices.disk_mechanics import FROM_AHEAD, PARTLY, TO_BUFFER, TO_PLATTER, new_state, positioning_time, transfer
from model.events.streams import stream

SHEET = SheetParams()
DISK = sheet_disk(SHEET)
PLAIN = SHEET._replace(overhead_ns=0, bus_rate=10**9, segments=0, buffers_writes=0, reads_ahead=0)


def test_the_mean_seek_between_uniform_cylinders_is_that_of_the_sheet():
    cylinders = (stream(1, "cylinders").random((2, 200_000)) * DISK.layout.n_cylinders).astype(np.int64)
    assert DISK.seek_ns[abs(cylinders[0] - cylinders[1])].mean() == pytest.approx(SHEET.average_seek_ns, rel=0.005)
    assert DISK.seek_ns[1] == SHEET.first_seek_ns
    assert DISK.seek_ns[-1] == pytest.approx(SHEET.full_seek_ns, rel=1e-3)


def test_the_mean_wait_for_a_sector_is_half_a_revolution():
    disk, state = sheet_disk(PLAIN), new_state(DISK, [777])
    times = (stream(2, "times").random(5000) * 10**12).astype(np.int64).tolist()
    waits = [positioning_time(disk, state, 0, now, 8, False) for now in times]
    assert np.mean(waits) == pytest.approx(disk.rev_ns / 2, rel=0.03)
    assert min(waits) >= 0
    assert max(waits) < disk.rev_ns


def test_the_disk_holds_what_the_sheet_says():
    assert 0 <= DISK.layout.n_blocks * 512 / SHEET.disk_bytes - 1 < 0.001
    assert len(DISK.layout.zones) == SHEET.n_zones + 1


@pytest.mark.parametrize("is_write", [False, True])
@pytest.mark.parametrize("sheet", [PLAIN, PLAIN._replace(first_seek_ns=1_400_000, outer_sustained=66_500_000),
                                   PLAIN._replace(n_heads=1, first_seek_ns=500_000)])
def test_a_long_transfer_has_the_sustained_rate_and_a_track_the_instantaneous(sheet, is_write):
    """Also where the arm goes on to the next cylinder, and before a write: skews are long enough."""
    disk = sheet_disk(sheet)

    def rate(block, count):
        state = new_state(disk, [0])
        start = positioning_time(disk, state, 0, 0, block, is_write)
        return count * 512e9 / (transfer(disk, state, 0, 0, 0, block, count, is_write, 1)[1] - start)

    zones = disk.layout.zones
    assert rate(0, int(zones[0, laid.SECTORS]) * sheet.n_heads * 100) == pytest.approx(sheet.outer_sustained, rel=0.004)
    assert rate(0, 128) == pytest.approx(sheet.outer_rate, rel=0.002)
    assert rate(int(zones[-2, laid.BLOCK]), 128) == pytest.approx(sheet.inner_rate, rel=0.002)


@pytest.mark.slow
def test_sequential_reads_run_at_the_sustained_rate_thanks_to_read_ahead():
    def rate(sheet):
        disk, now = sheet_disk(sheet), 0
        state = new_state(disk, [0])
        for block in range(0, 256 * 400, 256):
            now = service(disk, state, 0, now, block, 256, False)
        return 256 * 400 * 512e9 / now, state.units[0, arm.SERVED]

    with_it, served = rate(SHEET._replace(bus_rate=300_000_000))
    assert with_it == pytest.approx(SHEET.outer_sustained, rel=0.02)
    assert served in (FROM_AHEAD, PARTLY)
    assert rate(SHEET._replace(reads_ahead=0))[0] < 0.4 * SHEET.outer_sustained


def test_a_write_buffer_saves_the_revolution_between_writes_with_a_small_gap():
    """The first write is reported at once, and the second meets its sector behind the gap; without, it comes too late."""
    free = []
    for buffers in (1, 0):
        disk = sheet_disk(SHEET._replace(buffers_writes=buffers))
        state = new_state(disk, [0])
        now = service(disk, state, 0, 0, 0, 29, True)
        assert state.units[0, arm.SERVED] == (TO_BUFFER if buffers else TO_PLATTER)
        advance(disk, state, 0, now)  # the arm has begun
        first = state.units[0, arm.FREE]
        write_out(disk, state, 0, service(disk, state, 0, now, 32, 29, True))
        free.append(state.units[0, arm.FREE] - first)
    assert free[0] == pytest.approx(32 / DISK.layout.zones[0, laid.SECTORS] * DISK.rev_ns, rel=0.01)
    assert free[1] > 0.9 * DISK.rev_ns


def test_a_full_write_buffer_makes_writes_wait_for_the_arm():
    """In the long run a drive writes no faster than its arm moves, however large its buffer."""
    blocks = (stream(3, "blocks").random(400) * 2**22).astype(np.int64).tolist()
    disk, now = sheet_disk(SHEET._replace(segments=4)), 0
    state = new_state(disk, [0])
    for block in blocks:
        now = service(disk, state, 0, now, block, 16, True)
        assert state.units[0, arm.FREE] - now < 5 * 20_000_000
    assert now > 0.95 * state.units[0, arm.FREE]


@pytest.mark.parametrize(("changed", "message"), [
    ({"rpm": 0}, "rpm of a disk is 0"),
    ({"average_seek_ns": -1}, "average_seek_ns of a disk is -1"),
    ({"average_seek_ns": 12_000_000}, "average_seek_ns of a disk is 12000000, but .* to 11200000"),
    ({"first_seek_ns": 9_000_000}, "first_seek_ns of a disk is 9000000"),
    ({"outer_sustained": 80_000_000}, "outer_sustained of a disk is 80000000"),
    ({"n_heads": 0}, "n_heads of a disk is 0"),
    ({"window": 2}, "window of a disk is 2, but .* from 1 to 1"),
    ({"depth": 0}, "depth of a disk is 0"),
    ({"sorts": 2}, "sorts of a disk is 2"),
    ({"segments": 0}, "segments of a disk is 0, but it buffers writes"),
    ({"segments": 0, "buffers_writes": 0}, "or reads ahead"),
    ({"buffer_bytes": 4096}, "buffer_bytes of a disk is 4096"),
    ({"overhead_ns": 0.5}, "overhead_ns of a disk is 0.5"),
])
def test_an_impossible_disk_is_one_sentence(changed, message):
    with pytest.raises(ValueError, match=message + ".*; choose") as error:
        new_drive(SHEET._replace(**changed))
    assert "\n" not in str(error.value)

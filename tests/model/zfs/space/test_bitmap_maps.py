"""Lists of blocks and lengths of logs, against sets of blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.zfs.space import bitmap_maps
from model.zfs.space.bitmap_maps import new_block_maps
from model.zfs.space.bitmaps import new_free_blocks
from model.zfs.space.free_runs import give
from model.zfs.space.status import ABSENT, FULL, OK, UNALIGNED

pytestmark = pytest.mark.interpreted

quick = settings(deadline=None, derandomize=True, max_examples=60)
UNIT = 4096
ALLOC = 0  # a list


def rows(blocks):
    """(first, length) of each row of consecutive numbers."""
    runs = []
    for block in sorted(blocks):
        if runs and sum(runs[-1]) == block:
            runs[-1][1] += 1
        else:
            runs.append([block, 1])
    return runs


def records(blocks, max_blocks):
    return bool(blocks) + sum(-(-length // max_blocks) for _, length in rows(blocks))


def maps_of(n_blocks, unit=UNIT, n_lists=4, max_rows=1000):
    """Two metaslabs one behind the other in a vdev; all of the second one is free."""
    free = new_free_blocks([n_blocks, n_blocks], unit)
    free.first_unit[1] = n_blocks * free.grain
    assert give(free, 1, 0, n_blocks) == OK
    return new_block_maps(free, n_lists, max_rows)


areas = st.lists(st.tuples(st.integers(0, 290), st.integers(1, 20)), max_size=40)


@pytest.mark.slow
@quick
@given(areas, st.integers(0, 40))
def test_lists_count_records_like_sets(areas, n_undone):
    """Put, undo, count, move, empty into the free map: as sets of blocks do it."""
    maps, there = maps_of(300), []
    for first, n in areas:
        blocks = range(300 + first, 300 + min(first + n, 300))
        if not any(set(blocks) & set(area) for area in there):
            there.append(blocks)
            assert bitmap_maps.put(maps, ALLOC, blocks[0] * UNIT, (blocks[-1] + 1) * UNIT) == OK
            assert bitmap_maps.take(maps, 1, blocks[0] * UNIT, (blocks[-1] + 1) * UNIT) == OK
    for _ in range(min(n_undone, len(there))):
        gone = there.pop(n_undone % len(there))
        assert bitmap_maps.unput(maps, ALLOC, gone[0] * UNIT, (gone[-1] + 1) * UNIT) == OK
        assert bitmap_maps.give(maps, 1, gone[0] * UNIT, (gone[-1] + 1) * UNIT) == OK
    blocks = {block for area in there for block in area}
    assert bitmap_maps.space(maps, ALLOC) == len(blocks) * UNIT
    assert bitmap_maps.n_records(maps, 1, ALLOC, 9) == records(blocks, 4096)
    bitmap_maps.move(maps, ALLOC, 2)
    assert (bitmap_maps.space(maps, ALLOC), bitmap_maps.space(maps, 2)) == (0, len(blocks) * UNIT)
    assert maps.free.n_free[1] == 300 - len(blocks)
    assert bitmap_maps.give_all(maps, 2, 1) == OK
    assert (maps.free.n_free[1], maps.free.n_runs[1]) == (300, 1)
    assert not maps.bits.any()
    assert list(maps.n_units) == [0] * 4


@pytest.mark.parametrize(("n_blocks", "unit", "max_blocks"), [(300, 4096, 4096), (640, 65536, 256), (1000, 131072, 128)])
@quick
@given(data=st.data())
def test_a_log_written_anew_has_what_is_neither_free_nor_withheld(n_blocks, unit, max_blocks, data):
    """Also with records that are shorter than the rows."""
    maps = maps_of(n_blocks, unit)
    edges = sorted(data.draw(st.sets(st.integers(0, n_blocks), max_size=30)))
    used = set()
    for first, end in zip(edges[::2], edges[1::2], strict=False):
        assert bitmap_maps.take(maps, 1, (n_blocks + first) * unit, (n_blocks + end) * unit) == OK
        used |= set(range(n_blocks + first, n_blocks + end))
    withheld = {block for block in used if block % 7 < 2}
    for block in withheld:
        assert bitmap_maps.put(maps, 2 + block % 2, block * unit, (block + 1) * unit) == OK
    before = maps.free.mask.copy()
    bitmap_maps.rewrite(maps, 1, ALLOC, (2, 3), 9)
    assert bitmap_maps.space(maps, ALLOC) == len(used - withheld) * unit
    assert bitmap_maps.append(maps, 1, ALLOC, 9) == records(used - withheld, max_blocks)
    assert bitmap_maps.append(maps, 1, 2, 9) == records({block for block in withheld if block % 2 == 0}, max_blocks)
    assert (maps.free.mask == before).all()


def test_rows_longer_than_a_record_are_several():
    """One record of 32768 sectors and one of the rest, also where the row came in pieces out of order."""
    maps = maps_of(20000)
    for first, n in ((5000, 100), (3000, 2000), (5100, 1897), (10000, 4096), (15000, 1)):
        assert bitmap_maps.put(maps, ALLOC, (20000 + first) * UNIT, (20000 + first + n) * UNIT) == OK
    assert bitmap_maps.n_records(maps, 1, ALLOC, 9) == 1 + 1 + 1 + 1
    assert bitmap_maps.put(maps, ALLOC, 26997 * UNIT, 27100 * UNIT) == OK
    assert bitmap_maps.n_records(maps, 1, ALLOC, 9) == 1 + 2 + 1 + 1


def test_what_is_moved_comes_behind_what_is_there():
    """Lists that are linked have the blocks of both, and those alone are given; what is put then comes behind them."""
    maps = maps_of(300)
    assert bitmap_maps.take(maps, 1, 300 * UNIT, 400 * UNIT) == OK
    for list_, first, n in ((2, 310, 10), (2, 340, 5), (ALLOC, 300, 4), (ALLOC, 360, 6)):
        assert bitmap_maps.put(maps, list_, first * UNIT, (first + n) * UNIT) == OK
    bitmap_maps.move(maps, ALLOC, 2)
    bitmap_maps.move(maps, ALLOC, 2)  # there is nothing left
    assert bitmap_maps.put(maps, 2, 390 * UNIT, 391 * UNIT) == OK
    assert (bitmap_maps.space(maps, ALLOC), bitmap_maps.space(maps, 2)) == (0, 26 * UNIT)
    assert bitmap_maps.n_records(maps, 1, 2, 9) == 1 + 5
    assert bitmap_maps.give_all(maps, 2, 1) == OK
    assert (maps.free.n_free[1], maps.free.n_runs[1]) == (200 + 26, 6)


@pytest.mark.parametrize(("unit", "n_blocks", "n"), [
    (UNIT, 1, 1), (UNIT, 4095, 1), (UNIT, 4096, 1), (UNIT, 4097, 2), (UNIT, 8192, 2), (UNIT, 8193, 3),
    (3 * UNIT, 1365, 1), (3 * UNIT, 1366, 2), (3 * UNIT, 4096, 3), (3 * UNIT, 4097, 4)])
def test_a_row_by_itself_is_counted_alike(unit, n_blocks, n):
    """Whether it is the only one of its list or not: a header, and a record for each 32768 sectors begun."""
    maps = maps_of(20000, unit)
    start = 20000 * unit
    assert bitmap_maps.put(maps, ALLOC, start + 5000 * unit, start + (5000 + n_blocks) * unit) == OK
    assert bitmap_maps.n_records(maps, 1, ALLOC, 9) == 1 + n
    assert bitmap_maps.put(maps, ALLOC, start, start + unit) == OK
    assert bitmap_maps.n_records(maps, 1, ALLOC, 9) == 1 + n + 1


def test_what_cannot_be_is_refused():
    maps = maps_of(300, max_rows=2)
    assert bitmap_maps.put(maps, ALLOC, 512, 1024) == UNALIGNED
    assert bitmap_maps.take(maps, 1, 300 * UNIT, 300 * UNIT + 512) == UNALIGNED
    assert bitmap_maps.take(maps, 0, 0, UNIT) == ABSENT
    assert bitmap_maps.unput(maps, ALLOC, 0, UNIT) == ABSENT
    assert [bitmap_maps.put(maps, ALLOC, i * UNIT, (i + 1) * UNIT) for i in (0, 2, 4)] == [OK, OK, FULL]
    with pytest.raises(ValueError, match="262144"):
        new_block_maps(new_free_blocks(10, 2**18), 1, 1)


def test_cursors_are_lost_with_the_map():
    maps = maps_of(300)
    maps.free.cursors[:] = np.arange(128)
    bitmap_maps.forget_cursors(maps, 1)
    assert list(maps.free.cursors) == list(range(64)) + [0] * 64

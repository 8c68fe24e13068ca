"""First fit with a cursor for every alignment: against a naive twin, and what it does to indirect blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.simulations.sequential_reads import layout as seqread_layout
from model.simulations.sequential_reads.layout import first_fit, new_free
from model.zfs.dmu import layout
from model.zfs.dmu.indirect import CHECKSUM_OFF
from model.zfs.dmu.layout import block_sizes, number_blocks
from model.zfs.vdev import places
from model.zfs.vdev.places import LEAF_SHIFT, OFFSET_MASK

SECTORS = st.sampled_from([1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 256])


def naive(sectors):
    """The places, in sectors, that first fit gives to pieces of so many sectors: a map of what is taken, and cursors."""
    taken, cursors, places = np.zeros(1 + 2 * 256 * (len(sectors) + 1), bool), {}, []
    for n in sectors:
        alignment = n & -n
        at = cursors.get(alignment, 0)
        while True:
            while taken[at]:
                at += 1
            first = at
            while first > 0 and not taken[first - 1]:
                first -= 1  # the segment that the cursor lies in may begin before it
            behind = at
            while behind < len(taken) and not taken[behind]:
                behind += 1
            start = -(-first // alignment) * alignment
            if start + n <= behind:
                break
            at = behind
        taken[start:start + n] = True
        cursors[alignment] = start + n
        places.append(start)
    return places


@settings(deadline=None)
@given(st.lists(SECTORS, min_size=1, max_size=30))
def test_first_fit_is_what_the_naive_twin_does(sectors):
    free = new_free(1)
    free.frontier[:] = 0
    assert [first_fit(free, 0, 512 * n) // 512 for n in sectors] == naive(sectors)


def test_the_worked_vector_of_the_specification():
    free = new_free(1)
    free.frontier[:] = 0
    sectors = [int(first_fit(free, 0, 1024 * kib)) // 512 for kib in (8, 16, 8, 12, 128, 4, 8)]
    assert sectors == [0, 32, 16, 64, 256, 88, 96]


def test_small_records_lie_where_the_other_layout_puts_them():
    """With holes too short for anything, up to the first L2."""
    files, sizes = number_blocks([128 * 100]), block_sizes(n_leaves=5)
    first, second = layout.lay_out(files, sizes, 5)[0], seqread_layout.lay_out(files, sizes, 5)[0]
    assert (first.place[:-1] == second.place[:-1]).all()
    assert (first.second[:-1] == second.second[:-1]).all()


@pytest.fixture(scope="module")
def laid_out():
    files = number_blocks([2**14] * 3)
    sizes = block_sizes(0, 2**17, CHECKSUM_OFF, 7)
    return files, sizes, *seqread_layout.lay_out(files, sizes, 7)


def extents(files, sizes, made):
    n_bytes = np.full(files.n_blocks, sizes.record_bytes)
    n_bytes[files.n_records:] = made.n_bytes
    place, n_bytes = np.append(made.place, made.second), np.append(n_bytes, made.n_bytes)
    return place >> LEAF_SHIFT, place & OFFSET_MASK, n_bytes


def test_nothing_overlaps_and_all_is_aligned(laid_out):
    files, sizes, made, free = laid_out
    leaf, offset, n_bytes = extents(files, sizes, made)
    assert (offset % (n_bytes & -n_bytes) == 0).all()
    for i in range(7):
        order = np.argsort(offset[leaf == i])
        start, end = offset[leaf == i][order], (offset + n_bytes)[leaf == i][order]
        assert (start[1:] >= end[:-1]).all()
        assert end[-1] == free.frontier[i]


def test_holes_and_what_is_taken_make_the_whole(laid_out):
    files, sizes, made, free = laid_out
    leaf, _, n_bytes = extents(files, sizes, made)
    for i in range(7):
        n = free.n_holes[i]
        holes = (free.hole_end[i, :n] - free.hole_start[i, :n]).sum()
        assert places.FRONT_BYTES + n_bytes[leaf == i].sum() + holes == free.frontier[i]
        assert (free.hole_start[i, 1:n] > free.hole_end[i, :n - 1]).all()


def test_indirect_blocks_of_large_records_share_lines(laid_out):
    files, _, made, _ = laid_out
    place = made.place[files.n_records:]
    per_line = 2**16 // made.n_bytes[made.level == 1].max()
    lines = {(int(p) >> LEAF_SHIFT, (int(p) & OFFSET_MASK) >> 16) for p in place}
    assert 26 <= per_line <= 64
    assert len(lines) <= 7 * (1 + len(place) / 7 // (per_line / 2))


def test_little_room_for_holes_changes_nothing():
    files, sizes = number_blocks([2**16]), block_sizes(0, 4096, CHECKSUM_OFF, 2)
    made, free = seqread_layout.lay_out(files, sizes, 2)
    assert free.hole_start.shape[1] > 64 or free.max_holes[0] < 56
    leaf, offset, n_bytes = extents(files, sizes, made)
    order = np.lexsort((offset, leaf))
    same = leaf[order][1:] == leaf[order][:-1]
    assert (offset[order][1:] >= (offset + n_bytes)[order][:-1])[same].all()


def test_behind_other_data_files_lie_as_in_a_new_pool():
    """Moved by all that lies in front, which keeps every alignment."""
    files, sizes = number_blocks([3000, 3000]), block_sizes(0, 2**17, CHECKSUM_OFF, 5)
    new, _ = seqread_layout.lay_out(files, sizes, 5)
    behind, _ = seqread_layout.lay_out(files, sizes, 5, first_byte=2**30)
    assert (behind.place == new.place + 2**30).all()
    assert (behind.second == new.second + 2**30).all()

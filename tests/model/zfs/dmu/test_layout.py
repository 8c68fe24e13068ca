"""The layout of files written from start to end: laws of the allocator, and first fit done plainly."""

import itertools

import numpy as np
import pytest

from model.zfs.dmu import layout
from model.zfs.dmu.layout import (
    ALIQUOT_BYTES,
    Sizes,
    allocate,
    block_sizes,
    check_fits,
    lay_out,
    level_block,
    new_space,
    number_blocks,
)
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK

N_LEAVES = 7
SIZES = Sizes(8192, np.array([6144, 6656, 7168]), np.full(129, 7680), 8704)
FILES = number_blocks([128 * 300 + 5, 1280])


@pytest.fixture(scope="module")
def laid_out():
    return lay_out(FILES, SIZES, N_LEAVES)


def test_a_block_of_1024_pointers_lies_behind_as_many_records():
    files = number_blocks([1024 * 5 + 3], shift=10)
    assert [int(level_block(files, 0, record, 1)) - files.n_records for record in (0, 1023, 1024, 5122)] == [0, 0, 1, 5]
    sizes = block_sizes(shift=10)
    assert (len(sizes.l1), sizes.l1[0], sizes.l1[-1]) == (1025, sizes.sequential_l1[0], sizes.l1.max())
    places, _ = lay_out(files, sizes, N_LEAVES)
    assert [int(n) for n in np.bincount(places.level)] == [0, 6, 1]


def pieces(files, laid):
    """All copies of all blocks, in the order in which they are given: (block, copy, leaf, offset, B)."""
    places, _ = laid
    rows = []

    def add(block, level):
        i = block - files.n_records
        n_bytes = SIZES.record_bytes if level == 0 else int(places.n_bytes[i])
        for copy, place in enumerate([places.place[block]] + ([places.second[i]] if level else [])):
            rows.append((block, copy, int(place >> LEAF_SHIFT), int(place & OFFSET_MASK), n_bytes))

    for file, n_records in enumerate(files.n_records_of):
        for record in range(n_records):
            add(files.base[file, 0] + record, 0)
            for level in range(1, files.n_levels[file]):
                if (record + 1) % 128**level == 0 or record + 1 == n_records:
                    add(files.base[file, level] + (record >> 7 * level), level)
    return rows


def overlaps(rows):
    by_place = sorted((leaf, offset, offset + n) for _, _, leaf, offset, n in rows)
    return sum(a[0] == b[0] and a[2] > b[1] for a, b in itertools.pairwise(by_place))


def behind_last_child(rows):
    """Whether the first copy of each indirect block is the next piece given after a first copy, on the rotor's leaf."""
    ends, good = {}, 0
    for before, (_, copy, leaf, offset, n) in zip([None, *rows], rows, strict=False):
        if before is not None and n != SIZES.record_bytes and copy == 0:
            good += before[2] != leaf or ends[leaf] <= offset < ends[leaf] + 8192
        ends[leaf] = offset + n
    return good


def rotor(rows, n_leaves=N_LEAVES, aliquot=ALIQUOT_BYTES):
    """The leaves that the rule of the rotor asks for."""
    leaf, given, leaves = n_leaves - 1, 0, []
    for _, copy, _, _, n in rows:
        here = (leaves[-1] + 1) % n_leaves if copy else leaf
        leaves.append(here)
        given += n
        if given >= aliquot:
            leaf, given = (here + 1) % n_leaves, 0
    return leaves


def test_nothing_overlaps_and_everything_lies_behind_the_labels(laid_out):
    rows = pieces(FILES, laid_out)
    assert len(rows) == FILES.n_records + 2 * (FILES.n_blocks - FILES.n_records)
    assert overlaps(rows) == 0
    assert min(row[3] for row in rows) >= FRONT_BYTES


def test_the_rotor_goes_on_after_an_aliquot_of_all_that_was_given(laid_out):
    rows = pieces(FILES, laid_out)
    assert [row[2] for row in rows] == rotor(rows)


def test_each_indirect_block_lies_right_behind_its_last_child(laid_out):
    rows = pieces(FILES, laid_out)
    n_indirect = FILES.n_blocks - FILES.n_records
    assert behind_last_child(rows) == n_indirect


def test_every_piece_is_aligned_to_the_lowest_set_bit_of_its_length(laid_out):
    assert all(offset % (n & -n) == 0 for *_, offset, n in pieces(FILES, laid_out))


def first_fit(sizes, n_bytes=2**20):
    """First fit as the specification has it, on one leaf: a list of free ranges and a cursor per alignment."""
    free, cursor, places = [[0, n_bytes]], {}, []
    for size in sizes:
        align = size & -size
        for at in (cursor.get(align, 0), 0):
            fits = [(i, -(-a // align) * align) for i, (a, b) in enumerate(free)
                    if b > at and -(-a // align) * align + size <= b]
            if fits:
                break
        i, place = fits[0]
        a, b = free.pop(i)
        free[i:i] = [part for part in ([a, place], [place + size, b]) if part[0] < part[1]]
        cursor[align] = place + size
        places.append(place)
    return places


@pytest.mark.parametrize("indirect", [6144, 6656, 7168, 7680])
def test_behind_the_frontier_is_where_first_fit_ends(indirect):
    """As long as holes are shorter than pieces: records and L1s, two copies of them now and then."""
    sizes = ([8192] * 5 + [indirect] * 2 + [8192, indirect]) * 8
    space = new_space(1)
    assert [int(allocate(space, size)) - FRONT_BYTES for size in sizes] == first_fit(sizes)


def test_first_fit_fills_a_hole_that_is_long_enough_and_this_form_does_not():
    """The limit of the closed form, said in its docstring: an L1 may fit behind an L2 of 8.5 KiB."""
    sizes = [8192, 8704, 8192, 6656]
    space = new_space(1)
    ours = [int(allocate(space, size)) - FRONT_BYTES for size in sizes]
    assert ours != first_fit(sizes)


@pytest.mark.parametrize("first_byte", [1, 2**20, 10**11])
def test_behind_other_data_the_files_lie_just_as_in_an_empty_pool(laid_out, first_byte):
    places, space = lay_out(FILES, SIZES, N_LEAVES, first_byte=first_byte)
    moved = set((places.place - laid_out[0].place).tolist()) | set((places.second - laid_out[0].second).tolist())
    moved |= set((space.frontier - laid_out[1].frontier).tolist())
    assert len(moved) == 1
    assert first_byte <= moved.pop() < first_byte + 2**20


@pytest.mark.parametrize(("arguments", "words"), [((0,), "n_leaves is 0"), ((1, 2**19, -1), "first_byte is -1"),
                                                  ((1, 2**19, 2**47), "first_byte is 140737488355328")])
def test_an_impossible_pool_is_one_sentence(arguments, words):
    with pytest.raises(ValueError, match=words + ", but .*; choose"):
        new_space(*arguments)


def test_files_that_do_not_fit_are_one_sentence(laid_out):
    _, space = laid_out
    end = int(space.frontier.max())
    check_fits(space, end + 2**19)
    with pytest.raises(ValueError, match=f"end at byte {end} of a disk of {end + 2**19 - 1} bytes, .*[.] Choose"):
        check_fits(space, end + 2**19 - 1)


# ---- defects that these laws notice ----


def test_a_defect_is_noticed(laid_out):
    rows = pieces(FILES, laid_out)
    moved = [(*row[:3], row[3] - 1024, row[4]) if i == 9 else row for i, row in enumerate(rows)]
    assert overlaps(moved)
    places, space = laid_out
    uncounted = layout.Layout(*(array.copy() for array in places)), space
    without_copies = rotor([row for row in rows if row[1] == 0])
    assert [row[2] for row in rows if row[1] == 0] != without_copies
    uncounted[0].place[FILES.base[0, 1] + 3] += 2 * 8192
    assert behind_last_child(pieces(FILES, uncounted)) < FILES.n_blocks - FILES.n_records

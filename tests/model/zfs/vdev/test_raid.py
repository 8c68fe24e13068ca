"""Top-level vdevs: RAID-Z against its naive twin, and laws of mirrors and RAID-Z."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.zfs.vdev import child_columns as piece
from model.zfs.vdev.raid import (
    PADDING_NEVER,
    PADDING_OPTIONAL,
    PADDING_WITH_COLUMNS,
    asize,
    max_ios,
    mirror_child,
    read_ios,
    vdev_params,
    write_ios,
)
from twins.raid import DEFECTS, cells, on_disks

K, M = 2**10, 2**20
quick = settings(deadline=None, derandomize=True, max_examples=200)


def reads(vdev, offset, psize):
    ios = np.full((max_ios(vdev), 4), -1)
    return ios[: read_ios(vdev, offset, psize, ios)].tolist()


def writes(vdev, offset, psize, padding=PADDING_OPTIONAL):
    ios = np.full((max_ios(vdev), 4), -1)
    return ios[: write_ios(vdev, offset, psize, padding, ios)].tolist()


def sectors(vdev, ios):
    """(disk, sector of the disk) of all that is transferred, in order."""
    unit = 2**vdev.ashift
    return [(io[piece.CHILD], io[piece.OFFSET] // unit + i) for io in ios for i in range(io[piece.BYTES] // unit)]


@st.composite
def raidz_blocks(draw):
    n_parity = draw(st.integers(1, 3))
    vdev = vdev_params(f"raidz{n_parity}", draw(st.integers(n_parity + 1, 12)), draw(st.sampled_from([9, 12])))
    offset = draw(st.integers(0, 5000)) << vdev.ashift
    return vdev, offset, draw(st.one_of(st.integers(1, 20 * 2**vdev.ashift), st.sampled_from([8 * K, 16 * K, 128 * K])))


def twin_of(vdev, offset, psize, defect=None):
    return on_disks(vdev.n_children, cells(vdev.n_children, vdev.n_parity, vdev.ashift, offset, psize, defect))


def agrees(vdev, offset, psize, defect=None):
    """Whether the model reads the data of the twin in order, and writes all of it, parity and padding."""
    twin = twin_of(vdev, offset, psize, defect)
    data = sorted((number, at) for at, (role, number) in twin.items() if role == "data")
    padding = {at for at, (role, _) in twin.items() if role == "padding"}
    read, written = reads(vdev, offset, psize), writes(vdev, offset, psize)
    parity = sectors(vdev, written[: vdev.n_parity])
    return (sectors(vdev, read[::-1]) == [at for _, at in data]
            and sorted(sectors(vdev, written)) == sorted(twin)
            and {at for at, (role, _) in twin.items() if role == "parity"} == set(parity)
            and set(sectors(vdev, [io for io in written if io[piece.IS_PADDING]])) == padding
            and asize(vdev, psize) == len(twin) << vdev.ashift)


@quick
@given(raidz_blocks())
def test_raidz_agrees_with_its_twin(block):
    assert agrees(*block)


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_of_the_twin_are_noticed(defect):
    blocks = [(vdev_params(f"raidz{p}", n), offset, psize) for p in (1, 2, 3) for n in (p + 2, p + 4)
              for offset in (0, 512, M + 512) for psize in (512, 4 * K, 9 * 512)]
    assert not all(agrees(*block, defect) for block in blocks)


@quick
@given(raidz_blocks())
def test_a_disk_has_at_most_one_column_of_a_block_and_parity_is_elsewhere(block):
    vdev, offset, psize = block
    columns = writes(vdev, offset, psize, padding=PADDING_NEVER)
    assert len({io[piece.CHILD] for io in columns}) == len(columns)
    parity, data = columns[: vdev.n_parity], columns[vdev.n_parity :]
    assert data[::-1] == reads(vdev, offset, psize)
    # Parity of the longest column covers all.
    assert {io[piece.BYTES] for io in parity} == {max(io[piece.BYTES] for io in data)}


@quick
@given(raidz_blocks(), st.lists(st.integers(1, 40_000), min_size=1, max_size=12))
def test_blocks_one_behind_the_other_share_no_sector_and_leave_no_hole(block, psizes):
    vdev, offset, _ = block
    n, used, end = vdev.n_children, [], offset
    for psize in psizes:
        used += sectors(vdev, writes(vdev, end, psize))
        end += asize(vdev, psize)
    assert sorted(sector * n + disk for disk, sector in used) == list(range(offset >> vdev.ashift, end >> vdev.ashift))


@quick
@given(raidz_blocks())
def test_padding_is_less_than_the_smallest_block(block):
    vdev, offset, psize = block
    n_padding = sum(io[piece.IS_PADDING] for io in writes(vdev, offset, psize))
    assert n_padding <= vdev.n_parity
    assert asize(vdev, psize) % ((vdev.n_parity + 1) << vdev.ashift) == 0
    assert asize(vdev, psize) >= asize(vdev, max(1, psize - 1))  # and larger blocks never need less


@quick
@given(raidz_blocks())
def test_padding_goes_with_the_column_of_its_disk_from_openzfs_2_2_on(block):
    """The same sectors, and one I/O a disk; what need not be written is on disks that have nothing of the block."""
    apart, joined = writes(*block), writes(*block, padding=PADDING_WITH_COLUMNS)
    assert sorted(sectors(block[0], joined)) == sorted(sectors(block[0], apart))
    assert len({io[piece.CHILD] for io in joined}) == len(joined)
    columns = writes(*block, padding=PADDING_NEVER)
    assert [io[:2] for io in joined if not io[piece.IS_PADDING]] == [io[:2] for io in columns]


@pytest.mark.parametrize(("kind", "n", "psize", "more"), [
    ("raidz1", 6, 8 * K, 1), ("raidz2", 6, 8 * K, 2), ("raidz3", 6, 8 * K, 3), ("raidz2", 8, 16 * K, 0),
    ("raidz1", 5, M, 0)])
def test_records_take_whole_multiples_of_parity_and_a_sector(kind, n, psize, more):
    """Sectors of 4 KiB: 8 KiB are three sectors of RAID-Z1, which takes four; of RAID-Z2 four of six; of RAID-Z3 five of
    eight."""
    vdev = vdev_params(kind, n, 12)
    n_padding = sum(io[piece.IS_PADDING] for io in writes(vdev, 0, psize))
    assert n_padding == more
    data = psize // 4096
    rows = -(-data // (n - vdev.n_parity))
    assert asize(vdev, psize) // 4096 == data + rows * vdev.n_parity + more


@pytest.mark.parametrize("n_parity", [1, 2, 3])
def test_one_sector_of_raidz_is_a_mirror_of_all_parity(n_parity):
    vdev = vdev_params(f"raidz{n_parity}", 6)
    ios = writes(vdev, 7 * 512, 512)
    assert [io[piece.BYTES] for io in ios] == [512] * (n_parity + 1)
    assert asize(vdev, 512) == 512 * (n_parity + 1)
    assert len(reads(vdev, 7 * 512, 512)) == 1


@pytest.mark.parametrize(("kind", "n", "column"), [("raidz1", 5, 32 * K), ("raidz2", 6, 32 * K), ("raidz3", 11, 16 * K)])
def test_a_large_record_fills_all_disks_alike(kind, n, column):
    vdev = vdev_params(kind, n)
    ios = writes(vdev, 0, 128 * K, padding=PADDING_NEVER)
    assert sorted(io[piece.CHILD] for io in ios) == list(range(n))
    assert {io[piece.BYTES] for io in ios} == {column}
    assert all(io[piece.OFFSET] == 0 for io in ios)
    assert len(reads(vdev, 0, 128 * K)) == n - vdev.n_parity


def test_the_picture_in_the_docstring():
    vdev = vdev_params("raidz1", 5)
    ios = writes(vdev, 2 * 512, 10 * 512)
    assert [[io[piece.CHILD], io[piece.OFFSET] // 512, io[piece.BYTES] // 512, io[piece.IS_PADDING]] for io in ios] == [
        [2, 0, 3, 0], [3, 0, 3, 0], [4, 0, 3, 0], [0, 1, 2, 0], [1, 1, 2, 0], [0, 3, 1, 1]]
    assert reads(vdev, 2 * 512, 10 * 512) == ios[4:0:-1]


def test_raidz1_swaps_parity_in_every_second_mebibyte_and_others_do_not():
    for kind, swaps in (("raidz1", True), ("raidz2", False), ("raidz3", False)):
        vdev = vdev_params(kind, 4)  # 4 divides 1 MiB, so that blocks of both begin on disk 0
        assert writes(vdev, 0, 8 * K)[0][piece.CHILD] == 0
        assert (writes(vdev, M, 8 * K)[0][piece.CHILD] == 1) == swaps
        assert sorted(sectors(vdev, writes(vdev, M, 8 * K))) == [
            (disk, sector + M // 2048) for disk, sector in sorted(sectors(vdev, writes(vdev, 0, 8 * K)))]


@given(st.integers(2, 5), st.integers(0, 2**40).map(lambda n: n * 512), st.integers(1, 300 * K))
@quick
def test_a_mirror_writes_all_children_and_reads_one(n, offset, psize):
    vdev = vdev_params("mirror", n)
    [read] = reads(vdev, offset, psize)
    written = writes(vdev, offset, psize)
    assert read in written
    assert [io[piece.CHILD] for io in written] == list(range(n))
    assert {tuple(io[piece.OFFSET:]) for io in written} == {(offset, asize(vdev, psize), 0)}


@pytest.mark.parametrize("n", [2, 3, 4])
def test_mirror_children_take_turns_every_2_mib(n):
    vdev = vdev_params("mirror", n)
    children = [mirror_child(vdev, offset) for offset in range(0, n * 2 * M, 8 * K)]
    assert children == sorted(children)
    assert set(Counter(children).values()) == {256}
    assert mirror_child(vdev, n * 2 * M) == 0


def test_a_single_disk_does_what_it_is_told():
    vdev = vdev_params()
    assert reads(vdev, 12345 * 512, 8 * K) == writes(vdev, 12345 * 512, 8 * K) == [[0, 12345 * 512, 8 * K, 0]]
    assert asize(vdev, 513) == 1024


@pytest.mark.parametrize(("arguments", "words"), [
    (("mirror", 1), "n_children of a vdev of kind mirror is 1, but it must be a whole number from 2 to 255"),
    (("raidz2", 2), "n_children of a vdev of kind raidz2 is 2, but it must be a whole number from 3 to 255"),
    (("raidz1", 2.5), "n_children .* is 2.5, but"),
    (("single", 2), "n_children of a vdev of kind single is 2, but it must be 1;"),
    (("mirror", 2, 8), "ashift .* is 8, but it must be a whole number from 9 to 17"),
    (("raid5", 4), "kind of the vdev is 'raid5', which is unknown; choose one of single, mirror, raidz1"),
])
def test_impossible_vdevs_get_one_sentence(arguments, words):
    with pytest.raises(ValueError, match=words) as error:
        vdev_params(*arguments)
    assert str(error.value).count("\n") == 0

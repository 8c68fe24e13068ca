"""Indirect blocks: the tree against counting, LZJB against a decompressor, sizes against those known to be right."""


import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from model.zfs.dmu.indirect import (
    CHECKSUM_OFF,
    FLETCHER2,
    FLETCHER4,
    INDIRECT_BYTES,
    POINTERS,
    REWRITTEN,
    SEQUENTIAL,
    block_above,
    block_pointers,
    copies,
    kept_bytes,
    l2_psize,
    lzjb,
    meta_dnode_levels,
    n_blocks_at,
    n_levels,
    psize,
    tree,
)
from support.processes import UNCOMPILED, prints_the_same

quick = settings(deadline=None, derandomize=True, max_examples=60)
GIB = 2**30

# ---- the tree ----


@pytest.mark.parametrize(("n_records", "expected"), [
    (GIB // 2**17, [8192, 64, 1]), (320, [320, 3, 1]), (GIB // 2**13, [131072, 1024, 8, 1]),
    (100 * GIB // 2**13, [13107200, 102400, 800, 7, 1]), (1, [1]), (2, [2, 1]), (128, [128, 1]), (129, [129, 2, 1])])
def test_the_files_of_the_specification(n_records, expected):
    """Spec 5.1, and the smallest ones."""
    assert tree(n_records) == expected
    assert n_levels(n_records, 1) == len(expected)


@pytest.mark.parametrize(("n_records", "expected"), [
    (2**17, [2**17, 128, 1]), (100 * GIB // 2**13, [13107200, 12800, 13, 1]), (1024, [1024, 1]), (1025, [1025, 2, 1])])
def test_files_of_openzfs_have_1024_pointers_in_an_indirect_block(n_records, expected):
    """128 KiB of 128 B each: change 7104."""
    assert tree(n_records, shift=10) == expected
    assert n_levels(n_records, 1, 10) == len(expected)
    assert [block_above(n_records - 1, level, 10) + 1 for level in range(len(expected))] == expected


def test_the_object_of_all_dnodes_has_six_levels_or_five():
    """Spec 5.1; OpenZFS, dmu_objset.c: as many as 2^48 dnodes need."""
    assert [meta_dnode_levels(shift) for shift in (7, 10)] == [6, 5]


def test_a_zvol_has_three_root_pointers():
    assert tree(3 * 128, 3) == [384, 3]
    assert tree(3 * 128 + 1, 3) == [385, 4, 1]


@quick
@given(st.integers(1, 60000))
def test_blocks_of_a_level_are_those_above_some_record(n_records):
    records = np.arange(n_records)
    for level, n_blocks in enumerate(tree(n_records)):
        above = records >> (7 * level)
        assert n_blocks == n_blocks_at(n_records, level) == len(np.unique(above))
        assert block_above(n_records - 1, level) == above[-1] == n_blocks - 1


def test_copies():
    """Spec 5.4: data 1, metadata 2, MOS 3, and never more than 3."""
    assert [copies(False, 0, 1), copies(False, 1, 1), copies(True, 0, 1), copies(True, -1, 1)] == [1, 2, 2, 2]
    assert [copies(False, 0, 3), copies(True, 0, 3), copies(False, 0, 2), copies(False, 1, 2)] == [3, 3, 2, 3]


# ---- LZJB ----


def decompress(packed, n_bytes):
    """The format said backwards."""
    plain, at = bytearray(), 0
    while len(plain) < n_bytes:
        control, at = packed[at], at + 1
        for bit in range(8):
            if len(plain) == n_bytes:
                break
            if control >> bit & 1:
                length, distance = (packed[at] >> 2) + 3, (packed[at] & 3) << 8 | packed[at + 1]
                at += 2
                assert 0 < distance <= len(plain)
                for _ in range(length):
                    plain.append(plain[-distance])
            else:
                plain.append(packed[at])
                at += 1
    assert at == len(packed)
    return bytes(plain)


# Stretches of sameness, of repetition and of noise, so that copies of every length and distance occur.
stretches = st.lists(st.one_of(
    st.builds(lambda byte, n: bytes([byte]) * n, st.integers(0, 255), st.integers(1, 300)),
    st.builds(lambda text, n: text * n, st.binary(min_size=1, max_size=90), st.integers(1, 20)),
    st.binary(min_size=1, max_size=200)), min_size=1, max_size=12).map(b"".join)


@quick
@given(stretches)
def test_what_is_compressed_comes_back(block):
    packed = lzjb(block)
    assert len(packed) <= kept_bytes(len(block)) or packed == block
    if packed != block:
        assert decompress(packed, len(block)) == block


@pytest.mark.parametrize("kind", [SEQUENTIAL, REWRITTEN])
@pytest.mark.parametrize("checksum", [CHECKSUM_OFF, FLETCHER2])
@pytest.mark.parametrize("n_used", [1, 8, 64, POINTERS])
def test_indirect_blocks_come_back(kind, checksum, n_used):
    block = block_pointers(kind, checksum, stream(2, "pointers"), n_used).tobytes()
    assert len(block) == INDIRECT_BYTES
    assert decompress(lzjb(block), INDIRECT_BYTES) == block


def test_sameness_is_copied_66_bytes_at_a_time():
    """A byte as it is, then copies: of 4096 equal bytes the last 66 are left alone, unless a copy reaches into them."""
    n_copies = -(-(4096 - 66) // 66)
    n_single = 1 + 4096 - 1 - n_copies * 66
    assert len(lzjb(bytes([7]) * 4096)) == n_single + 2 * n_copies + -(-(n_single + n_copies) // 8)


def test_a_copy_reaches_back_1023_bytes_and_no_further():
    def length(distance):
        noise = bytes(range(40, 80))
        return len(lzjb(noise + bytes([200]) * (distance - 40) + noise + bytes(4096)))
    assert length(1022) == length(1023) < length(1024) - 30


def test_noise_stays_as_it_is():
    noise = stream(3, "noise").integers(0, 256, INDIRECT_BYTES, dtype=np.uint8).tobytes()
    assert lzjb(noise) == noise
    assert psize(noise) == INDIRECT_BYTES


@pytest.mark.parametrize("n_noise", [12000, 12600, 13000])
def test_an_eighth_must_be_saved(n_noise):
    """Noise takes 9/8 of its length, zeros next to nothing: 14336 of 16384 bytes may be kept."""
    noise = stream(4, "noise").integers(0, 256, n_noise, dtype=np.uint8).tobytes()
    packed = lzjb(noise + bytes(INDIRECT_BYTES - n_noise))
    assert (len(packed) == INDIRECT_BYTES) == (n_noise * 9 / 8 > kept_bytes(INDIRECT_BYTES) - 150)
    assert kept_bytes(INDIRECT_BYTES) == 14336


def test_zeros_are_a_hole():
    assert psize(bytes(INDIRECT_BYTES)) == 0
    assert psize(bytes(INDIRECT_BYTES - 1) + b"x") == 1024


# ---- sizes of indirect blocks ----

KB = 1024
SIZES = [  # kind, checksum, pointers, from, to: the bands of spec 5.1, and of zero checksums
    (SEQUENTIAL, FLETCHER2, POINTERS, 6.0, 6.5),
    (SEQUENTIAL, FLETCHER4, POINTERS, 6.0, 6.5),
    (REWRITTEN, FLETCHER2, POINTERS, 7.0, 7.5),
    (REWRITTEN, FLETCHER4, POINTERS, 7.0, 7.5),
    (SEQUENTIAL, FLETCHER2, POINTERS // 2, 3.5, 3.5),
    (REWRITTEN, FLETCHER2, 8, 1.0, 1.5),
    (SEQUENTIAL, FLETCHER2, 1, 1.0, 1.0),
    (SEQUENTIAL, CHECKSUM_OFF, POINTERS, 1.0, 1.5),
    (REWRITTEN, CHECKSUM_OFF, POINTERS, 2.0, 2.5),
]


def l1_psize(kind, checksum, rng, n_used=None, **layout):
    """B on disk of an L1 made up with `rng`, with `n_used` pointers to records."""
    return psize(block_pointers(kind, checksum, rng, n_used, **layout).tobytes())


@pytest.mark.parametrize("n_vdevs", [1, 46])
@pytest.mark.parametrize(("kind", "checksum", "n_used", "low", "high"), SIZES)
def test_sizes_of_an_l1(kind, checksum, n_used, low, high, n_vdevs):
    rng = stream(5, "pointers")
    sizes = [l1_psize(kind, checksum, rng, n_used, n_vdevs=n_vdevs) for _ in range(20)]
    assert low * KB <= min(sizes) <= max(sizes) <= high * KB


@pytest.mark.parametrize(("kind", "low", "high"), [(SEQUENTIAL, 44, 48), (REWRITTEN, 56, 59)])
def test_an_l1_of_128_kib_packs_like_one_of_16(kind, low, high):
    """LZ4 makes a tenth less of the very same blocks: 40.8 and 52.3 KiB, by its library."""
    rng = stream(5, "pointers")
    block = block_pointers(kind, FLETCHER4, rng, shift=10).tobytes()
    assert len(block) == 2**17
    assert low * KB <= psize(block) <= high * KB


def test_sizes_of_an_l2():
    """Children with two DVAs: 8.0 to 8.5 KB if scattered; less if they lie where a sequential load puts them."""
    rng = stream(5, "pointers")
    assert {l2_psize(REWRITTEN, rng, n_vdevs=n) for n in (1, 46) for _ in range(20)} <= {8 * KB, 8 * KB + 512}
    assert {l2_psize(SEQUENTIAL, rng) for _ in range(20)} <= {6 * KB + 512, 7 * KB}


def test_without_checksums_26_to_64_l1s_share_a_line_and_about_10_with_them():
    rng = stream(6, "pointers")
    per_line = {(kind, checksum): 65536 / l1_psize(kind, checksum, rng, record_bytes=2**17)
                for kind in (SEQUENTIAL, REWRITTEN) for checksum in (CHECKSUM_OFF, FLETCHER2)}
    assert all(25 < n <= 64 for (_, checksum), n in per_line.items() if checksum == CHECKSUM_OFF)
    assert all(8 < n < 12 for (_, checksum), n in per_line.items() if checksum == FLETCHER2)


def test_block_pointers_say_what_they_stand_for():
    rng = stream(7, "pointers")
    words = block_pointers(SEQUENTIAL, FLETCHER4, rng, 100, n_vdevs=3)
    vdev, sectors, offset = words[:100, 0] >> 32, words[:100, 0] & 0xFFFFFF, words[:100, 1]
    assert not words[100:].any()
    assert set(vdev) <= {0, 1, 2}
    assert set(sectors) == {16}
    assert len(set(zip(vdev.tolist(), offset.tolist(), strict=True))) == 100
    same_vdev = vdev[1:] == vdev[:-1]
    assert set(np.diff(offset.astype(np.int64))[same_vdev]) == {16}  # one behind the other, until the next vdev's turn
    assert len(set(words[:100, 10])) == 1
    assert set(words[:100, 6]) == {15 | 15 << 16 | 2 << 32 | 7 << 40 | 19 << 48 | 1 << 63}
    assert not words[:, 2:6].any()


def test_pointers_to_indirect_blocks_have_two_dvas_and_always_checksums():
    words = block_pointers(REWRITTEN, CHECKSUM_OFF, stream(7, "pointers"), level=1)
    assert words[:, 2].all()
    assert not words[:, 4:6].any()
    assert words[:, 12:].all()
    assert set(words[:, 11]) == {128}


def test_a_stream_gives_the_same_block_again():
    first, second = (block_pointers(REWRITTEN, FLETCHER2, stream(8, "pointers")) for _ in range(2))
    assert np.array_equal(first, second)


# ---- bad values ----


@pytest.mark.parametrize("bad", [{"kind": 2}, {"checksum": 1}, {"n_used": 129}, {"n_used": -1}, {"level": 7},
                                 {"record_bytes": 3000}, {"n_vdevs": 0}])
def test_bad_pointers_are_one_sentence(bad):
    (name, value), = bad.items()
    with pytest.raises(ValueError, match=f"{name} of an indirect block's pointers is {value}, but .*; choose"):
        block_pointers(**({"kind": 0, "checksum": FLETCHER2, "rng": stream(1, "x")} | bad))


@pytest.mark.parametrize(("name", "values"), [("n_records", (0,)), ("n_records", (2**51,)), ("n_records", (1.5,)),
                                              ("root_pointers", (1, 0)), ("root_pointers", (1, 4))])
def test_an_impossible_file_is_one_sentence(name, values):
    with pytest.raises(ValueError, match=f"{name} of a file is {values[-1]}, but .*; choose"):
        tree(*values)


# ---- the same without the compiler, and with every index checked ----

SHORT_RUN = """
from model.zfs.dmu.indirect import *
from model.events.streams import stream
import hashlib
rng = stream(9, "pointers")
for kind in range(2):
    packed = lzjb(block_pointers(kind, FLETCHER2, rng).tobytes())
    print(hashlib.sha256(packed).hexdigest(), l2_psize(kind, rng), tree(10**6))
"""


@pytest.mark.slow
@pytest.mark.parametrize("setting", UNCOMPILED)
def test_interpreted_and_bounds_checked_code_compresses_the_same(setting):
    assert prints_the_same(SHORT_RUN, setting)

"""Indirect blocks: which ones stand above a record, how many there are, and how large they are on disk.

A file is a tree. Its records are level 0. An indirect block (16 KiB) of level 1, an L1, holds the block pointers (128 B
each) of 128 records. An L2 holds those of 128 L1s. So it goes on, until one block, or as many as the dnode has root
pointers, is left at the top. To reach a record ZFS needs every block above it; to rewrite it, it rewrites all of them, once
per transaction group.

    blocks of level k above record r     r >> 7k
    how many there are                   ceil(records / 128^k)

Files of OpenZFS from 0.7 on have indirect blocks of 128 KiB, with 1024 pointers: a `shift` of 10 in place of 7.

Indirect blocks are stored compressed (LZJB). So how many of them share a 64 KiB line of the vdev cache depends on what
is in them. That is *computed* here: block pointers are made up as ZFS fills them in, and a compressor of the same
format is run over them. A block pointer is 16 words of 64 bits:

    0 to 5    three DVAs of two words: vdev and allocated sectors; offset in sectors. Copies not made are zero
    6         logical and physical sectors, compression, checksum, type of object, level, byte order
    7 to 9    unused
    10, 11    txg of birth; how many records are below (1 for a record)
    12 to 15  checksum: noise as far as a compressor is concerned; all zero when the data checksum is off

So of 128 bytes 32 are noise, a few count up, and all else repeats the pointer before. Without checksums little is left.

LZJB: a control byte announces eight items, least significant bit first. A clear bit is a byte as it is. A set bit is two
bytes that stand for a copy of 3 to 66 earlier bytes, from up to 1023 back. They have 6 bits of length - 3 and 10 bits of
distance. Where the last same three bytes were is remembered in 1024 places, found by a hash, as an address. One from further
back is mistaken for one nearby, and tried all the same. The result is kept if it saves an eighth, and rounded up to sectors.

In ZFS: dnode.c, dbuf.c, spa.h, lzjb.c, zio_compress.c; spec 5.1, 5.3, 5.4. LZJB on a real machine starts with whatever
was in its table, so that sizes vary by a few bytes; here it starts with zeros. The hash is the one of 2007.
"""

from typing import NamedTuple

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.jit import kernel
from model.zfs.shared_numbers import POINTER_SHIFT

POINTERS = 1 << POINTER_SHIFT
POINTER_WORDS = 16
POINTER_BYTES = POINTER_WORDS * 8
INDIRECT_BYTES = POINTERS * POINTER_BYTES  # B, logical
MAX_SHIFT = 10  # 128 KiB: DN_MAX_INDBLKSHIFT less SPA_BLKPTRSHIFT, OpenZFS change 7104
ROOT_POINTERS_FILE, ROOT_POINTERS_ZVOL = 1, 3  # in the dnode; spec 5.1
MAX_RECORDS = 2**50


class IndirectParams(NamedTuple):
    """The rules of a build; the default is that of 2005 to 2016 (spec 5.1)."""

    shift: int = POINTER_SHIFT  # log2 of the pointers in an indirect block of a new file; zfs_default_ibs less 7


# ---- the tree ----


@kernel
def block_above(record, level, shift=POINTER_SHIFT):
    """The number, in its level, of the block of `level` above `record`; level 0 is the record itself."""
    return record >> (shift * level)


@kernel
def n_blocks_at(n_records, level, shift=POINTER_SHIFT):
    """How many blocks of `level` a file of `n_records` records has."""
    below = shift * level
    return (n_records + (1 << below) - 1) >> below


@kernel
def n_levels(n_records, root_pointers, shift=POINTER_SHIFT):
    """Levels of a file that has grown to `n_records` records, level 0 among them. If it shrinks it keeps them."""
    levels = 1
    while n_blocks_at(n_records, levels - 1, shift) > root_pointers:
        levels += 1
    return levels


def check_file(n_records, root_pointers=ROOT_POINTERS_FILE):
    """Raise ValueError with one sentence unless there can be such a file."""
    for name, value, high in (("n_records", n_records, MAX_RECORDS), ("root_pointers", root_pointers, 3)):
        if value != int(value) or not 1 <= value <= high:
            raise ValueError(f"{name} of a file is {value}, but it must be a whole number from 1 to {high}; "
                             "choose one in that range")


def tree(n_records, root_pointers=ROOT_POINTERS_FILE, shift=POINTER_SHIFT):
    """Blocks of each level, from the records to the top: `tree(8192)` is [8192, 64, 1]."""
    check_file(n_records, root_pointers)
    return [n_blocks_at(n_records, level, shift) for level in range(n_levels(n_records, root_pointers, shift))]


@kernel
def meta_dnode_levels(shift):
    """Indirect levels of the object of all dnodes: three roots, blocks of 32 dnodes, room for 2^48 of them; spec 5.1."""
    levels = 0
    while 3 << (5 + levels * shift) < 1 << 48:
        levels += 1
    return levels


@kernel
def copies(is_metadata, level, dataset_copies):
    """DVAs of a block: as the dataset asks for (1 unless set, MOS 3), one more for metadata, 3 at most; spec 5.4."""
    return min(3, dataset_copies + 1) if is_metadata or level != 0 else min(3, dataset_copies)


# ---- LZJB ----

MATCH_MIN, MATCH_MAX = 3, 66  # B in a copy
DISTANCES = 1024  # B back, 0 not among them
HASHES = 1024
_CONTROL_BITS = 8
_WORST_GROUP = 1 + 2 * _CONTROL_BITS  # B, a control byte and eight copies


@kernel
def _hash(source, at):
    """Where the last place of the three bytes at `at` is remembered."""
    return ((int(source[at]) + 13) ^ (int(source[at + 1]) - 13) ^ int(source[at + 2])) & (HASHES - 1)


@kernel
def _match_bytes(source, at, distance):
    """Bytes at `at` that repeat those `distance` before, MATCH_MAX at most."""
    n = 0
    while n < MATCH_MAX and source[at + n] == source[at + n - distance]:
        n += 1
    return n


@kernel
def _best_copy(source, at, last_place):
    """(bytes, distance) of what can be copied at `at`; 0 bytes if nothing."""
    place = _hash(source, at)
    distance = (at - last_place[place]) & (DISTANCES - 1)
    last_place[place] = at
    if distance == 0 or distance > at:
        return 0, 0
    n_bytes = _match_bytes(source, at, distance)
    return (n_bytes, distance) if n_bytes >= MATCH_MIN else (0, 0)


@kernel
def compress(source, target, last_place):
    """Write `source` (uint8[n]) in LZJB to `target` (uint8, as long as what may be kept).

    `last_place` (int64[HASHES]) is the table, zeros at first. Returns the bytes written; or n, giving up, where there
    might not be room for another group.
    """
    n_source, n_room = len(source), len(target) - _WORST_GROUP
    at = written = control = 0
    bit = _CONTROL_BITS
    while at < n_source:
        if bit == _CONTROL_BITS:
            if written >= n_room:
                return n_source
            control, bit = written, 0
            target[control] = 0
            written += 1
        n_bytes, distance = _best_copy(source, at, last_place) if at <= n_source - MATCH_MAX else (0, 0)
        if n_bytes == 0:
            target[written] = source[at]
            written, at = written + 1, at + 1
        else:
            target[control] |= 1 << bit
            target[written] = (n_bytes - MATCH_MIN) << 2 | distance >> 8
            target[written + 1] = distance & 255
            written, at = written + 2, at + n_bytes
        bit += 1
    return written


def kept_bytes(n_bytes):
    """B that the compressed form of `n_bytes` may have at most to be kept: an eighth less, in whole sectors."""
    return (n_bytes - n_bytes // 8) // SECTOR_BYTES * SECTOR_BYTES


def lzjb(block):
    """`block` (bytes-like) compressed, as bytes; the block itself if that saves too little."""
    source = np.frombuffer(block, np.uint8).copy()
    target = np.zeros(kept_bytes(len(source)), np.uint8)
    n_bytes = compress(source, target, np.zeros(HASHES, np.int64))
    return target[:n_bytes].tobytes() if n_bytes <= len(target) else source.tobytes()


def psize(block: bytes) -> int:
    """B that `block` takes on disk: compressed and in whole sectors; none at all if it is all zeros (a hole)."""
    if not np.frombuffer(block, np.uint8).any():
        return 0
    return -(-len(lzjb(block)) // SECTOR_BYTES) * SECTOR_BYTES


# ---- block pointers, made up ----

# What the children of an indirect block look like.
SEQUENTIAL = 0  # written one after the other, in one txg
REWRITTEN = 1  # rewritten at random since: places and births are anywhere
KINDS = ("SEQUENTIAL", "REWRITTEN")

# Their checksums.
CHECKSUM_OFF, FLETCHER2, FLETCHER4 = 2, 6, 7  # ZFS's numbers; zio.h
CHECKSUMS = (CHECKSUM_OFF, FLETCHER2, FLETCHER4)

_COMPRESS_OFF, _COMPRESS_LZJB = 2, 3  # zio.h
_PLAIN_FILE = 19  # type of object; dmu.h
_LITTLE_ENDIAN = 1
_SECTORS_PER_VDEV = 2**29  # room to place things in: 256 GiB, about a disk of 2007
_VDEV_RUN_SECTORS = 1024  # 512 KiB go to one vdev before the next has its turn; spec 2.3
_TXGS = 2**16  # births of what was rewritten lie this far apart, about four days of txgs
_L1_SHARE = 7 / 16  # of its length, what an L1 takes on disk, as a child of an L2


def _places(kind, n, spacing, n_vdevs, rng):
    """(vdev, offset in sectors) of `n` blocks (uint64[n]), in order of the file; SEQUENTIAL ones start every `spacing`
    sectors, going round the vdevs."""
    if kind == REWRITTEN:
        vdev = (rng.random(n) * n_vdevs).astype(np.uint64)
        return vdev, (rng.random(n) * _SECTORS_PER_VDEV).astype(np.uint64)
    run, place = np.divmod(np.arange(n) * spacing, _VDEV_RUN_SECTORS)
    first = int(rng.random() * _SECTORS_PER_VDEV)
    vdev = (int(rng.random() * n_vdevs) + run) % n_vdevs
    return vdev.astype(np.uint64), (first + run // n_vdevs * _VDEV_RUN_SECTORS + place).astype(np.uint64)


def _births(kind, n, rng):
    birth = np.full(n, 2**20 + int(rng.random() * _TXGS))  # some 60 days of txgs after the pool was made
    return birth - (rng.random(n) * _TXGS).astype(np.int64) if kind == REWRITTEN else birth


def _checksum_words(checksum, n, n_bytes, rng):
    """Checksums of `n` blocks of `n_bytes` of noise (uint64[n, 4])."""
    words = (rng.random((n, 8)) * 2.0**32).astype(np.uint64)
    words = words[:, :4] << np.uint64(32) | words[:, 4:]
    if checksum == CHECKSUM_OFF:
        words[:] = 0
    if checksum == FLETCHER4:  # sums, and sums of sums, of 32-bit words: the first two never fill 64 bits
        n_words = n_bytes // 4
        for order, largest in enumerate((n_words, n_words * (n_words + 1) // 2)):
            words[:, order] >>= np.uint64(max(0, 32 - largest.bit_length()))
    return words


def _properties(lsize, psize_, compression, checksum, level):
    """Word 6 of a block pointer."""
    fields = ((lsize // SECTOR_BYTES - 1, 0), (psize_ // SECTOR_BYTES - 1, 16), (compression, 32), (checksum, 40),
              (_PLAIN_FILE, 48), (level, 56), (_LITTLE_ENDIAN, 63))
    return np.uint64(sum(value << shift for value, shift in fields))


def block_pointers(kind: int, checksum: int, rng: np.random.Generator, n_used: int | None = None, level: int = 0,
                   record_bytes: int = 8192, n_vdevs: int = 46, shift: int = POINTER_SHIFT) -> np.ndarray:
    """An indirect block with `n_used` pointers (all of them if left out) to children of `level`, the rest of it zero
    ('<u8'[2^shift, 16]).

    Children of level 0 are records of `record_bytes`, uncompressed, one DVA, with `checksum`. Those of higher levels are
    indirect blocks, of 7/16 of their length on disk. They have two DVAs, and always FLETCHER4, as metadata has. SEQUENTIAL
    ones lie as far apart as what they stand above is long.
    """
    pointers = 1 << shift
    n_used = pointers if n_used is None else n_used
    _check_pointers(kind, checksum, n_used, level, record_bytes, n_vdevs, shift)
    lsize, on_disk, compression = record_bytes, record_bytes, _COMPRESS_OFF
    if level > 0:
        lsize = pointers * POINTER_BYTES
        on_disk, compression, checksum = int(_L1_SHARE * lsize), _COMPRESS_LZJB, FLETCHER4
    sectors, spacing = on_disk // SECTOR_BYTES, record_bytes // SECTOR_BYTES * pointers**level
    words = np.zeros((pointers, POINTER_WORDS), "<u8")  # little-endian machines, as x86
    used = words[:n_used]
    for copy in range(copies(False, level, 1)):
        vdev, offset = _places(kind, n_used, spacing, n_vdevs, rng)
        used[:, 2 * copy] = vdev << np.uint64(32) | np.uint64(sectors)
        used[:, 2 * copy + 1] = offset
    used[:, 6] = _properties(lsize, on_disk, compression, checksum, level)
    used[:, 10] = _births(kind, n_used, rng)
    used[:, 11] = pointers**level
    used[:, 12:] = _checksum_words(checksum, n_used, on_disk, rng)
    return words


def _check_pointers(kind, checksum, n_used, level, record_bytes, n_vdevs, shift):
    """Raise ValueError with one sentence unless there can be such a block."""
    allowed = {"kind": (kind, kind in range(len(KINDS)), "SEQUENTIAL or REWRITTEN"),
               "checksum": (checksum, checksum in CHECKSUMS, "CHECKSUM_OFF, FLETCHER2 or FLETCHER4"),
               "shift": (shift, shift in range(3, MAX_SHIFT + 1), f"3 to {MAX_SHIFT}"),
               "n_used": (n_used, n_used in range((1 << shift) + 1), f"0 to {1 << shift}"),
               "level": (level, level in range(7), "0 to 6"),
               "record_bytes": (record_bytes, record_bytes in [512 << shift for shift in range(16)],
                                "a power of two from 512 to 16777216"),
               "n_vdevs": (n_vdevs, n_vdevs in range(1, 2**16), "1 to 65535")}
    for name, (value, good, bound) in allowed.items():
        if not good:
            raise ValueError(f"{name} of an indirect block's pointers is {value}, but it must be {bound}; choose one of"
                             " these")


def l2_psize(kind, rng, n_used=None, **layout):
    """B on disk of an L2 made up with `rng`, with `n_used` pointers to L1s; `layout`: record_bytes, n_vdevs, shift."""
    return psize(block_pointers(kind, FLETCHER4, rng, n_used, 1, **layout).tobytes())

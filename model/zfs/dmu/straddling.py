"""Requests and blocks: which blocks a request lies across, and what reaches the pool for it. Closed forms, without a clock.

A request of `n_bytes` at byte `offset` of a volume touches the blocks from `offset // B` to `(offset + n_bytes - 1) // B`.
Of these the first and the last alone can be touched in part. In ZFS (spec 5.2; dbuf.c: `dbuf_will_dirty`):

 1. A block that is read comes from the pool, unless it is in core.
 2. A block that is written as a whole need not be read.
 3. A block that is written in part has to be read first, unless it is in core: read-modify-write.
 4. From then on it is dirty in core. Later writes of its transaction group read nothing, and the group writes it once.

By rule 3 a write that completes a block comes too late to spare its read. A store that gathered a whole group before it
read anything would spare that: `gathered_ios`.

Sizes and offsets are in bytes. Blocks are powers of two, as a volblocksize is. All numbers are exact.
"""

from typing import NamedTuple

import numpy as np

SECTOR_BYTES = 512  # the unit of partition tables


class Touched(NamedTuple):
    """The blocks of one request."""

    first: int  # number of the first block
    n_blocks: int
    n_part: int  # of these, touched in part: 0, 1 or 2


class Ios(NamedTuple):
    """Blocks that are read from the pool, and that are written to it."""

    reads: int
    writes: int


def check_block(block_bytes: int) -> None:
    """ValueError, one sentence, unless it is a power of two and at least a sector."""
    if block_bytes < SECTOR_BYTES or block_bytes & (block_bytes - 1):
        raise ValueError(f"the block is {block_bytes} B, but a block is a power of two of {SECTOR_BYTES} B or more; choose "
                         "one, as 8192")


def check_request(offset: int, n_bytes: int) -> None:
    """ValueError, one sentence, unless a request can be so."""
    if offset < 0:
        raise ValueError(f"the offset is {offset} B, but nothing lies in front of a volume; choose 0 or more")
    if n_bytes < 1:
        raise ValueError(f"the request has {n_bytes} B, but it needs one at least; choose 1 or more")


def _check_count(n_requests: int) -> None:
    if n_requests < 1:
        raise ValueError(f"there are {n_requests} requests, but a stream has one at least; choose 1 or more")


def touched(offset: int, n_bytes: int, block_bytes: int) -> Touched:
    """The blocks that a request lies across."""
    check_request(offset, n_bytes)
    check_block(block_bytes)
    end = offset + n_bytes
    first, last = offset // block_bytes, (end - 1) // block_bytes
    begins_in, ends_in = offset % block_bytes != 0, end % block_bytes != 0
    n_part = int(begins_in or ends_in) if first == last else int(begins_in) + int(ends_in)
    return Touched(first, last - first + 1, n_part)


def straddles(offset: int, n_bytes: int, block_bytes: int) -> bool:
    """Whether requests from here on touch more blocks, or more of them in part, than from an aligned place.

    Requests follow each other without a gap, and `n_bytes` is a power of two, as a database's block is. One look at as many
    of them as fill a block is enough: then the pattern repeats.
    """
    n = max(1, block_bytes // n_bytes)
    here, there = (_sums(start, n_bytes, block_bytes, n) for start in (offset, 0))
    return here != there


def _sums(start: int, n_bytes: int, block_bytes: int, n: int) -> tuple[int, int]:
    """(blocks touched, blocks touched in part) by `n` requests behind each other."""
    all_of = [touched(start + i * n_bytes, n_bytes, block_bytes) for i in range(n)]
    return sum(each.n_blocks for each in all_of), sum(each.n_part for each in all_of)


def next_aligned(offset: int, block_bytes: int) -> int:
    """The first place from `offset` on where blocks begin."""
    check_request(offset, 1)
    check_block(block_bytes)
    return -(-offset // block_bytes) * block_bytes


def ios(offset: int, n_bytes: int, block_bytes: int, is_write: bool, cached: frozenset[int] = frozenset()) -> Ios:
    """Of one request, by rules 1 to 3. `cached`: numbers of the blocks that are in core."""
    first, n_blocks, _ = touched(offset, n_bytes, block_bytes)
    blocks = range(first, first + n_blocks)
    if not is_write:
        return Ios(sum(block not in cached for block in blocks), 0)
    in_part = {block for block in (blocks[0], blocks[-1])
               if block * block_bytes < offset or (block + 1) * block_bytes > offset + n_bytes}
    return Ios(len(in_part - cached), n_blocks)


def expected_ios(offset: int, n_bytes: int, block_bytes: int, is_write: bool, cached_share: float) -> tuple[float, float]:
    """(reads, writes) of one request where each block is in core with this chance, independently."""
    if not 0 <= cached_share <= 1:
        raise ValueError(f"cached_share is {cached_share:g}, but a share is from 0 to 1; choose one in that range")
    _, n_blocks, n_part = touched(offset, n_bytes, block_bytes)
    return (1 - cached_share) * (n_part if is_write else n_blocks), float(n_blocks if is_write else 0)


def stream_ios(offset: int, n_bytes: int, block_bytes: int, n_requests: int) -> Ios:
    """Of `n_requests` writes behind each other in one transaction group, nothing in core before: rules 2 to 4."""
    _check_count(n_requests)
    whole = touched(offset, n_requests * n_bytes, block_bytes)
    touched(offset, n_bytes, block_bytes)
    starts = offset + n_bytes * np.arange(n_requests, dtype=np.int64)
    first, last = starts // block_bytes, (starts + n_bytes - 1) // block_bytes
    is_new = np.ones(n_requests, bool)
    is_new[1:] = starts[1:] % block_bytes == 0    # else the request before has touched its first block
    begins_in = starts % block_bytes != 0
    ends_in = (starts + n_bytes) % block_bytes != 0
    in_part = np.where(first == last, is_new & (begins_in | ends_in), (is_new & begins_in).astype(np.int64) + ends_in)
    return Ios(int(in_part.sum()), whole.n_blocks)


def gathered_ios(offset: int, n_bytes: int, block_bytes: int, n_requests: int) -> Ios:
    """The same if the store read nothing before the group is whole: only the ends of the stream are in part."""
    _check_count(n_requests)
    _, n_blocks, n_part = touched(offset, n_requests * n_bytes, block_bytes)
    return Ios(n_part, n_blocks)

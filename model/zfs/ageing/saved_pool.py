"""What a pool is made of, as arrays by name, and such arrays put into a new pool. So a pool is kept, and goes on later.

Summaries are not kept: of the maps of free blocks only the bits of what is taken, of metaslabs in which anything is. The
rest is made again by taking what is allocated out of a map that is all free.
"""

from collections.abc import Mapping

import numpy as np

from model.jit import kernel
from model.structures.bits import ALL, lowest
from model.zfs.metaslab.state import Metaslabs
from model.zfs.space.bitmaps import bits_at
from model.zfs.space.free_runs import take
from model.zfs.space.status import OK

MADE_AGAIN = ("words", "groups", "tops", "kinds", "n_blocks", "n_free", "n_runs", "first_unit", "rest", "mask", "long")
ROWS = ("start", "length", "following")  # of block maps; only those that were ever used


def _arrays(state, name=""):
    """(name, array) of all arrays in NamedTuples in NamedTuples."""
    for field, value in zip(state._fields, state, strict=True):
        if isinstance(value, np.ndarray):
            yield f"{name}{field}", value
        elif hasattr(value, "_fields") and not (name.endswith("free.") and field in MADE_AGAIN):
            yield from _arrays(value, f"{name}{field}.")


def _is_made_again(name):
    return name.startswith("blocks.free.") and name.removeprefix("blocks.free.") in MADE_AGAIN


def _is_row(name):
    return name.startswith("blocks.") and name.removeprefix("blocks.") in ROWS


def _bits(free):
    """A view of the bits: a row for each metaslab."""
    return free.mask[:-1].reshape(len(free.n_free), free.mask_stride)


def arrays_of(space: Metaslabs) -> dict[str, np.ndarray]:
    """The arrays of a pool, by name. Those of a pool that is still used are copied by whoever keeps them."""
    arrays = {name: array for name, array in _arrays(space) if not _is_made_again(name)}
    if space.blocks is not None:
        n = int(space.blocks.n_fresh[0])
        arrays |= {name: array[:n] for name, array in arrays.items() if _is_row(name)}
        used = np.flatnonzero(space.blocks.free.n_free < space.blocks.free.n_blocks)
        arrays |= {"used": used, "bits": _bits(space.blocks.free)[used]}
    return arrays


def put_arrays(space: Metaslabs, kept: Mapping[str, np.ndarray]) -> None:
    """Make a new pool, of the same vdevs and rules, the one whose arrays were kept."""
    for name, array in _arrays(space):
        if not _is_made_again(name):
            target = array[:len(kept[name])] if _is_row(name) else array
            target[...] = kept[name]
    if space.blocks is not None:
        for m, bits in zip(kept["used"].tolist(), kept["bits"], strict=True):
            if _take_used(space.blocks.free, m, np.ascontiguousarray(bits)) != OK:
                raise ValueError(f"metaslab {m} of the pool that was kept does not fit into this one; make it with the same "
                                 "vdevs and rules")


@kernel
def _ones_from(bits, at, end, flip):
    """How many bits are alike from bit `at` on, up to `end`: ones if `flip` is 0, zeros if it is -1."""
    n = 0
    while at + n < end and bits_at(bits, at + n) ^ flip == ALL:
        n += 64
    if at + n < end:
        n += lowest(~(bits_at(bits, at + n) ^ flip))
    return min(n, end - at)


@kernel
def _take_used(free, m, bits):
    """Take out of a map that is all free what is set in `bits`. Returns a status."""
    at, end = 64, 64 + free.n_blocks[m]
    while at < end:
        at += _ones_from(bits, at, end, -1)
        n = _ones_from(bits, at, end, 0)
        if n > 0:
            status = take(free, m, at - 64, n)
            if status != OK:
                return status
        at += n
    return OK

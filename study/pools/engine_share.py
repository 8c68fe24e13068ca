"""Which share of all blocks that a notebook has placed was served by the fast engine of the allocator.

It is served if the choice depends on nothing but the free space. Where several free segments overlap the place of a cursor,
the exact rule takes the one nearest to the root of its tree. How such a tree looks depends on all that was ever put into it
and taken out, and bitmaps cannot tell. These choices are counted as not served.

A block of one unit overlaps one segment at most, and is always served. In a pool of mirrors a record of 4 KiB is such a
block. What is not served in such a pool are larger blocks: indirect blocks, log blocks, records of redo. In other pools
a record takes several units, so that it can be a record, too. For instance 4 KiB take twelve sectors of RAID-Z with
double parity, in units of three.

    engine_share.note(of, n_placed, pool, n_bytes)      a pool is done: `of`, what tells it from others, made again or not.
                                                        `n_bytes`: what a record takes of a vdev
    engine_share.metrics()                              over all pools so far, for the run store

    with engine_share.noted() as pools:                 what this thread notes within, to be kept
    engine_share.restore(pools)                         noted again, from what was kept
"""
import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from study.project import digest
from study.words import counted

if TYPE_CHECKING:
    from model.zfs.metaslab.state import Metaslabs  # brings Numba along, for which commands need not wait


class Share(NamedTuple):
    """Of one pool."""
    placed: int
    others: int             # of them, those that were not served
    by_units: bool          # whether a record is one unit


_POOLS: dict[str, Share] = {}
_GUARD = threading.Lock()
_HERE = threading.local()


def note(of: tuple, n_placed: int, pool: "Metaslabs", n_bytes: int) -> None:
    """A pool has placed so many blocks. One of the exact engine is left out."""
    if pool.blocks is not None:
        free = pool.blocks.free
        share = Share(n_placed, int(free.n_ambiguous.sum()), n_bytes == free.grain << free.unit_shift)
        name = digest([repr(of).encode()])[:16]
        if not getattr(_HERE, "is_apart", False):
            _note(name, share)
        getattr(_HERE, "pools", []).append({"pool": name} | share._asdict())


def _note(name: str, share: Share) -> None:
    """Of a pool that was used for longer, what it placed till then counts."""
    with _GUARD:
        _POOLS[name] = max(share, _POOLS.get(name, share))


@contextlib.contextmanager
def noted(is_apart: bool = False) -> Iterator[list[dict[str, Any]]]:
    """What this thread notes within. `is_apart`: pools that are made once more, and are counted where they were kept. On
    another processor the last bits of a draw may differ, and its pool would have another name and count twice."""
    before, _HERE.pools, _HERE.is_apart = getattr(_HERE, "pools", None), [], is_apart
    try:
        yield _HERE.pools
    finally:
        _HERE.pools, _HERE.is_apart = [] if before is None else before, False


def restore(pools: Iterable[dict[str, Any]]) -> None:
    """Note what was noted in another process."""
    for pool in pools:
        _note(pool["pool"], Share(pool["placed"], pool["others"], pool["by_units"]))


def metrics() -> pd.DataFrame:
    """Name, value, unit: blocks placed in all pools, those not served, and the share of the others. Then the same of the
    pools in which a record takes several units."""
    several = [share for share in _POOLS.values() if not share.by_units]
    rows = []
    for name, pools in (("all", _POOLS.values()), ("several", several)):
        placed, others = (sum(getattr(share, field) for share in pools) for field in ("placed", "others"))
        rows += [(f"engines.{name}-placed", placed, "blocks"), (f"engines.{name}-ambiguous", others, "blocks"),
                 (f"engines.{name}-fast-share", 100 * (placed - others) / placed if placed else 100.0, "%")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def sentence() -> str:
    """Which share of all blocks the fast engine served, in words."""
    placed, others, share, in_several, of_several, share_of_several = metrics().value
    if not placed:
        return "The fast engine placed nothing"
    text = f"The fast engine served {share:.6f} % of {counted(int(placed), 'block')} in {counted(len(_POOLS), 'pool')}"
    if not others:
        return text
    text += f". The others are {counted(int(others), 'choice')} that the shape of a tree could decide"
    if in_several < placed:
        text += ". Where a record is one unit, it served all records"
        if larger := int(others - of_several):
            were = "was a larger one" if larger == 1 else "were larger ones"
            text += f". The {larger} of {counted(int(placed - in_several), 'block')} that it did not serve {were}"
    if of_several:
        text += (f". Where a record takes several units, it served {share_of_several:.6f} % of "
                 f"{counted(int(in_several), 'block')}; records are among the others")
    return text

"""Which share of all blocks that a notebook has placed was served by the fast engine of the allocator.

It is served if the choice depends on nothing but the free space. Where several free segments overlap the place of a cursor,
the exact rule takes the one nearest to the root of its tree. How such a tree looks depends on all that was ever put into it
and taken out, and bitmaps cannot tell: these choices are counted as not served. A block of one unit, as a record of 4 KiB is
in a pool of mirrors, overlaps one segment at most, and is always served.

    engine_share.note(of, n_placed, pool)       a pool is done: `of`, what tells it from others, made again or not
    engine_share.metrics()                      over all pools so far, for the run store
"""
import pandas as pd

from model.metaslab import Metaslabs

_POOLS: dict[tuple, tuple[int, int]] = {}       # blocks placed, and those that were not served


def note(of: tuple, n_placed: int, pool: Metaslabs) -> None:
    """A pool has placed so many blocks. One of the exact engine is left out."""
    if pool.blocks is not None:
        _POOLS[of] = n_placed, int(pool.blocks.free.n_ambiguous.sum())


def metrics() -> pd.DataFrame:
    """Name, value, unit: blocks placed in all pools, those not served, and the share of the others."""
    placed, others = (sum(one[i] for one in _POOLS.values()) for i in (0, 1))
    return pd.DataFrame([("engines.all-placed", placed, "blocks"), ("engines.all-ambiguous", others, "blocks"),
                         ("engines.all-fast-share", 100 * (placed - others) / max(1, placed), "%")],
                        columns=["name", "value", "unit"])


def sentence() -> str:
    placed, others, share = metrics().value
    return (f"of {placed:.0f} blocks in {len(_POOLS)} pools the fast engine served {share:.6f} %; {others:.0f} were choices "
            "that the shape of a tree could decide")

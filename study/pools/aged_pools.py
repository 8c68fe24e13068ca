"""Aged pools: made once, kept in `.cache/aged_pools/`, shared by whoever asks for the same.

A pool is named by a digest of its recipe and of the sources in reach of this module. One process makes it, others wait for
it. Files of other sources are removed a day after they were last used.
"""
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from model.events.streams import stream
from model.jit import sources
from model.zfs.ageing import aged_pool
from model.zfs.ageing.saved_pool import arrays_of, put_arrays
from model.zfs.metaslab.new_pool import new_pool
from model.zfs.metaslab.state import FAST, MetaslabParams, Metaslabs, TopVdev
from model.zfs.shared_numbers import FIRST_TXG
from study import project

FOLDER = project.CACHE / "aged_pools"
KEPT_SECONDS = 86400
OTHER_BYTES, OTHER_PER_TXG = 2**17, 2**13  # other data: size of a block, blocks a txg
SEGMENTS = 2**22  # rows of the maps of txgs; memory that is not used takes none


class Recipe(NamedTuple):
    """What is aged, and how."""
    rules: MetaslabParams
    vdevs: tuple[TopVdev, ...]
    n_records: int
    record_bytes: int = 4096
    unit_bytes: int = 4096  # of which all blocks are multiples
    metaslab_bytes: int | None = None  # None: by the rule of ZFS
    used_pct: float = 0.0  # of the pool, with the records; what they do not take is other data, which stays
    turnovers: float = 3.0  # rewrites for each record
    writes_per_txg: int = 25_000  # 5 s at 5000 writes/s
    indirect_bytes: int = 0  # physical size of an indirect block; 0: they are left out
    seed: int = 1


class Aged(NamedTuple):
    """A pool, its file, and what was seen on the way."""
    pool: Metaslabs
    file: aged_pool.File
    txg: int  # the next one
    fill_contiguity: np.ndarray  # records for each row of touching ones, per txg
    contiguity: np.ndarray  # likewise while it was rewritten
    seconds: float  # of processor time, when it was made; without compiling


def _empty(recipe: Recipe) -> tuple[Metaslabs, aged_pool.File]:
    pool = new_pool(list(recipe.vdevs), recipe.rules, FAST, recipe.unit_bytes, recipe.metaslab_bytes, SEGMENTS)
    return pool, aged_pool.new_file(pool, recipe.n_records, recipe.record_bytes, recipe.writes_per_txg,
                                    recipe.indirect_bytes)


def _compile(recipe: Recipe) -> None:
    """Have the kernels compiled for pools of this kind, on one that is small."""
    small = recipe._replace(vdevs=(TopVdev(recipe.vdevs[0].vdev, asize=2**28),), metaslab_bytes=None, n_records=1,
                            writes_per_txg=1)
    list(aged_pool.fill(*_empty(small), FIRST_TXG, 1))


def make(recipe: Recipe, tell: Callable[[str, float], None] = lambda doing, share: None) -> Aged:
    """Make it now. `tell` hears what is being done and which share of that is done, after each txg."""
    tell("compiling", 0.0)
    _compile(recipe)
    tell("compiling", 1.0)
    begin = time.process_time()
    pool, file = _empty(recipe)
    n_other = int(recipe.used_pct / 100 * int(pool.class_space[0])) - recipe.n_records * recipe.record_bytes
    n_writes, per_txg = round(recipe.turnovers * recipe.n_records), recipe.writes_per_txg
    steps = {"writing other data": (max(0, n_other) // OTHER_BYTES // OTHER_PER_TXG,
                                    lambda txg: aged_pool.occupy(pool, file, txg, n_other, OTHER_BYTES, OTHER_PER_TXG)),
             "writing the records": (recipe.n_records // per_txg, lambda txg: aged_pool.fill(pool, file, txg, per_txg)),
             "rewriting them": (n_writes // per_txg, lambda txg: aged_pool.rewrite(
                 pool, file, txg, per_txg, n_writes, stream(recipe.seed, "ageing")))}
    seen: list[list] = []
    txg = FIRST_TXG
    for doing, (n_txgs, start) in steps.items():
        seen.append([])
        for contiguity in start(txg):
            seen[-1].append(contiguity)
            tell(doing, min(1.0, len(seen[-1]) / max(1, n_txgs)))
        txg += len(seen[-1])
    return Aged(pool, file, txg, np.array(seen[1]), np.array(seen[2]), time.process_time() - begin)


# ---- kept ----


def _path(recipe: Recipe) -> Path:
    code = sources.digest_once(__name__)
    return FOLDER / f"{code[:12]}-{project.digest([repr(recipe).encode()])[:20]}.npz"


def _keep(path: Path, made: Aged) -> None:
    """All of it or nothing."""
    state: dict[str, np.ndarray | np.generic] = {f"pool.{name}": array for name, array in arrays_of(made.pool).items()}
    state |= {"place": made.file.place, "indirect_place": made.file.indirect_place, "fill_contiguity": made.fill_contiguity,
              "contiguity": made.contiguity, "txg": np.int64(made.txg), "seconds": np.float64(made.seconds)}
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            np.savez(file, allow_pickle=False, **state)
            os.fchmod(file.fileno(), 0o644)     # it is shared
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _restored(path: Path, recipe: Recipe) -> Aged:
    pool, file = _empty(recipe)
    with np.load(path, allow_pickle=False) as kept:
        put_arrays(pool, {name.removeprefix("pool."): kept[name] for name in kept.files if name.startswith("pool.")})
        file.place[:], file.indirect_place[:] = kept["place"], kept["indirect_place"]
        return Aged(pool, file, int(kept["txg"]), kept["fill_contiguity"], kept["contiguity"], float(kept["seconds"]))


def _forget_old(path: Path) -> None:
    """Remove pools of other sources that nobody used for a day."""
    for file in FOLDER.glob("*.npz"):
        if file.name[:12] != path.name[:12] and time.time() - file.stat().st_mtime > KEPT_SECONDS:
            file.unlink(missing_ok=True)


def aged(recipe: Recipe, tell: Callable[[str, float], None] = lambda doing, share: None) -> Aged:
    """The pool of this recipe; the caller's own, to go on with. It is made if it was not yet."""
    path = _path(recipe)
    with project.exclusively(path.with_suffix(".lock")):
        if not path.exists():
            _forget_old(path)
            made = make(recipe, tell)
            _keep(path, made)
            return made
    os.utime(path)
    return _restored(path, recipe)

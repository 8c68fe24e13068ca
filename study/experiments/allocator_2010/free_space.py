"""What the rules of allocation do to free space, and to how many blocks go to disk in one write.

    aged = age(VARIANTS["141_df"], work, map_bytes, seed)     one metaslab, filled and rewritten at random
    blocks_per_write(aged.offsets, block_bytes)               how far the blocks of a txg lie side by side
    recorded_shares(), recorded_contiguity()              what the ZFS code itself did of this kind

Blocks of a transaction group that lie side by side can go to disk as one write, of 128 KiB at most. How many blocks there
are in such a write is counted with all blocks of the group at hand. It is the most that a queue could make of them.
"""
import json
from typing import NamedTuple

import numpy as np
import pandas as pd

from model.zfs.ageing.rewrites import Rewrites, operations, records_of
from model.zfs.space import replay_exact, replay_fast
from model.zfs.space.pickers import VARIANTS, PickerParams
from study.ensembles.processors import on_all_processors
from study.project import data_file

KIB, MIB = 2**10, 2**20
WRITE_BYTES = 128 * KIB     # largest aggregated write: zfs_vdev_aggregation_limit (model.zfs.vdev.queue)
RULES = {"103_ff": "first fit (b103)", "117_df": "best fit below 30 % (b117)", "141_df": "best fit below 4 %",
         "141_ndf": "new dynamic fit (b141)"}
SWITCHING = ("117_df", "141_df")
EARLY, LATE = slice(0, 0.1), slice(0.5, 1)      # parts of the rewriting, as in contiguity.csv
RECORDED_BYTES, RECORDED = 2**30, Rewrites(n_records=0, n_txgs=400, per_txg=1000)   # the traces rand4k: 1 GiB, 4 KiB


class Aged(NamedTuple):
    """A map after its rewriting; offsets in blocks."""
    work: Rewrites
    n_places: int           # records that the map has room for
    records: np.ndarray     # (n_txgs, per_txg): which are written
    first: np.ndarray       # (n_records,): where the fill put them
    offsets: np.ndarray     # (n_txgs, per_txg): where they went
    by_size: np.ndarray     # (n_txgs, per_txg): whether best fit chose it, or a segment was opened by its size


def age(params: PickerParams, work: Rewrites, map_bytes: int, seed: int, engine: str = "fast") -> Aged:
    """Fill a map with records and rewrite them at random. The engines agree; the fast one serves blocks of one size."""
    drive = {"fast": replay_fast.drive, "exact": replay_exact.drive}[engine]
    blocks, _ = drive(params, operations(work, map_bytes, seed))
    shape, rewrites = (work.n_txgs, work.per_txg), slice(work.n_records, None)
    places = blocks.offset // work.record_bytes
    return Aged(work, map_bytes // work.record_bytes, records_of(work, seed), places[:work.n_records],
                places[rewrites].reshape(shape), blocks.by_size[rewrites].reshape(shape) > 0)


# ---- what is seen of a map ----


def occupied(aged: Aged, txgs: list[int]) -> np.ndarray:
    """After so many transaction groups each: 0 free, 1 occupied, 2 occupied by the last one; (len(txgs), n_places)."""
    places, pictures = aged.first.copy(), []
    for txg in range(max(txgs) + 1):
        if txg in txgs:
            picture = np.zeros(aged.n_places, np.int8)
            picture[places] = 1
            if txg:
                picture[places[aged.records[txg - 1]]] = 2
            pictures.append(picture)
        if txg < aged.work.n_txgs:
            places[aged.records[txg]] = aged.offsets[txg]
    return np.array(pictures)


def runs_of(offsets: np.ndarray, blocks_per_write: int) -> tuple[np.ndarray, np.ndarray]:
    """(runs of adjacent blocks, writes that these make) of each row of block numbers."""
    ends = np.diff(np.sort(offsets, axis=1), axis=1, append=-1) != 1
    ends[:, -1] = True
    where = np.flatnonzero(ends)        # each row ends with a run
    writes = np.zeros(ends.size, np.int64)
    writes[where] = -(-np.diff(where, prepend=-1) // blocks_per_write)
    return ends.sum(axis=1), writes.reshape(ends.shape).sum(axis=1)


def blocks_per_write(offsets: np.ndarray, block_bytes: int) -> np.ndarray:
    """Of each row, blocks in a write in the mean."""
    return offsets.shape[1] / runs_of(offsets, max(1, WRITE_BYTES // block_bytes))[1]


def part(values: np.ndarray, share: slice) -> np.ndarray:
    """A part of the rows, given as shares of their number."""
    return values[round(share.start * len(values)):round(share.stop * len(values))]


def contiguity(aged: Aged) -> dict[str, float]:
    """As recorded of the real code, early and late. There are means over transaction groups of the mean run and the mean
    write, in B. Then the share of blocks right behind the one allocated before."""
    n_runs, n_writes = runs_of(aged.offsets, max(1, WRITE_BYTES // aged.work.record_bytes))
    per_txg = {"run_bytes": aged.work.per_txg * aged.work.record_bytes / n_runs,
               "io_bytes_128k_cap": aged.work.per_txg * aged.work.record_bytes / n_writes,
               "next_is_adjacent": (np.diff(aged.offsets, axis=1) == 1).mean(axis=1)}
    return {f"{when}_{name}": float(part(values, share).mean()) for name, values in per_txg.items()
            for when, share in (("early", EARLY), ("late", LATE))}


# ---- what was recorded ----


def recorded_shares() -> pd.DataFrame:
    """Of the traces of random 4 KiB rewrites: variant, occupancy (%), share (%) of blocks placed by the tree of sizes."""
    lines = [json.loads(line) for line in data_file("traces/alloc/stats_l1.jsonl").read_text().splitlines()]
    return pd.DataFrame([(line["variant"], int(line["run"][7:-1]), 100 * line["size_tree_allocs"] / line["allocs"])
                         for line in lines if line["run"].startswith("rand4k")], columns=["variant", "occupancy", "share"])


def recorded_contiguity() -> pd.DataFrame:
    """Of the same traces: variant, occupancy (%), and the columns of contiguity.csv."""
    table = pd.read_csv(data_file("traces/alloc/contiguity.csv"))
    table = table[table.scenario.str.startswith("rand4k")]
    return table.assign(occupancy=table.scenario.str[-2:].astype(int)).reset_index(drop=True)


def like_recorded(occupancies: list[int], seeds: int, seed: int) -> pd.DataFrame:
    """The same kind of rewriting in the model, with other random numbers: the columns of both tables. Rules that switch
    between two ways are run under `seeds` seeds, the others under one."""
    calls = [(variant, occupancy, seed + i) for occupancy in occupancies for variant in RULES
             for i in range(seeds if variant in SWITCHING else 1)]
    return pd.DataFrame(on_all_processors(_like_recorded, calls))


def _like_recorded(variant: str, occupancy: int, seed: int) -> dict:
    work = RECORDED._replace(n_records=RECORDED_BYTES // RECORDED.record_bytes * occupancy // 100)
    aged = age(VARIANTS[variant], work, RECORDED_BYTES, seed)
    return {"variant": variant, "occupancy": occupancy, "share": 100 * aged.by_size.mean(), **contiguity(aged)}


def _beside(model: pd.DataFrame, recorded: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Medians of the model over its seeds where there is a recorded value: variant, occupancy, model, recorded."""
    medians = model.groupby(["variant", "occupancy"], as_index=False)[quantity].median()
    return medians.merge(recorded, on=["variant", "occupancy"], suffixes=("", "_recorded")).rename(
        columns={quantity: "model", f"{quantity}_recorded": "recorded"})


def share_metrics(model: pd.DataFrame, recorded: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    return pd.DataFrame([(f"share.{row.variant}.{row.occupancy}.{which}", getattr(row, which), "%")
                         for row in _beside(model, recorded, "share").itertuples() for which in ("model", "recorded")],
                        columns=["name", "value", "unit"])


def contiguity_metrics(model: pd.DataFrame, recorded: pd.DataFrame) -> pd.DataFrame:
    """For the run store: blocks of 4 KiB in a write, early and late, and for each rule the model's largest error."""
    rows = []
    for when in ("early", "late"):
        table = _beside(model, recorded, f"{when}_io_bytes_128k_cap")
        rows += [(f"{when}.{row.variant}.{row.occupancy}.{which}", getattr(row, which) / RECORDED.record_bytes, "1")
                 for row in table.itertuples() for which in ("model", "recorded")]
        off = (100 * (table.model / table.recorded - 1).abs()).groupby(table.variant).max()
        rows += [(f"{when}.{variant}.most-off", value, "%") for variant, value in off.items()]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])

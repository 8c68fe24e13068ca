"""Random rewrites of a pool that is cut into slabs (metaslabs): how many blocks go to disk in one write.

    machine = slabs.setup(record_kib=8, fill=0.5, …)          what a notebook's parameters stand for
    slabs.series(machine, slabs.rules("b117"), seed)          blocks in a write, transaction group by transaction group
    slabs.predict(machine, draws=8, seeds=3, seed=1)          the ensemble: see `study.ensembles.ensembles`

One top-level vdev is simulated, a disk or a mirror: the others see the same. What was observed is said of the old rules, so
these are what is predicted; the new ones are simulated beside them.

*Good* is the upper tenth of all transaction groups of one turnover, *bad* the lower tenth. The text says no more than that
the number was one when performance was good, and another when it was low. The tenths were chosen before the ensemble was
run, but by somebody who had seen quantiles of single runs.
"""
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from model.zfs.ageing.rewrites import Rewrites, rows, writes
from model.zfs.eras import era
from model.zfs.metaslab.new_pool import metaslab_shift, new_pool, vdev_asize
from model.zfs.metaslab.replay import Rows, decided_for, run
from model.zfs.metaslab.state import EXACT, FAST, MetaslabParams, TopVdev
from model.zfs.shared_numbers import FIRST_TXG
from model.zfs.space.replay_exact import ALLOCATE, TXG_END
from model.zfs.space.status import OK
from study.documents import priors
from study.ensembles import effects, ensembles, intervals, kept
from study.ensembles.ensembles import AFTER
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.experiments.allocator_2010.appliance import TERABYTE, scaled_rules
from study.experiments.allocator_2010.free_space import KIB, MIB, WRITE_BYTES, blocks_per_write
from study.pools import engine_share

EXPERIMENT = "aggregation"
GOOD, BAD = 0.9, 0.1            # quantiles over the transaction groups that are watched
WATCHED = 1.0                   # turnovers
LOG_TXGS = 20                   # transaction groups until the ring of the log is full
FULL_WRITES, LARGER = 4, 4      # see `grown`
MARGIN = 0.95                   # of the pool; what is occupied, withheld and written at once must stay below
ENGINES = {"fast": FAST, "exact": EXACT}
OLD, NEW = "b117", "b141_df"
QUANTITIES = ("aggregation.good", "new.good", "aggregation.bad_high", "new.bad_high")
LABELS = {"b103": "first fit (b103)", "b117": "old rules, 30 % (b117)", "b141_df": "new rules, 4 %",
          "b141": "new rules, new dynamic fit (b141)"}
CONDITIONS = {("record_kib", 4): "records of 4 KiB", ("log_percent", 50): "a log in the same pool"}


class Setup(NamedTuple):
    """A vdev of slabs, and what is written to it."""
    n_slabs: int
    slab_bytes: int
    record_bytes: int
    fill: float             # share of the vdev that is occupied
    age: float              # turnovers before anything is watched
    txg_share: float        # records of a transaction group, of the records that a slab has room for
    log_share: float        # bytes written to a log of records of 128 KiB, for each byte of other records
    engine: str = "fast"    # or exact


class Geometry(NamedTuple):
    """Slabs of a disk; bytes."""
    disk_bytes: int
    slab_bytes: int
    n_slabs: int
    left_bytes: int         # of a slab that is 96 % full


# --- from parameters to streams -------------------------------------------------------------------------------------------

def setup(*, n_slabs: int, slab_mib: int, record_kib: int, fill: float, age: float, txg_share: float, log_share: float,
          engine: str = "fast") -> Setup:
    """From a notebook's parameters. UserError, one sentence, for a pool that would fill up."""
    machine = Setup(
        n_slabs=n_slabs, slab_bytes=slab_mib * MIB, record_bytes=record_kib * KIB, fill=fill, age=age,
        txg_share=txg_share, log_share=log_share, engine=engine)
    work, room = work_of(machine), n_slabs * machine.slab_bytes
    log = work.log_bytes * (work.log_records + 4 * work.log_per_txg)
    max_bytes = work.record_bytes * (work.n_records + 4 * work.per_txg) + log
    if max_bytes > MARGIN * room:
        raise UserError(f"records, log and withheld space take {max_bytes / room:.0%} of the "
                        f"pool, but {MARGIN:.0%} is the most; "
                        "fill less of it or write less at a time")
    return machine


def work_of(machine: Setup) -> Rewrites:
    """What is rewritten: how many records, in how many groups, beside how many log blocks."""
    room = machine.n_slabs * machine.slab_bytes // machine.record_bytes
    per_txg = max(1, round(machine.txg_share * machine.slab_bytes / machine.record_bytes))
    n_records = max(1, round(machine.fill * room))
    work = Rewrites(
        n_records=n_records, n_txgs=max(1, round((machine.age + WATCHED) * n_records / per_txg)), per_txg=per_txg,
        record_bytes=machine.record_bytes)
    log_per_txg = round(machine.log_share * per_txg * work.record_bytes / work.log_bytes)
    return work._replace(log_per_txg=log_per_txg, log_records=LOG_TXGS * log_per_txg)


def rules(build: str, threshold_pct: int | None = None, bonus: float | None = None) -> MetaslabParams:
    """The rules of a build, with another threshold of free space (%) or another bonus (in hundredths) if they are given."""
    params = era(build).metaslab
    if threshold_pct is not None:
        params = params._replace(picker=params.picker._replace(best_fit_below_pct=threshold_pct))
    if bonus is not None:
        params = params._replace(bonus_multiplier=round(100 * bonus), bonus_divisor=100)
    return params


@lru_cache(maxsize=8)
def _run(machine: Setup, params: MetaslabParams, seed: int) -> tuple[np.ndarray, int]:
    """Where each record went of those that were loaded and rewritten, B; and how many of them the fast engine served (see
    `study.pools.engine_share`). Whoever asks for the same soon gets the same array."""
    work = work_of(machine)
    kind, n_bytes, which = rows(writes(work, seed))
    stream = Rows(op=kind, n_bytes=n_bytes, which=np.where(kind == TXG_END, which + FIRST_TXG, which),
                  n_copies=(kind == ALLOCATE).astype(np.int64), first_txg=np.array([FIRST_TXG]))
    room = machine.n_slabs * machine.slab_bytes
    scale = max(1, geometry(TERABYTE.disk_bytes).slab_bytes // machine.slab_bytes)
    pool = new_pool([TopVdev(asize=room)], scaled_rules(params, scale), ENGINES[machine.engine], machine.record_bytes,
                    machine.slab_bytes, max_segments=room // machine.record_bytes)
    decided = decided_for(stream, pool)
    status = run(pool, stream, decided)
    offsets = decided.offset[n_bytes[kind == ALLOCATE] == work.record_bytes]
    if status != OK or (offsets[work.n_records:] < 0).any():
        raise UserError(f"the pool of {room} B filled up with {work.n_records} records and a log; fill less of it")
    engine_share.note((machine, params, seed), int((kind == ALLOCATE).sum()), pool, machine.record_bytes)
    return offsets, 0 if pool.blocks is None else len(offsets) - int(pool.blocks.free.n_ambiguous.sum())


def places(machine: Setup, params: MetaslabParams, seed: int) -> np.ndarray:
    """Where the records of each transaction group of rewriting went, in records from the start of the vdev. Both engines
    give the same (a test holds it); the fast one serves whatever is made of blocks of one size."""
    work, (offsets, _) = work_of(machine), _run(machine, params, seed)
    return offsets[work.n_records:].reshape(work.n_txgs, work.per_txg) // work.record_bytes


def series(machine: Setup, params: MetaslabParams, seed: int) -> pd.DataFrame:
    """A row for each transaction group: turnovers since the records were loaded, blocks in a write, slabs written to."""
    where, work = places(machine, params, seed), work_of(machine)
    per_slab = machine.slab_bytes // machine.record_bytes
    return pd.DataFrame({"turnovers": (1 + np.arange(work.n_txgs)) * work.per_txg / work.n_records,
                         "blocks": blocks_per_write(where, work.record_bytes),
                         "slab": np.median(where, axis=1) // per_slab})


def engines_differ(machine: Setup, chosen: dict[str, MetaslabParams], seed: int) -> int:
    """Records that the two engines put in different places, under all these rules."""
    placed = {engine: [places(machine._replace(engine=engine), params, seed) for params in chosen.values()]
              for engine in ENGINES}
    return sum(int((fast != exact).sum()) for fast, exact in zip(*placed.values(), strict=True))


def engine_metrics(machine: Setup, chosen: dict[str, MetaslabParams], seed: int) -> pd.DataFrame:
    """For the run store: records placed under all these rules, and how many of them the fast engine placed by an
    unambiguous choice. In such a choice the exact rule depends on nothing but the free space. They are all, or 0 if the
    fast engine did not run."""
    n_placed = n_fast = 0
    for params in chosen.values():
        offsets, served = _run(machine, params, seed)
        n_placed, n_fast = n_placed + len(offsets), n_fast + served
    return pd.DataFrame([("engines.placed", n_placed, "records"), ("engines.fast-unambiguous", n_fast, "records"),
                         ("engines.fast-share", 100 * n_fast / n_placed, "%")], columns=["name", "value", "unit"])


def compare(machine: Setup, chosen: dict[str, MetaslabParams], seed: int) -> pd.DataFrame:
    """Several rules under one seed, on all processors: `series` of each, and the column rule."""
    results = on_all_processors(series, [(machine, params, seed) for params in chosen.values()])
    return pd.concat([result.assign(rule=rule) for rule, result in zip(chosen, results, strict=True)], ignore_index=True)


# --- what comes out -----------------------------------------------------------------------------------------------------

def quantities(machine: Setup, txgs: pd.DataFrame) -> dict[str, float]:
    """Of the transaction groups that are watched: blocks in a write."""
    blocks = txgs.blocks[txgs.turnovers > machine.age]
    return {"aggregation.good": float(blocks.quantile(GOOD)), "aggregation.bad_high": float(blocks.quantile(BAD)),
            "aggregation.mean": float(1 / (1 / blocks).mean())}


def max_blocks(machine: Setup) -> float:
    """Blocks in the largest write."""
    return max(2.0, WRITE_BYTES / machine.record_bytes)


def metrics(machine: Setup, txgs: pd.DataFrame) -> pd.DataFrame:
    """For the run store, of each rule: name, value, unit."""
    return pd.DataFrame([(f"{rule}.{name}", value, "1") for rule, of_rule in txgs.groupby("rule", sort=False)
                         for name, value in quantities(machine, of_rule).items()], columns=["name", "value", "unit"])


def of_sizes(machine: Setup, chosen: dict[str, MetaslabParams], slab_mib: list[int], seed: int) -> pd.DataFrame:
    """The rules on slabs of several sizes: rules, slab (MiB), and `quantities`."""
    cases = [(build, mib, machine._replace(slab_bytes=mib * MIB)) for build in chosen for mib in slab_mib]
    results = on_all_processors(series, [(resized, chosen[build], seed) for build, _, resized in cases])
    return pd.DataFrame([{"rules": build, "slab (MiB)": mib, **quantities(resized, txgs)}
                         for (build, mib, resized), txgs in zip(cases, results, strict=True)])


def metrics_of_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    return pd.DataFrame([(f"slab-{row['slab (MiB)']:.0f}mib.{row['rules']}.{name}", row[name], "1")
                         for row in table.to_dict("records") for name in table.columns[2:]],
                        columns=["name", "value", "unit"])


def grown(machine: Setup) -> Setup:
    """`machine` with slabs so large, but at most LARGER times, that a transaction group fills FULL_WRITES of the largest
    writes. If that does not suffice, groups are of so many."""
    wanted, max_bytes = FULL_WRITES * WRITE_BYTES, LARGER * machine.slab_bytes
    slab = machine.slab_bytes
    while slab < max_bytes and machine.txg_share * slab < wanted:
        slab *= 2
    return machine._replace(slab_bytes=slab, txg_share=max(machine.txg_share, wanted / slab))


def with_values(machine: Setup, values: dict) -> Setup:
    """`machine` with values of the priors and switches, and slabs that suit them."""
    return grown(machine._replace(record_bytes=values["record_kib"] * KIB, fill=values["pool_fill"], age=values["age"],
                                  txg_share=values["txg_share"], log_share=values["log_percent"] / 100))


def predict(machine: Setup, draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """The ensemble, of the old rules: `aggregation.good`, `aggregation.bad_high`; and of the new: `new.good`, ..."""
    def simulate(values: dict, case_seed: int, variant: str) -> dict[str, float]:
        if variant != AFTER:
            return {}
        here = with_values(machine, values)
        old, new = (quantities(here, series(here, rules(build), case_seed)) for build in (OLD, NEW))
        return old | {f"new.{name.partition('.')[2]}": value for name, value in new.items()}
    cases = ensembles.cases(priors.read(EXPERIMENT), draws, seeds, seed, ensembles.NUMBERS)
    return ensembles.run(cases, simulate, ensemble=kept.Ensemble("allocator-slabs", __name__, machine))


def beside_published(results: pd.DataFrame, targets: pd.DataFrame) -> pd.DataFrame:
    """For the figure: intervals of what is good and bad under both rules. Beside those of the old ones, of which the text
    tells, stand its ranges."""
    everything, rows = ensembles.unfitted(results), []
    for quantity in QUANTITIES:
        which, _, label = quantity.partition(".")
        label = f"{label.removesuffix('_high')}, {'new' if which == 'new' else 'old'} rules"
        target = targets.loc["aggregation-good" if label.startswith("good") else "aggregation-bad"]
        published_range = (target.low, target.high) if label.endswith("old rules") else (np.nan, np.nan)
        rows.append((label, *intervals.interval(everything[f"{AFTER}/{quantity}"]), *published_range))
    return pd.DataFrame(rows, columns=["what", "low", "middle", "high", "published_low", "published_high"])


def interval_metrics(results: pd.DataFrame) -> pd.DataFrame:
    """For the run store: the intervals over all draws."""
    everything = ensembles.unfitted(results)
    return pd.DataFrame([(f"unfitted.{quantity}-{end}", value, "1") for quantity in QUANTITIES
                         for end, value in intervals.interval(everything[f"{AFTER}/{quantity}"])._asdict().items()],
                        columns=["name", "value", "unit"])


EMPTY = 0.3     # a pool of which less is taken has fresh slabs for long; between draws, and chosen when they had been seen


def good_by_fill(results: pd.DataFrame) -> pd.DataFrame:
    """For the run store: the most that was good under the old rules. It is given for draws of pools of which less than EMPTY
    is taken, and for the others. Name, value, unit."""
    drawn = results[results.part.isin(["parameter", "all"])]
    is_empty, good = drawn.pool_fill < EMPTY, drawn[f"{AFTER}/aggregation.good"]
    return pd.DataFrame([("good.most-if-empty", good[is_empty].max(), "1"),
                         ("good.most-if-full", good[~is_empty].max(), "1")], columns=["name", "value", "unit"])


def not_modelled(quantity: str) -> str:
    """Why a published quantity has no simulated one."""
    return f"the simulation has no {quantity}"


def verdict(scores: pd.DataFrame) -> str:
    """Both claims in a sentence."""
    return "; ".join(f"{score['claim']}: {score['grade']}, {score['unfitted 5 %']:.1f} to "
                     f"{score['unfitted 95 %']:.1f} blocks in a write" for score in scores.to_dict("records"))


def conditions(results: pd.DataFrame) -> pd.DataFrame:
    """Good and bad under the best guess and with one condition changed: what, good, bad."""
    known, table = priors.read(EXPERIMENT), []
    for _, case in pd.concat([ensembles.unfitted(results, part) for part in ("central", "structure")]).iterrows():
        table.append((effects.changed(case, known, CONDITIONS) or "best guess", case[f"{AFTER}/aggregation.good"],
                      case[f"{AFTER}/aggregation.bad_high"]))
    return pd.DataFrame(table, columns=["what", "good", "bad"])


# --- slabs of real disks ------------------------------------------------------------------------------------------------

def geometry(disk_bytes: int) -> Geometry:
    """Slabs of a single disk or of a mirror of such disks, by the rule of the code."""
    asize = vdev_asize(TopVdev().vdev, disk_bytes)
    slab = 1 << metaslab_shift(asize)
    return Geometry(disk_bytes, slab, asize // slab, slab * 4 // 100)


def geometries(disks: list[int]) -> pd.DataFrame:
    """For readers: disk (GB), slab (GB), slabs, left at 96 % (MB); all decimal."""
    layouts = [geometry(disk) for disk in disks]
    return pd.DataFrame([(layout.disk_bytes / 1e9, layout.slab_bytes / 1e9, layout.n_slabs, layout.left_bytes / 1e6)
                         for layout in layouts], columns=["disk (GB)", "slab (GB)", "slabs", "left at 96 % (MB)"])

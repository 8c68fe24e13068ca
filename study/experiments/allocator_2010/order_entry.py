"""The order-entry test of 2010: users of a database on an appliance, run after run. It is run under the old rules of the
allocator and under the new ones.

    machine = order_entry.setup(n_users=64, scale=128, …)        what a notebook's parameters stand for
    order_entry.run(machine, BEFORE, 24, seed)                   runs one after another on one pool, with all statistics
    order_entry.compare(machine, 24, seed)                       the same under old and new rules
    order_entry.predict(draws=4, seeds=3, seed=1, …)             the ensemble: see `study.ensembles.ensembles`

The machine is made in `order_entry_machine`. Its pool ages in `order_entry_pool`, and `order_entry_series` has the runs.
Other questions are in `order_entry_questions`. Only the allocator differs between old and new: queue, disks, database and
all that is drawn stay the same.
"""
from typing import Any

import pandas as pd

from model.zfs.metaslab.state import MetaslabParams
from study.documents import priors
from study.ensembles import correlation, ensembles, kept
from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE, VARIANTS
from study.ensembles.processors import on_all_processors
from study.experiments.allocator_2010.order_entry_cycle import skewness
from study.experiments.allocator_2010.order_entry_machine import EXPERIMENT, Setup, with_values
from study.experiments.allocator_2010.order_entry_machine import setup as setup
from study.experiments.allocator_2010.order_entry_series import TPS, Series, cv, gain, reduction, series
from study.experiments.allocator_2010.rules import new_rules, old_rules
from study.experiments.protocol import Comparison

CV = "tps.cv"
CYCLE = "lutz-cycle"

Runs = Comparison[Setup, Series]


def run(machine: Setup, variant: str, n_runs: int, seed: int, rules: MetaslabParams | None = None) -> Series:
    """A series under the old rules, or under the new ones (or `rules`)."""
    return series(machine, old_rules() if variant == BEFORE else rules or new_rules(), n_runs, seed)


def compare(machine: Setup, n_runs: int, seed: int, rules: MetaslabParams | None = None) -> Runs:
    """Old rules, and new ones (or `rules`), under one seed, so that users do the same."""
    calls = [(machine, variant, n_runs, seed, rules) for variant in VARIANTS]
    return Comparison(machine, *on_all_processors(run, calls))


# --- what comes out -----------------------------------------------------------------------------------------------------

def quantities(x: Series, machine: Setup) -> dict[str, float]:
    """Mean throughput (1/s), and its variability from run to run (1). Nothing is asked of `machine`."""
    return {TPS: x.tps.mean(), CV: cv(x.tps)}


def table(runs: Runs) -> pd.DataFrame:
    """Means over runs, and standard deviations in per cent of them, of all that was looked at."""
    columns: dict[str, pd.Series] = {}
    for variant, x in runs.items():
        wide = x.table.pivot(index="run", columns="name", values="value")
        columns |= {variant: wide.mean(), f"sd % {variant}": 100 * wide.std() / wide.mean()}
    shown = pd.DataFrame(columns)
    shown.insert(0, "unit", runs.before.table.drop_duplicates("name").set_index("name").unit)
    return shown


def metrics(runs: Runs) -> pd.DataFrame:
    """For the run store: means, variability, blocks in a write, of both series."""
    rows = [("series.gain", gain(runs.before.tps, runs.after.tps), "%"),
            ("series.reduction", reduction(runs.before.tps, runs.after.tps), "%")]
    for variant, x in runs.items():
        blocks = x.pool.blocks_per_write
        rows += [(f"{variant}.tps", x.tps.mean(), "1/s"), (f"{variant}.deviation", 100 * cv(x.tps), "%"),
                 (f"{variant}.blocks", blocks.mean(), "blocks"), (f"{variant}.blocks-least", blocks.min(), "blocks"),
                 (f"{variant}.blocks-most", blocks.max(), "blocks")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


# --- the ensemble -------------------------------------------------------------------------------------------------------

LABELS = {
    ("n_heads", 8): "disks of four platters", ("layout", "stripe"): "disks by themselves",
    ("layout", "raidz1"): "single-parity RAID-Z", ("layout", "raidz2"): "double-parity RAID-Z",
    ("max_pending", 10): "10 I/Os on a disk", ("has_slog", 0): "no log device", ("slim_log", 1): "slim log",
    ("keeps_indirect", 0): "indirect blocks not all in memory", ("new_picker", "new dynamic fit"): "new dynamic fit",
    ("new_bonus", "as described"): "bonus of 1.5"}
GROUPS = {("group_scale", 16): "groups to 1:16"}
OF_SCALE = GROUPS | {("finer", 2): "pool and groups twice as large"}
EFFECT, REDUCTION = (Effect(of, kind, LABELS | OF_SCALE) for of, kind in ((TPS, "gain"), (CV, "loss")))


def of_case(case: dict, fixed: dict, n_runs: int, cycle_runs: int = 0) -> list[dict]:
    """What is added to a case: one row of old rules and new. A cycle is looked for in `cycle_runs` of the old rules, if
    these are more."""
    values = {name: case[name] for name in case if name not in ("part", "seed")}
    machine = with_values(values, **fixed)
    more = {} if machine.n_other else {"pool_fill": machine.pool_fill}     # the database alone takes more than was asked for
    rules = new_rules(values["new_picker"], values["new_bonus"])
    long = run(machine, BEFORE, max(n_runs, cycle_runs), case["seed"])
    new = run(machine, AFTER, n_runs, case["seed"], rules)
    return [more | {"fitted": False, "reached": True} | outcome(machine, long.first(n_runs), new, long)]


def outcome(machine: Setup, old: Series, new: Series, long: Series) -> dict[str, float]:
    """`<variant>/<quantity>` of series under both rules. `long`: the series under the old rules in which a cycle is looked
    for."""
    seen = {BEFORE: quantities(old, machine), AFTER: quantities(new, machine)}
    changed = {"throughput.gain": gain(old.tps, new.tps), "variability.reduction": reduction(old.tps, new.tps)}
    changed |= correlation.of_series(old.table, TPS, "appliance.io_size")
    blocks = old.pool.blocks_per_write.to_numpy()
    fastest, slowest = float(blocks[old.tps.argmax()]), float(blocks[old.tps.argmin()])
    changed |= {"aggregation.good": fastest, "aggregation.bad": slowest, "aggregation.ratio": fastest / slowest}
    changed |= {"oltp.gain": changed["throughput.gain"], "oltp.variability_reduction": changed["variability.reduction"],
                "cycle.skewness": skewness(long.tps)}
    return {f"{variant}/{name}": seen[variant][name] for name in (TPS, CV) for variant in VARIANTS} | {
        f"{AFTER}/{name}": value for name, value in changed.items()}


def predict(draws: int, seeds: int, seed: int, n_runs: int, cycle_runs: int = 0, **fixed: Any) -> pd.DataFrame:
    """The ensemble over all that is not known, in the columns of `study.ensembles.ensembles.run`. Nothing is fitted: no
    throughput was published. `cycle_runs`: see `of_case`; `fixed`: users, record and scale, warm-up and window."""
    known = priors.read(EXPERIMENT)
    cases = ensembles.cases(known, draws, seeds, seed, ensembles.NUMBERS).to_dict("records")
    ensemble = kept.Ensemble("order-entry", __name__, ensembles.parts_of(known))
    rows = kept.rows(ensemble, of_case, [(case, fixed, n_runs, cycle_runs) for case in cases])
    return pd.DataFrame([case | row for case, (row,) in zip(cases, rows, strict=True)])


def not_modelled(quantity: str) -> str:
    """Why a quantity is not among those of the ensemble."""
    return f"runs of the order entry do not have {quantity}"


def verdict(scores: pd.DataFrame, claim: str) -> str:
    """One row of `claim_predictions.scores` in a sentence."""
    score = scores.set_index("claim").loc[claim]
    if claim == CYCLE:
        return (f"{score['grade']}: slow falls and sudden returns have a skewness of {score['published']:.3f} or more, "
                f"simulated {score['unfitted 5 %']:.2f} to {score['unfitted 95 %']:.2f}")
    return (f"{score['grade']}: published up to {score['published']:.0f} %, simulated {score['unfitted 5 %']:.0f} to "
            f"{score['unfitted 95 %']:.0f} %")

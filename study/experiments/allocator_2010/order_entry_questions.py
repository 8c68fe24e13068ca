"""What is asked of the order-entry test: what the change is made of, what more users do, what was not published matters, and
how certain it all is. The runs are those of `study.experiments.allocator_2010.order_entry`.
"""
import itertools

import numpy as np
import pandas as pd

from model.simulations.order_entry.series import restart
from model.simulations.order_entry.state import PLACED
from model.zfs.metaslab.state import MetaslabParams
from study.documents import priors
from study.ensembles import correlation, effects, ensembles
from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE
from study.experiments.allocator_2010 import appliance
from study.experiments.allocator_2010.order_entry import (
    EXPERIMENT,
    WARM_S,
    Comparison,
    Series,
    Setup,
    aged,
    cv,
    gain,
    go_on,
    measure,
    record_asize,
    reduction,
    series,
    settled,
    setup,
    statistics,
    with_values,
)
from study.experiments.allocator_2010.rules import ALL, STEPS, new_rules, old_rules
from study.pools import engine_share

# --- what it is made of -------------------------------------------------------------------------------------------------

def ablation(machine: Setup, n_runs: int, seeds: int, seed: int) -> pd.DataFrame:
    """Every change alone, and all, under some seeds: key, label, seed, tps, gain (%), reduction (%), blocks."""
    rules = {"old": ("old rules", old_rules())}
    rules |= {key: (label, old_rules()._replace(**changed)) for key, (label, changed) in STEPS.items()}
    rules |= {key: (label, new_rules(*which)) for key, (label, which) in ALL.items()}
    cases = list(itertools.product(range(seed, seed + seeds), rules))
    found = dict(zip(cases, ensembles.on_all_processors(
        series, [(machine, rules[key][1], n_runs, one) for one, key in cases]), strict=True))
    rows = []
    for (one, key), runs in found.items():
        old = found[one, "old"].tps
        rows.append((key, rules[key][0], one, runs.tps.mean(), gain(old, runs.tps), reduction(old, runs.tps),
                     runs.pool.blocks_per_write.mean()))
    return pd.DataFrame(rows, columns=["key", "label", "seed", "tps", "gain", "reduction", "blocks"])


def metrics_of_ablation(steps: pd.DataFrame) -> pd.DataFrame:
    """For the run store: means over seeds."""
    means = steps[steps.key != "old"].groupby("key", sort=False)[["gain", "reduction", "blocks"]].mean()
    units = {"gain": "%", "reduction": "%", "blocks": "blocks"}
    return pd.DataFrame([(f"step.{key}.{name}", value, units[name]) for key, row in means.iterrows()
                         for name, value in row.items()], columns=["name", "value", "unit"])


def _ladder(machine: Setup, rules: MetaslabParams, users: tuple, repeats: int, seed: int) -> list[tuple]:
    site, rows = aged(machine, rules, seed), []
    n_placed = 0
    for n, repeat in itertools.product(users, range(repeats)):
        orders, before = machine.orders._replace(n_users=n), site.machine
        site = restart(site, orders, appliance.drive(machine), machine.queue, seed + repeat)
        n_placed += int(before.tally[PLACED])
        settled(site)
        seen = measure(site, machine)
        rows += [(n, repeat, *row) for row in statistics(seen, orders)]
        go_on(site, machine, seen, seed, f"{n} users, run {repeat}")
    engine_share.note((machine, rules, users, repeats, seed), n_placed + int(site.machine.tally[PLACED]), site.space,
                      record_asize(machine))
    return rows


def ladder(machine: Setup, users: tuple, repeats: int, seed: int) -> pd.DataFrame:
    """Some runs at each number of users, one after another on one pool, under both rules: rules, users, repeat, and name,
    value, unit of all that was looked at."""
    calls = [(machine, rules, users, repeats, seed) for rules in (old_rules(), new_rules())]
    found = ensembles.on_all_processors(_ladder, calls)
    return pd.DataFrame([(variant, *row) for variant, rows in zip((BEFORE, AFTER), found, strict=True) for row in rows],
                        columns=["rules", "users", "repeat", "name", "value", "unit"])


def throughput(table: pd.DataFrame) -> pd.DataFrame:
    """Of a ladder: rules, users, repeat, tps."""
    return table[table.name == TPS].rename(columns={"value": "tps"})[["rules", "users", "repeat", "tps"]]


def runs_of_ladder(table: pd.DataFrame, rules: str) -> pd.DataFrame:
    """The runs under these rules for the run store, numbered from the first; how many users there were is a statistic."""
    some = table[table.rules == rules]
    number = some.users.rank(method="dense").astype(int).sub(1) * some.repeat.nunique() + some.repeat
    some = some.assign(run=number)
    users = some.assign(name="database.users", value=some.users.astype(float), unit="users").drop_duplicates("run")
    return pd.concat([some, users])[["run", "name", "value", "unit"]]


def metrics_of_ladder(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store: mean throughput of each number of users."""
    means = throughput(table).groupby(["rules", "users"]).tps.mean()
    return pd.DataFrame([(f"ladder.{rules}.{users}", value, "1/s") for (rules, users), value in means.items()],
                        columns=["name", "value", "unit"])


# --- the ensemble -------------------------------------------------------------------------------------------------------

TPS, CV = "database.tps", "tps.cv"
CYCLE = "lutz-cycle"
LABELS = {
    ("n_heads", 8): "disks of four platters", ("layout", "stripe"): "disks by themselves",
    ("layout", "raidz1"): "single-parity RAID-Z", ("layout", "raidz2"): "double-parity RAID-Z",
    ("max_pending", 10): "10 I/Os on a disk", ("has_slog", 0): "no log device", ("slim_log", 1): "slim log",
    ("keeps_indirect", 0): "indirect blocks not all in memory", ("new_picker", "new dynamic fit"): "new dynamic fit",
    ("new_bonus", "as described"): "bonus of 1.5"}
GROUPS = {("group_scale", 16): "groups to 1:16"}
OF_SCALE = GROUPS | {("finer", 2): "pool and groups twice as large"}
GAIN, REDUCTION = (Effect(of, kind, LABELS | OF_SCALE) for of, kind in ((TPS, "gain"), (CV, "loss")))


def _case(case: dict, like: dict, n_runs: int) -> dict:
    """The row of a case: old rules and new."""
    values = {name: case[name] for name in case if name not in ("part", "seed")}
    machine = with_values(values, **like)
    if not machine.n_other:     # what the database alone takes is more than was asked for
        case = case | {"pool_fill": machine.pool_fill}
    rules = old_rules(), new_rules(values["new_picker"], values["new_bonus"])
    runs = [series(machine, one, n_runs, case["seed"]) for one in rules]
    old, new = (one.tps for one in runs)
    changed = {"throughput.gain": gain(old, new), "variability.reduction": reduction(old, new)}
    changed |= correlation.of_series(runs[0].table, TPS, "appliance.io_size")
    changed |= {"oltp.gain": changed["throughput.gain"], "oltp.variability_reduction": changed["variability.reduction"],
                "cycle.fall_over_rise": fall_over_rise(old)}
    return case | {"fitted": False, "reached": True, f"{BEFORE}/{TPS}": old.mean(), f"{AFTER}/{TPS}": new.mean(),
                   f"{BEFORE}/{CV}": cv(old), f"{AFTER}/{CV}": cv(new)} | {
                       f"{AFTER}/{name}": value for name, value in changed.items()}


def predict(draws: int, seeds: int, seed: int, n_runs: int, **like) -> pd.DataFrame:
    """The ensemble over all that is not known, in the columns of `study.ensembles.ensembles.run`. Nothing is fitted: no
    throughput was published. `like`: users, record and scale, warm-up and window."""
    cases = ensembles.cases(priors.read(EXPERIMENT), draws, seeds, seed, ensembles.NUMBERS).to_dict("records")
    return pd.DataFrame(ensembles.on_all_processors(_case, [(case, like, n_runs) for case in cases]))


# --- what was not published, one at a time ------------------------------------------------------------------------------

MAP = {         # prior: what it is, and what its levels are shown times
    "pool_fill": ("pool that is taken (%)", 100),
    "age": ("turnovers before the runs", 1),
    "n_disks": ("disks", 1),
    "reads_per_transaction": ("reads of a transaction", 1),
    "writes_per_read": ("writes for each read", 1),
    "redo_bytes": ("redo of a transaction (kB)", 1e-3),
    "layout": ("layout of a vdev", None),       # shown as it is
    "has_slog": ("where redo goes", {0: "pool", 1: "log device"}),
}


def _shown(level, times) -> str:
    """A level of MAP for readers: a number times `times`, or a word."""
    return times[level] if isinstance(times, dict) else level if times is None else f"{level * times:.2g}"


def over_unpublished(n_runs: int, seed: int, **like) -> pd.DataFrame:
    """Gain and reduction (%) with one thing changed that was not published: factor, label, level (text), is_number (or the
    level is a word), gain, reduction, tps (of the old rules). Everything is changed as the ensemble changes conditions: of
    these the series are there already."""
    known = priors.read(EXPERIMENT)
    central = known.central()
    conditions: tuple[priors.Prior | priors.Switch, ...] = (*known.priors, *known.switches)
    levels = {one.name: sorted({central[one.name], *ensembles.others(one)}) for one in conditions if one.name in MAP}
    cases = [(name, {"seed": seed, **central, name: level}) for name in MAP for level in levels[name]]
    found = ensembles.on_all_processors(_case, [(case, like, n_runs) for _, case in cases])
    rows = [(name, MAP[name][0], _shown(one[name], MAP[name][1]), isinstance(MAP[name][1], (int, float)),
             one[f"{AFTER}/throughput.gain"], one[f"{AFTER}/variability.reduction"], one[f"{BEFORE}/{TPS}"])
            for (name, _), one in zip(cases, found, strict=True)]
    return pd.DataFrame(rows, columns=["factor", "label", "level", "is_number", "gain", "reduction", "tps"])


def metrics_of_map(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store."""
    rows = []
    for one in table.itertuples():
        name = f"map.{one.factor.replace('_', '-')}.{one.level.replace(' ', '-')}"
        rows += [(f"{name}.gain", one.gain, "%"), (f"{name}.reduction", one.reduction, "%")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


# --- to what scale ------------------------------------------------------------------------------------------------------

def over_scales(pairs: tuple, n_runs: int, seeds: int, seed: int, *, scale: int, window_s: float, **like) -> pd.DataFrame:
    """The best guess with pool and transaction groups to several pairs of scales, runs measured as long, at full scale, as
    those of `scale`: pool, groups, seed, gain, reduction (%), before, after (records in a write), indirect (blocks written
    for each record under the old rules)."""
    cases = list(itertools.product(pairs, range(seed, seed + seeds), (old_rules(), new_rules())))
    machines = {(pool, groups): setup(scale=pool, group_scale=groups, window_s=window_s * scale / pool,
                                      warm_s=WARM_S * scale / pool, **like) for pool, groups in pairs}
    found = ensembles.on_all_processors(series, [(machines[one], rules, n_runs, case) for one, case, rules in cases])
    rows = [(*pair, case, gain(old.tps, new.tps), reduction(old.tps, new.tps), old.pool.blocks_per_write.mean(),
             new.pool.blocks_per_write.mean(), old.pool.indirect_per_record.mean())
            for (pair, case, _), old, new in zip(cases[::2], found[::2], found[1::2], strict=True)]
    return pd.DataFrame(rows, columns=["pool", "groups", "seed", "gain", "reduction", "before", "after", "indirect"])


def metrics_of_scales(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store: of each pair of scales means over seeds, and the least and most gain."""
    several = table.drop(columns="seed").groupby(["pool", "groups"])
    gains = several.gain.agg(["min", "max"]).rename(columns={"min": "gain-least", "max": "gain-most"})
    rows = [(f"scale.{pool}-{groups}.{name}", value, "blocks" if name in ("before", "after", "indirect") else "%")
            for (pool, groups), row in several.mean().join(gains).iterrows() for name, value in row.items()]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


# --- the series ---------------------------------------------------------------------------------------------------------

def table(runs: Comparison) -> pd.DataFrame:
    """Means over runs, and standard deviations in per cent of them, of all that was looked at."""
    columns: dict[str, pd.Series] = {}
    for variant, one in runs.items():
        wide = one.table.pivot(index="run", columns="name", values="value")
        columns |= {variant: wide.mean(), f"sd % {variant}": 100 * wide.std() / wide.mean()}
    shown = pd.DataFrame(columns)
    shown.insert(0, "unit", runs.before.table.drop_duplicates("name").set_index("name").unit)
    return shown


def metrics_of_series(runs: Comparison) -> pd.DataFrame:
    """For the run store: means, variability, blocks in a write, of both series."""
    rows = [("series.gain", gain(runs.before.tps, runs.after.tps), "%"),
            ("series.reduction", reduction(runs.before.tps, runs.after.tps), "%")]
    for variant, one in runs.items():
        blocks = one.pool.blocks_per_write
        rows += [(f"{variant}.tps", one.tps.mean(), "1/s"), (f"{variant}.deviation", 100 * cv(one.tps), "%"),
                 (f"{variant}.blocks", blocks.mean(), "blocks"), (f"{variant}.blocks-least", blocks.min(), "blocks"),
                 (f"{variant}.blocks-most", blocks.max(), "blocks")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


# --- the cycle ----------------------------------------------------------------------------------------------------------

def turning_points(tps: np.ndarray, least: float) -> list[int]:
    """Where a series turns: between neighbours of these it goes up or down by `least` at least."""
    turns = [0]
    for i in range(1, len(tps)):
        change = tps[i] - tps[turns[-1]]
        so_far = tps[turns[-1]] - tps[turns[-2]] if len(turns) > 1 else 0.0
        if change * so_far > 0:
            turns[-1] = i
        elif abs(change) >= least:
            turns.append(i)
    return turns


def cycle(tps: np.ndarray) -> pd.DataFrame:
    """How throughput goes up and down: name, value, unit. Falls and rises are those of a quarter of the range at least. Slow
    falls and sudden returns: a fall takes more runs than a rise."""
    turns = turning_points(tps, 0.25 * np.ptp(tps))
    steps = [(b - a, tps[b] - tps[a]) for a, b in itertools.pairwise(turns)]
    rows: list[tuple[str, float, str]] = []
    for name, sign in (("fall", -1), ("rise", 1)):
        some = [(n, sign * change) for n, change in steps if sign * change > 0]
        rows.append((f"{name}s", len(some), "1"))
        if some:
            rows += [(f"{name}.runs", float(np.mean([n for n, _ in some])), "runs"),
                     (f"{name}.size", 100 * float(np.mean([change for _, change in some])) / tps.mean(), "%")]
        rows.append((f"{name}.in-one-run", 100 * float((sign * np.diff(tps)).max()) / tps.mean(), "%"))
    rows.append(("fall-over-rise", fall_over_rise(tps), "1"))
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def fall_over_rise(tps: np.ndarray) -> float:
    """How many runs a fall takes for each that a rise takes: 3 if throughput falls over three runs and is back after one,
    about 1 if ups and downs are alike. Falls and rises as in `cycle`; 0 unless there are two of each: once is no cycle."""
    turns = turning_points(tps, 0.25 * np.ptp(tps))
    falls, rises = ([b - a for a, b in itertools.pairwise(turns) if sign * (tps[b] - tps[a]) > 0] for sign in (-1, 1))
    return float(np.mean(falls) / np.mean(rises)) if min(len(falls), len(rises)) > 1 else 0.0


def by_age(machine: Setup, n_runs: int, seed: int) -> dict[float, Series]:
    """Series under the old rules on pools of different ages (turnovers before the first run): a new one, one as old as the
    machine's, and the two ages to which the ensemble changes it. Of ages that look the same the machine's is taken."""
    prior = next(one for one in priors.read(EXPERIMENT).priors if one.name == "age")
    ages = sorted({f"{age:.2g}": age for age in (0.0, *ensembles.others(prior), machine.age)}.values())
    calls = [(machine._replace(age=age), old_rules(), n_runs, seed) for age in ages]
    return dict(zip(ages, ensembles.on_all_processors(series, calls), strict=True))


def cycles(several: dict[float, Series]) -> pd.DataFrame:
    """`cycle` of each: name, value, unit."""
    found = [cycle(one.tps).assign(name=lambda frame, age=age: f"age-{age:.2g}." + frame.name)
             for age, one in several.items()]
    return pd.concat(found, ignore_index=True)


# --- predictions --------------------------------------------------------------------------------------------------------

def not_modelled(quantity: str) -> str:
    """Why a quantity is not among those of the ensemble."""
    return f"runs of the order entry do not have {quantity}"


def metrics(results: pd.DataFrame) -> pd.DataFrame:
    """The ensemble for the run store: name, value, unit."""
    rows = []
    for effect, name in ((GAIN, "gain"), (REDUCTION, "reduction")):
        found = effect.interval(ensembles.unfitted(results))
        rows += [(f"all.{name}-{end}", value, "%") for end, value in found._asdict().items()]
        rows += [(f"part.{one.part}.{name}-{end}", value, "%") for one in effects.parts(results, effect).itertuples()
                 for end, value in (("low", one.low), ("high", one.high))]
    cycle_of_all = ensembles.interval(ensembles.unfitted(results)[f"{AFTER}/cycle.fall_over_rise"])
    rows += [(f"all.fall-over-rise-{end}", value, "1") for end, value in cycle_of_all._asdict().items()]
    rows += [(f"central.{variant}.tps", float(ensembles.unfitted(results, "central")[f"{variant}/{TPS}"].iloc[0]), "1/s")
             for variant in (BEFORE, AFTER)]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def verdict(scores: pd.DataFrame, claim: str) -> str:
    """One row of `scoring.scores` in a sentence."""
    one = scores.set_index("claim").loc[claim]
    if claim == CYCLE:
        return (f"{one['grade']}: published a fall over {one['published']:.0f} or more runs for one of return, simulated "
                f"{one['unfitted 5 %']:.1f} to {one['unfitted 95 %']:.1f}")
    return (f"{one['grade']}: published up to {one['published']:.0f} %, simulated {one['unfitted 5 %']:.0f} to "
            f"{one['unfitted 95 %']:.0f} %")

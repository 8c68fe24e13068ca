"""What is asked of the order-entry test: what the change is made of, what more users do, how much what was not published
matters. And how certain is it all? The runs and the ensemble are those of `study.experiments.allocator_2010.order_entry`.
"""
import itertools
from typing import Any

import pandas as pd

from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.series import restart
from model.zfs.metaslab.state import MetaslabParams
from study.documents import priors
from study.ensembles import effects, ensembles, intervals, kept
from study.ensembles.ensembles import AFTER, BEFORE
from study.ensembles.processors import on_all_processors
from study.experiments.allocator_2010 import appliance
from study.experiments.allocator_2010.order_entry import EFFECT as GAIN
from study.experiments.allocator_2010.order_entry import REDUCTION, of_case
from study.experiments.allocator_2010.order_entry_cycle import cycle
from study.experiments.allocator_2010.order_entry_machine import EXPERIMENT, WARM_S, Setup, record_asize, setup
from study.experiments.allocator_2010.order_entry_pool import aged, go_on, measure, settled
from study.experiments.allocator_2010.order_entry_series import TPS, Series, all_series, gain, reduction, statistics
from study.experiments.allocator_2010.rules import ALL, STEPS, new_rules, old_rules
from study.pools import engine_share

# --- what it is made of -------------------------------------------------------------------------------------------------

def ablation(machine: Setup, n_runs: int, seeds: int, seed: int) -> pd.DataFrame:
    """Every change alone, and all, under some seeds: key, label, seed, tps, gain (%), reduction (%), blocks."""
    rules = {"old": ("old rules", old_rules())}
    rules |= {key: (label, old_rules()._replace(**changed)) for key, (label, changed) in STEPS.items()}
    rules |= {key: (label, new_rules(*which)) for key, (label, which) in ALL.items()}
    cases = list(itertools.product(range(seed, seed + seeds), rules))
    of_cases = dict(zip(cases, all_series("order-entry-steps", [
        (machine, rules[key][1], n_runs, case_seed) for case_seed, key in cases]), strict=True))
    rows = []
    for (case_seed, key), runs in of_cases.items():
        old = of_cases[case_seed, "old"].tps
        rows.append((key, rules[key][0], case_seed, runs.tps.mean(), gain(old, runs.tps), reduction(old, runs.tps),
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
        n_placed += int(before.tally[order_columns.PLACED])
        settled(site)
        seen = measure(site, machine)
        rows += [(n, repeat, *row) for row in statistics(seen, orders)]
        go_on(site, machine, seen, seed, f"{n} users, run {repeat}")
    n_placed += int(site.machine.tally[order_columns.PLACED])
    engine_share.note((machine, rules, users, repeats, seed), n_placed, site.space, record_asize(machine))
    return rows


def ladder(machine: Setup, users: tuple, repeats: int, seed: int) -> pd.DataFrame:
    """Some runs at each number of users, one after another on one pool, under both rules. Columns: rules, users, repeat, and
    name, value, unit of all that was looked at."""
    calls = [(machine, rules, users, repeats, seed) for rules in (old_rules(), new_rules())]
    ladders = on_all_processors(_ladder, calls)
    return pd.DataFrame([(variant, *row) for variant, rows in zip((BEFORE, AFTER), ladders, strict=True) for row in rows],
                        columns=["rules", "users", "repeat", "name", "value", "unit"])


def throughput(table: pd.DataFrame) -> pd.DataFrame:
    """Of a ladder: rules, users, repeat, tps."""
    return table[table.name == TPS].rename(columns={"value": "tps"})[["rules", "users", "repeat", "tps"]]


def runs_of_ladder(table: pd.DataFrame, rules: str) -> pd.DataFrame:
    """The runs under these rules for the run store, numbered from the first; how many users there were is a statistic."""
    steps = table[table.rules == rules]
    number = steps.users.rank(method="dense").astype(int).sub(1) * steps.repeat.nunique() + steps.repeat
    steps = steps.assign(run=number)
    users = steps.assign(name="database.users", value=steps.users.astype(float), unit="users").drop_duplicates("run")
    return pd.concat([steps, users])[["run", "name", "value", "unit"]]


def metrics_of_ladder(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store: mean throughput of each number of users."""
    means = throughput(table).groupby(["rules", "users"]).tps.mean()
    return pd.DataFrame([(f"ladder.{rules}.{users}", value, "1/s") for (rules, users), value in means.items()],
                        columns=["name", "value", "unit"])


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


def _shown(level: float | str, times: float | dict[int, str] | None) -> str:
    """A level of MAP for readers: a number times `times`, or a word."""
    if times is None:
        return str(level)
    return times[int(level)] if isinstance(times, dict) else f"{float(level) * times:.2g}"


def over_unpublished(n_runs: int, seed: int, **fixed: Any) -> pd.DataFrame:
    """Gain and reduction (%) with one thing changed that was not published. Columns: factor, label, level (text), is_number
    (or the level is a word), gain, reduction, tps (of the old rules). Everything is changed as the ensemble changes
    conditions."""
    known = priors.read(EXPERIMENT)
    central = known.central()
    conditions: tuple[priors.Prior | priors.Switch, ...] = (*known.priors, *known.switches)
    levels = {of.name: sorted({central[of.name], *ensembles.others(of)}) for of in conditions if of.name in MAP}
    cases = [(name, {"seed": seed, **central, name: level}) for name in MAP for level in levels[name]]
    results = kept.rows(kept.Ensemble("order-entry-map", __name__, ensembles.parts_of(known)), of_case,
                        [(case, fixed, n_runs) for _, case in cases])
    rows = [(name, MAP[name][0], _shown((case | row)[name], MAP[name][1]), isinstance(MAP[name][1], (int, float)),
             row[f"{AFTER}/throughput.gain"], row[f"{AFTER}/variability.reduction"], row[f"{BEFORE}/{TPS}"])
            for (name, case), (row,) in zip(cases, results, strict=True)]
    return pd.DataFrame(rows, columns=["factor", "label", "level", "is_number", "gain", "reduction", "tps"])


def metrics_of_map(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store."""
    rows = []
    for row in table.itertuples():
        name = f"map.{row.factor.replace('_', '-')}.{row.level.replace(' ', '-')}"
        rows += [(f"{name}.gain", row.gain, "%"), (f"{name}.reduction", row.reduction, "%")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


# --- to what scale ------------------------------------------------------------------------------------------------------

def over_scales(pairs: tuple, n_runs: int, seeds: int, seed: int, *, scale: int, window_s: float,
                **fixed: Any) -> pd.DataFrame:
    """The best guess with pool and transaction groups to several pairs of scales. Runs are measured as long, at full scale,
    as those of `scale`. Columns: pool, groups, seed, gain, reduction (%), before, after (records in a write), indirect
    (blocks written for each record under the old rules)."""
    cases = list(itertools.product(pairs, range(seed, seed + seeds), (old_rules(), new_rules())))
    machines = {(pool, groups): setup(scale=pool, group_scale=groups, window_s=window_s * scale / pool,
                                      warm_s=WARM_S * scale / pool, **fixed) for pool, groups in pairs}
    of_cases = all_series("order-entry-scales", [(machines[pair], rules, n_runs, case) for pair, case, rules in cases])
    rows = [(*pair, case, gain(old.tps, new.tps), reduction(old.tps, new.tps), old.pool.blocks_per_write.mean(),
             new.pool.blocks_per_write.mean(), old.pool.indirect_per_record.mean())
            for (pair, case, _), old, new in zip(cases[::2], of_cases[::2], of_cases[1::2], strict=True)]
    return pd.DataFrame(rows, columns=["pool", "groups", "seed", "gain", "reduction", "before", "after", "indirect"])


def metrics_of_scales(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store: of each pair of scales means over seeds, and the least and most gain."""
    several = table.drop(columns="seed").groupby(["pool", "groups"])
    gains = several.gain.agg(["min", "max"]).rename(columns={"min": "gain-least", "max": "gain-most"})
    rows = [(f"scale.{pool}-{groups}.{name}", value, "blocks" if name in ("before", "after", "indirect") else "%")
            for (pool, groups), row in several.mean().join(gains).iterrows() for name, value in row.items()]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


# --- the cycle ----------------------------------------------------------------------------------------------------------

def by_age(machine: Setup, n_runs: int, seed: int) -> dict[float, Series]:
    """Series under the old rules on pools of different ages (turnovers before the first run). They are a new one, one as old
    as the machine's, and the two ages to which the ensemble changes it. Of ages that look the same the machine's is
    taken."""
    prior = next(prior for prior in priors.read(EXPERIMENT).priors if prior.name == "age")
    ages = sorted({f"{age:.2g}": age for age in (0.0, *ensembles.others(prior), machine.age)}.values())
    calls = [(machine._replace(age=age), old_rules(), n_runs, seed) for age in ages]
    return dict(zip(ages, all_series("order-entry-ages", calls), strict=True))


def cycles(several: dict[float, Series]) -> pd.DataFrame:
    """`cycle` of each: name, value, unit."""
    of_ages = [cycle(aged_series.tps).assign(name=lambda frame, age=age: f"age-{age:.2g}." + frame.name)
               for age, aged_series in several.items()]
    return pd.concat(of_ages, ignore_index=True)


# --- predictions ----------------------------------------------------------------------------------------------------------

def metrics(results: pd.DataFrame) -> pd.DataFrame:
    """The ensemble for the run store: name, value, unit."""
    rows = []
    for effect, name in ((GAIN, "gain"), (REDUCTION, "reduction")):
        interval = effect.interval(ensembles.unfitted(results))
        rows += [(f"all.{name}-{end}", value, "%") for end, value in interval._asdict().items()]
        rows += [(f"part.{row.part}.{name}-{end}", value, "%") for row in effects.parts(results, effect).itertuples()
                 for end, value in (("low", row.low), ("high", row.high))]
    cycle_of_all = intervals.interval(ensembles.unfitted(results)[f"{AFTER}/cycle.skewness"])
    rows += [(f"all.cycle-skewness-{end}", value, "1") for end, value in cycle_of_all._asdict().items()]
    rows += [(f"central.{variant}.tps", float(ensembles.unfitted(results, "central")[f"{variant}/{TPS}"].iloc[0]), "1/s")
             for variant in (BEFORE, AFTER)]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])

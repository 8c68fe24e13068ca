"""Exchange on an 8 KB LUN of an appliance of 2010: the rules of the allocator before and after its change.

    machine = exchange_2010.setup(seconds=120.0, pool_fill=0.5, …)   what a notebook's parameters stand for
    exchange_2010.compare(machine, seed)                             old rules and new, on one machine
    exchange_2010.predict(machine, draws=4, seeds=2, seed=1)         the ensemble: see `study.ensembles.ensembles`

It is the simulation of the order entry (`model.simulations.order_entry.run`), with a LUN for its data shares
(`model.simulations.order_entry.lun`). A *user* is a thread of the load generator. Its transaction is some pages read, one
after the other, some changed, and a write of the transaction log. The database writes changed pages later, as long as its
buffers last.

Nothing of the test was published but its gain, so everything here comes from `data/priors.toml`. What is simulated is a
*slice*: one or two of the top-level vdevs, with their share of the threads and of the log device. These are simulated to a
scale at which a metaslab has 64 MiB. Groups, their throttle and the pages that the database holds back are scaled by less:
see `group_scale` in `data/priors.toml`. `exchange_machine` makes the slice.
"""
import math
from typing import Any

import pandas as pd

from model.events.clock import SECOND_NS
from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.series import PoolFull, Site, Window, begin, restart, rewrite, settle, window
from model.zfs.metaslab.metaslab_group import weigh_all
from model.zfs.metaslab.state import MetaslabParams
from model.zfs.vdev.raid import asize as asize_of
from study.documents import priors
from study.ensembles import ensembles, history_matching, kept
from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE, VARIANTS
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.experiments.allocator_2010 import appliance, order_entry
from study.experiments.allocator_2010 import rules as order_entry_rules
from study.experiments.allocator_2010.exchange_machine import BLOCK, EXPERIMENT, Setup, min_fill, setup, with_values
from study.experiments.protocol import Comparison, Drawn, table_of
from study.memo import ByKey
from study.pools import engine_share

WARM_S, PACE_S = 10.0, 10.0         # until the throttle has settled; and to measure how fast a pool ages: some ten groups
STEPS_TO_SETTLE = 20                # of PACE_S at most, until what is written keeps up with what is changed

PRINTED = "bourbonnais-2010/change"      # the published run that has the gain

Runs = Comparison[Setup, Window]


# --- runs -----------------------------------------------------------------------------------------------------------------

def _aged(machine: Setup, rules: MetaslabParams, seed: int) -> Site:
    """A pool that was filled from front to back and then rewritten, at the pace that it allows when it is new."""
    appliance.compiled(machine.exact)
    site = begin(machine.orders, appliance.drive(machine), machine.queue, appliance.space(machine, rules), seed)
    settle(site, int(PACE_S * SECOND_NS), STEPS_TO_SETTLE)
    seen = window(site, int(WARM_S * SECOND_NS), int(PACE_S * SECOND_NS))
    if not seen.tally["writes"]:
        raise UserError(f"{machine.orders.n_users} threads wrote nothing in {PACE_S:g} s, so that how fast the pool ages is "
                        "not known; take more threads or fewer reads")
    rewrite(site, int(machine.age * machine.orders.n_records), seen, seed, "blocks rewritten before")
    return site


def _updated(site: Site, machine: Setup, rules: MetaslabParams, seed: int) -> Site:
    """The same pool after its software was changed: nothing is active, everything is weighed anew."""
    space = site.space._replace(params=appliance.scaled_rules(rules, machine.scale))
    space.active[:] = 0
    weigh_all(space)
    site = site._replace(space=space)
    seen = window(site, 0, int(PACE_S * SECOND_NS))
    rewrite(site, int(machine.since_update * machine.orders.n_records), seen, seed, "blocks rewritten since")
    return site


_MADE = ByKey()              # windows, of a machine, both rules and a seed: a pool is aged and measured once
_AGED: dict[tuple, Site] = {}   # pools that are yet to be measured after an update


def run_rules(machine: Setup, used: MetaslabParams, rules: MetaslabParams, seed: int, is_updated: bool = False) -> Window:
    """A pool that was filled and rewritten under the rules `used`, measured under `rules`. If it `is_updated` later, that is
    to other rules, and it need not age again for them."""
    key = machine._replace(rules=(), ages_under_old=False), used, rules, seed
    return _MADE.get(key, lambda: _measured(*key, is_updated))


def _measured(machine: Setup, used: MetaslabParams, rules: MetaslabParams, seed: int, is_updated: bool) -> Window:
    site = (None if rules == used else _AGED.pop((machine, used, seed), None)) or _aged(machine, used, seed)
    if is_updated:
        _AGED[machine, used, seed] = appliance.copied(site, machine, used, seed)
    if rules != used:
        site = _updated(site, machine, rules, seed)
    seen = window(site, int(WARM_S * SECOND_NS), int(machine.seconds * SECOND_NS))
    engine_share.note((machine, used, rules, seed), int(site.machine.tally[order_columns.PLACED]), site.space,
                      int(asize_of(machine.orders.vdev, BLOCK)))
    return seen


def run(machine: Setup, variant: str, seed: int) -> Window:
    """Before the change or after it."""
    old, new = machine.rules
    rules = old if variant == BEFORE else new
    is_updated = variant == BEFORE and machine.ages_under_old and new != old
    return run_rules(machine, old if machine.ages_under_old else rules, rules, seed, is_updated)


def engines(machine: Setup, seed: int) -> pd.DataFrame:
    """For the run store: what the allocator's engine placed in pools that are aged and measured for a second."""
    sites = [_aged(machine, rules, seed) for rules in machine.rules]
    for site in sites:
        window(site, 0, SECOND_NS)
    n_aged = machine.orders.n_records + int(machine.age * machine.orders.n_records)
    return appliance.engine_metrics(sites, sum(n_aged + int(site.machine.tally[order_columns.WRITES]) for site in sites))


def compare(machine: Setup, seed: int) -> Runs:
    """Both under one seed, so that they meet the same reads and changes."""
    return Comparison(machine, run(machine, BEFORE, seed), run(machine, AFTER, seed))


# --- what comes out -----------------------------------------------------------------------------------------------------

TRANSFERS, GAIN = "exchange.transfers", "exchange.gain"
UNITS = {TRANSFERS: "1/s", "exchange.read_time": "ms", "exchange.write_size": "KiB", "exchange.disk_writes": "1/s",
         "exchange.blocks_per_io": "1", "exchange.busy": "%", "exchange.sync": "s", "exchange.group": "blocks"}


def quantities(x: Window, machine: Setup) -> dict[str, float]:
    """Pages read and written per second, of the slice; how long a read takes; what writes became on the disks; groups. A
    window knows how long it was, so nothing is asked of `machine`."""
    t, seconds = x.tally, x.ns / SECOND_NS
    written, groups = max(1, t["units_written"]), max(1, t["txgs"])
    return {TRANSFERS: (t["reads"] + t["writes"]) / seconds, "exchange.read_time": t["read_ns"] / max(1, t["reads"]) / 1e6,
            "exchange.write_size": t["units_written_bytes"] / written / 1024,
            "exchange.disk_writes": t["units_written"] / seconds,
            "exchange.blocks_per_io": t["ios_written"] / written, "exchange.busy": 100 * float(x.busy_ns.mean()) / x.ns,
            "exchange.sync": t["sync_ns"] / groups / 1e9, "exchange.group": t["writes"] / groups}


def table(runs: Runs) -> pd.DataFrame:
    """The quantities of both runs, for readers."""
    return table_of(runs, quantities, UNITS.__getitem__)


def gain(runs: Runs) -> float:
    """By how much more Exchange transfers by the new rules than by the old ones [%]."""
    before, after = (quantities(x, runs.machine)[TRANSFERS] for _, x in runs.items())
    return EFFECT.percent(after / before)


def metrics(runs: Runs) -> pd.DataFrame:
    """The same for the run store: name, value, unit."""
    rows = [(f"{variant}.{name}", value, UNITS[name])
            for variant, x in runs.items() for name, value in quantities(x, runs.machine).items()]
    return pd.DataFrame([*rows, ("gain", gain(runs), "%")], columns=["name", "value", "unit"])


# --- what it is made of -------------------------------------------------------------------------------------------------

def ablation(machine: Setup, seed: int) -> pd.DataFrame:
    """Each single change of the rules, and all of them: key, label, gain (%), KiB of a write on a disk."""
    old = order_entry_rules.old_rules()
    rules = {"old": ("old rules", old)}
    rules |= {key: (label, old._replace(**changed)) for key, (label, changed) in order_entry_rules.STEPS.items()}
    rules |= {key: (label, order_entry_rules.new_rules(*which)) for key, (label, which) in order_entry_rules.ALL.items()}
    windows = kept.rows(kept.Ensemble("exchange-steps", __name__, None), _of_rules,
                        [(machine, params, seed) for _, params in rules.values()])
    of_rules = [quantities_of for (quantities_of,) in windows]
    before = of_rules[0][TRANSFERS]
    return pd.DataFrame([(key, label, EFFECT.percent(seen[TRANSFERS] / before), seen["exchange.write_size"])
                         for (key, (label, _)), seen in zip(rules.items(), of_rules, strict=True)],
                        columns=["key", "label", "gain", "write_kib"])


def _of_rules(machine: Setup, rules: MetaslabParams, seed: int) -> list[dict]:
    return [quantities(run_rules(machine, rules, rules, seed), machine)]


def _on_one_pool(machine: Setup, others: list[Setup], rules: MetaslabParams, seed: int) -> list[Window]:
    """The pool of `machine`, aged, and then, each time as it was, measured under the threads of each of `others`."""
    pool, windows = _aged(machine, rules, seed), []
    for measured in others:
        site = appliance.copied(pool, machine, rules, seed)
        n_placed = int(site.machine.tally[order_columns.PLACED])
        site = restart(site, measured.orders, appliance.drive(measured), measured.queue, seed)
        settle(site, int(PACE_S * SECOND_NS), STEPS_TO_SETTLE)
        windows.append(window(site, int(WARM_S * SECOND_NS), int(measured.seconds * SECOND_NS)))
        n_placed += int(site.machine.tally[order_columns.PLACED])
        engine_share.note((machine, measured, rules, seed), n_placed, site.space, int(asize_of(machine.orders.vdev, BLOCK)))
    return windows


def gain_map(seconds: float, cache_hits: list, pool_fill: list, seeds: list) -> pd.DataFrame:
    """The gain (%) over two things that were not published, all else best guesses: cache_hits, pool_fill, seed, gain. A pool
    for each fill, seed and set of rules, whose threads then find such shares of their reads at hand."""
    cases, calls = [(fill, seed) for fill in pool_fill for seed in seeds], []
    for fill, seed in cases:
        machine = setup(seconds=seconds, pool_fill=fill)
        others = [setup(seconds=seconds, pool_fill=fill, cache_hits=hits) for hits in cache_hits]
        calls += [(machine, others, rules, seed) for rules in machine.rules]
    transfers = [[quantities(seen, machine)[TRANSFERS] for seen, machine in zip(windows, others, strict=True)]
                 for windows, (_, others, *_) in zip(on_all_processors(_on_one_pool, calls), calls, strict=True)]
    rows = [(hits, fill, seed, EFFECT.percent(new / old))
            for (fill, seed), before, after in zip(cases, transfers[::2], transfers[1::2], strict=True)
            for hits, old, new in zip(cache_hits, before, after, strict=True)]
    return pd.DataFrame(rows, columns=["cache_hits", "pool_fill", "seed", "gain"])


def over_scales(pairs: tuple, seconds: float, seed: int) -> pd.DataFrame:
    """The best guess with other metaslabs (MiB) and transaction groups. Columns: metaslab, groups, gain (%), indirect
    (blocks written for each page) and group (pages), both under the old rules."""
    of_pairs = on_all_processors(compare, [
        (setup(seconds=seconds, metaslab_bytes=mib * 2**20, group_scale=groups), seed) for mib, groups in pairs])
    rows = [(*pair, gain(runs), runs.before.tally["indirect"] / max(1, runs.before.tally["writes"]),
             quantities(runs.before, runs.machine)["exchange.group"]) for pair, runs in zip(pairs, of_pairs, strict=True)]
    return pd.DataFrame(rows, columns=["metaslab", "groups", "gain", "indirect", "group"])


def metrics_of_scales(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store."""
    units = {"gain": "%", "indirect": "blocks", "group": "blocks"}
    return pd.DataFrame([(f"scale.{row['metaslab']}-{row['groups']}.{name}", row[name], unit)
                         for row in table.to_dict("records") for name, unit in units.items()],
                        columns=["name", "value", "unit"])


def without_writes(machine: Setup, seed: int) -> Window:
    """What threads would read that change nothing, in a pool that was just filled: more no allocator can make of it."""
    orders = machine.orders._replace(dirtied=0.0, redo_bytes=512)
    site = begin(orders, appliance.drive(machine), machine.queue, appliance.space(machine, machine.rules[0]), seed)
    return window(site, int(WARM_S * SECOND_NS), int(machine.seconds * SECOND_NS))


def simpler_models(runs: Runs, seed: int) -> pd.DataFrame:
    """What simpler models make of the gain, from the I/Os for a page in both runs, and what it would be if writes cost
    nothing. Columns: key, what, effect (%)."""
    def saved(*keys: str) -> float:
        before, after = (sum(x.tally[key] for key in keys) / max(1, x.tally["reads"] + x.tally["writes"])
                         for _, x in runs.items())
        return 100 * (before / after - 1)
    free = without_writes(runs.machine, seed)
    return pd.DataFrame([
        ("bytes", "bytes moved", saved("units_read_bytes", "units_written_bytes")),
        ("ios", "number of I/Os", saved("units_read", "units_written")),
        ("writes", "number of writes alone", saved("units_written")),
        ("free", "writes cost nothing", 100 * (free.tally["reads"] / runs.before.tally["reads"] - 1))],
        columns=["key", "what", "effect"])


# --- the ensemble -------------------------------------------------------------------------------------------------------

def predict(seconds: float, draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """The ensemble over all that is not known: see `study.ensembles.ensembles.run`. Nothing is fitted, because no level was
    published; the claim is about the gain, so that stands beside each case in %. Draws of pools so full and old that no log
    block finds room any more are left out. ZFS would have each commit wait for a group, which is not modelled."""
    of_draws = drawn(seconds)
    cases = ensembles.cases(of_draws.known, draws, seeds, seed, ensembles.NUMBERS)
    cases = cases.assign(pool_fill=[with_values(seconds, case).pool_fill for case in cases.to_dict("records")])
    results = ensembles.run(cases, of_draws.simulate, ensemble=of_draws.ensemble)
    results = results.assign(**{f"{AFTER}/{GAIN}": EFFECT.of(results)})
    return results[results[f"{AFTER}/{GAIN}"].notna()].reset_index(drop=True)


def drawn(seconds: float, **others: Any) -> Drawn:
    """What a draw is made of: see `study.experiments.protocol`. Nothing is taken of `others`: they are drawn."""
    known = priors.read(EXPERIMENT)

    def simulate(values: dict, seed: int, variant: str) -> dict[str, float]:
        try:
            machine = with_values(seconds, values)
            return quantities(run(machine, variant, seed), machine)
        except PoolFull:
            return dict.fromkeys(UNITS, math.nan)

    ensemble = kept.Ensemble("exchange", __name__, (seconds, ensembles.parts_of(known)))
    return Drawn(known=known, variants=VARIANTS, simulate=simulate, ensemble=ensemble, printed_runs={}, compared=compared,
                 as_simulated=_as_simulated)


def _as_simulated(values: dict) -> dict:
    """With the fill of a terabyte of mail, if there were less."""
    return values | {"pool_fill": max(values["pool_fill"], min_fill(values))}


def compared(draws: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draws with the gain, and what was printed of it, as shares of what was."""
    column = f"{AFTER}/{GAIN}"
    of_draws = draws.assign(**{column: 1 + EFFECT.of(draws) / 100})
    facts = history_matching.printed(of_draws, {AFTER: PRINTED})
    return of_draws, facts.assign(**{end: 1 + facts[end] / 100 for end in ("printed", "low", "high")})


EFFECT = Effect(TRANSFERS, "gain", order_entry.LABELS | order_entry.GROUPS | {
    ("version", 2003): "Exchange 2003", ("write_cache", 1): "write cache of the LUN", ("aligned", 0): "misaligned LUN",
    ("history", "old rules"): "pool used under old rules"})


def not_modelled(quantity: str) -> str:
    """Why a quantity is not among what is predicted."""
    return f"the simulation of Exchange has no {quantity}"


def verdict(scores: pd.DataFrame) -> str:
    """The row of the claim in a sentence."""
    score = scores.set_index("claim").loc["exchange-gain"]
    return (f"{score['grade']}: published {score['published']:+.0f} %, simulated {score['unfitted 5 %']:+.0f} to "
            f"{score['unfitted 95 %']:+.0f} %")

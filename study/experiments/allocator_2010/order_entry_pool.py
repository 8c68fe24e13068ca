"""A pool of the order-entry test: how it ages before the first run, is measured in a run, and ages until the next.

Aging is at the pace that the pool allows. In a run a window is simulated event by event, and the rest of it is rewritten at
the pace of that window: see `model.simulations.order_entry.series`.
"""
from typing import NamedTuple

import pandas as pd

from model.events.clock import SECOND_NS
from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.series import CannotRun, Site, Window, begin, rewrite, settle, window
from model.zfs.metaslab.state import MetaslabParams
from study.experiments.allocator_2010 import appliance
from study.experiments.allocator_2010.order_entry_machine import Setup
from study.experiments.allocator_2010.rules import new_rules, old_rules

PARTS_OF_AGE = 2.0              # turnovers that the pool ages at one measured pace


class Settling(NamedTuple):
    """How users start, before anything is measured: see `model.simulations.order_entry.series.settle`."""
    step_s: float
    max_steps: int
    by_stock: bool
    is_needed: bool     # whether a pool that has not settled by then is refused


TO_SCALE = Settling(step_s=1.0, max_steps=120, by_stock=False, is_needed=False)
# Two groups at least are in a step. What is dirty at full size may take hours to gather: a day is no more than a bound.
FULL_SIZE = Settling(step_s=60.0, max_steps=24 * 60, by_stock=True, is_needed=True)


def measure(site: Site, machine: Setup) -> Window:
    """The window of a run: it ends with the run at the latest."""
    window_s = min(machine.window_s, machine.run_s - machine.warm_s)
    return window(site, int(machine.warm_s * SECOND_NS), int(window_s * SECOND_NS))


def aged(machine: Setup, rules: MetaslabParams, seed: int, settling: Settling = TO_SCALE) -> Site:
    """A pool as it is before the first run: written, then rewritten `age` times, at the pace that it allows."""
    appliance.compiled(machine.exact)
    site = begin(machine.orders, appliance.drive(machine), machine.queue, appliance.space(machine, rules), seed,
                 machine.n_other)
    settled(site, settling)
    parts = max(1, round(machine.age / PARTS_OF_AGE))
    for part in range(parts):
        n = int(machine.age * machine.orders.n_records / parts)
        rewrite(site, n, measure(site, machine), seed, f"rewritten before, {part}")
    return settled(site, settling)


def settled(site: Site, settling: Settling = TO_SCALE) -> Site:
    """After the start of users, or a leap in time. CannotRun if writers do not keep up in time, where that is needed."""
    enough = settle(site, int(settling.step_s * SECOND_NS), settling.max_steps, settling.by_stock)
    if settling.is_needed and not enough:
        raise CannotRun(f"users have worked for {settling.max_steps * settling.step_s / 3600:g} hours, and dirty blocks "
                        "still gather or go by more than a tenth of what is written. Let less be dirty, or settle longer")
    return site


def go_on(site: Site, machine: Setup, seen: Window, seed: int, name: str) -> None:
    """The rest of a run, after its window."""
    n = int(seen.tally["writes"] * SECOND_NS / seen.ns * machine.run_s) - seen.tally["writes"]
    rewrite(site, n, seen, seed, name)


def engines(machine: Setup, seed: int) -> pd.DataFrame:
    """For the run store: what the allocator's engine placed in a pool that is aged and measured once, old rules and new."""
    sites = [aged(machine, rules, seed) for rules in (old_rules(), new_rules())]
    for site in sites:
        measure(site, machine)
    n_aged = machine.orders.n_records + int(machine.age * machine.orders.n_records)
    return appliance.engine_metrics(sites, sum(n_aged + int(site.machine.tally[order_columns.WRITES]) for site in sites))

"""A pool of the order-entry test: how it ages before the first run, is measured in a run, and ages until the next.

Aging is at the pace that the pool allows. In a run a window is simulated event by event, and the rest of it is rewritten at
the pace of that window: see `model.simulations.order_entry.series`.
"""
import pandas as pd

from model.events.clock import SECOND_NS
from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.series import Site, Window, begin, rewrite, settle, window
from model.zfs.metaslab.state import MetaslabParams
from study.experiments.allocator_2010 import appliance
from study.experiments.allocator_2010.order_entry_machine import Setup
from study.experiments.allocator_2010.rules import new_rules, old_rules

PARTS_OF_AGE = 2.0              # turnovers that the pool ages at one measured pace
STEP_S, STEPS_TO_SETTLE = 1.0, 120    # in which users start: until writes and changes are in balance


def measure(site: Site, machine: Setup) -> Window:
    """The window of a run: it ends with the run at the latest."""
    window_s = min(machine.window_s, machine.run_s - machine.warm_s)
    return window(site, int(machine.warm_s * SECOND_NS), int(window_s * SECOND_NS))


def aged(machine: Setup, rules: MetaslabParams, seed: int) -> Site:
    """A pool as it is before the first run: written, then rewritten `age` times, at the pace that it allows."""
    appliance.compiled(machine.exact)
    site = begin(machine.orders, appliance.drive(machine), machine.queue, appliance.space(machine, rules), seed,
                 machine.n_other)
    settled(site)
    parts = max(1, round(machine.age / PARTS_OF_AGE))
    for part in range(parts):
        n = int(machine.age * machine.orders.n_records / parts)
        rewrite(site, n, measure(site, machine), seed, f"rewritten before, {part}")
    return settled(site)


def settled(site: Site) -> Site:
    """After the start of users, or a leap in time."""
    settle(site, int(STEP_S * SECOND_NS), STEPS_TO_SETTLE)
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

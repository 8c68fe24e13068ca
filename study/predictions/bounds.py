"""What a transaction's time goes with: which device, or the processors, a machine is bound by.

    bounds.of(machine)              shares, the largest first
    bounds.sentence(shares)         "bound by …"

By the best guess the machine is run again with each part twice as fast, or as fast as can be. If a part takes a share s
of a transaction's time, half of s is saved then. So the share is twice what is saved, 100 % at most. Parts overlap where
they wait for each other. A share below `SMALL` is left out: it is one run under one seed. Commits have a share of their
own: what is saved without the intent log.
"""
from collections.abc import Sequence
from typing import NamedTuple

from study.ensembles.processors import on_all_processors
from study.machines import run_length, sheet_speed
from study.machines import simulate as machines
from study.machines.devices import devices_of
from study.machines.scenario import Scenario, changed

SMALL = 0.05
FASTEST = 100               # `host.cpu`, at most
PARTS = (("data", "data devices"), ("log", "log device"), ("cache", "cache device"))
NOTHING = ("bound by: nothing that is simulated twice as fast saves time; clients wait for each other, or for the load "
           "generator")
HOW = (". By the best guess a share is what runs save without the intent log, or twice what they save with a part twice as "
       "fast. Shares overlap where one part waits for another")
COMMITS = "commits that wait for the intent log"


class Share(NamedTuple):
    """Which share of a transaction's time goes with a device, or with the processors."""
    of: str
    share: float        # of a transaction's time


def of(machine: Scenario, experiment: str, budget: run_length.Budget = run_length.BUDGET) -> list[Share]:
    """By simulation: a run for each part, and one as it is."""
    values = machines.known([machine], experiment).central()
    length = run_length.of(machines.checked(machine), values, budget=budget)
    names, calls = [""], [(length, values, 1.0)]
    times_as_fast = min(2.0, FASTEST / machine.host.cpu)
    if times_as_fast > 1:
        names.append("processors")
        calls.append((_changed(length, {"host.cpu": times_as_fast * machine.host.cpu}), values,
                      times_as_fast / (times_as_fast - 1)))
    for sheet in dict.fromkeys(devices.sheet for devices in devices_of(machine)):
        names.append(_parts(machine, sheet))
        calls.append((length, values | sheet_speed.faster(sheet, values), 2.0))
    if machine.files.kind != "ufs" and machine.files.has_zil:
        names.append(COMMITS)
        calls.append((_changed(length, {"files.sync": "disabled"}), values, 1.0))
    times = on_all_processors(_time, calls)
    shares = [Share(name, min(1.0, factor * max(0.0, 1 - time / times[0])))
              for name, time, (_, _, factor) in zip(names[1:], times[1:], calls[1:], strict=True)]
    return sorted(shares, key=lambda part: -part.share)


def _time(length: run_length.Length, values: dict, _: float) -> float:
    """s of a transaction, of a client."""
    outcome = run_length.outcome(length, values, 1)
    return length.scenario.database.clients / outcome.tps if outcome.tps else float("inf")


def _changed(length: run_length.Length, changes: dict) -> run_length.Length:
    return length._replace(scenario=changed(length.scenario, changes))


def _parts(machine: Scenario, sheet: str) -> str:
    """What the devices of a sheet are for."""
    pools = [("", machine.pool), *([("log pool's ", machine.log_pool)] if machine.log_pool else [])]
    parts = [f"{whose}{name}" for whose, pool in pools for part, name in PARTS
             if getattr(pool, part) is not None and getattr(pool, part).sheet == sheet]
    return f"{' and '.join(parts)} ({sheet})"


def words(shares: Sequence[Share]) -> str:
    """The large ones."""
    large = [f"{part.of} {part.share:.0%}" for part in shares if part.share >= SMALL]
    return f"bound by: {', '.join(large)} of a transaction's time" if large else NOTHING


def sentence(shares: Sequence[Share]) -> str:
    """What it is bound by, and how that was found."""
    return words(shares) + HOW * any(part.share >= SMALL for part in shares)

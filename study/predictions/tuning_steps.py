"""Which steps of tuning can be tried on a machine: each recipe of data/advice.toml, what it changes, what it trades.

    tuning_steps.steps(machine, spare)      a Step for each recipe; `after` is None where it cannot be tried
"""
from typing import Any, NamedTuple

from model.databases.postgres import state as postgres_state
from study.errors import UserError
from study.machines import scenario, servers
from study.machines import simulate as machines
from study.machines.power_cut_risks import dangers
from study.machines.scenario import Scenario
from study.machines.storage import Devices
from study.predictions import recipes

CONF = "database.conf."
IMAGES = f"{CONF}wal_compression"       # the one that is no setting of the model's server, but of its log's images


class Step(NamedTuple):
    """`after` is None where it cannot be tried; `why_not` says why."""
    recipe: recipes.Recipe
    name: str
    changes: dict[str, Any]
    after: Scenario | None
    why_not: str
    trades: tuple[str, ...]     # what it costs in safety
    device: int | None          # of those to spare


def steps(machine: Scenario, spare: tuple[Devices, ...]) -> list[Step]:
    """Every recipe for the machine's database; one with a spare device once for each to hand."""
    tries = []
    for recipe in recipes.recipes(machine.database.kind):
        needs = recipes.SPARE in recipe.change.values()
        tries += [_step(machine, recipe, spare, i) for i in (range(len(spare)) if needs else (None,))]
        if needs and not spare:
            tries.append(Step(
                recipe=recipe, name=recipe.words, changes={}, after=None,
                why_not="needs a device to spare; list one as [[spare]]", trades=(), device=None))
    return tries


def _step(machine: Scenario, recipe: recipes.Recipe, spare: tuple[Devices, ...], i: int | None) -> Step:
    device = None if i is None else spare[i]
    changes = recipes.changes(recipe, device)
    name = recipe.words if device is None else f"{recipe.words} ({device.sheet})"
    after, why_not = None, recipe.not_simulated or recipes.misses(recipe, machine)
    if not why_not:
        try:
            after = machines.checked(scenario.changed(machine, changes))
            if why_not := _is_so_already(machine, after):
                after = None
        except UserError as error:
            why_not = str(error)
    new = () if after is None else tuple(danger for danger in dangers(after) if danger not in dangers(machine))
    trades = new + ((f"NOTE: {recipe.trades}",) if recipe.trades and after is not None and not new else ())
    return Step(recipe=recipe, name=name, changes=changes, after=after, why_not=why_not, trades=trades, device=i)


def _is_so_already(machine: Scenario, after: Scenario) -> str:
    """In words, where the step changes nothing: it is set, or it is the default. Else nothing."""
    changed = scenario.differences(machine, after)
    if not changed:
        return "is so already"
    return "is so already, by default" if machine.database.kind == "postgres" and all(
        path.startswith(CONF) and path != IMAGES for path in changed) and _settings(machine) == _settings(after) else ""


def _settings(machine: Scenario) -> postgres_state.Settings:
    """Of PostgreSQL, where nothing is drawn."""
    return servers.postgres_settings(machine, {"trip_ns": 0, "handoff_ns": 0, "spread_cpu": 0, "cpu_speed": 1}, 1)


def is_safe(step: Step) -> bool:
    """Whether a step puts no committed transaction at risk."""
    return not any(danger.startswith(("DANGER", "RISK")) for danger in step.trades)


def key(step: Step) -> tuple[str, int | None]:
    """Devices to spare that are of one sheet make steps of one name."""
    return step.name, step.device

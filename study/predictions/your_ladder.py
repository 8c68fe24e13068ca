"""A machine of one's own, from a few choices: what notebook 10 slides.

    machine = your_ladder.machine(disk="savvio-10k2", n_disks=2, layout="mirror", record_kib=128, …)
    your_ladder.next_steps(machine, "x25-e", 6, run_length.BUDGET)       every step, and the ladder of the safe ones
"""
import pandas as pd

from model.devices.data_sheet import SheetParams
from study.errors import UserError
from study.machines import power_cut_risks, run_length, scenario
from study.machines import simulate as machines
from study.machines import storage as scenario_storage
from study.machines.scenario import Scenario
from study.machines.storage import Devices
from study.predictions import advise, bounds, ladder, predict

NO_DEVICE = "none"
DURABILITY: dict[str, dict] = {
    "all safe": {},
    "no full pages in the log": {"database.conf.full_page_writes": False},
    "asynchronous commits": {"database.conf.synchronous_commit": "off"},
    "no cache flushes": {"files.nocacheflush": True},
    "no intent log": {"files.zil": False},
}
WIDTHS = {"stripe": None, "mirror": 2, "raidz1": None, "raidz2": None}
LEAST = {"raidz1": 2, "raidz2": 3}          # disks of such a group


def machine(disk: str, n_disks: int, layout: str, log_device: str, cache_device: str, memory_gib: float, record_kib: int,
            durability: str, clients: int, scale: int) -> Scenario:
    """PostgreSQL 8.3 under pgbench on ZFS of build b141, with so much chosen. UserError for what cannot be, with the names
    of these choices."""
    _refuse_two_kinds_of_disk(disk, log_device, cache_device)
    _refuse_broken_groups(n_disks, layout)
    base = scenario.of(_content(disk, n_disks, layout, memory_gib, record_kib, clients, scale))
    changes: dict = {f"pool.{part}": {"sheet": name} for part, name in (("log", log_device), ("cache", cache_device))
               if name != NO_DEVICE}
    chosen = scenario.changed(base, changes | DURABILITY[durability])
    try:
        return machines.checked(chosen)
    except UserError as error:
        raise UserError(f"scale is {scale} and n_disks is {n_disks}, but {error}") from None


def _content(disk: str, n_disks: int, layout: str, memory_gib: float, record_kib: int, clients: int, scale: int) -> dict:
    """What a scenario's file would say of it."""
    return {"title": f"{n_disks} x {disk}, {layout}", "host": {"memory_gib": memory_gib},
            "files": {"era": "b141", "record_kib": record_kib},
            "pool": {"data": {"sheet": disk, "count": n_disks, "layout": layout, "width": WIDTHS[layout]}},
            "database": {"kind": "postgres", "clients": clients, "scale": scale}}


def taken_by_default(machine: Scenario) -> tuple[str, ...]:
    """What the choices of `machine` leave open, and what is taken: a line for each section, and one for hours of work."""
    data = machine.pool.data
    content = _content(data.sheet, data.count, data.layout, 1.0, 1, 1, 1)
    return *predict.taken_by_default(content, machine), *advise.taken_after_hours(machine)


def _refuse_two_kinds_of_disk(*sheets: str) -> None:
    """Of all disks with an arm the model has one sheet."""
    disks = {name for name in sheets if name != NO_DEVICE and isinstance(scenario_storage.sheet(name).params, SheetParams)}
    if len(disks) > 1:
        raise UserError(f"the disks are {' and '.join(sorted(disks))}, but disks of one kind can be simulated; take the "
                        "same, or an SSD as log or cache device")


def _refuse_broken_groups(n_disks: int, layout: str) -> None:
    width = WIDTHS[layout] or 1
    if n_disks % width:
        raise UserError(f"n_disks is {n_disks}, but the layout {layout} has groups of {width} disks; choose a multiple of "
                        f"{width}, or another layout")
    if n_disks < LEAST.get(layout, 1):
        raise UserError(f"n_disks is {n_disks}, but the layout {layout} has {LEAST[layout]} disks at least; choose more, or "
                        "another layout")


def next_steps(machine: Scenario, spare: str, draws: int, budget: run_length.Budget,
               safe_only: bool = False, kept_as: str | None = None) -> advise.Advice:
    """What each step gains on it, with one device to spare. `kept_as`: see `study.predictions.predict.compare`."""
    devices = () if spare == NO_DEVICE else (Devices(sheet=spare),)
    return advise.advise(machine, devices, draws, budget, safe_only, kept_as)


def as_it_is(advice: advise.Advice) -> pd.DataFrame:
    """Of the machine as it is (quantity, unit, low, middle, high): the rate as blind trials calibrate it, then all else."""
    return predict.named(advice.base, advice.calibrated_tps)


def waits(machine: Scenario, budget: run_length.Budget) -> list[bounds.Share]:
    """What a transaction's time goes with, on the machine as it is."""
    return bounds.of(advise.at_work(machine), predict.EXPERIMENTS[machine.database.kind], budget)


def tried(advice: advise.Advice) -> pd.DataFrame:
    """Steps that were tried, best first: step, gain in % (5, 50, 95 %), whether safe."""
    steps = advice.steps[advice.steps.why_not == ""]
    percent = 100 * (steps[["gain_low", "gain", "gain_high"]] - 1)
    return percent.set_axis(["low", "middle", "high"], axis=1).assign(
        step=steps.step, is_safe=~steps.trades.str.startswith(("RISK", "DANGER")))


def warnings(machine: Scenario, advice: advise.Advice) -> list[str]:
    """Of the machine as it is, and of each step, in plain words; why a step makes it slower; which runs are short."""
    steps = advice.steps[advice.steps.trades != ""]
    return [*power_cut_risks.dangers(machine), *(f"{row.step}: {row.trades}" for row in steps.itertuples()),
            *advise.slower(advice.steps), *advise.beginnings(advice)]


def best(advice: advise.Advice) -> str:
    """The safe step that gives most, in a sentence."""
    steps = tried(advice)
    safe = steps[steps.is_safe]
    if safe.empty:
        raise UserError("no step can be tried on this machine; give it a device to spare")
    step = safe.iloc[0]
    if step.middle < 100 * (ladder.WORTH - 1):
        return "No safe step gains anything worth having here."
    warning = "; it may gain nothing" if step.low <= 0 else ""
    return f"Gives most: {step.step}, {step.middle:+.0f} % ({step.low:+.0f} to {step.high:+.0f} %){warning}."

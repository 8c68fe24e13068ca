"""The ladder of `study advise`: safe steps one on top of the other, the largest first.

    ladder.of(machine, tps_as_it_is, chosen, common)        rungs, and why the other steps are none

A step that surely is no rung is not simulated to its end. Those draws come first under which it gains least by itself. If it
is no rung even though all others gain without end, they are not run. So nothing is decided that all draws would decide
otherwise, on any number of processors.

The gain of a rung over the one below is of both in one size (`study.predictions.sizes`); its rate is that gain times the
rate below.
"""
import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from study.documents import priors
from study.ensembles import intervals
from study.errors import UserError
from study.machines import run_length, scenario
from study.machines import simulate as machines
from study.machines.scenario import Scenario
from study.predictions import predict, sizes
from study.predictions.tuning_steps import Step, key

WORTH = 1.02                    # a step that gains less is no rung
FEW = 2                         # draws that nothing gains under make a gain unsure; more than half decide of the middle
ENDLESS = 1e9                   # a gain that no draw has
Numbers = npt.NDArray[np.float64]


class Common(NamedTuple):
    """What all runs that are compared have in common."""
    known: priors.Known
    draws: int
    budget: run_length.Budget = run_length.BUDGET
    kept_as: str | None = None          # see predict.compare


class Stacked(NamedTuple):
    """A step that gains more on top of others than by itself."""
    step: str
    alone: float            # median gain, as a factor
    on_top: float
    below: Scenario         # what it was taken on top of


class Ladder(NamedTuple):
    """Steps one on top of the other, best first, and those that are no rung."""
    rungs: pd.DataFrame
    left_out: dict[tuple[str, int | None], str]    # a step's name, and why it is no rung
    gain_more: tuple[Stacked, ...] = ()


def sign(gain: Iterable[float]) -> int:
    """1 or -1 if the interval of a gain, new by old rate under each draw, is above or below 1. It is 0 if it holds 1."""
    low, _, high = intervals.interval(gain)
    return int(low > 1) - int(high < 1)


def of(machine: Scenario, as_it_is: pd.Series, chosen: list[tuple[Step, pd.Series]], common: Common) -> Ladder:
    """Steps one on top of the other, of each of which it is known what TPS it has by itself, by draw. One that gains nothing
    on top of those before is left out. A device is used once, and what one step has set no later one sets again. The runs
    of the n-th step that is tried on top of another are kept as `kept_as`-n."""
    top, names, rates, left_out = _Top(machine, _own(machine, common)), ["as it is"], [as_it_is.to_numpy()], {}
    trial = itertools.count(1)
    gain_more: list[Stacked] = []
    touched: dict[str | int, str] = {}      # and by which step
    for step, alone in chosen:
        parts: dict[str | int, str] = dict.fromkeys(
            [*step.changes, *([] if step.device is None else [step.device])], step.name)
        if shared := parts.keys() & touched.keys():
            part = min(shared, key=str)
            doing = "takes the device" if part == step.device else "sets what it sets"
            left_out[key(step)] = f"a rung below {doing}: {touched[part]}"
            continue
        try:
            higher = machines.checked(scenario.changed(top.machine, step.changes))
        except UserError as error:
            left_out[key(step)] = f"on top of the rungs below it, it cannot be: {error}"
            continue
        alone_gain = (alone / as_it_is).to_numpy()
        size = sizes.of_pair(top.machine, higher, common.known.central(), common.budget)
        tps = {draw: float(rate) for draw, rate in enumerate(alone)} if top.machine is machine else _tps(
            top, (higher, size), rates[-1], alone_gain,
            common._replace(kept_as=common.kept_as and f"{common.kept_as}-{next(trial)}"))
        gain = _gain(tps, rates[-1])
        if why := why_none(gain, common.draws):
            left_out[key(step)] = f"on top of the rungs below it, {why}"
            continue
        if sign(gain / alone_gain) > 0:
            gain_more.append(Stacked(step.name, float(np.median(alone_gain)), float(np.median(gain)), top.machine))
        top, touched = _Top(higher, top.size, top.is_run and size == top.size), parts | touched
        names.append(f"+ {step.name}")
        rates.append(np.array([tps[draw] for draw in sorted(tps)]))
    rungs = pd.DataFrame([(name, *intervals.interval(tps)) for name, tps in zip(names, rates, strict=True)],
                         columns=["rung", "low", "tps", "high"])
    return Ladder(rungs, left_out, tuple(gain_more))


class _Top(NamedTuple):
    """The highest rung."""
    machine: Scenario
    size: float | None      # in which its rate is
    is_run: bool = True     # and in which it was run; else its rate is that of the machine as it is, times gains


def _own(machine: Scenario, common: Common) -> float | None:
    return sizes.own(machine, common.known.central(), common.budget)


def _tps(top: _Top, higher: tuple[Scenario, float | None], below: Numbers, alone_gain: Numbers,
         common: Common) -> dict[int, float]:
    """By draw; of all, unless fewer tell that it is no rung. `higher`: the machine, and the size of both. Each run is as
    long at once as the rate that is to be expected wants it (`study.machines.run_length`, rule 3)."""
    first, tps = np.argsort(alone_gain, kind="stable").tolist(), dict[int, float]()
    machine, size = higher
    was_run = top.is_run and size == top.size

    def of_one(machine: Scenario, only: list[int], expected: Numbers, kept_as: str | None) -> Numbers:
        runs = predict.compare([machine], common.draws, budget=common.budget, known=common.known, smaller_by=size,
                               kept_as=kept_as, only=only, expected=expected.tolist())
        return runs.tps.to_numpy()

    def run(only: list[int]) -> dict[int, float]:
        if was_run:
            return dict(zip(only, of_one(machine, only, below * alone_gain, common.kept_as), strict=True))
        before = of_one(top.machine, only, below, None)
        return dict(zip(only, below[only] * of_one(machine, only, below * alone_gain, None) / before, strict=True))

    kept = run(sorted(first)) if common.kept_as else None       # one reading of the file
    for n in sorted({min(FEW, common.draws), common.draws // 2 + 1, common.draws}):
        only = sorted(first[:n])
        tps = run(only) if kept is None else {draw: kept[draw] for draw in only}
        if why_none(_gain(tps, below), common.draws):
            break
    return tps


def _gain(tps: dict[int, float], below: Numbers) -> Numbers:
    """Of the draws that were run, on top of the rates of the rung below."""
    return np.array([tps[draw] / below[draw] for draw in sorted(tps)])


def why_none(gain: Numbers, draws: int) -> str:
    """Why a step is no rung whatever it gains under the draws that were not run; "" if it may be one."""
    n, at_best = len(gain), [*gain, *[ENDLESS] * (draws - len(gain))]
    if sign(at_best) <= 0:
        at_least = " at least" * (n < draws)
        return f"its gain is not sure: under{at_least} {np.sum(gain <= 1)} of {draws} draws it gains nothing"
    if np.median(at_best) >= WORTH:
        return ""
    if n < draws:
        return f"it gains less than {WORTH - 1:.0%} under at least {np.sum(gain < WORTH)} of {draws} draws"
    return f"it gains too little: {np.median(gain) - 1:+.1%} in the middle of {draws} draws"

"""An experiment over all that is not known of it: intervals, what they are made of, and one constant fitted.

An experiment compares variants of one machine, *before* and *after* a change or the rungs of a ladder, under common random
numbers: a function

    simulate(values, seed, variant) -> {quantity: number}

of the values of `study.documents.priors`. It is called for a table of *cases*:

    central      best guesses
    seed         best guesses, other seeds
    parameter    draws of the numbers, conditions at their best guesses
    structure    best guesses, one condition changed: another choice of a switch, or 5 or 95 % of a range
    all          draws of priors and switches: what intervals are taken from
    near         more such draws, which are simulated whole only if the first variant shows a baseline: see `Baseline`

A case is *fitted* by one constant, so that one quantity of the first variant meets a baseline; the rest of the case stays.
Of *all* draws the first FITTED_DRAWS are fitted.
"""
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from study.documents import priors
from study.ensembles import kept
from study.ensembles.intervals import TAIL, interval
from study.errors import UserError

BEFORE, AFTER = VARIANTS = ("before", "after")
PARTS = ("central", "seed", "parameter", "structure", "all")
NEAR = "near"           # a part of its own, which no interval of all draws is taken from
NUMBERS = 0.4           # draws of the numbers alone, for each of all, where a case takes seconds: see `cases`
MOST_NUMBERS = 100      # draws of the numbers alone
FITTED_DRAWS = 150      # of all; a fit takes several runs
CLOSE = 0.005           # fitting ends this close to the baseline, in parts of it: as far apart are runs by chance
FAR = 0.05              # runs of which a slope is taken are this far apart, in parts of the baseline
STEPS = 8               # by the slope; then by halves
MET = 0.01              # and has met it if it ended this close
SLOPE = "slope"
NEAR_SEED = 1_000_000
Simulate = Callable[[dict, int, str], dict[str, float]]


class Fit(NamedTuple):
    """One constant, and the baseline that it is to meet. The quantity must fall as the constant grows."""
    constant: str
    low: float
    high: float
    quantity: str
    baseline: float


class Baseline(NamedTuple):
    """What the first variant of a draw of the part `near` must show, or its other variants are not simulated."""
    quantity: str
    low: float
    high: float

    def is_shown(self, outcome: dict[str, float]) -> bool:
        """Whether what was simulated lies within the published range."""
        return self.low <= outcome[self.quantity] <= self.high


def apply(known: priors.Known, values: dict, parts: dict) -> dict:
    """The NamedTuples `parts` (by name) with `values` put where the priors say (`of`); whole fields get whole numbers.
    What is of no part is the business of the experiment."""
    changed = dict(parts)
    for prior in (*known.priors, *known.switches):
        if prior.of in parts:
            old, value = getattr(changed[prior.of], prior.name), values[prior.name]
            changed[prior.of] = changed[prior.of]._replace(**{prior.name: round(value) if isinstance(old, int) else value})
    return changed


def parts_of(known: priors.Known) -> list[tuple[str, str]]:
    """Where each value goes: what `apply` takes from the priors besides values."""
    return [(prior.name, prior.of) for prior in (*known.priors, *known.switches)]


def cases(known: priors.Known, n_draws: int, n_seeds: int, seed: int, share_of_numbers: float = 1.0) -> pd.DataFrame:
    """All cases: part, seed, and a column for each prior and switch. `share_of_numbers`: how many draws there are of the
    numbers alone for each of all that is not known, MOST_NUMBERS at most. They are a hypercube of their own."""
    if n_draws < 2 or n_seeds < 2:
        raise UserError(f"{n_draws} draws and {n_seeds} seeds make no interval; give 2 of each at least")
    central, drawn = known.central(), priors.draws(known, n_draws, seed)
    numbers = priors.draws(known, max(2, min(MOST_NUMBERS, round(share_of_numbers * n_draws))), seed)
    conditions = {condition.name: central[condition.name] for condition in known.conditions}
    rows = [{"part": "central", "seed": seed, **central}]
    rows += [{"part": "seed", "seed": seed + i, **central} for i in range(1, n_seeds)]
    rows += [{"part": "parameter", "seed": seed, **row, **conditions} for row in numbers.to_dict("records")]
    rows += [{"part": "structure", "seed": seed, **central, condition.name: choice}
             for condition in known.conditions for choice in others(condition)]
    rows += [{"part": "all", "seed": seed + 1 + i, **row} for i, row in enumerate(drawn.to_dict("records"))]
    return pd.DataFrame(rows)


def near(known: priors.Known, n_draws: int, seed: int) -> pd.DataFrame:
    """Cases of the part `near`: a hypercube of their own, each draw with a seed that no other case of `cases` has."""
    drawn = priors.draws(known, n_draws, seed + 1)
    return pd.DataFrame([{"part": NEAR, "seed": NEAR_SEED + seed + i, **row}
                         for i, row in enumerate(drawn.to_dict("records"))])


def others(condition: priors.Prior | priors.Switch) -> list:
    """What a condition, or a number, is changed to by itself. It is every other choice, or 5 and 95 % of its range where
    these are another value."""
    if isinstance(condition, priors.Switch):
        return [choice for choice in condition.choices if choice != condition.central]
    return [value for value in condition.at(np.array([TAIL, 1 - TAIL])).tolist() if value != condition.central]


def changed(case: dict, known: priors.Known) -> list[tuple]:
    """(condition, value) of what is not as by best guess in a case of `structure`."""
    return [(condition, case[condition.name]) for condition in known.conditions if case[condition.name] != condition.central]


def run(table: pd.DataFrame, simulate: Simulate, fit: Fit | None = None, variants: tuple[str, ...] = VARIANTS,
        ensemble: kept.Ensemble | None = None, baseline: Baseline | None = None) -> pd.DataFrame:
    """A row per case, and one more with `fitted` for each that is fitted. It has the case's columns, `fitted`, `reached`
    (False where no value of the constant meets the baseline), and `<variant>/<quantity>` for all variants. A fitted case
    that does not meet its baseline has the first variant only. So has a case of the part `near` that does not show its own.
    On all processors. Cases are read where `ensemble` is kept, but for a handful (`study.ensembles.kept`)."""
    cases_of = table.to_dict("records")
    of_all, calls = 0, []
    for case in cases_of:
        of_all += case["part"] == "all"
        is_fitted = case["part"] == "central" or (case["part"] == "all" and of_all <= FITTED_DRAWS)
        shown = baseline if case["part"] == NEAR else None
        calls.append((simulate, fit if is_fitted else None, variants, shown, case))
    key = (cases_of, fit, variants) if baseline is None else (cases_of, fit, variants, baseline)
    of_cases = kept.rows(ensemble, _case, calls, key, share=lambda rows: rows[-1].get(SLOPE))
    return pd.DataFrame([case | {name: row[name] for name in row if name != SLOPE}
                         for case, rows in zip(cases_of, of_cases, strict=True) for row in rows])


def _case(simulate: Simulate, fit: Fit | None, variants: tuple[str, ...], baseline: Baseline | None, case: dict,
          slope: float | None = None) -> list[dict]:
    """What is added to a case, a row for each that comes of it. A case that does not show `baseline` has its first variant
    only. `slope` is that with which the fit of the first case ended:
    see `_solve`. It stands in the fitted row of the first case."""
    values, seed = {name: case[name] for name in case if name not in ("part", "seed")}, case["seed"]
    first, *others = variants
    outcomes = {first: simulate(values, seed, first)}
    if baseline is None or baseline.is_shown(outcomes[first]):
        outcomes |= {variant: simulate(values, seed, variant) for variant in others}
    rows = [_row(outcomes, fitted=False, reached=True)]
    if fit:
        constant, met, ended_with = _solve(simulate, values, seed, fit, first, outcomes[first], slope)
        reached = abs(met[fit.quantity] / fit.baseline - 1) <= MET
        fitted_values = values | {fit.constant: constant}
        outcomes = {first: met} | {variant: simulate(fitted_values, seed, variant) for variant in others if reached}
        rows.append({fit.constant: constant} | _row(outcomes, fitted=True, reached=reached))
        if slope is None:
            rows[-1][SLOPE] = ended_with
    return rows


def _row(outcomes: dict[str, dict], **flags: bool) -> dict:
    return flags | {f"{variant}/{name}": value for variant, all_of in outcomes.items() for name, value in all_of.items()}


def _solve(simulate: Simulate, values: dict, seed: int, fit: Fit, variant: str, first: dict[str, float],
           slope: float | None) -> tuple[float, dict, float | None]:
    """(constant, quantities of `variant`, slope) where the baseline is met, or nearest to it of what was tried.

    Over a time that is added to each operation, the time of an operation, in that of the baseline, is all but a straight
    line: `slope` is that of a case that was solved before, None for the first one."""
    seen, low, high = {values[fit.constant]: first}, fit.low, fit.high

    def excess(constant: float) -> float:
        if constant not in seen:
            seen[constant] = simulate(values | {fit.constant: constant}, seed, variant)
        return fit.baseline / max(seen[constant][fit.quantity], 1e-3 * fit.baseline) - 1

    here = values[fit.constant]
    while abs(excess(here)) > CLOSE:
        low, high = (low, here) if excess(here) > 0 else (here, high)
        if high - low <= 1e-6 * fit.high:
            break
        there = here - excess(here) / slope if slope else 2 * here
        if excess(here) > 0 and low not in seen:
            there = low     # settles whether there is one
        there = min(max(there, low), high)
        if there in seen or len(seen) > STEPS:
            there = (low + high) / 2
        rise = excess(there) - excess(here)
        if abs(rise) > FAR and rise * (there - here) > 0:
            slope = rise / (there - here)
        elif slope and excess(there) * excess(here) > excess(here) ** 2 / 2:
            slope /= 2      # less than half of the way: it is flatter here
        here = there
    constant = min(seen, key=lambda tried: abs(excess(tried)))
    return constant, seen[constant], slope


def ratio(results: pd.DataFrame, quantity: str) -> pd.Series:
    """After over before."""
    return results[f"{AFTER}/{quantity}"] / results[f"{BEFORE}/{quantity}"]


def unfitted(results: pd.DataFrame, part: str = "all") -> pd.DataFrame:
    """The rows of `part` in which nothing was fitted."""
    return results[(results.part == part) & ~results.fitted]


def fitted(results: pd.DataFrame, part: str = "all") -> pd.DataFrame:
    """Only cases that met the baseline."""
    return results[(results.part == part) & results.fitted & results.reached]


def widths(results: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """What the interval of a ratio is made of: part, low, high. The range of seeds and structures holds the central case."""
    central = unfitted(results, "central")
    rows = []
    for part in PARTS[1:]:
        of_part = pd.concat([central, unfitted(results, part)]) if part in ("seed", "structure") else unfitted(results, part)
        low, _, high = interval(ratio(of_part, quantity)) if part != "structure" else (
            ratio(of_part, quantity).min(), 0, ratio(of_part, quantity).max())
        rows.append((part, low, high))
    return pd.DataFrame(rows, columns=["part", "low", "high"])

"""Which machines show what was printed: history matching (P. Craig and others, 1997; I. Vernon and others, 2010).

The draws of an ensemble (`study.ensembles.ensembles.run`) are machines within the priors. Nothing is fitted. Each printed
number is held against that of a draw:

    matched = match(results, effect, "kustarz-2007/oltp-without-fix", "kustarz-2007/oltp-with-fix")
    matched.within(1.4)                 the draws that are left, here within a factor of 1.4
    moved(known, matched, 1.4)          how they differ from the priors
    nearest(known, draws, off)          the draw that comes nearest to all that was printed
    each_as_truth(matched, effect)      what the same question finds of machines that are known
    each_run_left_out(matched, "summary.rate")      each run from the other

A draw is *left* if its farthest number is within a tolerance, a factor. The tolerance stands for errors of the model. How
large they are on such a machine nobody knows, so every question is asked at several tolerances. What is left by the numbers
before a change predicts those after it. Where the numbers after it are used too, it explains and predicts nothing.

Numbers that follow from one another, as rates in a closed loop do, are no more than one number.
"""
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from study.documents import published, readable
from study.documents.priors import Known
from study.ensembles import ensembles
from study.ensembles.ensembles import AFTER, BEFORE

TOLERANCES = (1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.6, 2.0)     # factors
Each = TypeVar("Each", pd.Series, np.ndarray)     # a number for each draw

N_CHANCES = 50          # sets of draws taken at random
ENOUGH = 10             # draws: of fewer no effect is told, and not what they have in common


class Match(NamedTuple):
    """Draws (unfitted) and what was printed of runs before and after a change."""
    draws: pd.DataFrame
    before: pd.DataFrame    # numbers that were printed before, and are simulated: see `printed`
    all: pd.DataFrame       # these, and those after
    farthest: pd.Series     # by how much the farthest number before is off, a factor for each draw
    of_all: pd.Series       # the same of all numbers
    table: pd.DataFrame     # see `over_tolerances`

    def within(self, tolerance: float) -> pd.DataFrame:
        """The draws whose numbers before the change are all within this factor."""
        return self.draws[self.farthest <= tolerance]

    def tightest(self) -> float:
        """The tightest of TOLERANCES that leaves ENOUGH draws, inf if none does. It looks at no number after the change."""
        return tightest(self.farthest)


def tightest(farthest: Each) -> float:
    """The tightest of TOLERANCES that leaves ENOUGH draws, inf if none does. `farthest`: a factor for each draw."""
    return next((tolerance for tolerance in TOLERANCES if (farthest <= tolerance).sum() >= ENOUGH), np.inf)


def match(results: pd.DataFrame, effect: pd.Series, before: str, after: str) -> Match:
    """An ensemble beside what was printed of two runs. `effect`: of each row of `results`, in the unit of the table."""
    draws, facts = ensembles.unfitted(results), printed(results, {BEFORE: before})
    of_both = printed(results, {BEFORE: before, AFTER: after})
    farthest, of_all = (factors(draws, numbers).max(axis=1) for numbers in (facts, of_both))
    return Match(draws, facts, of_both, farthest, of_all, over_tolerances(farthest, effect[draws.index]))


def printed(results: pd.DataFrame, runs: Mapping[str, str]) -> pd.DataFrame:
    """What is printed of published runs (variant: id of a run) and the ensemble has, in the units of both. There is a row
    for each column of `results`, with both ends of what would be printed so."""
    by_id, rows = {run.run_id: run for run in published.runs()}, []
    for variant, run_id in runs.items():
        run = by_id[run_id]
        numbers, steps = run.metrics[run.metrics.t.isna()], run.conditions["printed_step"]
        rows += [(f"{variant}/{row.name}", row.value, row.value - steps[row.name] / 2, row.value + steps[row.name] / 2)
                 for row in numbers.itertuples(index=False) if f"{variant}/{row.name}" in results]
    return pd.DataFrame(rows, columns=["column", "printed", "low", "high"])


def factors(draws: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """By how much each draw (row) is off each number (column). It is a factor, 1 where it would be printed the same, inf
    where one is 0."""
    simulated = draws[facts.column.tolist()]
    off = _factors(simulated.to_numpy(float), facts.low.to_numpy(float), facts.high.to_numpy(float))
    return pd.DataFrame(off, simulated.index, simulated.columns)


def _factors(simulated: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Of numbers (draws, numbers) by which factor each is off the range of its number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.maximum(np.maximum(simulated / high, low / simulated), 1.0)
    return np.where(np.isnan(off), np.inf, off)     # what a draw does not have is not met


def over_tolerances(farthest: pd.Series, effect: pd.Series) -> pd.DataFrame:
    """At each tolerance: how many draws are left, and the effect among them, from the lowest to the highest. `farthest`: a
    factor for each draw; `effect`: likewise. Of fewer than ENOUGH draws no effect is told."""
    rows = []
    for tolerance in (*TOLERANCES, np.inf):
        left = effect[farthest <= tolerance]
        ends = (left.min(), left.median(), left.max()) if len(left) >= ENOUGH else (np.nan,) * 3
        rows.append((tolerance, len(left), len(effect), *ends))
    return pd.DataFrame(rows, columns=["within a factor", "left", "of", "lowest", "middle", "highest"])


def moved(known: Known, matched: Match, tolerance: float) -> pd.DataFrame:
    """How the draws left differ from all. For each choice of a switch its share (%) of both. For each number the mean place
    (%) among all draws of those left (50: not moved), and their median. Columns: what, value (text), before, left,
    is_choice."""
    rows: list[tuple] = []
    draws, left = matched.draws, matched.within(tolerance)
    for switch in known.switches:
        rows += [(switch.name, str(choice), 100 * (draws[switch.name] == choice).mean(),
                  100 * (left[switch.name] == choice).mean(), True) for choice in switch.choices]
    for prior in known.priors:
        places = 100 * (draws[prior.name].rank() - 0.5) / len(draws)
        value = readable.number(prior, left[prior.name].median())
        rows.append((prior.name, value, 50.0, places.loc[left.index].mean(), False))
    return pd.DataFrame(rows, columns=["what", "value", "before", "left", "is_choice"])


def chance(n_draws: int, n_left: int) -> float:
    """How far (%) the mean place of so many draws lies from 50 by chance, 95 %: drawn without replacement."""
    if n_left in (0, n_draws):
        return 0.0
    return 196.0 * float(np.sqrt((1 / 12) / n_left * (n_draws - n_left) / (n_draws - 1)))


def nearest(known: Known, draws: pd.DataFrame, off: pd.Series) -> pd.DataFrame:
    """The draw that is nearest to all numbers, condition by condition and number by number. Columns: what, value, place (%
    of all draws below it; of a choice nan). `off`: a factor for each draw, such as `Match.of_all`."""
    best = off.idxmin()
    rows = [(switch.name, readable.choice(switch, draws[switch.name][best]), np.nan) for switch in known.switches]
    rows += [(prior.name, readable.number(prior, draws[prior.name][best]),
              100 * float((draws[prior.name] < draws[prior.name][best]).mean())) for prior in known.priors]
    return pd.DataFrame(rows, columns=["what", "value", "place"])


def each_as_truth(matched: Match, effect: pd.Series) -> pd.DataFrame:
    """Each draw in turn is taken for the machine that was measured, and its own numbers for those that were printed, with
    the same rounding. Its numbers before the change are held against all other draws, at the tightest tolerance.

    A row for each: effect, lowest and highest of those left, is_inside. `by_chance` is the mean width of as many draws
    taken at random. `nearest` is the factor by which the nearest other draw is off *all* its numbers."""
    rows, rng = [], np.random.default_rng(1)
    effects = effect[matched.draws.index].to_numpy(float)
    for truth in range(len(effects)):
        is_other = np.arange(len(effects)) != truth
        before, of_all = (_off(matched.draws, truth, facts)[is_other] for facts in (matched.before, matched.all))
        others = effects[is_other]
        left, lowest, highest = _left(before, others)
        width = np.mean([np.ptp(rng.choice(others, left, replace=False)) for _ in range(N_CHANCES)])
        rows.append((effects[truth], lowest, highest, width, of_all.min()))
    table = pd.DataFrame(rows, index=matched.draws.index, columns=["effect", "lowest", "highest", "by_chance", "nearest"])
    return table.assign(is_inside=table.effect.between(table.lowest, table.highest))


def _off(draws: pd.DataFrame, truth: int, facts: pd.DataFrame) -> np.ndarray:
    """By how much the farthest number of each draw is off those of one of them, as if these were printed like `facts`."""
    simulated = draws[facts.column.tolist()].to_numpy(float)
    half = ((facts.high - facts.low) / 2).to_numpy(float)
    return _factors(simulated, simulated[truth] - half, simulated[truth] + half).max(axis=1)


def each_run_left_out(matched: Match, number: str) -> pd.DataFrame:
    """What is inferred of a number of each test run from all that was printed of the *other* run, at the tightest tolerance.
    Columns: run, printed, left, lowest, highest, and by which factor what was printed is outside (1: inside). Before from
    after is no prediction."""
    rows = []
    for variant, other in ((BEFORE, AFTER), (AFTER, BEFORE)):
        facts = matched.all[matched.all.column.str.startswith(f"{other}/")]
        printed_as = matched.all.set_index("column").loc[f"{variant}/{number}"]
        left, lowest, highest = _left(factors(matched.draws, facts).max(axis=1), matched.draws[f"{variant}/{number}"])
        rows.append((variant, printed_as.printed, left, lowest, highest, _outside(printed_as, lowest, highest)))
    return pd.DataFrame(rows, columns=["run", "printed", "left", "lowest", "highest", "outside"])


def each_number_left_out(draws: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """What is inferred of each number (row of `facts`) from all others, at the tightest tolerance that leaves ENOUGH draws.
    Columns: number, printed, left, lowest, highest, and by which factor what was printed is outside (1: inside). Where no
    tolerance leaves ENOUGH, nothing is inferred: left 0, and nan. Numbers that were printed after a change take part, so it
    is no prediction."""
    off, rows = factors(draws, facts), []
    for fact in facts.itertuples():
        others = off.drop(columns=fact.column).max(axis=1)
        if np.isinf(tightest(others)):
            rows.append((fact.column, fact.printed, 0, np.nan, np.nan, np.nan))
            continue
        left, lowest, highest = _left(others, draws[fact.column])
        rows.append((fact.column, fact.printed, left, lowest, highest, _outside(fact, lowest, highest)))
    return pd.DataFrame(rows, columns=["number", "printed", "left", "lowest", "highest", "outside"])


def _outside(printed_as: Any, lowest: float, highest: float) -> float:
    """By which factor what was printed (its `low` and `high`) lies outside of a range; nan of a range that is none."""
    with np.errstate(divide="ignore"):
        return float(np.maximum(1.0, np.maximum(np.divide(lowest, printed_as.high), np.divide(printed_as.low, highest))))


def _left(farthest: Each, of_interest: Each) -> tuple[int, float, float]:
    """Of the draws that the tightest tolerance leaves: how many, and what is of interest among them, lowest and highest."""
    left = of_interest[farthest <= tightest(farthest)]
    return len(left), left.min(), left.max()


def metrics_of_trust(truths: pd.DataFrame, matched: Match) -> pd.DataFrame:
    """For the run store, of `each_as_truth`: name, value, unit. Nothing of ENOUGH draws or fewer."""
    if len(truths) <= ENOUGH:
        return pd.DataFrame(columns=["name", "value", "unit"])
    return pd.DataFrame([("matched.truths-inside", 100 * truths.is_inside.mean(), "%"),
                         ("matched.truths-width", 100 * _width(truths), "%"),
                         ("matched.truths-nearest", truths.nearest.median(), "1"),
                         ("matched.truths-nearest-95", truths.nearest.quantile(0.95), "1"),
                         ("matched.truths-as-far", (truths.nearest >= matched.of_all.min()).sum(), "draws")],
                        columns=["name", "value", "unit"])


def trust(truths: pd.DataFrame, matched: Match) -> str:
    """What `each_as_truth` says, of the question and of the machine that was measured."""
    if len(truths) <= ENOUGH:
        return f"{len(truths)} draws are too few to try the question on machines of the model."
    as_far = (truths.nearest >= matched.of_all.min()).sum()
    return (f"Each of {len(truths)} draws was taken for the measured machine. Of these, {truths.is_inside.sum()} have their "
            f"effect in the range that their own numbers leave. That range is {_width(truths):.2f} times as wide as one of "
            "as many draws at random. The nearest other draw is off such a machine's numbers by a factor of "
            f"{truths.nearest.median():.3f} in the median. It is off by {truths.nearest.quantile(0.95):.3f} at most in 95 % "
            f"of cases. From the printed numbers the nearest draw is off by {matched.of_all.min():.3f}. Of the "
            f"{len(truths)} machines {as_far} are as far from all others, or farther.")


def _width(truths: pd.DataFrame) -> float:
    """Of the range that is left, over that of as many draws at random: the middle of all truths."""
    return float(((truths.highest - truths.lowest) / truths.by_chance).median())


def metrics(matched: Match, unit: str, of_trials: float) -> pd.DataFrame:
    """For the run store: `over_tolerances`, the tightest tolerance, by how much the nearest draw is off where all numbers
    count. Then the error `of_trials` (a factor). Columns: name, value, unit."""
    rows = []
    for row in matched.table.to_dict("records"):
        tolerance = row["within a factor"]
        name = f"matched.within-{100 * (tolerance - 1):.0f}-percent" if np.isfinite(tolerance) else "matched.all"
        rows.append((f"{name}-left", row["left"], "draws"))
        if np.isfinite(row["middle"]):
            rows += [(f"{name}-{end}", row[end], unit) for end in ("lowest", "middle", "highest")]
    if np.isfinite(tightest := matched.tightest()):
        rows.append(("matched.tightest", 100 * (tightest - 1), "%"))
    rows += [("matched.nearest-of-all", matched.of_all.min(), "1"), ("matched.trials", of_trials, "1")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def sentence(matched: Match, unit: str) -> str:
    """The tightest tolerance that leaves enough draws, and the nearest draw of all."""
    tightest = matched.tightest()
    of_all = ("If the numbers after the change count as well, the nearest draw is off by a factor of "
              f"{matched.of_all.min():.2f}")
    if not np.isfinite(tightest):
        return f"Fewer than {ENOUGH} of {len(matched.draws)} draws show what was printed before the change. {of_all}"
    row = matched.table[matched.table["within a factor"] == tightest].iloc[0]
    return (f"Of {len(matched.draws)} draws {row.left:.0f} show what was printed before the change within a factor of "
            f"{tightest:g}. That holds for all {len(matched.before)} numbers that are simulated. Among these draws the "
            f"effect is {row.lowest:.0f} to {row.highest:.0f} {unit}. {of_all}")


def closeness(tolerance: float) -> str:
    """For captions."""
    return f"within a factor of {tolerance:g}" if np.isfinite(tolerance) else "however far they are off"

"""A claim predicted from the draws that show its baseline: what is left of an ensemble, and whether one condition decides.

    left = of(results, claim, outcome)      `outcome`: what each row of `results` has of the claim
    grading.grade_left(target, left, no_effect)

The rule. It was fixed before anything was scored by it, and changed three times since (docs/grades.md):

    left        draws whose baseline numbers are all within TOLERANCE of what was printed; all draws where none was printed.
                Where an ensemble has the part `near`, its draws count like the others: they show the baseline or they do not
    outcome     from MANY draws 5 to 95 %, of fewer the least to the most
    decides     the condition that tells most, if it explains HALF of the variance of the outcome or more. Of the groups that
                it makes of the draws, each of A_GROUP or more, one must meet the claim and one must miss it. The range of
                a group is taken as that of all draws, or a group would meet any claim if it only had draws enough
    missed      where the condition explains as much and none of two groups or more meets the claim: it lies between them,
                or beyond

Baselines are those that `data/claims.toml` names. No number to be predicted is among them (`study.documents.claims`).
"""
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from study.documents.claims import Claim
from study.ensembles import deciding_facts, ensembles, history_matching, intervals
from study.ensembles.ensembles import BEFORE

TOLERANCE = 1.4     # a factor: how far blind predictions of rates on disks lay beyond their ranges (study.predictions)
MANY = 60           # draws: of fewer 5 and 95 % are hardly more than the extremes
HALF = 0.5
A_GROUP = 5         # draws: a group of fewer says nothing of a condition
COLUMNS = ("left_draws", "left_of", "left_low", "left_middle", "left_high", "told_by", "told_share", "told_groups")
NO_CASE = ("part", "seed", "fitted", "reached")


class Left(NamedTuple):
    """What is left of an ensemble. An outcome is in the unit of the claim, nan where no draw is left."""
    draws: int
    of: int
    low: float
    middle: float
    high: float
    told_by: str        # the condition that tells most, "" where nothing is told
    share: float        # of the variance of the outcome that it explains
    groups: tuple[tuple[float, float], ...]     # low and high of the outcome in each group that it makes

    @classmethod
    def from_row(cls, row: list) -> Self:
        """From the values of COLUMNS, as the run store has them."""
        n_left, n_of, low, middle, high, told_by, share, groups = row
        low, middle, high = (np.nan if end is None else end for end in (low, middle, high))
        return cls(draws=n_left, of=n_of, low=low, middle=middle, high=high, told_by=told_by, share=share,
                   groups=tuple((least, most) for least, most in groups))

    def as_row(self) -> dict:
        """By COLUMNS, as JSON has it: None instead of nan."""
        return dict(zip(COLUMNS, (None if isinstance(value, float) and np.isnan(value) else value for value in self),
                        strict=True))

    def decided_by(self, published: tuple[float, float]) -> str:
        """The condition that decides, "" if none does. `published`: what the claim allows."""
        meets = self._meets(published)
        return self.told_by if self.share >= HALF and any(meets) and not all(meets) else ""

    def is_missed(self, published: tuple[float, float]) -> bool:
        """Whether a condition explains half of the variance, and none of the groups that it makes meets the claim. One
        group alone tells nothing: the other draws, too few for groups, may meet it."""
        return self.share >= HALF and len(self.groups) > 1 and not any(self._meets(published))

    def _meets(self, published: tuple[float, float]) -> list[bool]:
        return [low <= published[1] and published[0] <= high for low, high in self.groups]


def of(results: pd.DataFrame, claim: Claim, outcome: pd.Series) -> Left:
    """What is left by the baseline of a claim. `outcome`: of each row of `results`; draws without one are not counted."""
    draws = pd.concat([ensembles.unfitted(results), ensembles.unfitted(results, ensembles.NEAR)])
    return of_draws(draws, claim, outcome, conditions(results))


def of_draws(draws: pd.DataFrame, claim: Claim, outcome: pd.Series, names: list[str]) -> Left:
    """What is left of `draws` by the baseline of a claim. `names`: the conditions of which one may tell the outcome."""
    inside = draws_left(draws, claim, outcome)
    left = draws.loc[inside.index]
    low, middle, high = range_of(inside)
    told_by, share, groups = _told(left, inside, names)
    n_of = int((outcome[draws.index].notna() | (draws.part == ensembles.NEAR)).sum())
    return Left(draws=len(left), of=n_of, low=low, middle=middle, high=high, told_by=told_by, share=share, groups=groups)


def draws_left(draws: pd.DataFrame, claim: Claim, outcome: pd.Series) -> pd.Series:
    """The outcome of each draw that shows the baseline and has an outcome."""
    values = outcome[draws.index].dropna()
    of_values = draws.loc[values.index]
    return values[(history_matching.factors(of_values, baseline(of_values, claim)) <= TOLERANCE).all(axis=1)]


def baseline(draws: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The numbers of a claim's baseline that the ensemble has: as in `history_matching.printed`."""
    tables = []
    for reference in map(claim.at, claim.baseline):
        run = reference.run_id.removeprefix(f"{claim.document}/")
        for variant in (run, BEFORE):
            table = history_matching.printed(draws, {variant: reference.run_id})
            tables.append(table[table.column == f"{variant}/{reference.metric}"])
    return pd.concat(tables, ignore_index=True) if tables else history_matching.printed(draws, {})


def range_of(outcome: pd.Series) -> tuple[float, float, float]:
    """Low, middle and high: of MANY draws 5 to 95 %, of fewer the least to the most."""
    if outcome.empty:
        return (np.nan,) * 3
    if len(outcome) >= MANY:
        return intervals.interval(outcome)
    return float(outcome.min()), float(outcome.median()), float(outcome.max())


def conditions(results: pd.DataFrame) -> list[str]:
    """Names of what was changed by itself: the conditions of an ensemble."""
    central, changed = ensembles.unfitted(results, "central"), ensembles.unfitted(results, "structure")
    names = [name for name in results if "/" not in name and name not in NO_CASE]
    return [name for name in names
            if any(value != central[name].iloc[0] and pd.notna(value) for value in changed[name])]


def _told(draws: pd.DataFrame, outcome: pd.Series, names: list[str]) -> tuple[str, float, tuple]:
    """The condition that tells most of the outcome, its share, and the groups that it makes; nothing of too few draws."""
    if len(draws) < deciding_facts.ENOUGH or not names:
        return "", 0.0, ()
    groups = {name: deciding_facts.grouped(draws[name]) for name in names}
    values = outcome.to_numpy(float)
    shares = {name: deciding_facts.explained(pd.factorize(group)[0], values) for name, group in groups.items()}
    best = max(shares, key=lambda name: shares[name])
    of_groups = outcome.groupby(groups[best].to_numpy())
    large = of_groups.count() >= A_GROUP
    ranges = [range_of(of_group) for name, of_group in of_groups if large[name]]
    return best, shares[best], tuple((low, high) for low, _, high in ranges)

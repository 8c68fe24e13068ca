"""From an ensemble to predictions, and from predictions to what readers see of their grades.

What a claim is about stands in `data/claims.toml` as the run and the name of a published quantity. If the ensemble has a
quantity of that name, the claim is predicted. Where its variants are rungs of a ladder, they are named as the published runs
are. Otherwise the quantity is that of *after*, over that of *before*. Of the published numbers to be predicted only `scores`
reads anything, for readers.

*A condition decides* if it alone moves a quantity further from the best guess than all numbers and chance (other seeds)
together. Then what was published does not identify the claim, however well an interval may hold it. Chance has to be counted
because the largest of ten moves is large by chance, too. Where there is nothing else, a condition seems to decide all the
same. In ensembles as large as those of the notebooks it does in 1 to 12 % of all cases where chance is normal or uniform.
Where chance has the long tail of an exponential it is 15 to 36 % (`tests/study/grades/test_claim_predictions.py` holds the
normal one). A claim that all that was simulated meets, or misses, no condition decides: see `study.grades.grading`.
"""
from collections.abc import Callable

import numpy as np
import pandas as pd

from study.documents import claims, priors
from study.ensembles import effects, ensembles, intervals
from study.ensembles.ensembles import AFTER, BEFORE
from study.ensembles.intervals import Interval
from study.grades import grading, remaining_draws
from study.runs import record
from study.words import counted


def of_notebook(notebook: str, runs: str = "") -> list[claims.Claim]:
    """The claims that a notebook is to grade; `runs`: only those about published runs whose names begin so."""
    return [claim for claim in claims.read() if claim.notebook == notebook and (claim.predict or "").startswith(runs)
            and claim.predict]


def _values(results: pd.DataFrame, claim: claims.Claim) -> pd.Series | None:
    """What the ensemble has of a claim: after over before, or after where it is no change; None where it has nothing."""
    after, before = _column(results, claim.predict, AFTER), _column(results, claim.before, BEFORE)
    if after is None or (claim.before and before is None):
        return None
    return results[after] / results[before] if claim.before else results[after]


def _known_values(results: pd.DataFrame, claim: claims.Claim) -> pd.Series:
    """Likewise, of a claim that the ensemble has."""
    values = _values(results, claim)
    assert values is not None
    return values


def outcomes(results: pd.DataFrame, notebook: str) -> list[tuple[claims.Claim, pd.Series]]:
    """Each claim that the ensemble has, and what each of its rows has of it."""
    return [(claim, _known_values(results, claim)) for claim in of_notebook(notebook) if _values(results, claim) is not None]


def _column(results: pd.DataFrame, reference: str | None, variant: str) -> str | None:
    """Where the ensemble has a published quantity: under the run's name, or under that of a variant; None if nowhere."""
    run, _, quantity = (reference or "").partition(" ")
    return next((column for column in (f"{run}/{quantity}", f"{variant}/{quantity}") if column in results), None)


def predictions(results: pd.DataFrame, notebook: str) -> dict[str, tuple[Interval, Interval | None]]:
    """Unfitted and fitted interval of each claim that the ensemble has. No fitted one if no draw met the baseline."""
    by_claim = {}
    for claim in of_notebook(notebook):
        if _values(results, claim) is not None:
            fitted = ensembles.fitted(results)
            by_claim[claim.id] = (intervals.interval(_known_values(ensembles.unfitted(results), claim)),
                                  intervals.interval(_known_values(fitted, claim)) if len(fitted) else None)
    return by_claim


def deciding(results: pd.DataFrame, claim: claims.Claim) -> pd.DataFrame:
    """The cases in which a condition alone decides the claim: see above. Where numbers or seeds give nan all do; one where
    the quantity itself is nan decides nothing."""
    values = _known_values(results, claim)
    central, seeds, structure, numbers = (values[ensembles.unfitted(results, part).index]
                                          for part in ("central", "seed", "structure", "parameter"))
    low, _, high = intervals.interval(numbers)
    moved = (structure.dropna() - central.iloc[0]).abs()
    chance = np.ptp(pd.concat([central, seeds]))
    return results.loc[moved.index[~(moved <= high - low + chance)]]


def identified(results: pd.DataFrame, claim: claims.Claim) -> bool:
    """Whether what was published identifies the claim: no condition decides it by itself."""
    return deciding(results, claim).empty


def what_decides(results: pd.DataFrame, known: priors.Known, notebook: str, labels: dict) -> pd.DataFrame:
    """For readers: claims and the conditions that decide each by themselves, with what these are changed to: claim, decided
    by. Claims that none decides are counted in a last row. `labels`: see `study.ensembles.effects.Effect`."""
    rows, n_others = [], 0
    for claim in of_notebook(notebook):
        if _values(results, claim) is not None:
            conditions = [effects.changed(case, known, labels) for _, case in deciding(results, claim).iterrows()]
            rows += [(claim.id, "; ".join(conditions))] if conditions else []
            n_others += not conditions
    if n_others:
        rows.append((f"{'the other' if rows else 'all'} {counted(n_others, 'claim')}", "no condition by itself"))
    return pd.DataFrame(rows, columns=["claim", "decided by"])


def reach(results: pd.DataFrame, claim: claims.Claim) -> tuple[float, float]:
    """The least and the most in all cases, but for those of the part `near`."""
    values = _known_values(results, claim)[results.part != ensembles.NEAR].dropna()
    return float(values.min()), float(values.max())


def n_draws(results: pd.DataFrame) -> int:
    """From how many draws the unfitted intervals are taken."""
    return len(ensembles.unfitted(results))


def record_all(results: pd.DataFrame, notebook: str, why_not: Callable[[str], str], runs: str = "") -> None:
    """Record what is predicted, and of the other claims (of `runs`) why they are not; `why_not` is given the quantity."""
    predicted = predictions(results, notebook)
    for claim in of_notebook(notebook, runs):
        if claim.id in predicted:
            record.prediction(claim.id, *predicted[claim.id], identified(results, claim), n_draws(results),
                              reach(results, claim),
                              remaining_draws.of(results, claim, _known_values(results, claim)).as_row())
        else:
            record.not_modelled(claim.id, why_not((claim.predict or "").partition(" ")[2]))


def scores(results: pd.DataFrame, notebook: str) -> pd.DataFrame:
    """For readers: each claim with what was published, both intervals, what is left of the draws by the baseline, and the
    grade that these give."""
    targets, rows, predicted = claims.targets().set_index("claim_id"), [], predictions(results, notebook)
    for claim in (known for known in of_notebook(notebook) if known.id in predicted):
        target, (unfitted, fitted) = targets.loc[claim.id], predicted[claim.id]
        of_left = remaining_draws.of(results, claim, _known_values(results, claim))
        case = grading.Case(
            published=(target["low"], target["high"]), unfitted=(unfitted.low, unfitted.high),
            fitted=fitted and (fitted.low, fitted.high),
            no_effect=None if pd.isna(target["effect_none"]) else target["effect_none"],
            identified=identified(results, claim), draws=n_draws(results), reach=reach(results, claim), left=of_left)
        rows.append((claim.id, target["value"], *unfitted, *(fitted or (None,) * 3), of_left.draws, of_left.low,
                     of_left.high, grading.given(case), grading.by_single_changes(case)))
    return pd.DataFrame(rows, columns=["claim", "published", *(f"{kind} {share}" for kind in ("unfitted", "fitted")
                                                              for share in ("5 %", "50 %", "95 %")),
                                       "draws left", "left, low", "left, high", "grade", "by single changes"])


def verdict(scores: pd.DataFrame, claim: str) -> str:
    """One row of `scores` in a sentence."""
    score = scores.set_index("claim").loc[claim]
    words = [f"{score['grade']}: published {score['published']:.3f}"]
    for kind in ("unfitted", "fitted"):
        low, high = score[f"{kind} 5 %"], score[f"{kind} 95 %"]
        words.append(f"{kind} {low:.3f} to {high:.3f}" if pd.notna(low) else f"{kind}: no draw met the baseline")
    return ", ".join(words) + " (after over before)"

"""Grades of claims from draws with nothing to scale, where an ensemble is to scale.

    record_all(results, notebook, why_not, full)    as `claim_predictions.record_all`
    scores(results, notebook, full)                 as `claim_predictions.scores`, with the grade to scale beside
    of(full, claim, outcome)                        what is left of the draws: `study.grades.remaining_draws`

`full` has draws of the part `all` and nothing else: no best guess, no seeds, no condition by itself. Of what was drawn it
has the conditions. Claims of which it has the quantity are graded by it, the others to scale. None grades all to scale. What
asks for single changes stays to scale: intervals, their reach, and the grade by single changes.
"""
from collections.abc import Callable

import pandas as pd

from study.documents import claims
from study.ensembles import ensembles
from study.grades import claim_predictions, grading, remaining_draws
from study.grades.remaining_draws import NO_CASE, Left
from study.runs import record

OF_SIZE = FULL_SIZE, TO_SCALE = "at full size", "grade, to scale"      # of `scores`, where draws at full size are given


def of(full: pd.DataFrame, claim: claims.Claim, outcome: pd.Series) -> Left:
    """What is left of the draws by the baseline of a claim. `outcome`: of each row of `full`."""
    names = [name for name in full if "/" not in name and name not in NO_CASE]
    return remaining_draws.of_draws(ensembles.unfitted(full), claim, outcome, names)


def _left(results: pd.DataFrame, notebook: str, full: pd.DataFrame | None) -> dict[str, tuple[Left, bool]]:
    """Of each claim what is left, and whether that is at full size."""
    left = {claim.id: (remaining_draws.of(results, claim, outcome), False)
            for claim, outcome in claim_predictions.outcomes(results, notebook)}
    if full is not None:
        left |= {claim.id: (of(full, claim, outcome), True)
                 for claim, outcome in claim_predictions.outcomes(full, notebook)}
    return left


def record_all(results: pd.DataFrame, notebook: str, why_not: Callable[[str], str], full: pd.DataFrame | None) -> None:
    """Record what is predicted, and of the other claims why they are not; `why_not` is given the quantity."""
    predicted, left = claim_predictions.predictions(results, notebook), _left(results, notebook, full)
    for claim in claim_predictions.of_notebook(notebook):
        if claim.id in predicted:
            of_left, is_full_size = left[claim.id]
            record.prediction(claim.id, *predicted[claim.id], claim_predictions.identified(results, claim),
                              claim_predictions.n_draws(results), claim_predictions.reach(results, claim),
                              of_left.as_row() | {"left_full_size": is_full_size})
        else:
            record.not_modelled(claim.id, why_not((claim.predict or "").partition(" ")[2]))


def scores(results: pd.DataFrame, notebook: str, full: pd.DataFrame | None) -> pd.DataFrame:
    """For readers: as `claim_predictions.scores`. With draws at full size it has two columns more. They say whether a grade
    is of these draws, and which grade those to scale would give."""
    table = claim_predictions.scores(results, notebook)
    if full is None:
        return table
    targets, left = claims.targets().set_index("claim_id"), _left(results, notebook, full)
    table = table.assign(**{FULL_SIZE: [left[claim][1] for claim in table.claim], TO_SCALE: table.grade})
    for row, claim in table.claim[table[FULL_SIZE]].items():
        of_left, target = left[claim][0], targets.loc[claim]
        no_effect = None if pd.isna(target.effect_none) else target.effect_none
        grade = grading.grade_left((target.low, target.high), of_left, no_effect) or table.loc[row, "by single changes"]
        table.loc[row, ["draws left", "left, low", "left, high", "grade"]] = (
            of_left.draws, of_left.low, of_left.high, grade)
    return table

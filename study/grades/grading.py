"""How a prediction is graded, by rule (docs/grades.md).

    grading.given(case)      one of GRADES: by the draws that show the baseline, where there are enough
    grading.grade(...)       by intervals and single changes, the rule before that one
    grading.grade_left(...)  by what is left of the draws: see study.grades.remaining_draws
    grading.with_own_error(case)    the same if each range knew how far off the model was elsewhere
    grading.why(case)        the reason of a grade
    grading.of_runs(c, runs) the grade of every claim that these runs predict, from the run store
    grading.fell(was, now)   claims whose grade got worse
    grading.scoreboard(c, g) a row per claim: what the audit found and the grades
"""
import math
from typing import NamedTuple

import pandas as pd
from duckdb import DuckDBPyConnection

from study.documents import audit, claims
from study.documents.claims import Ends
from study.documents.published import refuse_duplicates
from study.errors import UserError
from study.grades.remaining_draws import MANY, TOLERANCE, Left
from study.words import counted

# Grades, best first. Thresholds were fixed before anything was scored.
PREDICTED, CONSISTENT, NOT_IDENTIFIED, NOT_REPRODUCED = GRADES = (
    "predicted", "consistent", "not identified", "not reproduced")
NOT_YET, NOT_MODELLED, BASELINE, NOTHING = "not yet predicted", "not modelled", "baseline", "nothing to predict"
ALL_GRADES = (*GRADES, NOT_MODELLED, NOT_YET, BASELINE, NOTHING)
HALF_WIDTH_OF_CENTRE = 1 / 3        # a prediction wider than this is at best consistent
MIN_DRAWS = 20                      # and so is one from fewer: their 5 and 95 % are no more than their extremes
ENOUGH = 20                         # draws that are left: of fewer nobody can tell whether a condition decides
OWN_ERROR = 1.42    # a factor: how far published effects lay beyond their ranges, predicted blind on disks (data/trials)


def grade(published: Ends, unfitted: Ends, fitted: Ends | None = None, no_effect: float | None = None,
          identified: bool = True, draws: int | None = None, reach: Ends | None = None) -> str:
    """Grade a prediction, by rule.

    published: (low, high) of `targets`, what the claim allows; high may be inf, and a point is (x, x). A prediction holds if
    its interval meets this range; the ends of both belong to them. unfitted, fitted: 5-95 % intervals (low, high) before and
    after fitting one constant on the baseline. no_effect: the value that would mean "nothing happened"; None when there is
    none. identified: False when conditions that were not published decide, however well an interval may fit. draws: from how
    many the unfitted interval is taken; None where it is of no ensemble. reach: the least and the most in all that was
    simulated, each condition by itself and what was fitted included. No condition decides a claim outside of it, which all
    misses, or around it, which all meets.
    """
    if not identified and (reach is None or (_meet(reach, published) and not _holds(published, reach))):
        return NOT_IDENTIFIED
    if _meet(unfitted, published):
        sharp = _narrow(unfitted, published, no_effect) and (
            no_effect is None or not _meet(unfitted, (no_effect, no_effect)))
        return PREDICTED if sharp and (draws is None or draws >= MIN_DRAWS) else CONSISTENT
    return CONSISTENT if fitted is not None and _meet(fitted, published) else NOT_REPRODUCED


def _meet(a: Ends, b: Ends) -> bool:
    for low, high in (a, b):
        if not low <= high:
            raise ValueError(f"the interval {low} to {high} runs backwards; give (low, high)")
    return a[0] <= b[1] and b[0] <= a[1]


def _holds(outer: Ends, inner: Ends) -> bool:
    """Whether all of the inner interval lies within the outer one."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _narrow(interval: Ends, published: Ends, no_effect: float | None) -> bool:
    """To either side at most a third of what is predicted: of the effect, which is how far the centre lies from "no effect",
    or of the centre itself where nothing means that. A claim that allows zero has no such scale: then the interval must
    lie within what the claim allows."""
    low, high = interval
    if published[0] <= 0 <= published[1]:
        return _holds(published, interval)
    return (high - low) / 2 <= HALF_WIDTH_OF_CENTRE * abs((low + high) / 2 - (no_effect or 0))


def grade_left(published: Ends, left: Left, no_effect: float | None = None) -> str | None:
    """Grade by the draws that show the baseline. None where too few are left to say anything: then `grade` stands. Where of
    MANY draws none shows the baseline, the model does not have the machine."""
    if left.draws == 0 and left.of >= MANY:
        return NOT_REPRODUCED
    if left.draws < ENOUGH:
        return None
    if left.decided_by(published):
        return NOT_IDENTIFIED
    if left.is_missed(published):
        return NOT_REPRODUCED
    return grade(published, (left.low, left.high), no_effect=no_effect, draws=left.draws)


class Case(NamedTuple):
    """What a grade is given by; see `grade`, and of what is left `grade_left`."""
    published: Ends
    unfitted: Ends
    fitted: Ends | None
    no_effect: float | None
    identified: bool
    draws: int | None
    reach: Ends | None
    left: Left | None = None
    is_effect: bool = False     # a number after a change over that before it, or a gain in per cent


def given(case: Case) -> str:
    """The grade of a claim: by what is left of the draws, or else by single changes."""
    by_left = None if case.left is None else grade_left(case.published, case.left, case.no_effect)
    return by_single_changes(case) if by_left is None else by_left


def by_single_changes(case: Case) -> str:
    """The grade by intervals and single changes, which stands beside the other."""
    return grade(case.published, case.unfitted, case.fitted, case.no_effect, case.identified, case.draws, case.reach)


def with_own_error(case: Case) -> str:
    """The grade that would be given if each range of an effect were wider by OWN_ERROR to either side. Ranges of what is no
    effect of a change stay as they are."""
    if not case.is_effect or case.no_effect is None:
        return given(case)
    left = case.left
    if left is not None:
        low, high = _wider((left.low, left.high), case.no_effect)
        left = left._replace(low=low, high=high, groups=tuple(_wider(group, case.no_effect) for group in left.groups))
    return given(case._replace(unfitted=_wider(case.unfitted, case.no_effect), left=left,
                               fitted=case.fitted and _wider(case.fitted, case.no_effect),
                               reach=case.reach and _wider(case.reach, case.no_effect)))


def _wider(interval: Ends, no_effect: float) -> Ends:
    """By OWN_ERROR to either side: of ratios, whose "no effect" is 1, or of gains in per cent, whose is 0."""
    if no_effect == 1:
        return interval[0] / OWN_ERROR, interval[1] * OWN_ERROR
    return 100 * ((1 + interval[0] / 100) / OWN_ERROR - 1), 100 * ((1 + interval[1] / 100) * OWN_ERROR - 1)


def why(case: Case) -> str:
    """The reason of a grade, by the same rules."""
    by_left = None if case.left is None else grade_left(case.published, case.left, case.no_effect)
    if case.left is not None and by_left is not None:
        return _why_left(case, case.left, by_left)
    few = "" if case.left is None else f". {_shown(case.left)}, too few to grade by"
    return _why_single(case) + few


def _shown(left: Left) -> str:
    if left.draws == left.of:
        return f"All {counted(left.of, 'draw')} count"
    return f"{left.draws} of {counted(left.of, 'draw')} show the baseline within a factor of {TOLERANCE:g}"


def _why_left(case: Case, left: Left, by_left: str) -> str:
    if left.draws == 0:
        return f"no simulated machine has the baseline. {_shown(left)}"
    if by_left == NOT_IDENTIFIED:
        return (f"a condition that was not published decides what comes out. {left.told_by} explains "
                f"{100 * left.share:.0f} % of its variance. {_shown(left)}")
    weak = _weaknesses(case._replace(unfitted=(left.low, left.high), draws=left.draws))
    fact = f". Of all conditions {left.told_by} tells most: {100 * left.share:.0f} % of the variance" if left.share else ""
    return {NOT_REPRODUCED: f"what the draws that count give does not meet what was published. {_shown(left)}",
            PREDICTED: f"the range of the draws that count meets what was published, and it is narrow. {_shown(left)}",
            CONSISTENT: ("the range of the draws that count meets what was published, but "
                         f"{' and '.join(weak)}. {_shown(left)}")}[by_left] + fact


def _why_single(case: Case) -> str:
    single = by_single_changes(case)
    if single == NOT_IDENTIFIED:
        reach = f": {case.reach[0]:.4g} to {case.reach[1]:.4g}" if case.reach else ""
        return f"conditions that were not published decide what comes out{reach}"
    if single == NOT_REPRODUCED:
        return "no simulated interval meets what was published" + (
            "" if case.identified else ", and no condition that was left out decides that")
    if not _meet(case.unfitted, case.published):
        return "the interval meets what was published only with one constant fitted on the baseline"
    return "the unfitted interval meets what was published" + (
        f", but {' and '.join(_weaknesses(case))}" if single == CONSISTENT else ", and it is narrow")


def _weaknesses(case: Case) -> list[str]:
    """Why a prediction that holds is no more than consistent."""
    no_effect, weak = case.no_effect, {"it is wide": not _narrow(case.unfitted, case.published, case.no_effect)}
    if case.draws is not None:
        weak[f"it is of {counted(case.draws, 'draw')}, fewer than {MIN_DRAWS}"] = case.draws < MIN_DRAWS
    if no_effect is not None:
        weak[f"no effect ({no_effect:g}) lies within"] = _meet(case.unfitted, (no_effect, no_effect))
    return [reason for reason, holds in weak.items() if holds]


class Grades(NamedTuple):
    """The grade of a claim, and two beside it: by single changes, and with the model's own error in each range."""
    grade: str
    single_changes: str
    own_error: str


def of_runs(connection: DuckDBPyConnection, run_ids: list[str]) -> dict[str, str]:
    """Grades of the claims that these runs predict. Raises UserError where a claim is predicted twice, or cannot be."""
    return {claim: grades.grade for claim, grades in all_of_runs(connection, run_ids).items()}


def all_of_runs(connection: DuckDBPyConnection, run_ids: list[str]) -> dict[str, Grades]:
    """The same with the grades that stand beside."""
    return {claim: _same(NOT_MODELLED) if case is None
            else Grades(given(case), single_changes=by_single_changes(case), own_error=with_own_error(case))
            for claim, case in cases(connection, run_ids).items()}


def _same(grade: str) -> Grades:
    return Grades(grade, single_changes=grade, own_error=grade)


def cases(connection: DuckDBPyConnection, run_ids: list[str]) -> dict[str, Case | None]:
    """What these runs predict, by claim; None where the model leaves out what the claim is about."""
    rows = connection.execute("""
        SELECT claim_id, unfitted_low, unfitted_high, fitted_low, fitted_high, reach_low, reach_high, identified, draws,
               left_draws, left_of, left_low, left_middle, left_high, told_by, told_share, told_groups,
               published_low, published_high, effect_none, to_be_predicted
        FROM predictions LEFT JOIN claims USING (claim_id) WHERE list_contains(?, run_id) ORDER BY claim_id
        """, [run_ids]).fetchall()
    refuse_duplicates("the run store", "prediction of", [row[0] for row in rows])
    effects = {claim.id for claim in claims.read() if claim.before or (claim.predict or "").endswith(".gain")}
    predicted: dict[str, Case | None] = {}
    for claim, low, high, *others, allowed_low, allowed_high, no_effect, to_be_predicted in rows:
        if not to_be_predicted:
            raise UserError(f"a notebook predicts '{claim}', which is no claim to be predicted; mend the notebook")
        target = (allowed_low, math.inf if allowed_high is None else allowed_high)
        fitted, reach = (None if ends[0] is None else tuple(ends) for ends in (others[:2], others[2:4]))
        identified, draws, *of_left = others[4:]
        predicted[claim] = None if low is None else Case(
            published=target, unfitted=(low, high), fitted=fitted, no_effect=no_effect, identified=identified, draws=draws,
            reach=reach, left=None if of_left[0] is None else Left.from_row(of_left),
            is_effect=claim in effects)
    return predicted


def fell(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Claims whose grade got worse, a line each.

    The order is that of GRADES. "Not identified" stands above "not reproduced": it says that the documents don't settle
    the matter, the other that the model contradicts them. A grade that is no longer there has fallen too; claims without
    a grade in `before` cannot fall.
    """
    rank = {name: place for place, name in enumerate(GRADES)}
    last = len(GRADES)
    return [f"{claim}: was {was}, is {after.get(claim, NOT_YET)}" for claim, was in before.items()
            if rank.get(after.get(claim, NOT_YET), last) > rank.get(was, last)]


def scoreboard(connection: DuckDBPyConnection, grades: dict[str, Grades] | None = None) -> pd.DataFrame:
    """A row per claim: claim_id, document, text, printed, audit, differs, grade, single_changes, own_error, notebook,
    follows_from. `audit` is the worst of the audit's findings, `differs` names the checks that found a difference. The three
    grades are those of `grades`, where predictions are known. A claim that follows from another is no prediction of its
    own."""
    findings = audit.run(connection).groupby("claim_id")
    finding, differs = findings["finding"].agg(_worst), findings.apply(_differing)
    table = connection.execute("SELECT claim_id, document, text, printed, may_be_fitted, to_be_predicted, notebook, "
                               "follows_from FROM claims ORDER BY document, claim_id").df()
    table["audit"] = table["claim_id"].map(finding)
    table["differs"] = table["claim_id"].map(differs)
    ungraded = [_ungraded(row.to_be_predicted, row.may_be_fitted) for row in table.itertuples()]
    given_to = [(grades or {}).get(claim, _same(grade)) for claim, grade in zip(table.claim_id, ungraded, strict=True)]
    table["grade"], table["single_changes"], table["own_error"] = zip(*given_to, strict=True)
    return table[["claim_id", "document", "text", "printed", "audit", "differs", "grade", "single_changes", "own_error",
                  "notebook", "follows_from"]]


def _ungraded(to_be_predicted: bool, may_be_fitted: bool) -> str:
    return NOT_YET if to_be_predicted else BASELINE if may_be_fitted else NOTHING


def _worst(findings: pd.Series) -> str:
    return next(finding for finding in audit.FROM_WORST if finding in set(findings))


def _differing(rows: pd.DataFrame) -> str:
    return ", ".join(sorted(set(rows.loc[rows["finding"] == audit.DIFFERS, "check"])))

"""The claims of the five documents, `data/claims.toml`: what was said, what may be fitted, what is to be predicted, and
how a prediction is graded.

    claims.baselines()      published numbers that may be used for fitting, and no others
    claims.targets()        published numbers to be predicted: for scoring only
    claims.independent()    the claims among them that do not follow from another
    claims.grade(...)       one of GRADES
    claims.grades(c, runs)  the grade of every claim that these runs predict, from the run store
    claims.scoreboard(c)    a row per claim: what the audit found and the grade

Fitting code may call `baselines` only. No number is both: a file where one is, is refused.
"""
import math
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from study import audit, published
from study.errors import UserError
from study.project import data_file

RELATIONS = ("=", "about", "up to", "over", "at least", "below", "at most")
OPEN = ("over", "at least", "below", "at most")     # these allow a range without an end
KINDS = ("measurement", "arithmetic", "estimate", "rule", "observation", "condition", "recommendation")

# Grades, best first. Thresholds were fixed before anything was scored (DESIGN.md, Rules of honesty, 6).
PREDICTED, CONSISTENT, NOT_IDENTIFIED, NOT_REPRODUCED = GRADES = (
    "predicted", "consistent", "not identified", "not reproduced")
NOT_YET, NOT_MODELLED, BASELINE, NOTHING = "not yet predicted", "not modelled", "baseline", "nothing to predict"
HALF_WIDTH_OF_CENTRE = 1 / 3        # a prediction wider than this is at best consistent
LEAST_DRAWS = 20                    # and so is one from fewer: their 5 and 95 % are no more than their extremes

Interval = tuple[float, float]


# --- the form of the file ----------------------------------------------------------------------------------------------

class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Said(_Strict):
    """A number as the text puts it, with the digits it was printed with."""
    relation: Literal[RELATIONS]
    value: Decimal | tuple[Decimal, Decimal]
    unit: published.Unit

    @model_validator(mode="after")
    def _in_order(self):
        if isinstance(self.value, tuple) and self.value[0] > self.value[1]:
            raise ValueError(f"the range {self.value[0]} to {self.value[1]} runs backwards; put the smaller number first")
        return self

    def interval(self) -> tuple[float | None, float | None]:
        """All numbers that the statement allows; None where it has no end. 20 allows 19.5 to 20.5, 2e2 150 to 250."""
        low, high = self.value if isinstance(self.value, tuple) else (self.value, self.value)
        if self.relation in ("over", "at least"):
            return float(low), None
        if self.relation in ("below", "at most"):
            return None, float(high)
        return float(low) - published.step(low) / 2, float(high) + published.step(high) / 2


class Reference(NamedTuple):
    """A published number: '<run> <metric>' or '<run> <metric>@<seconds>', the run without its document."""
    run_id: str
    metric: str
    t: float | None

    def __str__(self):
        return f"{self.run_id} {self.metric}" + ("" if self.t is None else f"@{self.t:g}")


def _reference(text: str) -> str:
    run, _, metric = text.partition(" ")
    name, at, t = metric.partition("@")
    if not (published.RUN.fullmatch(run) and published.METRIC.fullmatch(name) and (t.isdecimal() if at else True)):
        raise ValueError(f"'{text}' is not of the form '<run> <metric>' or '<run> <metric>@<seconds>'")
    return text


Ref = Annotated[str, AfterValidator(_reference)]


class Claim(_Strict):
    """One entry of the file; its head explains the fields."""
    id: Annotated[str, AfterValidator(published.run_name)]
    document: str
    place: str
    kind: Literal[KINDS]
    text: str
    printed: str
    said: Said | None = None
    shown: tuple[str, ...] = ()
    baseline: tuple[Ref, ...] = ()
    predict: Ref | None = None
    before: Ref | None = None
    follows_from: str | None = None
    effect_none: float | None = None
    notebook: str | None = None

    @model_validator(mode="after")
    def _graded_as_a_whole(self):
        if self.predict is None and (self.before or self.follows_from or self.effect_none is not None):
            raise ValueError("before, effect_none and follows_from are about a prediction; give predict as well, or none")
        return self

    def at(self, text: str) -> Reference:
        """A reference with its document put in front."""
        run, _, metric = text.partition(" ")
        name, _, t = metric.partition("@")
        return Reference(f"{self.document}/{run}", name, float(t) if t else None)


class _File(_Strict):
    claim: tuple[Claim, ...]


# --- reading -----------------------------------------------------------------------------------------------------------

def read(path: Path | None = None) -> list[Claim]:
    """All claims, in the order of the file. Raises UserError, one sentence, on the first entry that is not right."""
    path = path or data_file("claims.toml")
    try:
        claims = list(_File.model_validate(published.parse(path.read_text())).claim)
    except published.tomllib.TOMLDecodeError as error:
        raise UserError(f"{path.name} is not TOML: {error}; mend that line") from None
    except ValidationError as error:
        raise UserError(published.explain(path.name, error)) from None
    published.refuse_duplicates(path.name, "claim", [claim.id for claim in claims])
    _refuse_mixed(path.name, claims)
    _refuse_loose(path.name, claims)
    return claims


def _refuse_mixed(file: str, claims: list[Claim]) -> None:
    """What is predicted anywhere may be fitted nowhere."""
    predicted = {str(claim.at(claim.predict)): claim.id for claim in claims if claim.predict}
    for claim in claims:
        for reference in map(claim.at, claim.baseline):
            if str(reference) in predicted:
                raise UserError(f"{file}, claim '{claim.id}': baseline '{reference}' is to be predicted in claim "
                                f"'{predicted[str(reference)]}'; a number may be fitted or predicted, not both")


def _refuse_loose(file: str, claims: list[Claim]) -> None:
    """What follows, follows from a prediction further up; so nothing follows from itself."""
    above = set()
    for claim in claims:
        if claim.follows_from and claim.follows_from not in above:
            raise UserError(f"{file}, claim '{claim.id}': follows_from = '{claim.follows_from}' is no claim with predict "
                            "further up; name one")
        if claim.predict:
            above.add(claim.id)


def independent(claims: list[Claim] | None = None) -> list[str]:
    """Ids of the claims to be predicted that do not follow from another: as many as there are chances to be wrong."""
    return [claim.id for claim in (read() if claims is None else claims) if claim.predict and not claim.follows_from]


class _Published:
    """Published numbers by reference."""

    def __init__(self, runs: list[published.PublishedRun]):
        self.numbers = {}
        for run in runs:
            steps = run.conditions["printed_step"]
            for t, name, value, unit in run.metrics.itertuples(index=False):
                t = None if pd.isna(t) else t
                self.numbers[Reference(run.run_id, name, t)] = (value, unit, steps[published.key(t, name)])

    def __getitem__(self, reference: Reference) -> tuple[float, str, float]:
        """Value, unit, step of the last printed digit."""
        if reference not in self.numbers:
            raise UserError(f"claims.toml refers to '{reference}', which data/published does not have; check the run, the "
                            "metric and the time")
        return self.numbers[reference]


def baselines(claims: list[Claim] | None = None, runs: list[published.PublishedRun] | None = None) -> pd.DataFrame:
    """The numbers that may be used for fitting: claim_id, run_id, t [s], name, value, unit."""
    claims = read() if claims is None else claims
    numbers = _Published(published.runs() if runs is None else runs)
    rows = [(claim.id, reference.run_id, reference.t, reference.metric, *numbers[reference][:2])
            for claim in claims for reference in map(claim.at, claim.baseline)]
    return pd.DataFrame(rows, columns=["claim_id", "run_id", "t", "name", "value", "unit"]).astype({"t": float})


def targets(claims: list[Claim] | None = None, runs: list[published.PublishedRun] | None = None) -> pd.DataFrame:
    """What predictions are scored against: claim_id, value, low, high, unit, effect_none. `low` to `high` is what the claim
    allows: the numbers that print alike, or the range that its text gives in place of a number (`high` is inf for *8 or
    more*). With `before` the value is a ratio. Not for fitting code."""
    claims = read() if claims is None else claims
    numbers = _Published(published.runs() if runs is None else runs)
    rows = [(claim.id, *_target(claim, numbers), claim.effect_none) for claim in claims if claim.predict]
    return pd.DataFrame(rows, columns=["claim_id", "value", "low", "high", "unit", "effect_none"]).astype(
        {"effect_none": float})


def _target(claim: Claim, numbers: _Published) -> tuple[float, float, float, str]:
    value, unit, step = numbers[claim.at(claim.predict)]
    low, high = value - step / 2, value + step / 2
    if claim.before is None:
        return value, *(_range_in_words(claim, unit) or (low, high)), unit
    over, over_unit, over_step = numbers[claim.at(claim.before)]
    if over_unit != unit or over <= over_step / 2:
        raise UserError(f"claims.toml, claim '{claim.id}': {claim.predict} in {unit} cannot be divided by {claim.before}, "
                        f"{over:g} {over_unit}; name a number of the same unit that is not zero")
    return value / over, low / (over + over_step / 2), high / (over - over_step / 2), "1"


def _range_in_words(claim: Claim, unit: str) -> Interval | None:
    """The range that a claim's text gives in place of one number: *8 or more*, *less than 40*, *2 to 4*. "Up to" is a point,
    as the largest of several is that number. Amounts below a bound are not negative."""
    said = claim.said
    if said is None or said.unit != unit or not (said.relation in OPEN or isinstance(said.value, tuple)):
        return None
    low, high = said.interval()
    return 0.0 if low is None else low, math.inf if high is None else high


def rows() -> pd.DataFrame:
    """The claims as the run store keeps them: a row each; NULL where a statement has no end or no number."""
    claims = read()
    scored = targets(claims).set_index("claim_id")
    table = []
    for claim in claims:
        low, high = claim.said.interval() if claim.said else (None, None)
        target = scored.loc[claim.id] if claim.predict else None
        table.append({
            "claim_id": claim.id, "document": claim.document, "place": claim.place, "kind": claim.kind,
            "text": claim.text, "printed": claim.printed, "relation": claim.said and claim.said.relation,
            "said_low": low, "said_high": high, "said_unit": claim.said and claim.said.unit,
            "published": None if target is None else target["value"],
            "published_unit": None if target is None else target["unit"], "effect_none": claim.effect_none,
            "may_be_fitted": bool(claim.baseline), "to_be_predicted": claim.predict is not None,
            "notebook": claim.notebook, "published_low": None if target is None else target["low"],
            "published_high": None if target is None or math.isinf(target["high"]) else target["high"],
            "follows_from": claim.follows_from})
    return pd.DataFrame(table).astype(object)


# --- grading -----------------------------------------------------------------------------------------------------------

def grade(published: Interval, unfitted: Interval, fitted: Interval | None = None, no_effect: float | None = None,
          identified: bool = True, draws: int | None = None) -> str:
    """Grade a prediction, by rule.

    published: (low, high) of `targets`, what the claim allows; high may be inf, and a point is (x, x). A prediction holds
    if its interval meets this range; the ends of both belong to them. unfitted, fitted: 5-95 % intervals (low, high) before
    and after fitting one constant on the baseline. no_effect: the value that would mean "nothing happened"; None when there
    is none. identified: False when conditions that were not published decide, however well an interval may fit. draws: from
    how many the unfitted interval is taken; None where it is of no ensemble.
    """
    if not identified:
        return NOT_IDENTIFIED
    if _meet(unfitted, published):
        sharp = _narrow(unfitted, published, no_effect) and (
            no_effect is None or not _meet(unfitted, (no_effect, no_effect)))
        return PREDICTED if sharp and (draws is None or draws >= LEAST_DRAWS) else CONSISTENT
    return CONSISTENT if fitted is not None and _meet(fitted, published) else NOT_REPRODUCED


def _meet(one: Interval, other: Interval) -> bool:
    for low, high in (one, other):
        if not low <= high:
            raise ValueError(f"the interval {low} to {high} runs backwards; give (low, high)")
    return one[0] <= other[1] and other[0] <= one[1]


def _narrow(interval: Interval, published: Interval, no_effect: float | None) -> bool:
    """To either side at most a third of what is predicted: of the effect, which is how far the centre lies from "no effect",
    or of the centre itself where nothing means that. A claim that allows zero has no such scale: then the interval must
    lie within what the claim allows."""
    low, high = interval
    if published[0] <= 0 <= published[1]:
        return published[0] <= low and high <= published[1]
    return (high - low) / 2 <= HALF_WIDTH_OF_CENTRE * abs((low + high) / 2 - (no_effect or 0))


def grades(connection, run_ids: list[str]) -> dict[str, str]:
    """Grades of the claims that these runs predict. Raises UserError where a claim is predicted twice, or cannot be."""
    rows = connection.execute("""
        SELECT claim_id, unfitted_low, unfitted_high, fitted_low, fitted_high, identified, draws, published_low,
               published_high, effect_none, to_be_predicted
        FROM predictions LEFT JOIN claims USING (claim_id) WHERE list_contains(?, run_id) ORDER BY claim_id
        """, [run_ids]).fetchall()
    published.refuse_duplicates("the run store", "prediction of", [row[0] for row in rows])
    found = {}
    for claim, low, high, fitted_low, fitted_high, identified, draws, *allowed, no_effect, to_be_predicted in rows:
        if not to_be_predicted:
            raise UserError(f"a notebook predicts '{claim}', which is no claim to be predicted; mend the notebook")
        if low is None:
            found[claim] = NOT_MODELLED
            continue
        target = (allowed[0], math.inf if allowed[1] is None else allowed[1])
        fitted = None if fitted_low is None else (fitted_low, fitted_high)
        found[claim] = grade(target, (low, high), fitted, no_effect, identified, draws)
    return found


def fell(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Claims whose grade got worse, a line each.

    The order is that of GRADES. "Not identified" stands above "not reproduced": it says that the documents don't settle
    the matter, the other that the model contradicts them. A grade that is no longer there has fallen too; claims without
    a grade in `before` cannot fall.
    """
    rank = {name: place for place, name in enumerate(GRADES)}
    last = len(GRADES)
    return [f"{claim}: was {was}, is {after.get(claim, NOT_YET)}" for claim, was in before.items()
            if rank.get(after.get(claim), last) > rank.get(was, last)]


def scoreboard(connection, grades: dict[str, str] | None = None) -> pd.DataFrame:
    """A row per claim: claim_id, document, text, printed, audit, differs, grade, notebook, follows_from. `audit` is the
    worst of the audit's findings, `differs` names the checks that found a difference; `grades` are those of `grades`, where
    predictions are known; a claim that follows from another is no prediction of its own."""
    found = audit.run(connection).groupby("claim_id")
    finding, differs = found["finding"].agg(_worst), found.apply(_differing)
    table = connection.execute("SELECT claim_id, document, text, printed, may_be_fitted, to_be_predicted, notebook, "
                               "follows_from FROM claims ORDER BY document, claim_id").df()
    table["audit"] = table["claim_id"].map(finding)
    table["differs"] = table["claim_id"].map(differs)
    table["grade"] = [(grades or {}).get(row.claim_id) or _ungraded(row) for row in table.itertuples()]
    return table[["claim_id", "document", "text", "printed", "audit", "differs", "grade", "notebook", "follows_from"]]


def _ungraded(row) -> str:
    return NOT_YET if row.to_be_predicted else BASELINE if row.may_be_fitted else NOTHING


def _worst(findings: pd.Series) -> str:
    return next(finding for finding in audit.FROM_WORST if finding in set(findings))


def _differing(rows: pd.DataFrame) -> str:
    return ", ".join(sorted(set(rows.loc[rows["finding"] == audit.DIFFERS, "check"])))

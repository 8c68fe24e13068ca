"""The claims of the five documents, `data/claims.toml`: what was said, what may be fitted and what is to be predicted. How
a prediction is graded: `study/grades/grading.py`.

    claims.baselines()      published numbers that may be used for fitting, and no others
    claims.targets()        published numbers to be predicted: for scoring only
    claims.independent()    the claims among them that do not follow from another

Fitting code may call `baselines` only. No number is both: a file where one is, is refused.
"""
import math
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from study.documents import published
from study.errors import UserError
from study.project import data_file

Relation = Literal["=", "about", "up to", "over", "at least", "below", "at most"]
OPEN = ("over", "at least", "below", "at most")     # these allow a range without an end
Kind = Literal["measurement", "arithmetic", "estimate", "rule", "observation", "condition", "recommendation"]

Ends = tuple[float, float]      # of a range: low, high


# --- the form of the file ----------------------------------------------------------------------------------------------

class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Statement(_Strict):
    """A number as the text puts it, with the digits it was printed with."""
    relation: Relation
    value: Decimal | tuple[Decimal, Decimal]
    unit: published.Unit

    @model_validator(mode="after")
    def _in_order(self) -> Self:
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

    def __str__(self) -> str:
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
    kind: Kind
    text: str
    printed: str
    said: Statement | None = None
    shown: tuple[str, ...] = ()
    baseline: tuple[Ref, ...] = ()
    predict: Ref | None = None
    before: Ref | None = None
    follows_from: str | None = None
    effect_none: float | None = None
    notebook: str | None = None

    @model_validator(mode="after")
    def _graded_as_a_whole(self) -> Self:
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
    return list(_read(path.name, path.read_text()))


@lru_cache(maxsize=4)
def _read(file: str, text: str) -> tuple[Claim, ...]:
    """The claims of this text. To check it takes 40 ms, and each grade asks for them."""
    try:
        claims = list(_File.model_validate(published.parse(text)).claim)
    except published.tomllib.TOMLDecodeError as error:
        raise UserError(f"{file} is not TOML: {error}; mend that line") from None
    except ValidationError as error:
        raise UserError(published.explain(file, error)) from None
    published.refuse_duplicates(file, "claim", [claim.id for claim in claims])
    _refuse_mixed(file, claims)
    _refuse_loose(file, claims)
    return tuple(claims)


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
    allows. It is the numbers that print alike, or the range that its text gives in place of a number. Of *8 or more* `high`
    is inf. With `before` the value is a ratio. Not for fitting code."""
    claims = read() if claims is None else claims
    numbers = _Published(published.runs() if runs is None else runs)
    rows = [(claim.id, *_target(claim, numbers), claim.effect_none) for claim in claims if claim.predict]
    return pd.DataFrame(rows, columns=["claim_id", "value", "low", "high", "unit", "effect_none"]).astype(
        {"effect_none": float})


def _target(claim: Claim, numbers: _Published) -> tuple[float, float, float, str]:
    assert claim.predict is not None
    value, unit, step = numbers[claim.at(claim.predict)]
    low, high = value - step / 2, value + step / 2
    if claim.before is None:
        return value, *(_range_in_words(claim, unit) or (low, high)), unit
    over, over_unit, over_step = numbers[claim.at(claim.before)]
    if over_unit != unit or over <= over_step / 2:
        raise UserError(f"claims.toml, claim '{claim.id}': {claim.predict} in {unit} cannot be divided by {claim.before}, "
                        f"{over:g} {over_unit}; name a number of the same unit that is not zero")
    return value / over, low / (over + over_step / 2), high / (over - over_step / 2), "1"


def _range_in_words(claim: Claim, unit: str) -> Ends | None:
    """The range that a claim's text gives in place of one number: *8 or more*, *less than 40*, *2 to 4*. "Up to" is a point,
    as the largest of several is that number. Amounts below a bound are not negative."""
    statement = claim.said
    if statement is None or statement.unit != unit or not (statement.relation in OPEN or isinstance(statement.value, tuple)):
        return None
    low, high = statement.interval()
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

"""How likely each choice of a condition is, by what sources say: `data/odds.toml`.

    odds.read("exchange")               {"layout": {"mirror": 0.6, …}, …}
    odds.weights(table, draws)          the weight of each draw, 1 where nothing is known

Draws of `study.documents.priors` give all choices of a condition the same odds. Weights are for the question what would come
out otherwise (`study.grades.weighted`); no grade is made with them.
"""
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from study.documents import published
from study.errors import UserError
from study.project import data_file

FILE = "odds.toml"
Odds = dict[str, dict[Any, float]]      # condition, choice


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    condition: str
    experiments: tuple[str, ...]
    choices: tuple[str | int | bool, ...]
    odds: tuple[float, ...]
    reason: str
    source: str

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        if len(self.odds) != len(self.choices):
            raise ValueError(f"{self.condition} has {len(self.odds)} odds of {len(self.choices)} choices; give one for each")
        if min(self.odds) <= 0 or abs(sum(self.odds) - 1) > 1e-9:
            raise ValueError(f"the odds of {self.condition} add up to {sum(self.odds):g}, or one is not above 0; make them "
                             "add up to 1")
        if not (self.reason.strip() and self.source.strip()):
            raise ValueError(f"the odds of {self.condition} have no reason or no source; give both")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    odds: tuple[_Entry, ...]


def read(experiment: str) -> Odds:
    """The odds of each condition of an experiment that has any. Raises UserError for a file that is not right."""
    try:
        content = _File.model_validate(published.parse(data_file(FILE).read_text()))
    except published.tomllib.TOMLDecodeError as error:
        raise UserError(f"{FILE} is not TOML: {error}; mend that line") from None
    except ValidationError as error:
        raise UserError(published.explain(FILE, error)) from None
    of_experiment = [entry for entry in content.odds if experiment in entry.experiments]
    published.refuse_duplicates(FILE, f"condition of {experiment}", [entry.condition for entry in of_experiment])
    return {entry.condition: dict(zip(entry.choices, entry.odds, strict=True)) for entry in of_experiment}


def weights(odds: Mapping[str, Mapping[Any, float]], draws: pd.DataFrame) -> pd.Series:
    """The weight of each draw: its odds over those that it was drawn with. 1 in the mean over all choices."""
    weight = pd.Series(1.0, index=draws.index)
    for condition, of_choices in odds.items():
        weight *= draws[condition].map(of_choices).astype(float) * len(of_choices)
    if weight.isna().any():
        raise ValueError(f"a draw has a choice that {FILE} does not have")
    return weight


def effective(weight: pd.Series) -> float:
    """How many draws of equal weight say as much (L. Kish, 1965)."""
    return float(weight.sum() ** 2 / np.square(weight).sum()) if len(weight) else 0.0

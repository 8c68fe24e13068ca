"""What is not known of the machines of the documents: `data/priors.toml`. A *prior* is a number with a range, a *switch* a
condition that was one way or another. Each has a source that is not the result to be predicted.

    known = priors.read("oltp")          the priors and switches of an experiment
    known.central()                      the best guess of each
    priors.draws(known, 12, seed=1)      a frame: Latin hypercube over all of them, switches among them
"""
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from IPython.display import HTML
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from model.events.streams import stream
from study import html_tables
from study.documents import published, readable
from study.errors import UserError
from study.project import data_file

FILE = "priors.toml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    name: str
    of: str                 # the NamedTuple of the model that takes it
    experiments: tuple[str, ...]
    source: Annotated[str, AfterValidator(lambda text: not_empty(text))]


def not_empty(text: str) -> str:
    """The source of a range, which a ValueError refuses if it is blank."""
    if not text.strip():
        raise ValueError("the source is empty; say where the range is from")
    return text


class Prior(_Strict):
    """A number. Its distribution is uniform from low to high, of its logarithm if `shape` is log. With `less` only the sum
    with another prior is known. Low to high are the sum's, and what is drawn of the other is taken off. `condition`: what it
    is called, if it is one of the conditions of the test: whoever ran it could have printed it in a line."""
    low: float
    central: float
    high: float
    unit: str
    shape: Literal["uniform", "log", "whole"]   # whole: log, rounded
    less: str | None = None
    condition: str | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.central <= self.high or (self.shape != "uniform" and self.low <= 0):
            raise ValueError(f"the range {self.low:g} to {self.high:g} with {self.central:g} as its centre is none; put "
                             "them in order, above 0 unless the shape is uniform")
        return self

    def at(self, share: np.ndarray) -> np.ndarray:
        """Values at shares of the distribution, 0 to 1."""
        if self.shape == "uniform":
            values = self.low + share * (self.high - self.low)
        else:
            values = self.low * (self.high / self.low) ** share
        return np.rint(values) if self.shape == "whole" else values


class Switch(_Strict):
    """A condition; all choices are taken to be equally likely."""
    choices: tuple[str | int | bool, ...]
    central: str | int | bool

    @model_validator(mode="after")
    def _is_a_choice(self) -> Self:
        if self.central not in self.choices:
            raise ValueError(f"{self.central} is none of {', '.join(map(str, self.choices))}; take one of these")
        return self

    def at(self, share: np.ndarray) -> list:
        """The choice at each `share` of all, 0 to 1."""
        places = np.minimum((share * len(self.choices)).astype(int), len(self.choices) - 1)
        return [self.choices[place] for place in places]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    prior: tuple[Prior, ...] = ()
    switch: tuple[Switch, ...] = ()


class Known(NamedTuple):
    """All that a document leaves open of a machine: numbers with ranges, and switches."""
    priors: tuple[Prior, ...]
    switches: tuple[Switch, ...]

    @property
    def conditions(self) -> tuple[Prior | Switch, ...]:
        """What was one way or another, and was not published."""
        return *self.switches, *(prior for prior in self.priors if prior.condition)

    def central(self) -> dict:
        """The best guess of everything, by name."""
        unknowns: tuple[Prior | Switch, ...] = (*self.priors, *self.switches)
        return _differences(self, {prior.name: prior.central for prior in unknowns})


@lru_cache(maxsize=1)
def _checked(text: str) -> _File:
    """The file of this text. To check it takes 13 ms, and a redraw with a slider asks twice."""
    return _File.model_validate(published.parse(text))


def read(experiment: str) -> Known:
    """Priors and switches of an experiment. Raises UserError, one sentence, on the first entry that is not right."""
    try:
        content = _checked(data_file(FILE).read_text())
    except published.tomllib.TOMLDecodeError as error:
        raise UserError(f"{FILE} is not TOML: {error}; mend that line") from None
    except ValidationError as error:
        raise UserError(published.explain(FILE, error)) from None
    known = Known(tuple(prior for prior in content.prior if experiment in prior.experiments),
                  tuple(switch for switch in content.switch if experiment in switch.experiments))
    if not known.priors:
        raise UserError(f"{FILE} has no prior of an experiment '{experiment}'; name one that it has")
    names = [prior.name for prior in (*known.priors, *known.switches)]
    published.refuse_duplicates(FILE, f"name in {experiment}", names)
    for prior in known.priors:
        if prior.less and prior.less not in names:
            raise UserError(f"{FILE}: {prior.name} is less '{prior.less}', which is no prior of {experiment}; name one")
    return known


def draws(known: Known, n: int, seed: int) -> pd.DataFrame:
    """`n` draws, a column for each prior and switch: a Latin hypercube, so that every n-th of every range is drawn once."""
    return at(known, shares(known, n, seed))


def shares(known: Known, n: int, seed: int) -> np.ndarray:
    """Of each draw (row) and each prior and switch (column) the share of its distribution that lies below, 0 to 1."""
    from scipy.stats import qmc  # takes a second to import, and most notebooks and commands draw nothing
    return qmc.LatinHypercube(len(known.priors) + len(known.switches), rng=stream(seed, "priors")).random(n)


def at(known: Known, shares_of: np.ndarray) -> pd.DataFrame:
    """Values at `shares`: a column for each prior and switch."""
    unknowns: tuple[Prior | Switch, ...] = (*known.priors, *known.switches)
    values = {prior.name: prior.at(share) for prior, share in zip(unknowns, shares_of.T, strict=True)}
    return pd.DataFrame(_differences(known, values))


def _differences(known: Known, values: dict) -> dict:
    """`values` with what is known only in sum turned into what the model takes."""
    return values | {prior.name: values[prior.name] - values[prior.less] for prior in known.priors if prior.less}


def table(known: Known) -> pd.DataFrame:
    """For readers, in units that people use: name, range, central, source."""
    rows: list[tuple] = [(prior.name + (f" + {prior.less}" if prior.less else ""), *readable.ends(prior), prior.source)
                         for prior in known.priors]
    rows += [(switch.name, ", ".join(readable.choice(switch, each) for each in switch.choices),
              readable.choice(switch, switch.central), switch.source) for switch in known.switches]
    return pd.DataFrame(rows, columns=["name", "range", "central", "source"])


def shown(known: Known) -> HTML:
    """The table, folded; columns of numbers are sorted by what they are, not by their digits."""
    sizes = [prior.central for prior in known.priors] + [None] * len(known.switches)
    return html_tables.table(table(known), "Ranges and conditions, each with its source",
                             keys={"range": sizes, "central": sizes})

"""What the slides of 2009 advise for databases on ZFS, and what of it still holds: data/advice.toml.

    recipes("postgres")          the steps for a database, in the order of the file
    misses(recipe, machine)      why a step is not meant for a machine, or ""
    page()                       one page: what of it holds in today's OpenZFS, and what is new

What a step is worth is not said there: it is a change of a scenario, and `study advise` simulates it.
"""
import operator
import tomllib
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from model.zfs.eras import ERAS
from study.documents import published
from study.documents.priors import not_empty
from study.errors import UserError
from study.machines.scenario import Scenario, fields
from study.machines.storage import Devices
from study.project import data_file

FILE = "advice.toml"
SPARE = "spare"         # in a change: a device that one has
OF_ERA = "era."         # in a condition: a rule of the machine's era
NONE = "none"           # in a change: the field is left out

Words = Annotated[str, AfterValidator(not_empty)]
AS_OF = "The newest version looked at is 2.4.0, of December 2025. Where a version is named, the change is from that one on."
TODAY = {"holds": "Still holds", "default": "Nobody need set it any more", "changed": "Holds, but is something else now",
         "doubtful": "Doubtful now", "gone": "Gone"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Recipe(_Strict):
    """A step; the head of data/advice.toml says what the fields are."""
    id: Words
    databases: tuple[Literal["postgres", "innodb", "oracle"], ...]
    words: Words
    source: Words
    change: dict[str, Any] = {}
    only_if: dict[str, tuple[Any, ...]] = {}
    assumed: str = ""
    not_simulated: str = ""
    mechanism: Words
    trades: str = ""
    today: Literal["holds", "default", "changed", "doubtful", "gone"]
    now: Words
    evidence: tuple[Words, ...]

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if bool(self.change) == bool(self.not_simulated):
            raise ValueError(f"recipe {self.id} needs a change or a reason why it has none; give one of them")
        if not self.evidence or not self.databases:
            raise ValueError(f"recipe {self.id} has no evidence for what it is today, or no database; name some")
        return self


class News(_Strict):
    """What is in OpenZFS since, and was not in 2009."""
    id: Words
    words: Words
    evidence: tuple[Words, ...]


class _File(_Strict):
    recipe: tuple[Recipe, ...]
    new: tuple[News, ...]


def read() -> _File:
    """All recipes of data/advice.toml. A UserError names what is wrong in the file."""
    try:
        return _File.model_validate(tomllib.loads(data_file(FILE).read_text()))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{FILE} is not TOML: {error}; mend that line") from None
    except ValidationError as error:
        raise UserError(published.explain(FILE, error)) from None


def recipes(database: str) -> list[Recipe]:
    """Recipes that are for this database."""
    return [recipe for recipe in read().recipe if database in recipe.databases]


def misses(recipe: Recipe, machine: Scenario) -> str:
    """Why `recipe` is not meant for `machine`, in words; "" if it is."""
    own = fields(machine)
    for path, values in recipe.only_if.items():
        if path.startswith(OF_ERA):
            path, values = "files.era", _eras_with(path.removeprefix(OF_ERA), values)
        if own.get(path) not in values:
            return f"is for {path} of {', '.join(map(str, values))}, not {own.get(path)}"
    return ""


def _eras_with(rule: str, values: tuple) -> tuple[str, ...]:
    """The eras in which `rule`, mechanism.field, has one of `values`."""
    return tuple(name for name, era in ERAS.items() if operator.attrgetter(rule)(era) in values)


def changes(recipe: Recipe, spare: Devices | None = None) -> dict[str, Any]:
    """What `scenario.changed` takes, with a device in place of "spare"."""
    return {path: spare if value == SPARE else None if value == NONE else value for path, value in recipe.change.items()}


def page() -> str:
    """What of the advice still holds in today's OpenZFS, as Markdown."""
    advice = read()
    lines = ["# What of this still holds in today's OpenZFS", "", AS_OF, ""]
    for today, title in TODAY.items():
        steps = [entry for entry in advice.recipe if entry.today == today]
        if steps:
            lines += [f"## {title}", ""]
            lines += [f"- **{entry.words}** ({', '.join(entry.databases)}; {entry.source}). {entry.now} "
                      f"[{'; '.join(entry.evidence)}]" for entry in steps]
            lines.append("")
    lines += ["## New since", "", *(f"- {entry.words} [{'; '.join(entry.evidence)}]" for entry in advice.new)]
    return "\n".join(lines) + "\n"

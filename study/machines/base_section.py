"""What all sections of a scenario (`study.machines.scenario`) are: closed, unchanging, and particular about what a number
is.

The text below a field says what it is; `docs/scenarios.md` is made of these texts
(`study.commands.documentation.scenario_tables`).
"""
import re
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.fields import FieldInfo

NUMBER = re.compile(r"\s*[+-]?[\d_]*\.?[\d_]+([eE][+-]?\d+)?\s*")    # as text: pydantic would take it


def _is_number(annotation: Any) -> bool:
    """Whether a field takes numbers, or nothing, and no more."""
    parts = get_args(annotation) or (annotation,)
    kinds = {get_args(part)[0] if get_args(part) else part for part in parts}
    return kinds <= {int, float, type(None)}


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True,
                              serialize_by_alias=True)

    @classmethod
    def by_key(cls) -> dict[str, FieldInfo]:
        """Fields by the names that they have in a file."""
        return {field.alias or name: field for name, field in cls.model_fields.items()}

    @model_validator(mode="before")
    @classmethod
    def _as_typed(cls, content: object) -> object:
        """What is true or false, or text, is no number."""
        for name, value in content.items() if isinstance(content, dict) else ():
            field = cls.by_key().get(name)
            if isinstance(value, bool) and field and bool not in (field.annotation, *get_args(field.annotation)):
                parts = [each for part in (field.annotation, *get_args(field.annotation))
                         for each in (part, *get_args(part))]
                if any(issubclass(get_origin(each) or each, BaseModel | dict) for each in parts
                       if isinstance(get_origin(each) or each, type)):
                    raise ValueError(f"{name} is {str(value).lower()}, but it must be a section with names and values of "
                                     "its own")
                raise ValueError(f"{name} is {str(value).lower()}, which is neither a number nor a name; give one")
            if isinstance(value, str) and field and _is_number(field.annotation) and NUMBER.fullmatch(value):
                raise ValueError(f"{name} is '{value}', which is text; give a number, without quotes")
        return content


def every_kind(of: type[Section] = Section) -> set[type[Section]]:
    """All sections, and those that are another one with changed keys."""
    return {each for kind in of.__subclasses__() for each in (kind, *every_kind(kind))}

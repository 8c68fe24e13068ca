"""What all sections of a scenario (`study.machines.scenario`) are: closed, unchanging, and particular about what a number
is.

The text below a field says what it is; `docs/scenarios.md` is made of these texts
(`study.commands.documentation.scenario_tables`).
"""
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.fields import FieldInfo


def _is_number(annotation: Any) -> bool:
    """Whether a field takes numbers, or nothing, and no more."""
    parts = get_args(annotation) or (annotation,)
    kinds = {get_args(part)[0] if get_args(part) else part for part in parts}
    return kinds <= {int, float, type(None)}


class Section(BaseModel):
    """A part of a scenario: unknown keys, texts for numbers, NaN and infinity are refused."""
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
        values, fields = content.items() if isinstance(content, dict) else (), cls.by_key()
        complaints = [_untyped(name, value, fields[name].annotation) for name, value in values if name in fields]
        if any(complaints):
            raise ValueError("; ".join(filter(None, complaints)))
        return content


def _untyped(name: str, value: object, annotation: Any) -> str:
    """What is wrong with the type of a value that pydantic would take all the same, or ""."""
    if isinstance(value, bool) and bool not in (annotation, *get_args(annotation)):
        parts = [each for part in (annotation, *get_args(annotation)) for each in (part, *get_args(part))]
        if any(issubclass(get_origin(each) or each, BaseModel | dict) for each in parts
               if isinstance(get_origin(each) or each, type)):
            return f"{name} is {str(value).lower()}, but it must be a section with names and values of its own"
        return f"{name} is {str(value).lower()}, which is neither a number nor a name; give one"
    if isinstance(value, str) and _is_number(annotation):
        return f"{name} is '{value}', which is text; give a number, without quotes and unit"
    return ""


def every_kind(of: type[Section] = Section) -> set[type[Section]]:
    """All sections, and those that are another one with changed keys."""
    return {each for kind in of.__subclasses__() for each in (kind, *every_kind(kind))}

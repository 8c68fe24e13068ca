"""Values as they are written: the core schema of YAML 1.2, for `-p` and for parameter files.

    010         10, and text where text is asked for      (YAML 1.1: 8)
    1:30        text                                       (YAML 1.1: 90)
    yes, on     text                                       (YAML 1.1: true)
    2019-01-01  text                                       (YAML 1.1: a date)

A key that stands twice is refused, with its line.
"""
import re
from typing import Any, ClassVar

import yaml

from study.errors import UserError

LARGEST = 2.0**1023 * (2 - 2.0**-52)    # what a number can hold
SMALLEST = 2.0**-1074
MAX_DIGITS = 400                        # of a whole number that is read at all

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class Plain(str):
    """Text without quotes, on the command line or in a file: what it is depends on what is asked for."""


def is_null(text: str) -> bool:
    """Whether a text is null by the core schema of YAML."""
    return bool(_NULL.fullmatch(text))


def boolean(text: str) -> bool | None:
    """True or False for a text that is one by the core schema of YAML, else None."""
    return True if text in _TRUE else False if text in _FALSE else None


def whole(text: str) -> int | None:
    """OverflowError beyond all bounds."""
    if not _INT.fullmatch(text):
        return None
    if len(text) > MAX_DIGITS:
        raise OverflowError
    value = int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    refuse_huge(value)
    return value


def number(text: str) -> int | float | None:
    """OverflowError beyond all bounds; ValueError, half a sentence, for one that is not 0 and would become 0."""
    if _INT.fullmatch(text):
        return whole(text)
    if _INFINITE.fullmatch(text):
        return float(text.replace(".", "").lower())
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise OverflowError
    if value == 0 and re.search("[1-9]", re.split("[eE]", text)[0]):
        raise ValueError(f"no number nearer to 0 than {SMALLEST:.3g} can be kept")
    return value


def refuse_huge(value: int | float) -> None:
    """OverflowError for whole numbers that no float can hold."""
    if isinstance(value, int):
        float(value)


def scalar(text: str) -> Any:
    """What text without quotes is where nothing is asked for."""
    if is_null(text):
        return None
    for value in (boolean(text), number(text)):
        if value is not None:
            return value
    return text


def as_plain(value: Any) -> Any:
    """The value if JSON can keep it as it is; else None. ValueError, half a sentence, for what within a list or a table
    cannot be kept."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        refuse_huge(value)
        if abs(value) <= LARGEST:
            return value
        raise ValueError("it must be finite")
    if isinstance(value, list):
        return [_element(element) for element in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {str(name): _element(element) for name, element in value.items()}
    return None


def _element(value: Any) -> Any:
    """`as_plain` of what stands in a list or a table."""
    plain = as_plain(value)
    if plain is None and value is not None:
        raise ValueError(f"it holds {str(value)[:40]}, which is no number, text, list or table")
    return plain


# --- YAML -----------------------------------------------------------------------------------------------------------------

class _Core(yaml.SafeLoader):
    """A loader that knows null, true, numbers, text, lists and tables, and no more."""
    yaml_implicit_resolvers: ClassVar[dict] = {}
    yaml_constructors: ClassVar[dict] = {}

    def names(self, node: yaml.MappingNode) -> list[str]:
        names: list[str] = []
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in names:
                problem = f"the name '{key.value}' stands twice" if isinstance(key, yaml.ScalarNode) else "a name is no text"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            names.append(key.value)
        return names

    def table(self, node: yaml.MappingNode) -> dict:
        self.names(node)
        return {self.construct_object(key, deep=True): self.construct_object(value, deep=True) for key, value in node.value}

    def sequence(self, node: yaml.SequenceNode) -> list:
        return [self.construct_object(element, deep=True) for element in node.value]

    def text(self, node: yaml.ScalarNode) -> Any:
        return scalar(node.value) if _is_plain(node) else node.value

    def refuse(self, node: yaml.Node) -> None:
        raise yaml.constructor.ConstructorError(None, None, f"the tag {node.tag} is not known", node.start_mark)


for _tag, _make in (("map", _Core.table), ("seq", _Core.sequence), ("str", _Core.text)):
    _Core.add_constructor(f"tag:yaml.org,2002:{_tag}", _make)
_Core.add_constructor(None, _Core.refuse)


def _is_plain(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style is None and node.tag == "tag:yaml.org,2002:str"


def read(text: str) -> Any:
    """What text without quotes is where nothing is asked for: `[1, 2]`, `{a: 1}`, `3`, or itself. ValueError, half a
    sentence, if a name stands twice in it."""
    if not text.lstrip().startswith(("[", "{")):
        return scalar(text)
    try:
        return yaml.load(text, Loader=_Core)
    except yaml.constructor.ConstructorError as error:
        raise ValueError(error.problem) from None
    except (yaml.YAMLError, RecursionError):
        return str(text)


def names_and_values(text: str, file: str) -> dict[str, Any]:
    """What a parameter file says. Values without quotes are `Plain`."""
    try:
        return _names_and_values(_Core(text), file)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" (line {mark.line + 1}: {getattr(error, 'problem', None)})"
        raise UserError(f"{file} is not YAML{where}; write one 'name: value' a line, each name once") from None
    except RecursionError:
        raise UserError(f"{file} is nested too deeply; write one 'name: value' a line") from None
    except OverflowError:
        raise UserError(f"{file} holds a number beyond {LARGEST:.3g} in a list or a table; give less") from None
    except ValueError as error:
        raise UserError(f"{file} has a list or a table with a number that is too small: {error}; write 0 or more") from None


def _names_and_values(loader: _Core, file: str) -> dict[str, Any]:
    node = loader.get_single_node()
    if node is None or (isinstance(node, yaml.ScalarNode) and not node.value):
        raise UserError(f"{file} holds no parameter; write one 'name: value' a line, or leave --params out")
    if not isinstance(node, yaml.MappingNode):
        kind = "list" if isinstance(node, yaml.SequenceNode) else "text"
        raise UserError(f"{file} holds a {kind}, not names and values; write one 'name: value' a line")
    return {name: Plain(value.value) if _is_plain(value) else loader.construct_object(value, deep=True)
            for name, (_, value) in zip(loader.names(node), node.value, strict=True)}

"""Parameters of a notebook: one schema, used by the runner, the sliders and `study params`.

The default stands once, in the notebook's cell tagged `parameters`, beside the reason for it. Type, unit, bounds,
choices and help stand once, in `study/runs/catalogue.py`. A notebook that is not listed there gets a schema of types alone.
"""
import ast
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from study import errors
from study.errors import UserError

KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}
Value = bool | int | float | str


class Parameter(BaseModel):
    """What a value may be. `low` and `high` are inclusive."""
    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["int", "float", "bool", "str"]
    unit: str = ""
    help: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[Value, ...] | None = None

    def range(self) -> str:
        """The bounds or choices in words."""
        if self.choices is not None:
            return ", ".join(map(str, self.choices))
        low, high = (None if bound is None else f"{bound:.12g}" for bound in (self.low, self.high))
        return f"{low} to {high}" if low and high else f"from {low}" if low else f"to {high}" if high else ""


def of_cell(path: Path) -> dict[str, Value]:
    """Names and defaults in the `parameters` cell of a notebook: plain `name = literal` lines, nothing derived.

    A derived value (`b = 2 * n`) would keep its old result when `n` is overridden, so it is an error.
    """
    tagged = [cell for cell in cells(path) if "parameters" in cell.tags]
    if len(tagged) > 1:
        raise UserError(f"{path.name} has {len(tagged)} cells tagged 'parameters'; keep one")
    defaults: dict[str, Value] = {}
    try:
        statements = ast.parse(tagged[0].source).body if tagged else []
    except SyntaxError as error:
        raise UserError(f"{path.name}: line {error.lineno} of the parameters cell is not Python; mend it") from None
    for statement in statements:
        name, value = _assignment(statement, path)
        if name in defaults:
            raise UserError(f"{path.name}: parameter '{name}' is set twice in the parameters cell; keep one line")
        defaults[name] = value
    return defaults


def _assignment(statement: ast.stmt, path: Path) -> tuple[str, Value]:
    line = ast.unparse(statement)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None or len(targets) != 1 \
            or not isinstance(targets[0], ast.Name):
        raise UserError(f"{path.name}: '{line}' in the parameters cell is not 'name = value'; move it to another cell")
    try:
        value = ast.literal_eval(statement.value)
    except ValueError:
        raise UserError(f"{path.name}: '{line}' in the parameters cell is derived, so it would not follow when another "
                        "parameter is overridden; move it to the next cell") from None
    if type(value) not in (bool, int, float, str):
        raise UserError(f"{path.name}: '{line}' in the parameters cell is a {type(value).__name__}; "
                        "use a number, true or false, or text")
    return targets[0].id, value


def schema(path: Path, listed: Mapping[str, Parameter] | None) -> dict[str, tuple[Value, Parameter]]:
    """Default and Parameter by name. `listed` comes from `study/runs/catalogue.py`; None makes one of the defaults'
    types."""
    defaults = of_cell(path)
    if listed is None:
        return {name: (value, Parameter.model_validate({"kind": type(value).__name__})) for name, value in defaults.items()}
    if set(listed) != set(defaults):
        odd = ", ".join(sorted(set(listed) ^ set(defaults)))
        raise UserError(f"{path.name}: the parameters cell and catalogue.py disagree about {odd}; name each in both")
    return {name: (checked(name, value, listed[name]), listed[name]) for name, value in defaults.items()}


def resolve(path: Path, listed: Mapping[str, Parameter] | None, overrides: Mapping[str, Any]) -> dict[str, Value]:
    """All parameters of a run: defaults with `overrides`, each checked, as plain Python values."""
    known = schema(path, listed)
    for name in overrides:
        if name not in known:
            hint = errors.meant(name, known, f"it has {', '.join(known) or 'no parameters'}")
            raise UserError(f"{path.stem} has no parameter '{name}'; {hint}")
    return {name: checked(name, overrides.get(name, default), parameter)
            for name, (default, parameter) in known.items()}


def checked(name: str, value: Any, parameter: Parameter) -> Value:
    """`value` as the plain Python value that `parameter` asks for; UserError when it isn't one or is out of bounds."""
    value = value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value    # NumPy's own scalars
    plain = _converted(value, parameter.kind)
    unit = f" {parameter.unit}" if parameter.unit else ""
    if plain is None:
        why = " (YAML reads an unquoted yes, no, on and off as true or false: put text in quotes)" \
            if isinstance(value, bool) and parameter.kind == "str" else ""
        wanted = KINDS[parameter.kind]
        raise UserError(f"parameter '{name}' is {value!r}, which is not {wanted}{why}; give {wanted}")
    if parameter.choices is not None and plain not in parameter.choices:
        raise UserError(f"parameter '{name}' is {plain!r}{unit}, which is none of "
                        f"{', '.join(map(repr, parameter.choices))}; take one of these")
    if parameter.low is not None and isinstance(plain, int | float) and plain < parameter.low:
        raise UserError(f"parameter '{name}' is {plain}{unit}, below the least of {parameter.low:.12g}; give more")
    if parameter.high is not None and isinstance(plain, int | float) and plain > parameter.high:
        raise UserError(f"parameter '{name}' is {plain}{unit}, above the most of {parameter.high:.12g}; give less")
    return plain


def _converted(value: Any, kind: str) -> Value | None:
    """`value` as `kind`, or None. Text from the command line is read by the type asked for and by nothing else, so that
    1e5 stays a float, 007 stays text where text is asked for, and 0x10 is no number."""
    if kind == "str":
        return value if isinstance(value, str) else None
    if kind == "bool":
        return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) \
            else value if isinstance(value, bool) else None
    if isinstance(value, bool):
        return None
    if kind == "int":
        if isinstance(value, str):
            return int(value) if re.fullmatch(r"\s*[+-]?[0-9]+\s*", value) else None
        return value if isinstance(value, int) else None
    if isinstance(value, str):
        value = float(value) if re.fullmatch(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", value) else math.nan
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def from_command_line(pairs: list[str]) -> dict[str, str]:
    """`-p NAME=VALUE` options as a dict."""
    overrides = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UserError(f"-p {pair} is not NAME=VALUE; write for example -p seed=7")
        if name in overrides:
            raise UserError(f"-p gives '{name}' twice; give it once")
        overrides[name] = value
    return overrides


def from_yaml(path: Path) -> dict[str, Any]:
    """A parameter file: one `name: value` a line."""
    import yaml
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UserError(f"cannot read the parameter file {path} ({error.strerror}); check the path") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" (line {mark.line + 1}: {getattr(error, 'problem', None)})"
        raise UserError(f"{path} is not YAML{where}; write one 'name: value' a line") from None
    if content is None:
        raise UserError(f"{path} holds no parameter; write one 'name: value' a line, or leave --params out")
    if not isinstance(content, dict):
        raise UserError(f"{path} holds a {type(content).__name__}, not names and values; write one 'name: value' a line")
    return content


class Cell(NamedTuple):
    kind: str                 # 'code' or 'markdown'
    source: str
    tags: tuple[str, ...]


def cells(path: Path) -> list[Cell]:
    """The cells of a notebook, read as the JSON they are: nbformat would take a second to import for nothing more."""
    try:
        content = json.loads(path.read_text())
        return [Cell(cell["cell_type"], "".join(cell["source"]), tuple(cell["metadata"].get("tags", ())))
                for cell in content["cells"]]
    except OSError as error:
        raise UserError(f"cannot read the notebook {path} ({error.strerror}); check the name") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{path} is not a notebook of format 4; restore it, or open it in JupyterLab and save it") from None

"""Parameters of a notebook: one schema, used by the runner, the sliders and `study params`.

The default stands once, in the notebook's cell tagged `parameters`, beside the reason for it. Type, unit, bounds, choices
and help stand once, in `study/runs/catalogue.py`. A notebook of the user's own is not listed there. Its types are those of
the annotations or else of the defaults, its help is the comment on the line.
"""
import ast
import io
import math
import operator
import re
import tokenize
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from study import errors, given_files
from study.errors import UserError
from study.runs import scalars
from study.runs.notebook_file import cells
from study.runs.scalars import Plain

TAG = "parameters"      # of the cell that sets them
OF_PYTHON = r"\A\s*%%(?:time|capture)\b.*"     # magics of a cell that is Python all the same
MAX_SHOWN = 77          # letters of a value that a message shows
MAX_BITS = 200          # of a whole number that it shows
KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text", "list": "a list",
         "dict": "a table of names and values", "any": "a plain value"}
Value = bool | int | float | str
Kept = Value | list | dict | None       # what a parameter of the user's own notebook may be besides


class Parameter(BaseModel):
    """What a value may be. `low` and `high` are inclusive. Where it is `optional` it may be None."""
    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["int", "float", "bool", "str", "list", "dict", "any"]
    optional: bool = False
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


class Line(NamedTuple):
    """What a line of the parameters cell says."""
    default: Kept
    annotation: str
    help: str


def of_cell(path: Path) -> dict[str, Kept]:
    """Names and defaults in the `parameters` cell of a notebook."""
    return {name: line.default for name, line in lines_of_cell(path).items()}


def lines_of_cell(path: Path) -> dict[str, Line]:
    """Names and lines in the `parameters` cell of a notebook: `name = value`, where a value is written out and not derived.

    A derived value (`b = 2 * n`) would keep its old result when `n` is overridden, so it is an error. Imports, magics and
    text that stands by itself are passed over. A UserError names all that is wrong.
    """
    tagged = [cell for cell in cells(path) if TAG in cell.tags]
    if len(tagged) > 1:
        raise UserError(f"{path.name} has {len(tagged)} cells tagged '{TAG}'; keep one")
    known: dict[str, Line] = {}
    wrong: list[str] = []
    source = _without_magics(tagged[0].source) if tagged else ""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{path.name}: line {getattr(error, 'lineno', 1)} of the parameters cell is not Python; mend it") \
            from None
    comments = _comments(source)
    for statement in statements:
        if _is_passed_over(statement):
            continue
        try:
            name, value, annotation = _assignment(statement)
        except UserError as error:
            wrong.append(str(error))
            continue
        if name in known:
            wrong.append(f"parameter '{name}' is set twice in the parameters cell; keep one line")
            continue
        comment = comments.get(statement.end_lineno or 0, "")
        kind = re.match(r"type:\s*(\S+)\s*", comment)
        known[name] = Line(value, annotation or (kind[1] if kind else ""), comment[kind.end():] if kind else comment)
    if wrong:
        raise UserError(f"{path.name}: {'; '.join(wrong)}")
    return known


def without_parameters(path: Path) -> str:
    """Why a notebook has no parameters, in a sentence, and how it gets some; "" if it has a cell for them."""
    of_notebook = cells(path)
    if any(TAG in cell.tags for cell in of_notebook):
        return ""
    near = next((tag for cell in of_notebook for tag in cell.tags if tag.lower() in (TAG, "parameter")), "")
    if near:
        return f"its tag '{near}' is not '{TAG}'; rename it"
    if any(re.match(r"#\s*(\+|%%).*\bparameters\b", cell.source) for cell in of_notebook):
        return f"no cell has the tag '{TAG}': a line of jupytext in an .ipynb is a comment; tag the cell in JupyterLab"
    return f"no cell has the tag '{TAG}'; give it to the cell that sets them"


def _without_magics(source: str) -> str:
    """A cell as Python: of one that is none, lines of IPython are the calls that IPython makes of them."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        from IPython.core.inputtransformer2 import TransformerManager
        return TransformerManager().transform_cell(re.sub(OF_PYTHON, "", source))
    return source


def _is_passed_over(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant) or \
            bool(re.match(r"get_ipython\(\)\.(?!run_cell_magic\()\w+\(", ast.unparse(statement)))
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _comments(source: str) -> dict[int, str]:
    """By line."""
    return {token.start[0]: token.string.lstrip("# ").strip()
            for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == tokenize.COMMENT}


def _assignment(statement: ast.stmt) -> tuple[str, Kept, str]:
    """Name, value and annotation. UserError, one sentence, for another statement."""
    line = ast.unparse(statement).partition("\n")[0]
    if of_cell := re.match(r"get_ipython\(\)\.run_cell_magic\('(\w+)'", line):
        raise UserError(f"the parameters cell begins with %%{of_cell[1]}, so it sets no parameters; take that line away")
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None or len(targets) != 1 \
            or not isinstance(targets[0], ast.Name):
        raise UserError(f"'{line}' in the parameters cell is not 'name = value'; move it to another cell")
    try:
        value = _written_out(statement.value)
    except ArithmeticError as error:
        raise UserError(f"'{line}' in the parameters cell is no number ({error}); write one") from None
    except TypeError as error:
        raise UserError(f"'{line}' in the parameters cell is {error}; use a number, true or false, text, None, or a list or "
                        "a dictionary of these") from None
    except ValueError:
        raise UserError(f"'{line}' in the parameters cell is derived, so it would not follow when another parameter is "
                        "overridden; move it to the next cell") from None
    annotation = statement.annotation if isinstance(statement, ast.AnnAssign) else None
    return targets[0].id, value, "" if annotation is None else ast.unparse(annotation).strip("'\"")


CALCULATED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
              ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}
LARGEST_POWER = 1023


def _written_out(node: ast.expr) -> Kept:
    """A value of constants alone, calculated where it is of numbers. ValueError if it is derived, TypeError if it is of
    another kind, ArithmeticError if the numbers give none."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool | int | float | str)):
        return node.value
    if isinstance(node, ast.List):
        return [_written_out(element) for element in node.elts]
    if isinstance(node, ast.Dict):
        names = [None if key is None else _written_out(key) for key in node.keys]
        if not all(isinstance(name, str) for name in names):
            raise TypeError("a dictionary with names that are no text")
        return {str(name): _written_out(value) for name, value in zip(names, node.values, strict=True)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _number(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in CALCULATED:
        left, right = _number(node.left), _number(node.right)
        if isinstance(node.op, ast.Pow) and not (abs(right) <= LARGEST_POWER and abs(left) < 2**64):
            raise OverflowError(f"the power {right} of {left} is too large")
        return CALCULATED[type(node.op)](left, right)
    if isinstance(node, ast.Tuple | ast.Set | ast.Constant):
        kind = type(node.value) if isinstance(node, ast.Constant) else tuple if isinstance(node, ast.Tuple) else set
        raise TypeError(f"a {kind.__name__}")
    raise ValueError


def _number(node: ast.expr) -> int | float:
    value = _written_out(node)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return value


# What annotations say, without spaces, `typing.` and None. Of what is not among these the default's own type holds.
ANNOTATED = {"int": "int", "float": "float", "bool": "bool", "str": "str", "list": "list", "dict": "dict", "Any": "any",
             "List": "list", "Dict": "dict", "Sequence": "list", "Mapping": "dict", "int|float": "float",
             "float|int": "float"}


def _of_line(line: Line) -> Parameter:
    """The Parameter of a notebook that is not listed."""
    text = re.sub(r"\s|\btyping\.|\bt\.", "", line.annotation)
    may_be_none = line.default is None or bool(re.search(r"^Optional\[|\|None$|^None\|", text))
    text = re.sub(r"^Optional\[(.*)\]$|\|None$|^None\|", r"\1", text)
    text = re.sub(r"^Union\[(.*)\]$", lambda union: union[1].replace(",", "|"), text)
    of_default = "any" if line.default is None else type(line.default).__name__
    kind = ANNOTATED.get(re.sub(r"\[.*\]$", "", text), of_default)
    choices = _choices(line.annotation)
    return Parameter.model_validate({"kind": type(choices[0]).__name__ if choices else kind, "optional": may_be_none,
                                     "help": line.help, "choices": choices})


def _choices(annotation: str) -> tuple[Value, ...] | None:
    """Of `Literal[…]`, of one kind, alone or besides None; else None."""
    try:
        members = [member for member in _members(ast.parse(annotation, mode="eval").body) if ast.unparse(member) != "None"]
        if not all(_generic(member) == "Literal" for member in members):
            return None
        values = tuple(ast.literal_eval(value) for member in members for value in _arguments(member))
    except (ValueError, SyntaxError):
        return None
    kinds = {type(value) for value in values}
    return values if len(kinds) == 1 and kinds <= {bool, int, float, str} else None


def _members(annotation: ast.expr) -> list[ast.expr]:
    """What an Optional or a Union is of; else the annotation itself."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _members(annotation.left) + _members(annotation.right)
    if _generic(annotation) in ("Optional", "Union"):
        return [member for argument in _arguments(annotation) for member in _members(argument)]
    return [annotation]


def _generic(annotation: ast.expr) -> str:
    """`Literal` of `typing.Literal[…]`; "" if it has no brackets."""
    return ast.unparse(annotation.value).rpartition(".")[2] if isinstance(annotation, ast.Subscript) else ""


def _arguments(annotation: ast.expr) -> list[ast.expr]:
    """What stands in its brackets."""
    assert isinstance(annotation, ast.Subscript)
    return annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]


def schema(path: Path, listed: Mapping[str, Parameter] | None) -> dict[str, tuple[Kept, Parameter]]:
    """Default and Parameter by name. `listed` comes from `study/runs/catalogue.py`; None makes one of annotations and
    defaults."""
    lines = lines_of_cell(path)
    if listed is None:
        listed = {name: _of_line(line) for name, line in lines.items()}
    if set(listed) != set(lines):
        odd = ", ".join(sorted(set(listed) ^ set(lines)))
        raise UserError(f"{path.name}: the parameters cell and catalogue.py disagree about {odd}; name each in both")
    return {name: (checked(name, line.default, listed[name]), listed[name]) for name, line in lines.items()}


def resolve(path: Path, listed: Mapping[str, Parameter] | None, overrides: Mapping[str, Any],
            secrets: Collection[str] = ()) -> dict[str, Kept]:
    """All parameters of a run but the `secrets`: defaults with `overrides`, each checked, as plain Python values. UserError
    with all that is wrong."""
    known = schema(path, listed)
    wrong = [complaint for name in dict.fromkeys([*overrides, *secrets])
             if (complaint := _wrong_name(path, known, name, name in overrides, name in secrets))]
    values = {}
    for name, (default, parameter) in known.items():
        if name not in secrets:
            try:
                values[name] = checked(name, overrides.get(name, default), parameter)
            except UserError as error:
                wrong.append(str(error))
    if wrong:
        raise UserError("; ".join(wrong))
    return values


def _wrong_name(path: Path, known: Mapping[str, tuple[Kept, Parameter]], name: str, is_given: bool, is_secret: bool) -> str:
    """Why a parameter cannot be given so; "" if it can."""
    if name not in known:
        hint = errors.meant(name, known, f"it has {', '.join(known)}" if known else
                            without_parameters(path) or "its cell for them is empty")
        return f"{path.stem} has no parameter '{name}'; {hint}"
    if is_secret and is_given:
        return f"parameter '{name}' is given and is secret; give it by --secret alone"
    if is_secret and known[name][1].kind not in ("str", "any"):
        return f"parameter '{name}' is {KINDS[known[name][1].kind]}, but only text can be secret; use -p"
    return ""


def checked(name: str, value: Any, parameter: Parameter) -> Kept:
    """`value` as the plain Python value that `parameter` asks for; UserError when it isn't one or is out of bounds."""
    value = value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value    # NumPy's own scalars
    if parameter.optional and (value is None or (isinstance(value, Plain) and scalars.is_null(value))):
        return None
    try:
        plain = _converted(value, parameter.kind)
    except OverflowError:
        raise UserError(f"parameter '{name}' is {_shown(value)}, but numbers go from -{scalars.LARGEST:.3g} to "
                        f"{scalars.LARGEST:.3g}; give one of these") from None
    except ValueError as error:
        raise UserError(f"parameter '{name}' is {_shown(value)}, but {error}; mend it") from None
    unit = f" {parameter.unit}" if parameter.unit else ""
    if plain is None:
        wanted = KINDS[parameter.kind] + (" or null" if parameter.optional else "")
        raise UserError(f"parameter '{name}' is {_shown(value)}, which is not {wanted}; give {wanted}")
    if parameter.choices is not None and plain not in parameter.choices:
        raise UserError(f"parameter '{name}' is {plain!r}{unit}, which is none of "
                        f"{', '.join(map(repr, parameter.choices))}; take one of these")
    if parameter.low is not None and isinstance(plain, int | float) and plain < parameter.low:
        raise UserError(f"parameter '{name}' is {plain}{unit}, below the least of {parameter.low:.12g}; give more")
    if parameter.high is not None and isinstance(plain, int | float) and plain > parameter.high:
        raise UserError(f"parameter '{name}' is {plain}{unit}, above the most of {parameter.high:.12g}; give less")
    return plain


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(str(value) if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]}…")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return f"a number of {value.bit_length()} bits"
    shown = repr(value)
    return shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}…"


def _converted(value: Any, kind: str) -> Kept:
    """`value` as `kind`, or None. Text is read by the type asked for and by nothing else. So 1e5 stays a float, and 007
    stays text where text is asked for. OverflowError if it is a number beyond all bounds; ValueError, half a sentence, if it
    is infinite or holds a name twice."""
    if kind == "str":
        return str(value) if isinstance(value, str) else None
    if kind in ("list", "dict", "any"):
        read = scalars.read(value) if isinstance(value, Plain) else value
        fits = kind == "any" or isinstance(read, list if kind == "list" else dict)
        return scalars.as_plain(read) if fits else None
    if isinstance(value, str):
        value = {"bool": scalars.boolean, "int": scalars.whole, "float": scalars.number}[kind](value.strip())
    if kind == "bool" or isinstance(value, bool):
        return value if kind == "bool" and isinstance(value, bool) else None
    if not isinstance(value, int | float):
        return None
    scalars.refuse_huge(value)
    if kind == "int":
        return value if isinstance(value, int) else None
    if not math.isfinite(value):
        raise ValueError("it must be finite")
    return float(value)


def from_command_line(pairs: list[str]) -> dict[str, Any]:
    """`-p NAME=VALUE` options as a dict."""
    overrides: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UserError(f"-p {pair} is not NAME=VALUE; write for example -p seed=7")
        if name in overrides:
            raise UserError(f"-p gives '{name}' twice; give it once")
        overrides[name] = Plain(value)
    return overrides


def from_yaml(path: Path) -> dict[str, Any]:
    """A parameter file: one `name: value` a line. Values that are not in quotes are read as those of `-p`."""
    given_files.refuse_endless(path, given_files.TEXT)
    try:
        return scalars.names_and_values(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise UserError(f"cannot read the parameter file {path} ({error.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not YAML (no UTF-8 text); write one 'name: value' a line") from None

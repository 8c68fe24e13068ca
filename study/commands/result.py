"""How a verb prints its result: as text, or with --json as JSON. There is no other way."""
import json
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from study.console import out

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def give(result: Any, as_json: bool, say: Callable[[], object]) -> None:
    """The result of a verb, on standard output: as JSON, or as text by `say()`."""
    if as_json:
        out.out(in_json(result), highlight=False)
    else:
        say()


def in_json(result: Any) -> str:
    """A table becomes a list of its rows; null stands for a number that is not finite."""
    return json.dumps(_plain(result), indent=1, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """The same in JSON types."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    for method, given in (("to_dict", ("records",)), ("_asdict", ()), ("tolist", ())):      # frame, NamedTuple, NumPy
        if hasattr(value, method):
            return _plain(getattr(value, method)(*given))
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if value != value else str(value)

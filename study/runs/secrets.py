"""Secret parameters: a notebook gets them, and nothing that is written has them.

    study run mine.ipynb --secret token

The value comes from the environment variable of that name, or is asked for on the terminal. It reaches the kernel by a file
that only its owner can read and that is gone before the first cell runs. Whatever the notebook shows or records as text is
written with `(secret)` in its place; a picture is not looked into. The identity of a run has the name and not the value.
"""
import getpass
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from study.errors import UserError

HIDDEN = "(secret)"
SHORTEST = 8        # what is shorter could not be told from other text
FILE = "secrets.json"

_taken: dict[str, str] = {}


def asked_for(names: Iterable[str]) -> dict[str, str]:
    """Values of the secrets `names`. Raises UserError where there is none, or none that can be hidden."""
    values = {}
    for name in names:
        value = os.environ.get(name)
        if value is None and sys.stdin is not None and sys.stdin.isatty():
            value = getpass.getpass(f"{name}: ")
        if value is None:
            raise UserError(f"the secret '{name}' has no value; set the environment variable {name}")
        if len(value) < SHORTEST:
            raise UserError(f"the secret '{name}' has {len(value)} characters, but one of less than {SHORTEST} could not be "
                            "told from other text and hidden; take a longer one")
        values[name] = value
    return values


def hidden(content: Any, values: Mapping[str, str]) -> Any:
    """`content`, made of texts, lists and dicts, with no secret in it."""
    if isinstance(content, str):
        for value in values.values():
            for form in {value, json.dumps(value)[1:-1], repr(value)[1:-1]}:
                content = content.replace(form, HIDDEN)
        return content
    if isinstance(content, Mapping):
        return {hidden(name, values): hidden(value, values) for name, value in content.items()}
    return [hidden(value, values) for value in content] if isinstance(content, list) else content


def hide_in(folder: Path, values: Mapping[str, str]) -> None:
    """In all files of a folder that are text."""
    for path in sorted(folder.rglob("*")) if values else ():
        if path.suffix in (".ipynb", ".json", ".jsonl", ".log", ".svg"):
            before = path.read_text(encoding="utf-8", errors="surrogateescape")
            if (after := hidden(before, values)) != before:
                path.write_text(after, encoding="utf-8", errors="surrogateescape")


def line_for(name: str) -> str:
    """The line of a notebook that sets a secret parameter."""
    return f'{name} = __import__("study.runs.secrets", fromlist=["value"]).value("{name}")'


# --- in the kernel --------------------------------------------------------------------------------------------------------

def give(sockets: Path, values: Mapping[str, str]) -> None:
    """Lay down what the kernel is to take, in a folder that is its owner's alone."""
    (sockets / FILE).write_text(json.dumps(dict(values)), encoding="utf-8")


def take(sockets: Path) -> None:
    """The kernel reads its secret parameters, and removes the file that had them."""
    file = sockets / FILE
    if file.exists():
        _taken.update(json.loads(file.read_text(encoding="utf-8")))
        file.unlink()


def value(name: str) -> str:
    """The value of a secret parameter that this kernel was given."""
    return _taken[name]

"""Modules of the user's own: those beside a notebook that it imports, and those that they import in turn.

Only imports are followed, so that a notebook may lie in a folder with anything else. What is imported in another way is
seen while the notebook runs (`study.runs.inputs`).
"""
import ast
from collections.abc import Iterable, Iterator
from importlib.util import resolve_name
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager

from model.jit import sources

OURS = [sources.ROOT / name for name in sources.PACKAGES]     # these are known by what they do (`model.jit.sources`)


def modules(folder: Path, code: Iterable[str]) -> list[Path]:
    """Files of the modules in `folder` and its packages that some cells reach by imports, sorted."""
    reached: set[Path] = set()
    to_read = [(text, "") for text in code]
    while to_read:
        for path in _files(folder, *to_read.pop()):
            if path not in reached and not any(path.is_relative_to(ours) for ours in OURS):
                reached.add(path)
                package = ".".join(path.parent.relative_to(folder).parts)
                to_read.append((path.read_text(encoding="utf-8", errors="replace"), package))
    return sorted(reached)


def _files(folder: Path, text: str, package: str) -> Iterator[Path]:
    """Of each name that a text in `package` imports, the module and the packages it lies in. All modules of the folder if
    that cannot be told."""
    names = _imported(text)
    if names is None:
        yield from folder.glob("*.py")
        return
    for name in names:
        parts = _absolute(name, package).split(".")
        for base in (folder.joinpath(*parts[:n]) for n in range(1, len(parts) + 1)):
            yield from (path for path in (base.with_name(f"{base.name}.py"), base / "__init__.py") if path.is_file())


def _absolute(name: str, package: str) -> str:
    """What a relative name means in a package; as it is where there is no such package."""
    try:
        return resolve_name(name, package)
    except ImportError:
        return name.lstrip(".")


def _imported(text: str) -> set[str] | None:
    """Dotted names that a text imports, which may have IPython's own lines; None if that cannot be told."""
    try:
        nodes = list(ast.walk(ast.parse(TransformerManager().transform_cell(text))))
    except (SyntaxError, ValueError):
        return None
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            base = "." * node.level + (f"{node.module}." if node.module else "")
            names |= {base + alias.name for alias in node.names}
    return names

"""The file of a notebook: its cells, and the language that it is of."""
import json
from pathlib import Path
from typing import Any, NamedTuple

from study import given_files
from study.errors import UserError


class Cell(NamedTuple):
    """A cell as the file has it."""
    kind: str                 # 'code' or 'markdown'
    source: str
    tags: tuple[str, ...]


def cells(path: Path) -> list[Cell]:
    """The cells of a notebook, read as the JSON they are: nbformat would take a second to import for nothing more."""
    return _read(path)[1]


def refuse_other_languages(path: Path) -> None:
    """UserError if a notebook is not of Python, by the language or else by the kernel that it names."""
    metadata, _ = _read(path)
    kernel, about = ({**(metadata.get(part) or {})} for part in ("kernelspec", "language_info"))
    languages = [str(name) for name in (kernel.get("language"), about.get("name")) if name]
    names = [str(name) for name in (kernel.get("name"), kernel.get("display_name")) if name]
    other = next((name for name in languages if "python" not in name.lower()), None)
    if other or (not languages and names and not any("py" in name.lower() for name in names)):
        raise UserError(f"{path.name} is of {other or f'the kernel {names[0]}'}, but only notebooks in Python are run; take "
                        "another one, or choose a Python kernel for it in JupyterLab")


def _read(path: Path) -> tuple[dict[str, Any], list[Cell]]:
    """Metadata and cells of a notebook, which is UTF-8 whatever the language of the system."""
    given_files.refuse_endless(path, given_files.PRINTED)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return dict(content.get("metadata") or {}), [
            Cell(cell["cell_type"], "".join(cell["source"]), tuple(cell["metadata"].get("tags", ())))
            for cell in content["cells"]]
    except OSError as error:
        raise UserError(f"cannot read the notebook {path} ({error.strerror}); check the name") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{path} is not a notebook of format 4; restore it, or open it in JupyterLab and save it") from None

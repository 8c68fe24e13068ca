"""JupyterLab saves the notebooks of the study without outputs, as they are committed: an extension of its server.

On the page outputs stay until the notebook is closed. Its file keeps the text alone, so that neither tests nor `git pull`
meet a file that a look at a notebook has changed. What is folded or hidden on the page is no text either. All other
notebooks are saved as they are.
"""
from pathlib import Path
from typing import Any

from study.project import NOTEBOOKS
from study.runs import catalogue

EXTENSION = __name__


def without_outputs(content: dict[str, Any]) -> None:
    """Take out of a notebook what is not its text: all but tags, kernel and language. `set_up.py` has a rule for git."""
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        cell["metadata"] = {"tags": tags} if (tags := cell["metadata"].get("tags")) else {}
    content["metadata"] = {name: content["metadata"][name] for name in ("kernelspec", "language_info")
                           if name in content["metadata"]}
    if "language_info" in content["metadata"]:
        content["metadata"]["language_info"] = {"name": content["metadata"]["language_info"].get("name", "python")}


def before_saving(model: dict[str, Any], path: str, contents_manager: Any, **_: Any) -> None:
    """Outputs of a notebook of the study are left out of what is saved."""
    place = Path(contents_manager.root_dir, path.strip("/")).resolve()
    of_the_study = place.parent == NOTEBOOKS and place.stem in {*catalogue.STUDY, "index"}
    if model["type"] == "notebook" and model.get("content") and of_the_study:
        without_outputs(model["content"])


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": EXTENSION}]


def _load_jupyter_server_extension(server: Any) -> None:
    server.contents_manager.register_pre_save_hook(before_saving)

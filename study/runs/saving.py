"""JupyterLab saves the notebooks of the study without outputs, as they are committed: an extension of its server.

On the page outputs stay until the notebook is closed. Its file keeps the text alone, so that neither tests nor `git pull`
meet a file that a look at a notebook has changed. Notebooks anywhere else are saved as they are.
"""
from pathlib import Path
from typing import Any

from study.project import NOTEBOOKS

EXTENSION = __name__
OF_A_CELL = ("papermill", "collapsed", "ExecuteTime", "execution", "heading_collapsed", "hidden", "scrolled")
OF_ALL = ("papermill", "signature", "widgets")


def without_outputs(content: dict[str, Any]) -> None:
    """Take out of a notebook what is not its text. `set_up.py` has the same rule for git."""
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        for name in OF_A_CELL:
            cell["metadata"].pop(name, None)
    for name in OF_ALL:
        content["metadata"].pop(name, None)
    if "language_info" in content["metadata"]:
        content["metadata"]["language_info"] = {"name": content["metadata"]["language_info"].get("name", "python")}


def before_saving(model: dict[str, Any], path: str, contents_manager: Any, **_: Any) -> None:
    """Outputs of a notebook of the study are left out of what is saved."""
    place = Path(contents_manager.root_dir, path.strip("/")).resolve()
    if model["type"] == "notebook" and model.get("content") and place.parent == NOTEBOOKS:
        without_outputs(model["content"])


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": EXTENSION}]


def _load_jupyter_server_extension(server: Any) -> None:
    server.contents_manager.register_pre_save_hook(before_saving)

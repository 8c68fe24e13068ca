"""How outputs look in JupyterLab and on exported pages: `custom.css`, which JupyterLab's option `custom_css` asks for.

An extension of its server says where that file is. `labextensions/study-comms` is one of its page: it sees to it that a
notebook which is opened again has its widgets.
"""
from pathlib import Path
from typing import Any

EXTENSION = __name__
FOLDER = Path(__file__).parent
SHEET = FOLDER / "custom.css"       # a name that JupyterLab gives


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": EXTENSION}]


def _link_jupyter_server_extension(server: Any) -> None:
    """Before JupyterLab reads where to look."""
    server.static_custom_path = [str(FOLDER), *server.static_custom_path]


def _load_jupyter_server_extension(server: Any) -> None:
    """All is done."""

"""`study lab`: JupyterLab, told where to begin, what to save and what not to ask for."""
import json
import os
import sys
from pathlib import Path

import typer

# JupyterLab asks for news and updates over the network unless told otherwise, and then still whether it may.
QUIET = ("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")
WITHOUT_OUTPUTS = ("--ServerApp.jpserver_extensions=study.runs.saving=True",)      # committed notebooks have none
LOOK = ("--LabApp.custom_css=True", "--ServerApp.jpserver_extensions=study.runs.look=True")
WIDGETS = "--LabApp.extra_labextensions_path="      # a notebook that is opened again gets its widgets
FIRST = ("--LabApp.default_url=/lab/tree/notebooks/index.ipynb",)
PAGE = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
# Documents open as pages, not as their source.
SETTINGS = {"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}}}
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}        # options of JupyterLab's own


def lab(context: typer.Context) -> None:
    """Open JupyterLab on notebooks/index.ipynb; the run store is made first. JupyterLab's own options are passed on."""
    from study.project import ROOT, write_atomically
    from study.runs import checked_cells, look
    from study.store import store
    store.refresh()
    config = Path(sys.prefix) / "etc/jupyter/labconfig"
    write_atomically(config / "page_config.json", json.dumps(PAGE))
    write_atomically(config / "default_setting_overrides.json", json.dumps(SETTINGS))
    checked_cells.write_settings()
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    os.environ["PYTHONUTF8"] = "1"
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *root, *QUIET, *WITHOUT_OUTPUTS, *LOOK, *FIRST,
                              f"{WIDGETS}{look.FOLDER / 'labextensions'}", *context.args])

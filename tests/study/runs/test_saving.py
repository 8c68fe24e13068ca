"""JupyterLab as `make lab` starts it: what it saves of a notebook of the study is its text."""
import contextlib
import json
import os
import socket
import time
import urllib.request

import pytest
from conftest import command

from study.project import NOTEBOOKS, ROOT
from support.processes import run, started

pytestmark = pytest.mark.slow


def ask(url, content=None):
    request = urllib.request.Request(
        f"{url}?token=study", None if content is None else json.dumps(content).encode(),
        {"Content-Type": "application/json"}, method="GET" if content is None else "PUT")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def test_outputs_that_jupyterlab_saves_do_not_reach_the_file(tmp_path):
    path = NOTEBOOKS / "00_claims.ipynb"
    before = path.read_bytes()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = command("lab", "--no-browser", f"--ServerApp.port={port}", "--IdentityProvider.token=study")
    environment = dict(os.environ, JUPYTER_CONFIG_DIR=str(tmp_path), JUPYTER_RUNTIME_DIR=str(tmp_path),
                       STUDY_RUNS=str(tmp_path / "runs"))
    url = f"http://127.0.0.1:{port}/api/contents/notebooks/{path.name}"
    with open(tmp_path / "log", "w") as log, started(words, env=environment, stdout=log, stderr=log):
        deadline, model = time.monotonic() + 120, None
        while model is None:
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()
            with contextlib.suppress(OSError):
                model = ask(url)
            time.sleep(0.2)
        for cell in model["content"]["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "an output"}]
        try:
            ask(url, {"type": "notebook", "format": "json", "content": model["content"]})
            assert b"an output" not in path.read_bytes()
        finally:
            path.write_bytes(before)
            run(["git", "update-index", "-q", "--refresh"], cwd=ROOT)   # or every look at the state filters it for a second

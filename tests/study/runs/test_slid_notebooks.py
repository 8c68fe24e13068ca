"""Every notebook that needs no other one runs to its end, and its sliders redraw and keep. Two do in a browser
(`test_jupyterlab.py`)."""

import pytest

from drivers import notebooks
from study.project import NOTEBOOKS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.mark.parametrize("name", notebooks.BOOKS)
def test_a_notebook_runs_and_its_sliders_redraw_the_figure(folder, name):
    done = notebooks.run(name, folder)
    assert done["errors"] == []
    assert done["ran"] > 0
    assert len(done["slid"]) == (NOTEBOOKS / name).read_text().count("sliders.explore(")
    for slid in done["slid"]:
        assert slid["is_moved"]
        assert slid["is_redrawn"]
        assert "The picture is of these values" in slid["says"]
        assert "Kept as run" in slid["kept"]

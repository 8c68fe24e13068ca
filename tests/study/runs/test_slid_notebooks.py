"""The sliders of every notebook that needs no other one redraw and keep. Two do in a browser (`test_jupyterlab.py`).

Notebooks run to their ends in `make reproduce`. One does here, as a reader runs it: cell by cell, outside of a batch.
"""

import pytest

from drivers import notebooks
from study.project import NOTEBOOKS

pytestmark = pytest.mark.slow
WHOLE = "11_your_runs.ipynb"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def test_of_a_notebook_the_cells_are_kept_that_its_sliders_need():
    code = ["import numpy as np\nfrom study.runs import sliders", "n = 3", "costly = np.ones(n)",
            "def draw(n):\n    return n", "sliders.explore(draw, n=n)", "n = costly"]
    assert notebooks.needed(code) == [code[0], code[1], code[3], code[4]]
    changed = ["d = {}", "d['a'] = 1", "n = 1", "n += 1", "other = 2", "sliders.explore(d, n)"]
    assert notebooks.needed(changed) == [*changed[:4], changed[5]]
    in_place = ["d = {}", "d.update(a=1)", "e = 1", "if d:\n    e = 2", "del d['b']", "print(d)", "sliders.explore(d, e)"]
    assert notebooks.needed(in_place) == [*in_place[:5], in_place[6]]
    local = ["table = costly()", "rows = 3", "def draw(n):\n    return [n * row for row in range(rows)]",
             "sliders.explore(draw, lambda table: [row for row in table], n=1)"]
    assert notebooks.needed(local) == local[1:]
    recorded = ["from study.runs import record, sliders", "a = costly()\nrecord.metric('a', a)", "n = 1",
                "record.metric('n', n)\nsliders.explore(n)"]
    assert notebooks.needed(recorded) == [recorded[0], *recorded[2:]]
    shadowed = ["from study.runs import record", "record = []", "record.append(1)", "sliders.explore(record)"]
    assert notebooks.needed(shadowed) == shadowed[1:]


@pytest.mark.parametrize(("name", "whole"), [(name, name == WHOLE) for name in notebooks.BOOKS])
def test_the_sliders_of_a_notebook_redraw_the_figure(folder, name, whole):
    done = notebooks.run(name, folder, whole)
    assert done["errors"] == []
    assert done["ran"] > 0
    assert len(done["slid"]) == (NOTEBOOKS / name).read_text().count("sliders.explore(")
    for slid in done["slid"]:
        assert slid["is_moved"]
        assert slid["is_redrawn"]
        assert "The picture is of these values" in slid["says"]
        assert "Kept as run" in slid["kept"]

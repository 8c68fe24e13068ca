"""A long cell of a notebook shows how many of its runs are done; a batch, a slider and parts of parts do not."""
from types import SimpleNamespace

import pytest

from study.ensembles import processors
from study.runs import progress


@pytest.fixture
def shown(monkeypatch):
    """What a cell of a notebook shows, one state after the other."""
    states = []
    handle = SimpleNamespace(display=lambda data, raw: states.append(data), update=lambda data, raw: states.append(data))
    monkeypatch.setattr(progress, "DisplayHandle", lambda: handle)
    monkeypatch.setattr(progress, "get_ipython", lambda: SimpleNamespace(kernel=None))
    monkeypatch.delenv("STUDY_RUN", raising=False)
    return states


def test_a_cell_counts_its_runs_and_the_count_is_gone_at_the_end(shown):
    assert processors.on_all_processors(lambda n: n * n, [(1,), (2,)]) == [1, 4]
    assert [state["text/plain"] for state in shown] == ["0 of 2 runs", "1 of 2 runs", ""]
    assert 'value="1" max="2"' in shown[1]["text/html"]
    assert shown[-1]["text/html"] == ""


def test_a_part_of_a_part_is_not_counted_apart(shown):
    processors.on_all_processors(lambda n: processors.on_all_processors(abs, [(n,)]), [(1,), (2,)])
    assert len(shown) == 3


def test_a_batch_and_a_slider_show_no_count(shown, monkeypatch, tmp_path):
    with progress.telling(progress.silent):
        processors.on_all_processors(abs, [(1,)])
    monkeypatch.setenv("STUDY_RUN", str(tmp_path))
    processors.on_all_processors(abs, [(1,)])
    assert shown == []

"""The first page of JupyterLab: every notebook, what came out, and links that open."""
import ast
import html
import json

import pytest

from study.commands import overview, status
from study.commands.documentation import answer_list, results_tables
from study.project import NOTEBOOKS
from study.runs import catalogue
from study.runs.plan import plan

INDEX = json.loads((NOTEBOOKS / "index.ipynb").read_text())


@pytest.fixture(scope="module")
def without_runs(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUDY_RUNS", str(tmp_path_factory.mktemp("runs")))
        return overview.entries()


def test_every_notebook_has_a_row_a_figure_and_something_that_came_out(without_runs):
    names = [path.stem for path in catalogue.books()]
    assert [entry.name for entry in without_runs] == names
    assert all(entry.rows and entry.time for entry in without_runs)
    assert set(overview.FACES) == set(names)
    for name, figure in overview.FACES.items():
        assert f'"{figure}' in (NOTEBOOKS / f"{name}.ipynb").read_text().replace("\\", ""), name


def test_what_has_not_been_run_here_shows_the_committed_results(without_runs):
    shown = overview.table(without_runs)
    assert shown.count("these are the committed results") == len(without_runs)
    assert '<a href="04_oltp_gain.ipynb">' in shown
    assert "grade: predicted." in shown
    assert all(answer.text in html.unescape(shown) for answer in answer_list.in_short())
    assert shown.count("<img") == 1     # README's


def test_status_takes_the_time_that_the_notebook_itself_tells(runs):
    path = NOTEBOOKS / "06_exchange.ipynb"
    assert "Run it as it is: about one minute" in path.read_text()
    assert status.state_of(plan(path)).minutes == 1
    assert results_tables.times()["06_exchange"] == "1 min"


def test_a_verdict_is_shown_as_text():
    entry = overview.Entry(name="90_model_vs_zfs", rows=[("<Question>", "–", "1", "–")], in_short=[], time="40 s", here=True,
                           verdict="exact & <done>", figure=None)
    shown = overview.table([entry])
    assert "Verdict of the run here: exact &amp; &lt;done&gt;" in shown
    assert "&lt;Question&gt;:</b> simulated: 1." in shown


def test_of_a_long_verdict_the_index_has_the_first_fact():
    words = "size goes with rate: R² = 0.57 (0.33 to 0.70)"
    assert overview._in_short(f"{words}, {60 * 'and '}") == f"{words}. Its last cell has more."
    assert overview._in_short(f"{words}. {60 * 'and '}") == f"{words}. Its last cell has more."
    assert overview._in_short(f"a: 1; b: {words}") == f"a: 1; b: {words}"


def test_the_index_is_committed_without_outputs_and_its_code_and_links_are_whole():
    for cell in INDEX["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            ast.parse(source)
        for target in (part.partition(")")[0] for part in source.split("](")[1:]):
            path, _, heading = target.partition("#")
            assert (NOTEBOOKS / path).exists(), target
            assert heading.replace("-", " ") in (NOTEBOOKS / path).read_text(), target

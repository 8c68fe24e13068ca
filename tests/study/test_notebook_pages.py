"""Notebooks read as essays, say where their results stand, and lead to each other."""
import ast
import re

import pytest

from study.project import NOTEBOOKS, ROOT
from study.runs import catalogue, notebook_file, parameters
from support import prose
from support.books import BOOKS


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_notebooks_read_as_essays(path):
    """Claim in the title, prose around short cells, parameters tagged, no classes, kernels or file paths."""
    cells = notebook_file.cells(path)
    assert cells[0].kind == "markdown"
    assert cells[0].source.startswith("# ")
    assert path.stem in catalogue.STUDY
    assert "verdict" in cells[-1].source or "verdict" in cells[-2].source
    for cell in cells:
        if cell.kind == "code":
            code = [line for line in cell.source.splitlines() if line.strip() and not re.match(r" *(#|import |from )", line)]
            assert len(code) <= (16 if "parameters" in cell.tags else 14), cell.source     # one line a parameter
            assert not re.search(r"^\s*class |@kernel|@njit|\.\./|(?<!store\.)open\(|Path\(", cell.source, re.M), cell.source
    parameters.schema(path, catalogue.STUDY[path.stem].parameters)


@pytest.mark.parametrize("path", [*BOOKS, NOTEBOOKS / "index.ipynb"], ids=lambda path: path.stem)
def test_prose_of_notebooks_is_short(path):
    for cell in notebook_file.cells(path):
        if cell.kind == "markdown":
            assert len(cell.source.split()) <= 120, cell.source
            assert not [sentence for sentence in prose.sentences(cell.source) if prose.n_words(sentence) > 25], cell.source


def _captions(path):
    """Each as one text; what is filled in counts as a word."""
    for cell in notebook_file.cells(path):
        for node in ast.walk(ast.parse(cell.source)) if cell.kind == "code" else ():
            if isinstance(node, ast.keyword) and node.arg == "caption":
                parts = getattr(node.value, "values", [node.value])
                yield "".join(str(getattr(part, "value", "")) if isinstance(part, ast.Constant) else "1" for part in parts)


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_captions_of_notebooks_are_short(path):
    captions = list(_captions(path))
    assert captions
    for caption in captions:
        assert max(len(sentence.split()) for sentence in re.split(r"[.!?]\s", caption)) <= 25, caption


def _prose(path):
    return "\n".join(cell.source for cell in notebook_file.cells(path) if cell.kind == "markdown")


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_notebooks_say_where_their_results_stand(path):
    line = "- This file has no outputs. Its results stand in [docs/results.md](../docs/results.md).\n"
    assert _prose(path).count(line) == 1


def test_next_links_lead_through_every_notebook_once():
    """From the one that README begins with, and index.ipynb."""
    first = re.search(r"Begin with `(\w+)`", (ROOT / "README.md").read_text())[1]
    assert f"Open [{first}]({first}.ipynb) first" in (ROOT / "notebooks" / "index.ipynb").read_text()
    following = {path.stem: re.findall(r"^Next: \[[^]]*\]\((\w+)\.ipynb\)", _prose(path), re.M) for path in BOOKS}
    chain = [first]
    while following[chain[-1]]:
        [name] = following[chain[-1]]
        assert name not in chain
        chain.append(name)
    assert sorted(chain) == sorted(following)


def _anchors(page):
    """Names of its headings, as a link has them."""
    for heading in re.findall(r"^#+ (.*)", page, re.M):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_links_of_notebooks_lead_somewhere(path):
    for cell in notebook_file.cells(path):
        if cell.kind == "markdown":
            for name, anchor in re.findall(r"\]\((?!https?:)([^)#]+)#?([^)]*)\)", cell.source):
                page = path.parent / name
                assert page.is_file(), name
                assert not anchor or anchor in _anchors(page.read_text()), f"{name}#{anchor}"


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_figures_show_themselves_and_are_not_shown_again(path):
    """Wherever it stands in a cell, `record.figure` shows its figure (a test of it runs that) and returns nothing."""
    for cell in notebook_file.cells(path):
        if cell.kind == "code":
            tree = ast.parse(cell.source)
            calls = [node for node in ast.walk(tree)
                     if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("figure")]
            alone = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
            assert all(call in alone and ast.unparse(call.func) == "record.figure" for call in calls), cell.source


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_takes_as_long_as_the_list_of_results_says(path):
    text = "".join(cell.source for cell in notebook_file.cells(path))
    written = re.search(r"Run it as it is: about (\w+) (minute|second)", text)
    assert written, f"{path.name} does not say how long it takes"
    listed = (ROOT / "docs" / "results.md").read_text()
    time = re.search(rf"^\| `{path.stem}` \|.*\| (\d+) (min|s) \|$", listed, re.M)
    number = NUMBERS.index(written[1]) if written[1] in NUMBERS else int(written[1])
    assert (number, written[2].startswith(time[2])) == (int(time[1]), True)

"""What is exported: text that LaTeX sets as it is, numbers with the digits they deserve, tables that fit."""
import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import nbformat
import pytest
from conftest import one_sentence
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_markdown_cell, new_notebook

from study.documents import claims
from study.errors import UserError
from study.paper import export, latex, pages, rounding
from study.project import ROOT
from study.runs import notebook_file
from study.runs.catalogue import books
from support.typesetting import compiled, needs_tex, overfull

pytestmark = pytest.mark.slow      # many tables and pictures are written

AWKWARD = "5 % of $x_1$ & #2 {a} ~b ^c \\d <e> -> |f| --g ''h \"i\" `j` 1×10⁻⁹ ≥ 2 µs²; −3, … “k” – √"
CELL = f"""
from study.runs import record
from study.figures import disks
import pandas as pd
for name, value, unit in (("gain-low", 11.4999, "%"), ("gain-middle", 21.4184, "%"), ("gain-high", 31.054, "%"),
                          ("gain", 22.2222, "%"), ("places.n", 3599114893, "allocations"), ("least.p", -4.0231e-9, "1"),
                          ("a-very-long-name_of-a-quantity.that-goes-on.and-on.and_on.for-more-than-a.column", 0.5, "MB/s")):
    record.metric(name if "." in name else f"all.{{name}}", value, unit)
table = pd.DataFrame({{"drive": ["a"], "year": [1], "version": ["specified"], "second_half_percent": [n]}})
table["disksim_percent"] = 1
for name in ("some_dots", "more_dots"):
    record.figure(name, disks.demerits, table, caption={AWKWARD!r} + " " + name)
"""


@pytest.fixture
def exported(runs, made_once, tmp_path):
    """Export a run with everything that is awkward: exported("page") -> the folder."""
    plan = made_once("awkward", {"n": 2}, CELL)

    def make(wide="column", only=()):
        export.export([plan], tmp_path / "out", ["pdf", "svg"], wide, only=only)
        return tmp_path / "out"
    return make


# --- text and numbers -----------------------------------------------------------------------------------------------------

@given(st.text(alphabet=st.sampled_from("ab-,'\\&%$#_{}~^<>|\"`/ ")))
def test_no_letter_of_latex_s_own_is_left_bare(text):
    bare = re.sub(r"\\(?:[&%$#_{}]|[a-z]+(?:\{\})?)|\{\}", "", latex.escaped(text))
    assert not re.search(r"[\\&%$#_{}~^<>|\"`]", bare)
    assert not re.search("--|,,|''", latex.escaped(text))


def test_an_arrow_is_an_arrow_and_what_is_not_ascii_is_known():
    assert latex.printed("8543->10520") == r"8543$\to$\allowbreak{}10520"
    texts = "".join(claim.printed for claim in claims.read()) + AWKWARD
    assert {letter for letter in texts if not letter.isascii()} <= latex.SPECIAL.keys()


@pytest.mark.parametrize(("value", "place", "text"), [
    (1955989, None, "1\u2009955\u2009989"), (-0.5, None, "−0.5"), (9999, None, "9999"), (194.3, 1, "190"), (-0.3, 0, "0"),
    (0.401, -2, "0.40"), (4.0231e-9, None, "4.0231×10⁻⁹"), (4.0231e-9, -11, "4.02×10⁻⁹"), (0, None, "0")])
def test_a_number_for_readers(value, place, text):
    assert rounding.text(value, place) == text


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_rounding_moves_an_end_by_a_twentieth_of_the_interval_at_most(low, width):
    high = low + width
    shown = rounding.rounded({"n/x-low": low, "n/x-high": high, "n/x": low})
    number = float(shown["n/x-low"].replace("−", "-").replace("\u2009", "").replace("×10⁻", "e-").translate(
        str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
    assert abs(number - low) <= (high - low) / 20 * (1 + 1e-9)
    assert shown["n/x"] == shown["n/x-low"]


def test_the_digits_are_those_of_the_interval_or_three():
    shown = rounding.rounded({"n/g-low": 11.499, "n/g-middle": 21.4184, "n/g-high": 31.054, "n/g": 22.5, "n/rows": 96123,
                              "n/rate": 7766.67})
    assert list(shown.values()) == ["11", "21", "31", "22", "96\u2009123", "7770"]


# --- a document with everything -------------------------------------------------------------------------------------------

@needs_tex
@pytest.mark.parametrize("wide", ["column", "page"])
def test_latex_sets_every_table_number_and_figure_within_its_column(exported, wide):
    folder = exported(wide)
    log = compiled(folder)
    assert overfull(log) == []
    assert not re.search("undefined|Missing character|not set up", log)
    example, numbers = ((folder / f"{name}.tex").read_text() for name in ("example", "numbers-table"))
    for name in json.loads((folder / "figures.json").read_text()):
        assert rf"\studyfigure{{{name}}}" in example
    for name in json.loads((folder / "numbers.json").read_text()):
        assert all(rf"\{macro}{{{name}}}" in numbers for macro in latex.MACROS)
    assert {r"\input{claims}", r"\input{numbers-table}"} <= set(example.splitlines())
    assert (folder / "claims.tex").read_text().count(r" \\[1pt]") == len(claims.read())


@needs_tex
def test_a_table_that_sticks_out_would_be_noticed(exported):
    folder = exported()
    table = folder / "claims.tex"
    table.write_text(table.read_text().replace(r"p{\dimexpr 0.32\linewidth", r"p{\dimexpr 0.52\linewidth"))
    assert overfull(compiled(folder))


def test_a_number_is_there_as_it_is_and_rounded(exported):
    folder = exported()
    numbers = json.loads((folder / "numbers.json").read_text())
    assert numbers["awkward/all.gain-low"] == {"value": 11.4999, "rounded": "11", "unit": "%"}
    macros = (folder / "numbers.tex").read_text()
    for entry in (r"study@awkward/all.gain\endcsname{22.2222}", r"studyrounded@awkward/all.gain\endcsname{22}",
                  r"studyunit@awkward/all.gain\endcsname{\%}"):
        assert entry in macros


# --- the index, and parts -------------------------------------------------------------------------------------------------

class Cells(HTMLParser):
    """The text of every cell, and the pictures."""

    def __init__(self):
        super().__init__()
        self.cells, self.pictures = [], []

    def handle_starttag(self, tag, attributes):
        if tag == "td":
            self.cells.append("")
        if tag == "img":
            self.pictures.append(dict(attributes)["src"])

    def handle_data(self, text):
        if self.cells:
            self.cells[-1] += text


def test_the_index_shows_each_figure_with_caption_and_notebook(exported):
    folder = exported()
    page = Cells()
    page.feed((folder / "index.html").read_text())
    rows = [page.cells[i:i + 4] for i in range(0, len(page.cells), 4)]
    assert [(name.split("pdf")[0], caption, notebook.strip()) for name, _, caption, notebook in rows] == [
        (name, f"{AWKWARD} {name}", "awkward") for name in ("some_dots", "more_dots")]
    assert page.pictures == ["some_dots.svg", "more_dots.svg"]
    assert all((folder / picture).exists() for picture in page.pictures)


def test_only_what_is_named_is_written(exported):
    folder = exported(only=["more_dots"])
    assert {path.name for path in folder.iterdir()} == {
        "more_dots.pdf", "more_dots.svg", "figures.json", "figures.csv", "figures.tex", "example.tex", "index.html"}
    folder = exported(only=["awkward/all.gain", "oltp-gain-cr"])
    assert list(json.loads((folder / "numbers.json").read_text())) == ["awkward/all.gain"]
    assert [row["claim_id"] for row in json.loads((folder / "claims.json").read_text())] == ["oltp-gain-cr"]


def test_a_notebook_that_is_named_by_its_number_has_its_page(made_once, monkeypatch, tmp_path):
    plan = made_once("awkward", {"n": 2}, CELL)
    assert export.by_name(["90", "awkward", "oltp-gain"]) == ["90_model_vs_zfs", "awkward", "oltp-gain"]
    monkeypatch.setattr(export, "by_name", lambda only: ["awkward" if name == "42" else name for name in only])
    export.export([plan], tmp_path / "out", ["svg"], "column", only=["42"])
    assert (tmp_path / "out" / "awkward.html").is_file()


@pytest.mark.parametrize("n", [latex.LINES - 3, latex.LINES - 2, latex.LINES - 1])
def test_the_name_of_a_group_stands_with_its_first_row(n):
    rows = [row for name in "ab" for row in latex._rows(name, [(name, "1", "2", "3")] * n, latex.CLAIM_COLUMNS)]
    pieces = latex._pieces(rows)
    assert [row for piece in pieces for row in piece] == [row for row, _ in rows]
    assert not [piece for piece in pieces if piece[-1].endswith(latex.TIED)]
    assert max(map(len, pieces)) <= latex.LINES


@pytest.mark.parametrize(("name", "message"), [
    ("nothing-like-it", "; it may be of what is not run as it stands now; run: study reproduce"),
    ("oltp-gain", "run: study run 01_vdev_cache_oltp"), ("90_model_vs_zfs", "run: study run 90_model_vs_zfs"),
    ("90", "run: study run 90_model_vs_zfs"),
    ("oltp-gain-cx", "did you mean 'oltp-gain-cr'? Or it may be of what is not run as it stands now; run: study reproduce")])
def test_what_is_named_and_not_there_is_one_sentence(study, tmp_path, name, message):
    assert message in one_sentence(study("export", "--only", name, "--to", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("names", "message"), [
    (["a", "b"], "not run as they stand now: a, b; run: study run a b"),
    (list("abcdefg"), "not run as they stand now: a, b, c, d, e, f, g; run: study reproduce"),
    ([path.stem for path in books()], "no notebook has been run as it stands now; run: study reproduce")])
def test_what_is_to_be_run_first_is_one_short_command(names, message):
    with pytest.raises(UserError) as refused:
        export.refuse_missing(names)
    assert str(refused.value) == message


# --- pages of executed notebooks ------------------------------------------------------------------------------------------

class Loaded(HTMLParser):
    """What a browser would fetch for a page, or run."""

    def __init__(self):
        super().__init__()
        self.fetched, self.links = [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("script", "iframe", "object"):
            self.fetched.append(tag)
        if tag == "link" or "src" in values:
            self.fetched.append(values.get("src") or values.get("href") or tag)
        if tag == "a":
            self.links.append(values["href"])


def test_a_page_has_its_pictures_and_fetches_nothing(exported):
    text = (exported() / "awkward.html").read_text()
    page = Loaded()
    page.feed(text)
    assert len(page.fetched) == 2
    assert all(source.startswith("data:image/png;base64,") for source in page.fetched)
    assert "@import" not in text
    assert not re.search(r"url\(['\"]?(?!data:|['\"]?data:|#)", text.partition("<body")[0].replace("url(var", ""))
    assert "record.figure(name" in re.sub("<[^>]*>", "", text)
    assert '<a href="awkward.html">awkward</a>' in (exported() / "index.html").read_text()


def test_a_page_does_not_say_that_it_has_no_outputs(tmp_path):
    path = tmp_path / "a.ipynb"
    line = new_markdown_cell(f"- {pages.OF_FILE} in [docs/results.md](../docs/results.md).")
    nbformat.write(new_notebook(cells=[line]), path)
    text = pages.page(str(path), "a digest")
    assert "no outputs" not in text
    assert f"{pages.OF_PAGE} in <a" in text
    assert all(f"- {pages.OF_FILE} in [" in book.read_text(encoding="utf-8") for book in books())


def test_links_of_a_notebook_lead_to_pages_and_to_files_of_the_project(tmp_path):
    text = ('<a href="01_x.ipynb">01</a> <a href="index.ipynb">all</a> <a href="02_y.ipynb">02</a> '
            '<a href="../docs/order-entry.md#where">notes</a> <a href="https://a.org/x.ipynb">a</a> <a href="#here">b</a>')
    page = Loaded()
    page.feed(pages.with_links(text, tmp_path, ["01_x"]))
    first, everything, without_page, notes, *others = page.links
    assert (first, everything) == ("01_x.html", "index.html")
    assert (tmp_path / without_page).resolve() == ROOT / "notebooks" / "02_y.ipynb"
    assert (tmp_path / notes.partition("#")[0]).resolve() == ROOT / "docs" / "order-entry.md"
    assert notes.endswith("#where")
    assert others == ["https://a.org/x.ipynb", "#here"]


def test_a_link_within_a_page_leads_to_a_heading_of_it(tmp_path):
    """Of the study's own notebooks."""
    linking = [path for path in books() if "](#" in path.read_text(encoding="utf-8")]
    assert linking
    for path in linking:
        markdown = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"]
        nbformat.write(new_notebook(cells=markdown), tmp_path / path.name)
        text = pages.of_runs([SimpleNamespace(name=path.stem, folder=tmp_path)], tmp_path)[f"{path.stem}.html"]
        places = set(re.findall(r'href="#([^"]+)"', text))
        assert places
        assert places <= set(re.findall(r'\bid="([^"]+)"', text)), path.name


def test_the_last_word_on_a_page_is_that_printed_lines_wrap_between_words(tmp_path):
    nbformat.write(new_notebook(), tmp_path / "x.ipynb")
    text = pages.of_runs([SimpleNamespace(name="x", folder=tmp_path)], tmp_path)["x.html"]
    assert re.findall(r"pre[^{}]*{[^}]*word-break: ([a-z-]+)", text)[-1] == "normal"


def test_no_notebook_has_a_formula_which_pages_would_not_set():
    for path in books():
        for cell in notebook_file.cells(path):
            assert cell.kind != "markdown" or not re.search(r"\$[^$\s][^$]*\$|\\\(|\\\[", cell.source), path.name

"""What is asked of a whole reproduction: of the runs that `make reproduce` has left in papermill_runs/.

Nothing is run here but what the paper and the export make of these runs. `make reproduce` itself makes each result anew and
refuses one that differs; `.ci/run` calls it before the tests. The laws that it follows are in `test_reproduction.py`.
"""
import io
import re

import nbformat
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from rich.console import Console

from study import drawing, short_tables
from study.commands import overview, reproduction
from study.documents import claims
from study.grades import grading
from study.paper import export, pages, typeset
from study.project import ROOT
from study.runs.catalogue import find
from study.runs.plan import UNLIMITED, all_plans, done_before, plan
from study.store import results, store
from study.words import counted
from support.typesetting import compiled, needs_tex, overfull

SILENT = Console(file=io.StringIO())

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def reproduced():
    """The plans of the study, all of which have been run."""
    plans = all_plans()
    if missing := [planned.name for planned in plans if not done_before(planned)]:
        pytest.skip(f"asked of the runs of make reproduce; {counted(len(missing), 'notebook')} of {len(plans)} not yet run")
    store.refresh()
    return plans


@pytest.fixture(scope="module")
def exported(reproduced, tmp_path_factory):
    """exported("column") -> the folder of what is exported at this width, and its files; made once."""
    made = {}

    def of(wide):
        if wide not in made:
            folder, forms = tmp_path_factory.mktemp(wide), {"column": ["svg", "pdf"], "page": ["pdf", "png"]}[wide]
            pages.page.cache_clear()    # so that each width has pages of its own making
            made[wide] = folder, export.export(reproduced, folder, forms, wide)
        return made[wide]
    return of


@pytest.fixture(scope="module")
def paper(reproduced):
    """The bytes of the paper."""
    return typeset.build(reproduced).read_bytes()


def test_results_are_the_committed_ones_bit_for_bit(reproduced):
    with store.open() as connection:
        graded = grading.all_of_runs(connection, [plan.run_id for plan in reproduced])
        new = results.collect(connection, reproduced, grading.scoreboard(connection, graded))
    assert results.as_text(new) == results.FILE.read_text()


def test_the_verdicts_of_the_notebooks(reproduced):
    with store.open() as connection:
        numbers = {name: row["value"] for name, row in results.numbers(connection, reproduced).items()}
    assert numbers["90_model_vs_zfs/replay.differences"] == 0
    assert numbers["90_model_vs_zfs/replay.rows"] > 90_000
    assert numbers["00_claims/claims.all"] == len(claims.read())
    assert numbers["00_claims/findings.differ"] > 0


OF_PANDAS = re.compile(r'class="dataframe"|>NaN<')
NUMBERED = re.compile(r'class="row_heading level\d row\d+" *>\d+</th>')


NAMED = re.compile(r'class="index_name level\d+" *>[^<]*</th>\s*<th class="blank')


def is_of_pandas(table):
    """Rows may have numbers where a name above says what these are. A name of the columns is none of the rows."""
    return bool(OF_PANDAS.search(table) or (NUMBERED.search(table) and not NAMED.search(table)))


def test_no_table_of_a_notebook_is_as_pandas_leaves_it(reproduced):
    """With numbers of rows, words to the right, and NaN."""
    tables = [(planned.name, cell.id, "".join(output.get("data", {}).get("text/html", "")))
              for planned in reproduced for cell in nbformat.read(planned.folder / f"{planned.name}.ipynb", 4).cells
              for output in cell.get("outputs", ())]
    assert sum("<table" in html for _, _, html in tables) > len(reproduced)
    assert [(name, cell) for name, cell, html in tables if is_of_pandas(html)] == []


@pytest.mark.parametrize(("table", "is_told"), [
    (pd.DataFrame({"rate": [1.5]}).to_html(), True),
    (pd.concat({"a": pd.DataFrame({"rate": [1.5]})}).pipe(short_tables.shown).to_html(), True),
    (pd.concat({"a": pd.DataFrame({"rate": [1.5]})}).rename_axis(columns="era").pipe(short_tables.shown).to_html(), True),
    (pd.DataFrame({"rate": [1.5]}, index=["first"]).rename_axis(columns="era").pipe(short_tables.shown).to_html(), False),
    (pd.DataFrame({"rate": [1.5]}, index=pd.MultiIndex.from_tuples([(8, 2)], names=["pool", None])).rename_axis(
        columns="era").pipe(short_tables.shown).to_html(), False),
    (pd.DataFrame({"rate": [None, 1.5]}).pipe(short_tables.shown).to_html(), False),
    (pd.DataFrame({"rate": [1.5]}, index=["first"]).pipe(short_tables.shown).to_html(), False),
    (pd.DataFrame({"rate": [1.5]}, index=pd.MultiIndex.from_tuples([(8, 2)], names=["pool", "groups"])).pipe(
        short_tables.shown).to_html(), False)])
def test_a_table_as_pandas_leaves_it_is_told_from_ours(table, is_told):
    assert is_of_pandas(table) == is_told


def test_no_figure_is_cut_off_at_an_edge(reproduced):
    """Constrained layout leaves a margin, so what touches an edge was longer than the figure has room for."""
    pictures = [path for planned in reproduced for path in planned.folder.glob("figures/*.png")]
    assert len(pictures) > 200
    assert [path.name for path in pictures if has_ink_at_an_edge(Image.open(path))] == []


def has_ink_at_an_edge(picture: Image.Image) -> bool:
    """Whether any of the outermost rows and columns of pixels is not white: three, as an edge may fall between letters."""
    grey = np.asarray(picture.convert("L"))
    return any((edge < 255).any() for edge in (grey[:3], grey[-3:], grey[:, :3], grey[:, -3:]))


def test_a_label_longer_than_its_figure_has_ink_at_an_edge():
    for label, is_cut in (("short", False), ("longer_than_a_column_has_room_for_" * 4, True)):
        def draw(label=label):
            figure, axes = drawing.canvas()
            axes.set_title(label, loc="left")
            return figure
        png = drawing.render(draw, formats=["png"])["png"]
        assert has_ink_at_an_edge(Image.open(io.BytesIO(png))) == is_cut


def test_pages_and_paper_come_out_byte_for_byte(reproduced, exported, paper):
    """Both exports have made all pages, numbers and claims, which do not depend on the width."""
    (column, written), (page, _) = exported("column"), exported("page")
    names = {str(path.relative_to(column)) for path in written if path.suffix in (".html", ".json", ".csv")} - {"index.html"}
    assert len(names) >= len(reproduced) + 6
    assert [name for name in sorted(names) if (column / name).read_bytes() != (page / name).read_bytes()] == []
    assert typeset.build(reproduced).read_bytes() == paper
    assert paper.startswith(b"%PDF")


@pytest.mark.parametrize("wide", ["column", "page"])
def test_each_exported_figure_is_that_of_a_run_at_its_width(reproduced, exported, wide):
    drawn = {path.name: path for planned in reproduced for path in planned.folder.glob(f"figures/*-{wide}.*")}
    figures = [path for path in exported(wide)[1] if path.suffix in (".svg", ".pdf", ".png")]
    assert {f"{path.stem}-{wide}{path.suffix}" for path in figures} <= set(drawn)
    assert len({path.stem for path in figures}) == len({path.stem for path in drawn.values()})
    for path in figures:
        assert path.read_bytes() == drawn[f"{path.stem}-{wide}{path.suffix}"].read_bytes(), path.name


def test_the_paper_says_what_the_store_says(reproduced, paper):
    assert typeset.check(reproduced) == []


def test_the_figure_of_the_readme_is_the_one_that_comes_out(reproduced):
    made = [plan.folder / "figures" / f"{export.README_FIGURE}-page.png" for plan in reproduced]
    assert [drawing.same_pixels(export.README_PICTURE, path) for path in made if path.exists()] == [True]


def test_latex_macros_and_tables_are_written(exported):
    folder, _ = exported("page")
    macros = (folder / "numbers.tex").read_text()
    assert r"\csname study@90_model_vs_zfs/replay.differences\endcsname{0}" in macros
    table = (folder / "claims.tex").read_text()
    assert table.count(r" \\[1pt]") == len(claims.read())
    assert "->" not in table


@needs_tex
@pytest.mark.parametrize("wide", ["column", "page"])
def test_latex_sets_all_tables_numbers_and_figures_within_their_columns(exported, wide):
    log = compiled(exported(wide)[0])
    assert overfull(log) == []
    assert not re.search("undefined|Missing character|not set up", log)


def test_a_series_that_nobody_made_is_the_user_s_to_mend(reproduced):
    (outcome,) = reproduction.run_plans([plan(find("05"), {"label": "none"})], 1, UNLIMITED, SILENT)
    assert "04_oltp_gain has no series 'none'; it has " in outcome.reason
    assert outcome.exit_code == 2


def test_every_query_of_the_run_store_s_page_answers(reproduced):
    queries = re.findall(r"^SELECT .*;$", (ROOT / "docs" / "run-store.md").read_text(), re.M)
    assert len(queries) == 10
    with store.open() as connection:
        for query in queries:
            assert connection.execute(query).fetchall(), query


def test_the_index_shows_the_verdict_and_the_figure_of_every_run(reproduced):
    for entry in overview.entries():
        assert entry.here, entry.name
        assert overview.FACES[entry.name] in entry.figure.name
        assert entry.figure.exists()

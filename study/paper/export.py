"""Figures, numbers and tables out of the run store, for the paper or for any other: Typst and LaTeX users alike."""
import csv
import io
import json
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from duckdb import DuckDBPyConnection

from study import drawing, errors
from study.documents import answers
from study.errors import UserError
from study.paper import index, latex, pages, rounding
from study.project import PAPER, write_atomically
from study.runs import catalogue
from study.runs.folder import FIGURES, lines
from study.runs.plan import Plan, done_before
from study.store import results, store

if TYPE_CHECKING:
    import pandas as pd


class Content(NamedTuple):
    """What there is to export."""
    numbers: dict[str, dict]    # '<notebook>/<metric>' -> value, rounded, unit
    claims: list[dict]          # as the scoreboard has them
    figures: list[dict]         # name, caption, notebook


def formats(text: str) -> list[str]:
    """Formats of figures out of words with commas between. A UserError names one that is none."""
    wanted = [form.strip() for form in text.split(",")]
    for form in wanted:
        if form not in drawing.FORMATS:
            raise UserError(f"figure format '{form}' is none of {', '.join(drawing.FORMATS)}; take one or more of these")
    return wanted


def width(text: str) -> str:
    """A width of figures by its name. A UserError lists those that there are."""
    if text not in drawing.WIDTHS_IN:
        raise UserError(f"width '{text}' is none of {', '.join(drawing.WIDTHS_IN)}; take one of these")
    return text


def export(plans: list[Plan], to: Path, forms: list[str], wide: str, board: "pd.DataFrame | None" = None,
           only: Collection[str] = (), place: Path | None = None) -> list[Path]:
    """Write everything to the folder `to`, or only what is named; the paths written. `board` is the scoreboard's frame,
    where it is known already. Links of pages are as they are from `place`, else from `to`. Raises UserError when a run is
    missing."""
    missing = [plan.name for plan in plans if not done_before(plan)]
    if not only:
        refuse_missing(missing)
    done = [plan for plan in plans if plan.name not in missing]
    content = _content(done, board)
    only = by_name(only)
    if only:
        content = chosen(content, only, missing)
    folders = {plan.name: plan.folder for plan in done}
    written = [to / f"{figure['name']}.{form}" for figure in content.figures for form in forms]
    shown = pages.of_runs([plan for plan in done if not only or plan.name in only], place or to)
    texts = _texts(content, forms, wide, list(shown)) | shown
    for name, text in texts.items():
        write_atomically(to / name, text)
    for figure in content.figures:
        for form in forms:
            shutil.copyfile(folders[figure["notebook"]] / "figures" / f"{figure['name']}-{wide}.{form}",
                            to / f"{figure['name']}.{form}")
    return [to / name for name in texts] + written


MANY = 6        # notebooks: a command that names more is longer than running all


def refuse_missing(names: list[str]) -> None:
    """Notebooks that are not run are a UserError, which says how to run them."""
    if names:
        which = "no notebook has been run as it stands now" if len(names) == len(catalogue.books()) else \
            f"not run as they stand now: {', '.join(names)}"
        raise UserError(f"{which}; run: {_runs_of(names)}")


def _runs_of(names: list[str]) -> str:
    """The command that runs these notebooks: those that are many, with all others."""
    return "study reproduce" if len(names) > MANY else f"study run {' '.join(names)}"


def by_name(only: Collection[str]) -> list[str]:
    """The same, with a notebook's name for its number."""
    of_number = {path.stem.partition("_")[0]: path.stem for path in catalogue.books()}
    return [of_number.get(name, name) for name in only]


def chosen(content: Content, only: Collection[str], missing: list[str]) -> Content:
    """What is named of it: figures, numbers and claims by their names, and all of a notebook by its name."""
    def is_meant(name: str, notebook: object) -> bool:
        return name in only or notebook in only
    named = Content({name: number for name, number in content.numbers.items() if is_meant(name, name.partition("/")[0])},
                    [claim for claim in content.claims if is_meant(claim["claim_id"], claim["notebook"])],
                    [figure for figure in content.figures if is_meant(figure["name"], figure["notebook"])])
    needed = {*only, *(claim["notebook"] for claim in named.claims)}
    refuse_missing([name for name in missing if name in needed])
    known = {*content.numbers, *(claim["claim_id"] for claim in content.claims),
             *(row[key] for row in content.figures for key in ("name", "notebook"))}
    for name in only:
        if name not in known:
            undone = f"it may be of what is not run as it stands now; run: {_runs_of(missing)}" if missing else ""
            instead = errors.meant(name, known, "" if missing else "leave --only out for all")
            raise UserError(f"there is no figure, number, claim or notebook '{name}'; "
                            f"{' Or '.join(filter(None, (instead, undone)))}")
    return named


def _content(plans: list[Plan], board: "pd.DataFrame | None") -> Content:
    with store.open() as connection:
        numbers = results.numbers(connection, plans)
        claims = _claims(_scoreboard(connection, plans) if board is None else board)
    texts = {answer.claim: answer.text for answer in answers.filled({name: row["value"] for name, row in numbers.items()})}
    claims = [claim | {"answer": texts.get(claim["claim_id"], "")} for claim in claims]
    rounded = rounding.rounded({name: number["value"] for name, number in numbers.items()})
    return Content({name: {"value": number["value"], "rounded": rounded[name], "unit": number["unit"]}
                    for name, number in numbers.items()}, claims,
                   [{"name": figure["name"], "caption": figure["caption"], "notebook": plan.name}
                    for plan in plans for figure in lines(plan.folder / FIGURES)])


def _texts(content: Content, forms: list[str], wide: str, shown: list[str]) -> dict[str, str]:
    """Every file but pictures and pages (`shown`), by its name. What there is nothing of has no file."""
    numbers, claims, figures = content
    texts: dict[str, str] = {}
    if numbers:
        texts |= {"numbers.json": _json(numbers),
                  "numbers.csv": _csv(("name", "value", "rounded", "unit"),
                                      [(name, *number.values()) for name, number in numbers.items()]),
                  "numbers.tex": latex.numbers({name: (rounding.text(number["value"]), number["rounded"], number["unit"])
                                                for name, number in numbers.items()}),
                  "numbers-table.tex": latex.numbers_table(numbers, wide)}
    if claims:
        texts |= {"claims.json": _json(claims), "claims.csv": _csv(claims[0], [row.values() for row in claims]),
                  "claims.tex": latex.claims(claims, wide)}
    captions = {figure["name"]: figure["caption"] for figure in figures}
    if figures:
        texts |= {"figures.json": _json(captions), "figures.tex": latex.figures(captions),
                  "figures.csv": _csv(figures[0], [row.values() for row in figures])}
    pictures = list(captions) if {"pdf", "png"} & {*forms} else []
    texts["example.tex"] = latex.example({*texts}, pictures, wide)
    return texts | {"index.html": index.page(figures, forms, list(texts), shown)}


def _scoreboard(connection: DuckDBPyConnection, plans: list[Plan]) -> "pd.DataFrame":
    from study.grades import grading  # brings pandas along
    return grading.scoreboard(connection, grading.all_of_runs(connection, [plan.run_id for plan in plans]))


def _claims(board: "pd.DataFrame") -> list[dict]:
    return [{column: "" if value is None or value != value else value for column, value in row.items()}
            for row in board.to_dict("records")]


def accept(new: dict, plans: list[Plan]) -> None:
    """`make results`: what came out is what is expected from now on. The README's figure goes with it."""
    write_atomically(results.FILE, results.as_text(new))
    for plan in plans:
        drawn = plan.folder / "figures" / f"{README_FIGURE}-page.png"
        if drawn.exists() and not (README_PICTURE.exists() and drawing.same_pixels(drawn, README_PICTURE)):
            write_atomically(README_PICTURE, drawn.read_bytes())


README_FIGURE = "lines_over_time"
README_PICTURE = PAPER / "readme.png"


# --- text formats -----------------------------------------------------------------------------------------------------

def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _csv(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return buffer.getvalue()

"""What `notebooks/index.ipynb` shows of each notebook: what it asks, what came out, a figure, and a link that opens it.

What came out is taken from the run with defaults, if there is one of the notebook as it stands now; else from the committed
`paper/results.json`, and the page says which.
"""
import base64
from html import escape
from pathlib import Path
from typing import NamedTuple

from IPython.display import HTML

from study.commands import documentation, scoreboard
from study.project import PAPER
from study.runs import catalogue
from study.runs.folder import FIGURES, lines
from study.runs.plan import Plan, done_before, plan

# The figure that says most, of each notebook.
FACES = {
    "00_claims": "audit_differences", "01_vdev_cache_oltp": "oltp_conditions", "02_vdev_cache_seqread": "seqread_stalls",
    "03_first_fit_best_fit": "free_space_maps", "04_oltp_gain": "order_entry_series",
    "05_io_size_correlation": "correlation_ranking", "06_exchange": "exchange_map", "07_pgbench_ladder": "pgbench_steps",
    "08_sysbench_ladders": "sysbench_steps", "09_postgres_checkpoints": "checkpoints_intent_log",
    "10_your_ladder": "your_ladder", "90_model_vs_zfs": "lines_over_time", "91_published_setups": "published_ratios"}
STYLE = "text-align: left; vertical-align: top; white-space: normal"


class Entry(NamedTuple):
    """A notebook of the study."""
    name: str
    rows: list[tuple]       # of handbook.summary(): question, published, simulated, grade, time
    here: bool              # whether it has been run here as it stands now
    verdict: str            # of that run, if it is a sentence
    figure: Path | None


def entries() -> list[Entry]:
    rows: dict[str, list] = {}
    for notebook, *row in documentation.summary():
        if notebook:
            name = notebook.strip("`")
            rows[name] = []
        rows[name].append(tuple(row))
    return [_entry(plan(path), rows.get(path.stem, [])) for path in catalogue.books()]


def _entry(one: Plan, rows: list[tuple]) -> Entry:
    if not done_before(one):
        return Entry(one.name, rows, False, "", PAPER / "readme.png" if one.name == "90_model_vs_zfs" else None)
    names = [figure["name"] for figure in lines(one.folder / FIGURES)]
    face = next((name for name in (FACES.get(one.name), *names) if name in names), None)
    return Entry(one.name, rows, True, scoreboard.verdict(one), face and one.folder / "figures" / f"{face}-column.png")


def show() -> HTML:
    """All notebooks as a table."""
    return HTML(table(entries()))


def table(found: list[Entry]) -> str:
    head = "".join(f'<th style="{STYLE}">{word}</th>' for word in ("notebook", "what it asks, and what came out", "figure"))
    return f"<table><tr>{head}</tr>{''.join(map(_row, found))}</table>"


def _row(one: Entry) -> str:
    cells = (f'<a href="{one.name}.ipynb">{one.name}</a><br>{_time(one)}', _came_out(one), _image(one))
    return "<tr>" + "".join(f'<td style="{STYLE}">{cell}</td>' for cell in cells) + "</tr>"


def _time(one: Entry) -> str:
    return f"about {one.rows[0][-1]}" if one.rows else ""


def _came_out(one: Entry) -> str:
    said = [f"<b>{escape(question)}{'' if question.endswith('?') else ':'}</b> {escape(_results(*came_out))}"
            for question, *came_out, _ in one.rows]
    return "<br>".join([*said, f"<i>{escape(_where(one))}</i>"])


def _where(one: Entry) -> str:
    if not one.here:
        return "Not run here yet; these are the committed results. A figure comes with a run: study run " + one.name[:2]
    return f"Verdict of the run here: {one.verdict}" if one.verdict else "Run here; its verdict stands at its end."


def _results(published: str, simulated: str, grade: str) -> str:
    words = {"published ": published, "simulated: ": simulated, "grade: ": grade}
    return "; ".join(f"{what}{said}" for what, said in words.items() if said != "–") + "."


def _image(one: Entry) -> str:
    if one.figure is None or not one.figure.exists():
        return ""
    return f'<img width="320" alt="" src="data:image/png;base64,{base64.b64encode(one.figure.read_bytes()).decode()}">'

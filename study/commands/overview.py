"""What `notebooks/index.ipynb` shows of each notebook: what it asks, what came out, a figure, and a link that opens it.

What came out is taken from the run with defaults, if there is one of the notebook as it stands now. Else it is from the
committed `paper/results.json`. The page says which.
"""
import base64
import re
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from IPython.display import HTML

from study.commands import scoreboard
from study.commands.documentation import answer_list, results_tables, summary_rows
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
    "10_your_ladder": "your_ladder", "11_your_runs": "series", "12_measured_ladder": "measured_rates",
    "13_dedup": "dedup_cliff", "14_lun_alignment": "alignment_map", "15_storage_tiers": "tiers_frontier_then",
    "90_model_vs_zfs": "lines_over_time", "91_published_setups": "published_ratios"}
LONG = 240      # letters of a verdict
WIDTH = 320     # of a figure, in pixels; a table in JupyterLab would make it as narrow as the words beside it leave room
STYLE = "text-align: left; vertical-align: top; white-space: normal"


class Entry(NamedTuple):
    """A notebook of the study."""
    name: str
    rows: list[summary_rows.Row]     # what it asks and what came out
    in_short: list[str]     # what is answered to its main claim
    time: str               # that it takes as it is
    here: bool              # whether it has been run here as it stands now
    verdict: str            # of that run, if it is a sentence
    figure: Path | None


def entries() -> list[Entry]:
    """An entry for each notebook, in their order."""
    rows, times, answers = summary_rows.summary(), results_tables.times(), dict[str, list[str]]()
    for answer in answer_list.in_short():
        answers.setdefault(answer.notebook, []).append(answer.text)
    return [_entry(plan(path), rows.get(path.stem, []), answers.get(path.stem, []), times.get(path.stem, ""))
            for path in catalogue.books()]


def _entry(planned: Plan, rows: list[summary_rows.Row], answers: list[str], time: str) -> Entry:
    of_notebook: dict[str, Any] = {"name": planned.name, "rows": rows, "in_short": answers, "time": time}
    if not done_before(planned):
        figure = PAPER / "readme.png" if planned.name == "90_model_vs_zfs" else None
        return Entry(**of_notebook, here=False, verdict="", figure=figure)
    names = [figure["name"] for figure in lines(planned.folder / FIGURES)]
    face = next((name for name in (FACES.get(planned.name), *names) if name in names), None)
    figure = face and planned.folder / "figures" / f"{face}-column.png"
    return Entry(**of_notebook, here=True, verdict=scoreboard.verdict(planned), figure=figure)


def show() -> HTML:
    """All notebooks as a table."""
    return HTML(table(entries()))


def table(entries: list[Entry]) -> str:
    """All entries as a table of HTML."""
    head = "".join(f'<th style="{STYLE}">{word}</th>' for word in ("notebook", "what it asks, and what came out", "figure"))
    return f"<table><tr>{head}</tr>{''.join(map(_row, entries))}</table>"


def _row(entry: Entry) -> str:
    cells = (f'<a href="{entry.name}.ipynb">{entry.name}</a><br>{_time(entry)}', _came_out(entry), _image(entry))
    return "<tr>" + "".join(f'<td style="{STYLE}">{cell}</td>' for cell in cells) + "</tr>"


def _time(entry: Entry) -> str:
    return f"about {entry.time}" if entry.time else ""


def _came_out(entry: Entry) -> str:
    answers = [f"<b>{escape(question)}</b> {escape(_answer(*came_out))}" if question.endswith("?") else
               f"<b>{escape(question)}:</b> {escape(_results(*came_out))}" for question, *came_out in entry.rows]
    in_short = [f"In short, by committed results: {escape(text)}" for text in entry.in_short]
    return "<br>".join([*answers, *in_short, f"<i>{_where(entry)}</i>"])


def _where(entry: Entry) -> str:
    if not entry.here:
        return ("Not run here yet; these are the committed results. A figure comes with a run: "
                f"<code>.venv/bin/study run {entry.name[:2]}</code>")
    if not entry.verdict:
        return "Run here; its last cell shows the verdict."
    return f"Verdict of the run here: {escape(_in_short(entry.verdict))}"


def _in_short(verdict: str) -> str:
    """The first fact of a long verdict."""
    if len(verdict) <= LONG:
        return verdict
    first, *_ = re.split(r"(?<=\))[.;,] |[.;] ", verdict, maxsplit=1)
    return f"{first}. Its last cell has more."


def _answer(published: str, answer: str, grade: str) -> str:
    """To a question. Not every answer is simulated."""
    whole = f"of {published}, {answer}" if published != "–" else answer
    return f"{whole[:1].upper()}{whole[1:]}{'' if grade == '–' else f'; grade: {grade}'}."


def _results(published: str, simulated: str, grade: str) -> str:
    words = {"published ": published, "simulated: ": simulated, "grade: ": grade}
    return "; ".join(f"{label}{text}" for label, text in words.items() if text != "–") + "."


def _image(entry: Entry) -> str:
    if entry.figure is None or not entry.figure.exists():
        return ""
    data = base64.b64encode(entry.figure.read_bytes()).decode()
    return f'<img width="{WIDTH}" style="max-width: none" alt="" src="data:image/png;base64,{data}">'

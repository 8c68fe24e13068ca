"""Figures, numbers and tables out of the run store, for the paper or for any other: Typst and LaTeX users alike."""
import csv
import io
import json
import shutil
from pathlib import Path

from study import drawing
from study.errors import UserError
from study.project import PAPER, write_atomically
from study.runs.folder import FIGURES, lines
from study.runs.plan import Plan, done_before
from study.store import results, store

CLAIM_COLUMNS = ("claim_id", "document", "printed", "audit", "grade")
TEX_SPECIAL = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
               "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "→": r"$\to$", "−": r"$-$",
               "×": r"$\times$", "≥": r"$\ge$", "≤": r"$\le$", "µ": r"\textmu{}"}


def formats(text: str) -> list[str]:
    wanted = [form.strip() for form in text.split(",")]
    for form in wanted:
        if form not in drawing.FORMATS:
            raise UserError(f"figure format '{form}' is none of {', '.join(drawing.FORMATS)}; take one or more of these")
    return wanted


def width(text: str) -> str:
    if text not in drawing.WIDTHS_IN:
        raise UserError(f"width '{text}' is none of {', '.join(drawing.WIDTHS_IN)}; take one of these")
    return text


def export(plans: list[Plan], to: Path, forms: list[str], wide: str, board=None) -> list[Path]:
    """Write everything to the folder `to`; the paths written. `board` is the scoreboard's frame, where it is known
    already. Raises UserError when a run is missing."""
    missing = [plan.name for plan in plans if not done_before(plan)]
    if missing:
        raise UserError(f"not run as they stand now: {', '.join(missing)}; run: study run {' '.join(missing)}")
    with store.open() as connection:
        numbers = results.numbers(connection, plans)
        claims = _claims(_scoreboard(connection, plans) if board is None else board)
    contents = {
        "numbers.json": json.dumps(numbers, indent=1, ensure_ascii=False) + "\n",
        "numbers.csv": _csv(("name", "value", "unit"), [(name, *number.values()) for name, number in numbers.items()]),
        "numbers.tex": _macros(numbers),
        "claims.json": json.dumps(claims, indent=1, ensure_ascii=False) + "\n",
        "claims.csv": _csv(tuple(claims[0]), [tuple(row.values()) for row in claims]),
        "claims.tex": _booktabs(CLAIM_COLUMNS, [[row[column] for column in CLAIM_COLUMNS] for row in claims]),
        "figures.json": json.dumps({figure["name"]: figure["caption"] for plan in plans
                                    for figure in lines(plan.folder / FIGURES)}, indent=1, ensure_ascii=False) + "\n",
    }
    written = [to / name for name in contents]
    for path, content in zip(written, contents.values(), strict=True):
        write_atomically(path, content)
    return written + _copy_figures(plans, to, forms, wide)


def _copy_figures(plans, to, forms, wide) -> list[Path]:
    written = []
    for plan in plans:
        for figure in lines(plan.folder / FIGURES):
            for form in forms:
                written.append(to / f"{figure['name']}.{form}")
                shutil.copyfile(plan.folder / "figures" / f"{figure['name']}-{wide}.{form}", written[-1])
    return written


def _scoreboard(connection, plans):
    from study.grades import grading  # brings pandas along
    return grading.scoreboard(connection, grading.of_runs(connection, [plan.run_id for plan in plans]))


def _claims(board) -> list[dict]:
    return [{column: "" if value is None or value != value else value for column, value in row.items()}
            for row in board.to_dict("records")]


def accept(new: dict, plans: list[Plan]) -> None:
    """`make results`: what came out is what is expected from now on. The README's figure goes with it."""
    write_atomically(results.FILE, results.as_text(new))
    for plan in plans:
        for figure in lines(plan.folder / FIGURES):
            if figure["name"] == README_FIGURE:
                write_atomically(PAPER / "readme.png", (plan.folder / "figures" / f"{README_FIGURE}-page.png").read_bytes())


README_FIGURE = "lines_over_time"


# --- text formats -----------------------------------------------------------------------------------------------------

def _csv(columns, rows) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return buffer.getvalue()


def _macros(numbers: dict) -> str:
    r"""`\study{90_model_vs_zfs/replay.rows}` gives the number as text, `\studyunit{…}` its unit."""
    head = ["% Numbers of the study: \\study{notebook/metric} and \\studyunit{notebook/metric}. Written by `study export`.",
            *(rf"\newcommand{{\{kind}}}[1]{{\ifcsname {kind}@#1\endcsname\csname {kind}@#1\endcsname\else"
              rf"\errmessage{{the study has no number #1}}\fi}}" for kind in ("study", "studyunit"))]
    body = [rf"\expandafter\def\csname {kind}@{name}\endcsname{{{_tex(text)}}}" for name, number in numbers.items()
            for kind, text in (("study", grouped(number["value"])), ("studyunit", number["unit"]))]
    return "\n".join(head + body) + "\n"


def grouped(value: float) -> str:
    """A number for readers: thousands set apart by a thin space."""
    return f"{value:,}".replace(",", "\u2009") if abs(value) >= 10000 else f"{value}"


def _booktabs(columns, rows) -> str:
    head = " & ".join(_tex(column.replace("_", " ")) for column in columns)
    body = [" & ".join(_tex(str(value)) for value in row) + r" \\" for row in rows]
    return "\n".join([rf"\begin{{longtable}}{{{'l' * len(columns)}}}", r"\toprule", head + r" \\", r"\midrule",
                      r"\endhead", *body, r"\bottomrule", r"\end{longtable}"]) + "\n"


def _tex(text: str) -> str:
    return "".join(TEX_SPECIAL.get(letter, r"\," if letter == "\u2009" else letter) for letter in text)

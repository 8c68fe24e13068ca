"""What the terminal says of claims: the scoreboard, and of each run what it predicts."""
import ast
import fnmatch
import json
import os
import shlex
from collections.abc import Container
from typing import NamedTuple

import duckdb
import pandas as pd
from rich.console import Console
from rich.table import Table

from study import console, errors
from study.commands import claim_page, result
from study.commands.status import when
from study.errors import UserError
from study.grades import grading
from study.runs import catalogue
from study.runs.catalogue import books
from study.runs.folder import FIGURES, lines, manifest
from study.runs.plan import Outcome, Plan, all_plans, done_before, plan
from study.store import results, store


def summary_of(board: pd.DataFrame) -> Table:
    """How many claims have each grade, by what the audit finds. `study claims` names them."""
    counts = board.groupby(["grade", "audit"]).size().unstack(fill_value=0)
    table = console.table("grade, by audit", *counts.columns, "all")
    for grade, row in counts.iterrows():
        table.add_row(grade, *map(str, row), str(row.sum()))
    table.add_row("all", *map(str, counts.sum()), str(int(counts.to_numpy().sum())))
    return table


def table_of(board: pd.DataFrame, committed: Container[str] = ()) -> Table:
    """Every claim: as printed, what the audit finds, its grade, which has a mark where it is a `committed` one."""
    table = console.table("claim", "as printed", "audit", "grade", whole="claim")
    for row in board.itertuples():
        table.add_row(row.claim_id, row.printed, row.audit, f"{row.grade} *" if row.claim_id in committed else row.grade)
    return table


# --- study claims ---------------------------------------------------------------------------------------------------------

class Board(NamedTuple):
    """The scoreboard as this folder has it: grades of what has been run here, for the rest the committed ones."""
    rows: pd.DataFrame          # of grading.scoreboard, and `committed`: whether the grade is the committed one
    cases: dict[str, grading.Case | None]       # what the runs of here predict
    plans: list[Plan]
    done: dict[str, str]        # run id by notebook
    fell: list[str]


def board() -> Board:
    """The scoreboard of all notebooks that are done, beside the grades that were accepted."""
    plans = all_plans()
    done = {planned.name: planned.run_id for planned in plans if done_before(planned)}
    with store.open() as connection:
        cases = grading.cases(connection, list(done.values()))
        graded = grading.all_of_runs(connection, list(done.values()))
        rows = grading.scoreboard(connection, graded)
    accepted = {name: claim["grade"] for name, claim in results.committed()["claims"].items()}
    is_here = rows.claim_id.isin(graded) | rows.notebook.isin(done)
    here = dict(zip(rows.claim_id[is_here], rows.grade[is_here], strict=True))
    replaced = ~is_here & rows.claim_id.isin(accepted)
    rows.loc[replaced, "grade"] = rows.claim_id[replaced].map(accepted)
    for beside in ("single_changes", "own_error"):
        others = {name: claim.get(beside, claim["grade"]) for name, claim in results.committed()["claims"].items()}
        rows.loc[replaced, beside] = rows.claim_id[replaced].map(others)
    rows["committed"] = replaced & rows.grade.isin(grading.GRADES)
    return Board(rows, cases, plans, done, grading.fell({name: accepted[name] for name in here if name in accepted}, here))


def show_claims(words: list[str], grade: str | None, every: bool, as_json: bool, out: Console) -> int:
    """`study claims`: the page of a claim that is named, or else a list. 1 if a grade fell of what is shown and has been run
    here."""
    shown = board()
    rows = shown.rows[shown.rows.claim_id.isin(_meant(shown.rows, words))] if words else shown.rows
    if grade is not None:
        rows = rows[rows.grade == _known_grade(grade)]
    is_page = grade is None and len(words) == 1 and list(rows.claim_id) == words
    hidden = rows.grade == grading.NOTHING if not (every or is_page or grade == grading.NOTHING) else rows.grade == ""
    fell = [line for line in shown.fell if line.partition(":")[0] in set(rows.claim_id)]
    notes = [*fell, *([] if is_page else _where_from(len(shown.done), len(shown.plans))),
             *_why_not([planned for planned in shown.plans if planned.name not in shown.done], rows)]
    if grade is not None and rows.empty:
        notes.insert(0, f"no claim{' of these' * bool(words)} is graded '{grade}'")
    if hidden.any():
        notes.append(f"{hidden.sum()} more have nothing to predict; study claims --all lists them too")
    if is_page:
        claim_page.give(rows.iloc[0], shown, notes, as_json, out)
    else:
        result.give({"grades": dict(rows.grade.value_counts()), "claims": rows[~hidden], "notes": notes}, as_json,
                    lambda: _say_list(rows, rows[~hidden], notes, with_summary=not words and grade is None, out=out))
    return 1 if fell else 0


def _say_list(rows: pd.DataFrame, listed: pd.DataFrame, notes: list[str], with_summary: bool, out: Console) -> None:
    if with_summary:
        out.print(summary_of(rows))
        n_own = int(rows.follows_from.isna().sum())
        out.print(f"{n_own} of these claims follow from no other; README and docs/results.md count grades among them.")
        out.print()
    if len(listed):
        out.print(table_of(listed, set(listed.claim_id[listed.committed])))
    for line in notes:
        out.print(line, soft_wrap=True)


def _known_grade(grade: str) -> str:
    if grade not in grading.ALL_GRADES:
        raise UserError(f"grade '{grade}' is none of {', '.join(grading.ALL_GRADES)}; take one of these, in quotes")
    return grade


def _where_from(n_done: int, n_all: int) -> list[str]:
    """Which grades are not of runs of here."""
    if n_done == n_all:
        return []
    which = "None of the notebooks has been run here as it stands now" if n_done == 0 else \
        f"{n_done} of {n_all} notebooks have been run here as they stand now"
    return [f"{which}; grades with a * are the committed ones of paper/results.json (make reproduce computes all of them)"]


def _why_not(undone: list[Plan], board: pd.DataFrame) -> list[str]:
    """Of notebooks that grade something on the board and were run here, but not well, or not as they stand now."""
    grading_some = [planned for planned in undone if planned.name in set(board.notebook)]
    failed = {planned.name: content for planned in grading_some if (content := manifest(planned.folder))}
    older = [planned.name for planned in grading_some
             if planned.name not in failed and any(map(manifest, planned.folder.parent.glob("*")))]
    lines = [f"{name}: {content['status']} ({content['reason']}) when it was run here" for name, content in failed.items()]
    return lines + ([f"Run here, but with other code, data or parameters: {', '.join(older)}"] if older else [])


def _meant(board: pd.DataFrame, words: list[str]) -> set[str]:
    """The claims that are meant: by their own name, which may have a * for more than one; by the start of their notebook's;
    by a part of their name, or the start of their document's."""
    claims = set()
    for word in words:
        ways = [board.claim_id.isin(fnmatch.filter(board.claim_id, word)), board.notebook.fillna("").str.startswith(word)]
        if not any(path.stem.startswith(word) for path in books()):
            ways.append(board.claim_id.str.contains(word, regex=False) | board.document.str.startswith(word))
        meant = next((set(board.claim_id[way]) for way in ways if way.any()), set())
        if not meant and len(ways) == 2:
            raise UserError(f"notebook '{word}' grades no claim; study claims lists them all")
        if not meant:
            raise UserError(f"there is no claim '{word}'; "
                            + errors.meant(word, board.claim_id, "study claims lists them all"))
        claims |= meant
    return claims


# --- study run ------------------------------------------------------------------------------------------------------------

def give_outcomes(outcomes: list[Outcome], as_json: bool, out: Console) -> None:
    """How each run ended. Of one that went well also what it predicts, what was published, the grade, and its verdict."""
    with store.open() as connection:
        runs = [{**in_short(outcome), **(_came_out(connection, outcome.plan) if outcome.status == "ok" else {})}
                for outcome in outcomes]

    def say() -> None:
        for run, outcome in zip(runs, outcomes, strict=True):
            _say_run(run, outcome.plan, out)
        if done := [outcome.plan for outcome in outcomes if outcome.status == "ok"]:
            listed = catalogue.entry(done[0].notebook)
            name = done[0].name if listed else os.path.relpath(done[0].notebook)
            out.print(f"Next: study params {shlex.quote(name)} lists what can be changed; study run "
                      f"{shlex.quote(name)} -p NAME=VALUE changes it", soft_wrap=True)
    result.give(runs, as_json, say)


def in_short(outcome: Outcome) -> dict:
    """What `--json` says of a run: which it is, how it ended, and its folder."""
    planned = outcome.plan
    return {"notebook": planned.name, "run_id": planned.run_id, "status": outcome.status, "reason": outcome.reason,
            "done_before": None if outcome.again else outcome.started,
            "folder": str(planned.folder)}


def _came_out(connection: duckdb.DuckDBPyConnection, planned: Plan) -> dict:
    rows = connection.execute("""
        SELECT claim_id, published, published_high, published_unit, unfitted_low, unfitted_high, fitted_low, fitted_high
        FROM predictions JOIN claims USING (claim_id) WHERE run_id = ? AND reason IS NULL
        ORDER BY follows_from IS NOT NULL, claim_id""", [planned.run_id]).fetchall()
    grades = grading.of_runs(connection, [planned.run_id]) if rows else {}
    return {"predictions": [{"claim": claim, "published": published, "or_more": highest is None, "unit": unit,
                             "unfitted": ends[:2], "fitted": ends[2:], "grade": grades[claim]}
                            for claim, published, highest, unit, *ends in rows], "verdict": verdict(planned),
            "figures": [figure["name"] for figure in lines(planned.folder / FIGURES)]}


def _say_run(run: dict, planned: Plan, out: Console) -> None:
    how = f"done before, on {when(run['done_before'])}; nothing was run (--again runs it anew);" if run["done_before"] \
        else run["status"]
    left = f" ({run['reason']})" if run["reason"] and run["status"] == "ok" else ""
    out.print(f"{run['notebook']} {how} {run['folder']}{left}", soft_wrap=True)
    if run.get("predictions"):
        table = console.table("claim", "published", "simulated, 5 to 95 %", "one constant fitted", "grade", whole="claim")
        for row in run["predictions"]:
            published = f"{console.number(row['published'])}{' or more' if row['or_more'] else ''}"
            published += "" if row["unit"] == "1" else f" {row['unit']}"
            table.add_row(row["claim"], published, _range(*row["unfitted"]), _range(*row["fitted"]), row["grade"])
        out.print(table)
        if planned.parameters != plan(planned.notebook).parameters:
            out.print("These grades are for the parameters given; those of paper/results.json are for the defaults.",
                      soft_wrap=True)
    if run.get("verdict"):
        out.print(f"verdict: {run['verdict']}", soft_wrap=True)
    if run.get("figures"):
        out.print(f"figures: {', '.join(run['figures'])}, in {planned.folder / 'figures'}", soft_wrap=True)


def verdict(planned: Plan) -> str:
    """What the last code cell of the executed notebook shows, if it is a sentence or a word; else nothing."""
    shown = _last_output(planned)
    return ast.literal_eval(shown) if shown.startswith(("'", '"')) else ""


def _last_output(planned: Plan) -> str:
    cells = json.loads((planned.folder / f"{planned.name}.ipynb").read_text())["cells"]
    outputs: list[dict] = next((cell["outputs"] for cell in reversed(cells) if cell["cell_type"] == "code"), [])
    return "".join(next((output["data"].get("text/plain", "") for output in outputs if "data" in output), ""))


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{console.number(low)} to {console.number(high)}"

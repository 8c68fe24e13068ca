"""What the terminal says of claims: the scoreboard, and of each run what it predicts."""
import ast
import json
from collections.abc import Container, Iterable

import duckdb
from rich.console import Console
from rich.table import Table

from study import console, errors
from study.commands.status import when
from study.errors import UserError
from study.runs.catalogue import books
from study.runs.folder import manifest
from study.runs.plan import Outcome, Plan, all_plans, done_before, plan
from study.store import results, store


def summary_of(board) -> Table:
    """How many claims have each grade, by what the audit finds. `study claims` names them."""
    counts = board.groupby(["grade", "audit"]).size().unstack(fill_value=0)
    table = console.table("grade, by audit", *counts.columns, "all")
    for grade, row in counts.iterrows():
        table.add_row(grade, *map(str, row), str(row.sum()))
    table.add_row("all", *map(str, counts.sum()), str(int(counts.to_numpy().sum())))
    return table


def table_of(board, committed: Container[str] = ()) -> Table:
    """Every claim: as printed, what the audit finds, its grade, which has a mark where it is a `committed` one."""
    table = console.table("claim", "as printed", "audit", "grade", whole="claim")
    for row in board.itertuples():
        table.add_row(row.claim_id, row.printed, row.audit, f"{row.grade} *" if row.claim_id in committed else row.grade)
    return table


# --- study claims ---------------------------------------------------------------------------------------------------------

def show_claims(words: list[str], out: Console) -> int:
    """`study claims`: grades of what has been run here, for the rest the committed ones. 1 if one that has been run fell."""
    from study.grades import grading
    plans = all_plans()
    done = {planned.name: planned.run_id for planned in plans if done_before(planned)}
    with store.open() as connection:
        graded = grading.of_runs(connection, list(done.values()))
        board = grading.scoreboard(connection, graded)
    board = board[board.claim_id.isin(_meant(board, words))].copy() if words else board
    accepted = {name: claim["grade"] for name, claim in results.committed()["claims"].items()}
    is_here = board.claim_id.isin(graded) | board.notebook.isin(done)
    here = board[is_here]
    fell = grading.fell({name: accepted[name] for name in here.claim_id if name in accepted},
                        dict(zip(here.claim_id, here.grade, strict=True)))
    committed = ~is_here & board.claim_id.isin(accepted)
    board.loc[committed, "grade"] = board.claim_id[committed].map(accepted)
    out.print(table_of(board, set(board.claim_id[committed & board.grade.isin(grading.GRADES)])))
    if not words:
        out.print()
        out.print(summary_of(board))
    undone = [planned for planned in plans if planned.name not in done]
    for line in [*fell, *_where_from(len(done), len(plans)), *_why_not(undone, board)]:
        out.print(line, soft_wrap=True)
    return 1 if fell else 0


def _where_from(n_done: int, n_all: int) -> list[str]:
    """Which grades are not of runs of here."""
    if n_done == n_all:
        return []
    which = "None of the notebooks has been run here as it stands now" if n_done == 0 else \
        f"{n_done} of {n_all} notebooks have been run here as they stand now"
    return [f"{which}; grades with a * are the committed ones of paper/results.json (make reproduce computes all of them)"]


def _why_not(undone: list[Plan], board) -> list[str]:
    """Of notebooks that grade something on the board and were run here, but not well, or not as they stand now."""
    lines = []
    for planned in undone:
        if planned.name not in set(board.notebook):
            continue
        if content := manifest(planned.folder):
            lines.append(f"{planned.name}: {content['status']} ({content['reason']}) when it was run here")
        elif any(map(manifest, planned.folder.parent.glob("*"))):
            lines.append(f"{planned.name}: has been run here, but with other code, data or parameters")
    return lines


def _meant(board, words: list[str]) -> set[str]:
    """The claims that are meant: by their own name; by the start of their notebook's; by a part of their name, or the start
    of their document's."""
    claims = set()
    for word in words:
        ways = [board.claim_id == word, board.notebook.fillna("").str.startswith(word)]
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

def say_outcomes(outcomes: Iterable[Outcome], out: Console) -> None:
    """How each run ended. Of one that went well also what it predicts, what was published, the grade, and its verdict."""
    with store.open() as connection:
        for outcome in outcomes:
            planned = outcome.plan
            how = outcome.status if outcome.again else \
                f"done before, on {when(outcome.started)}; nothing was run (--again runs it anew);"
            out.print(f"{planned.name} {how} {planned.folder}", soft_wrap=True)
            if outcome.status == "ok":
                _say_predictions(connection, planned, out)
                _say_verdict(planned, out)


def _say_predictions(connection: duckdb.DuckDBPyConnection, planned: Plan, out: Console) -> None:
    from study.grades import grading
    rows = connection.execute("""
        SELECT claim_id, published, published_high, published_unit, unfitted_low, unfitted_high, fitted_low, fitted_high
        FROM predictions JOIN claims USING (claim_id) WHERE run_id = ? AND reason IS NULL
        ORDER BY follows_from IS NOT NULL, claim_id""", [planned.run_id]).fetchall()
    if not rows:
        return
    grades = grading.of_runs(connection, [planned.run_id])
    table = console.table("claim", "published", "simulated, 5 to 95 %", "one constant fitted", "grade", whole="claim")
    for claim, published, most, unit, *bounds in rows:
        told = f"{console.number(published)}{' or more' if most is None else ''}{'' if unit == '1' else f' {unit}'}"
        table.add_row(claim, told, _range(*bounds[:2]), _range(*bounds[2:]), grades[claim])
    out.print(table)
    if planned.parameters != plan(planned.notebook).parameters:
        out.print("These grades are for the parameters given; those of paper/results.json are for the defaults.",
                  soft_wrap=True)


def _say_verdict(planned: Plan, out: Console) -> None:
    if sentence := verdict(planned):
        out.print(f"verdict: {sentence}", soft_wrap=True)


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

"""`study reproduce`: from the notebooks to the paper, and the word on whether it came out as before."""
import difflib
import os

from rich.console import Console
from rich.table import Table

from study import export, notebooks, paper, results, store
from study.errors import UserError
from study.plan import Limits, Outcome, Plan, all_plans, done_before, missing, plan


def reproduce(only: list[str], workers: int | None, accept: bool, limits: Limits, out: Console) -> int:
    """Run what has not been run, then make everything that follows from it. The exit code: 0 when all runs went well
    and the results are the committed ones."""
    wanted = [plan(notebooks.find(name)) for name in only] or all_plans()
    outcomes = run_plans(wanted, workers, limits, out)
    failed = [outcome for outcome in outcomes if outcome.status != "ok"]
    again = sum(outcome.again for outcome in outcomes)
    out.print(f"{len(outcomes) - len(failed)} of {len(outcomes)} notebooks went well, {again} of them run now")
    missing = [one.name for one in all_plans() if not done_before(one)]
    if missing:
        out.print(f"no scoreboard, results and paper without {', '.join(missing)}")
        return 1 if failed else 0
    from study import grading
    with store.open() as connection:
        board = grading.scoreboard(connection, grading.of_runs(connection, [one.run_id for one in all_plans()]))
        new = results.collect(connection, all_plans(), board)
    out.print(summary_of(board))
    accepted = results.committed()
    changed = results.differences(accepted, new)
    if accept:
        export.accept(new, all_plans())
    out.print(f"typeset {os.path.relpath(paper.build(all_plans(), board))}", soft_wrap=True)
    return _verdict(changed, accept, out)


def with_draws(only: list[str], draws: int, workers: int | None, limits: Limits, out: Console) -> int:
    """The notebooks that draw from priors, with so many draws, and the grades that these give. 1 if a run fails."""
    paths = [notebooks.find(name) for name in only] or sorted(notebooks.NOTEBOOKS.glob("*.ipynb"))
    drawing = [path for path in paths if (listed := notebooks.entry(path)) and "draws" in listed.parameters]
    if not drawing:
        raise UserError(f"none of {', '.join(path.stem for path in paths)} draws from priors; leave --draws out")
    outcomes = run_plans([plan(path, {"draws": draws}) for path in drawing], workers, limits, out)
    for outcome in outcomes:
        out.print(f"{outcome.plan.name} {outcome.status} {outcome.plan.folder}", soft_wrap=True)
    failed = any(outcome.status != "ok" for outcome in outcomes)
    if not failed:
        show_grades([outcome.plan for outcome in outcomes], out)
    return int(failed)


def show_grades(plans: list[Plan], out: Console) -> None:
    """The part of the scoreboard that these runs grade."""
    from study import grading
    with store.open() as connection:
        grades = grading.of_runs(connection, [one.run_id for one in plans])
        board = grading.scoreboard(connection, grades)
    out.print(table_of(board[board.claim_id.isin(grades)]))


def _verdict(changed: list[str], accept: bool, out: Console) -> int:
    for line in changed:
        out.print(f"  {line}", soft_wrap=True)
    if accept:
        out.print(f"results accepted: {len(changed)} changes in paper/results.json")
        return 0
    if changed:
        out.print(f"{len(changed)} results differ from paper/results.json; if that is meant: make results")
        return 1
    out.print("all results are those of paper/results.json")
    return 0


def run_plans(plans: list[Plan], workers: int | None, limits: Limits, console: Console) -> list[Outcome]:
    """Outcomes in the order of the plans; what has been done before is not run, what they need is. The store is up to date
    before (the notebooks read published runs from it) and after."""
    outcomes = {one.run_id: done for one in plans if (done := done_before(one))}
    store.refresh()
    pending = missing(plans)
    if pending:
        from study import batch  # brings papermill along, which takes its time
        try:
            outcomes |= {done.plan.run_id: done for done in batch.run_all(pending.values(), workers, limits, console)}
        except batch.Interrupted as stop:
            kept = sum(outcome.status == "ok" for outcome in stop.outcomes)
            console.print(f"stopped by {stop}; {kept} of {len(pending)} runs are finished and kept, the same command "
                          "goes on with the rest", soft_wrap=True)
            raise SystemExit(128 + stop.signum) from None
        finally:
            store.refresh()
    return [outcomes[one.run_id] for one in plans]


def summary_of(board) -> Table:
    """How many claims have each grade, by what the audit finds. `study claims` names them."""
    counts = board.groupby(["grade", "audit"]).size().unstack(fill_value=0)
    table = Table("claims by grade and audit", *counts.columns, "all", box=None, pad_edge=False)
    for grade, row in counts.iterrows():
        table.add_row(grade, *map(str, row), str(row.sum()))
    table.add_row("all", *map(str, counts.sum()), str(int(counts.to_numpy().sum())))
    return table


def table_of(board) -> Table:
    """Every claim: as printed, what the audit finds, its grade."""
    table = Table("claim", "as printed", "audit", "grade", box=None, pad_edge=False)
    for row in board.itertuples():
        table.add_row(row.claim_id, row.printed, row.audit, row.grade)
    return table


def show_claims(wanted: list[str], out: Console) -> int:
    """`study claims`: 1 if a grade fell against the committed results."""
    from study import grading
    with store.open() as connection:
        board = grading.scoreboard(connection, grading.of_runs(connection, [one.run_id for one in all_plans()]))
    unknown = [name for name in wanted if name not in set(board.claim_id)]
    if unknown:
        near = difflib.get_close_matches(unknown[0], board.claim_id, n=1)
        raise UserError(f"there is no claim '{unknown[0]}'; " + (f"did you mean '{near[0]}'?" if near else
                        "study claims lists them all"))
    board = board[board.claim_id.isin(wanted)] if wanted else board
    out.print(table_of(board))
    before = {name: said["grade"] for name, said in results.committed()["claims"].items() if name in set(board.claim_id)}
    fell = grading.fell(before, dict(zip(board.claim_id, board.grade, strict=True)))
    for line in fell:
        out.print(line, soft_wrap=True)
    return 1 if fell else 0

"""`study reproduce`: from the notebooks to the paper, and the word on whether it came out as before."""
import os
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from study.commands import scoreboard
from study.documents import claims
from study.ensembles import kept
from study.errors import UserError
from study.paper import sources
from study.runs import catalogue
from study.runs.folder import FIGURES, lines
from study.runs.plan import Limits, Outcome, Plan, all_plans, done_before, forget, missing, plan
from study.store import results, store
from study.words import counted


class Reproduced(NamedTuple):
    """What `study reproduce` made."""
    code: int                   # to exit with: 0 when all runs went well and the results are the committed ones
    notebooks: list[dict]
    missing: list[str]          # notebooks without which there are no results
    changed: dict[str, list[str]]       # by changed result, what of the paper uses it
    accepted: bool = False
    paper: Path | None = None


def reproduce(only: list[str], workers: int | None, accept: bool, whole: bool, limits: Limits, out: Console) -> Reproduced:
    """Run what has not been run, then make everything that follows from it. Raises UserError, before anything is run, where
    the paper has a number of its own. `whole`: no kept ensemble is read."""
    sources.refuse_wrong()
    outcomes = run_plans(plans_of(only, None, whole), workers, limits, out)
    failed = [outcome for outcome in outcomes if outcome.status != "ok"]
    again = sum(outcome.again for outcome in outcomes)
    out.print(f"{len(outcomes) - len(failed)} of {len(outcomes)} notebooks went well, {again} of them run now")
    plans = all_plans(whole)
    missing = [planned.name for planned in plans if not done_before(planned)]
    if missing:
        out.print(f"no scoreboard, results and paper without {', '.join(missing)}")
        return Reproduced(1 if failed else 0, list(map(scoreboard.in_short, outcomes)), missing, {})
    from study.grades import grading
    from study.paper import export, typeset  # bring matplotlib along
    with store.open() as connection:
        board = grading.scoreboard(connection, grading.all_of_runs(connection, [planned.run_id for planned in plans]))
        new = results.collect(connection, plans, board)
    out.print(scoreboard.summary_of(board))
    accepted = results.committed()
    changed = results.differences(accepted, new)
    if accept:
        export.accept(new, plans)
        if made := kept.keep(planned.folder for planned in plans):
            out.print(f"kept in data/ensembles: {', '.join(made)}; their notebooks run once more with them", soft_wrap=True)
    paper, used = typeset.build(plans, board), uses(changed, plans)
    out.print(f"typeset {os.path.relpath(paper)}", soft_wrap=True)
    return Reproduced(_verdict(used, accept, out), list(map(scoreboard.in_short, outcomes)), [], used, accept, paper)


def with_draws(only: list[str], draws: int, workers: int | None, limits: Limits, as_json: bool, out: Console) -> int:
    """The notebooks that draw from priors, with so many draws, and the grades that these give. 1 if a run fails."""
    outcomes = run_plans(plans_of(only, draws), workers, limits, out)
    scoreboard.give_outcomes(outcomes, as_json, out)
    return int(any(outcome.status != "ok" for outcome in outcomes))


def plans_of(only: list[str], draws: int | None, whole: bool = False) -> list[Plan]:
    """What is to be run: all notebooks or `only` some, and with so many draws those that draw."""
    paths = [catalogue.find(name) for name in only] or catalogue.books()
    if draws is None:
        return [plan(path, whole=whole) for path in paths]
    drawing = [path for path in paths if (listed := catalogue.entry(path)) and "draws" in listed.parameters]
    if not drawing:
        raise UserError(f"none of {', '.join(path.stem for path in paths)} draws from priors; leave --draws out")
    return [plan(path, {"draws": draws}) for path in drawing]


def _verdict(changed: dict[str, list[str]], accept: bool, out: Console) -> int:
    figures: set[str] = set()       # named below the first number of their notebook, and not below each
    for line, used in changed.items():
        for text in (f"  {line}", *(f"      {use}" for use in used if use not in figures)):
            out.print(text, soft_wrap=True)
        figures |= {use for use in used if use.startswith(sources.FIGURES_OF)}
    if accept:
        out.print(f"results accepted: {len(changed)} changes in paper/results.json")
        return 0
    if changed:
        differ = f"{counted(len(changed), 'result')} differ{'s' * (len(changed) == 1)}"
        out.print(f"{differ} from paper/results.json; if that is meant: make results")
        return 1
    out.print("all results are those of paper/results.json")
    return 0


def uses(changed: list[str], plans: list[Plan]) -> dict[str, list[str]]:
    """By line of `results.differences`, the sentences and figures of the paper that use what changed."""
    figures = {planned.name: {figure["name"] for figure in lines(planned.folder / FIGURES)} for planned in plans}
    notebooks = {claim.id: claim.notebook or "" for claim in claims.read()}
    used = {}
    for line in changed:
        name = line.partition(": ")[0]
        notebook = notebooks.get(name, name.partition("/")[0])
        used[line] = sources.uses(name, notebook, figures.get(notebook, ()))
    return used


def run_plans(plans: list[Plan], workers: int | None, limits: Limits, console: Console,
              again: bool = False) -> list[Outcome]:
    """Outcomes in the order of the plans; what has been done before is not run (unless `again`), what they need is. The
    store is up to date before (the notebooks read published runs from it) and after."""
    for planned in plans if again else ():
        forget(planned)
    outcomes = {planned.run_id: done for planned in plans if (done := done_before(planned))}
    store.refresh()
    pending = missing(plans)
    if pending:
        from study.runs import batch  # brings papermill along, which takes its time
        try:
            outcomes |= {done.plan.run_id: done for done in batch.run_all(pending.values(), workers, limits, console)}
        except batch.Interrupted as stop:
            finished = sum(outcome.status == "ok" for outcome in stop.outcomes)
            console.print(f"stopped by {stop}; {finished} of {len(pending)} runs are finished and kept, the same command "
                          "goes on with the rest", soft_wrap=True)
            raise SystemExit(128 + stop.signum) from None
        finally:
            store.refresh()
    return [outcomes[planned.run_id] for planned in plans]

"""What is current and what would run: `study status` and the `--dry-run` of other verbs. Nothing is run or written."""
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from study import console
from study.commands import result
from study.errors import UserError
from study.project import runs_folder
from study.runs import catalogue
from study.runs.folder import MANIFEST, manifest
from study.runs.plan import Plan, all_plans, done_before, missing, plan
from study.words import counted

NOTEBOOK, ENSEMBLE, IMPORT = "notebook", "ensemble", "import"


class State(NamedTuple):
    """Of a notebook with its parameters, of a kept ensemble, or of an import, which is known by its label."""
    name: str
    state: str
    minutes: float | None       # that it would run; None if it would not, or if it is not known
    kind: str = NOTEBOOK


def show(plans: Iterable[Plan], as_json: bool, out: Console) -> None:
    """What would run of these plans, and of what they need."""
    wanted = {planned.run_id: planned for planned in plans}
    _give([state_of(planned) for planned in {**wanted, **missing(wanted.values())}.values()], as_json, out)


def show_all(as_json: bool, out: Console) -> None:
    """The notebooks of the study with their defaults, their kept ensembles, and notebooks of the user's own as they were run
    last. Imports that an older version has read follow."""
    from study.store import store  # brings DuckDB along
    _give([*map(state_of, all_plans()), *_own(), *_ensembles(), *_older_imports()], as_json, out)
    if damage := store.damage():
        console.err.print(damage, soft_wrap=True)


def when(started: str) -> str:
    """A time of a manifest, for readers."""
    return f"{started[:16].replace('T', ' ')} UTC"


def state_of(planned: Plan) -> State:
    """Whether a run is current, or why it would be made."""
    if done := done_before(planned):
        return State(planned.name, f"current, run on {when(done.started)}", None)
    before = [known for file in planned.folder.parent.glob(f"*/{MANIFEST}") if (known := manifest(file.parent))]
    of_plan = manifest(planned.folder)
    if of_plan and of_plan["status"] != "ok":
        state = f"{of_plan['status']} on {when(of_plan['started'])}: {of_plan['reason']}"
    else:
        state = "run with other code, data or parameters" if before else "not run"
    return State(planned.name, state, _minutes(planned, before))


def _minutes(planned: Plan, before: list[dict[str, Any]]) -> float:
    """About how long it would take: as the last run that went well did, or else as the notebook or its entry says."""
    from study.commands.documentation import results_tables  # brings pandas along
    went_well = [known for known in before if known["status"] == "ok" and known["parameters"] == planned.parameters]
    if went_well:
        return max(went_well, key=lambda known: known["started"])["seconds"] / 60
    entry = catalogue.entry(planned.notebook)
    return catalogue.Notebook().minutes if entry is None else results_tables.minutes().get(planned.name, entry.minutes)


def _ensembles() -> list[State]:
    """Of each ensemble that a notebook keeps, whether code and data are those of today. It runs within its notebook."""
    return [_state_of_ensemble(name) for listed in catalogue.STUDY.values() for name in listed.keeps]


def _state_of_ensemble(name: str) -> State:
    from study.ensembles import kept  # brings Arrow and Numba along
    file = kept.file_of(name)
    if not file.exists():
        return State(name, "not kept: simulated whole", None, ENSEMBLE)
    of_file = kept.facts(file)
    if kept.is_current(of_file):
        return State(name, "kept, of the code and data of today", None, ENSEMBLE)
    minutes = int(of_file[kept.SECONDS]) / 60
    return State(name, f"of older code or data: simulated whole, in {_in_words(minutes)} of one processor", minutes,
                 ENSEMBLE)


def _older_imports() -> list[State]:
    """An import of today's reading needs no line."""
    from study.ingest import imports  # brings Arrow along
    return [State(known["label"], f"{imports.OLDER}; delete {folder} and import its files again", None, IMPORT)
            for known, folder in imports.kept() if imports.is_older(known)]


def _own() -> list[State]:
    """Of each notebook of the user's own and each set of parameters the last run counts."""
    last: dict[str, dict[str, Any]] = {}
    for file in runs_folder().glob(f"*/*/{MANIFEST}"):
        known = manifest(file.parent)
        if known and known.get("file"):
            key = json.dumps([known["file"], known["parameters"], known.get("secrets")], sort_keys=True)
            last[key] = max(known, last.get(key, known), key=lambda run: run["started"])
    return [_state_of_own(known) for _, known in sorted(last.items())]


def _state_of_own(known: dict[str, Any]) -> State:
    try:
        planned = plan(Path(known["file"]), known["parameters"], dict.fromkeys(known.get("secrets") or (), ""))
    except UserError as error:
        return State(known["notebook"], f"cannot run: {error}", None)
    return state_of(planned)._replace(name=known["file"])


def _give(states: list[State], as_json: bool, out: Console) -> None:
    result.give(states, as_json, lambda: _say(states, out))


def _say(states: list[State], out: Console) -> None:
    notebooks = [state for state in states if state.kind == NOTEBOOK]
    if of_study := [state for state in notebooks if state.name in catalogue.STUDY]:
        out.print(_of_notebooks(of_study))
    for state in notebooks:
        if state.name not in catalogue.STUDY:
            takes = "" if state.minutes is None else f"; would take {_in_words(state.minutes)}"
            out.print(f"{state.name}\n  {state.state}{takes}", soft_wrap=True)
    if kept := [state for state in states if state.kind == ENSEMBLE]:
        shown = console.table("kept ensemble", "state", whole="kept ensemble")
        for state in kept:
            shown.add_row(state.name, state.state)
        out.print(shown)
    for state in states:
        if state.kind == IMPORT:
            out.print(f"{IMPORT} {state.name}\n  {state.state}", soft_wrap=True)
    to_run = [state.minutes for state in notebooks if state.minutes is not None]
    whole = [state.minutes for state in states if state.kind == ENSEMBLE and state.minutes is not None]
    besides = f"; the {counted(len(whole), 'ensemble')} of older code or data: {_in_words(sum(whole))} more" if whole else ""
    if to_run:
        out.print(f"{len(to_run)} of {len(notebooks)} would run, one after another in {_in_words(sum(to_run))}{besides}",
                  soft_wrap=True)
    else:
        out.print(f"{len(notebooks)} {'is' if len(notebooks) == 1 else 'are'} current; nothing would run")


def _of_notebooks(states: list[State]) -> Table:
    """How long each would take stands there if any of them would run."""
    would = any(state.minutes is not None for state in states)
    shown = console.table("notebook", "state", *(["would take"] if would else []), whole="notebook")
    for state in states:
        takes = "" if state.minutes is None else _in_words(state.minutes)
        shown.add_row(state.name, state.state, *([takes] if would else []))
    return shown


def _in_words(minutes: float) -> str:
    return f"about {minutes:.0f} min" if minutes >= 1 else f"about {max(1, round(60 * minutes))} s"

"""Which run is meant: its identity, its folder, what it may take, and how it ended."""
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from model.jit import sources
from study.errors import UserError
from study.project import DATA, LOCK, NOTEBOOKS, ROOT, data_files, digest, digest_of_files, runs_folder
from study.runs import catalogue, parameters
from study.runs.folder import MANIFEST, is_whole, manifest

OF_THE_USER = ("UserError ", "CannotRun ", "PoolFull ")       # how the reason begins if a parameter has to be mended


@dataclass(frozen=True)
class Plan:
    """One run of one notebook. `run_id` covers the notebook's code (not its prose), the parameters, its entry in the
    catalogue, the sources in reach of its imports and of the runner, the data files read, the lock file, the Python that
    runs them and the runs that it `needs`."""
    notebook: Path
    parameters: dict[str, parameters.Value]
    reads: tuple[str, ...]
    parts: dict[str, str]       # a digest of each thing that makes the run what it is
    needs: tuple["Plan", ...] = ()      # runs whose records it reads

    @property
    def run_id(self) -> str:
        return digest([json.dumps(self.parts, sort_keys=True).encode()])[:16]

    @property
    def name(self) -> str:
        return self.notebook.stem

    @property
    def folder(self) -> Path:
        return runs_folder() / self.name / self.run_id


def plan(notebook: Path, overrides: Mapping[str, Any] | None = None) -> Plan:
    """Check everything that can be checked before a kernel starts, and name the run."""
    listed = catalogue.entry(notebook)
    values = parameters.resolve(notebook, listed.parameters if listed else None, overrides or {})
    if listed and listed.machine and overrides:     # defaults are a machine that can be
        _check_machine(listed.machine, values)
    files = [path for pattern in (listed.reads if listed else ("**/*",)) for path in data_files(pattern)]
    needs = tuple(plan(catalogue.find(name)) for name in (listed.needs if listed else ()))
    code = [cell.source for cell in parameters.cells(notebook) if cell.kind == "code"]
    reads = tuple(path.relative_to(DATA).as_posix() for path in files)
    return Plan(notebook, values, reads, {
        "notebook": digest([notebook.stem.encode(), json.dumps(code).encode(), *_surroundings(notebook)]),
        "parameters": digest([json.dumps(values, sort_keys=True).encode()]),
        "listed": digest([repr(listed).encode()]), "sources": _sources(notebook, code),
        "lock": digest_of_files([LOCK]), "python": "{}.{}".format(*sys.version_info[:2]),
        **{path.relative_to(ROOT).as_posix(): digest_of_files([path]) for path in files},
        **{f"run of {needed.name}": needed.run_id for needed in needs}}, needs)


def _check_machine(module: str, values: Mapping[str, parameters.Value]) -> None:
    """What is wrong with parameters together, such as files that are larger than the disks."""
    try:
        import_module(module).check(**values)
    except ValueError as error:
        raise UserError(str(error)) from None


def _sources(notebook: Path, code: list[str]) -> str:
    """A digest of what the notebook can import from the project, itself or by the modules beside it, and of what runs it. Of
    the catalogue its own entry counts alone."""
    beside = [] if notebook.parent == NOTEBOOKS else [path.read_text() for path in sorted(notebook.parent.glob("*.py"))]
    imported = {name for text in ["\n".join(code), *beside] for name in sources.modules_of(text)}
    return sources.digest_once(*sorted(imported), "study.runs.runner", "study.runs.guard", but=("study.runs.catalogue",))


def _surroundings(notebook: Path) -> list[bytes]:
    """What else makes a notebook of the user's own: its folder, and the modules beside it that it could import."""
    if notebook.parent == NOTEBOOKS:
        return []
    return [str(notebook.parent).encode(), digest_of_files(sorted(notebook.parent.glob("*.py"))).encode()]


@dataclass(frozen=True)
class Limits:
    """What a run may take. `memory_bytes` None: no limit; beyond one the kernel gets a MemoryError."""
    cell_seconds: int = 3600
    memory_bytes: int | None = None


UNLIMITED = Limits()


@dataclass(frozen=True)
class Outcome:
    """How a run ended: status is 'ok', 'failed', 'timed out', 'died', 'interrupted', or 'not run', which leaves no
    record. `again` is False when it had been done before."""
    plan: Plan
    status: str
    reason: str | None = None
    seconds: float = 0.0
    again: bool = True

    @property
    def exit_code(self) -> int:
        """For the command line: 2 if a value of the user's ended it."""
        return 0 if self.status == "ok" else 2 if (self.reason or "").startswith(OF_THE_USER) else 1


def all_plans() -> list[Plan]:
    """The study: every notebook with its defaults."""
    return [plan(path) for path in catalogue.books()]


def done_before(planned: Plan) -> Outcome | None:
    """The outcome of a run that went well before and need not be repeated."""
    known = manifest(planned.folder)
    if known is None or known.get("status") != "ok":
        return None
    if not is_whole(planned.folder):
        (planned.folder / MANIFEST).unlink()        # a damaged record does not count; the run is repeated
        return None
    return Outcome(planned, "ok", seconds=known["seconds"], again=False)


def not_run(planned: Plan) -> Outcome | None:
    """The outcome of a run that cannot be, for want of one that it needs."""
    for needed in planned.needs:
        if not done_before(needed):
            status = (manifest(needed.folder) or {}).get("status", "not run")
            return Outcome(planned, "not run", f"because {needed.name}, which it needs, has not gone well: {status}")
    return None


def missing(plans: Iterable[Plan]) -> dict[str, Plan]:
    """By run_id, what has not been done of these and of what they need; what is needed comes first."""
    to_do: dict[str, Plan] = {}
    for planned in plans:
        if not done_before(planned):
            to_do |= missing(planned.needs)
            to_do[planned.run_id] = planned
    return to_do



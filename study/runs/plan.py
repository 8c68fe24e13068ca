"""Which run is meant: its identity, its folder, whether it is done and current, what it may take, and how it ended."""
import contextlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from model.jit import sources
from study.errors import UserError
from study.project import DATA, LOCK, NOTEBOOKS, ROOT, data_files, digest, digest_of_files, runs_folder
from study.runs import beside, catalogue, inputs, notebook_file, parameters
from study.runs.folder import MANIFEST, is_whole, manifest

OF_THE_USER = ("UserError ", "CannotRun ", "PoolFull ")       # how the reason begins if a parameter has to be mended


@dataclass(frozen=True)
class Plan:
    """One run of one notebook. `run_id` covers the notebook's code (not its prose), the parameters and its entry in the
    catalogue. It covers the sources in reach of its imports and of the runner, and the data files read. It also covers the
    lock file, the Python that runs them and the runs that it `needs`. Of a notebook of the user's own also the files that it
    was seen to read. Of one that takes imports from the run store also which these are and what they hold."""
    notebook: Path
    parameters: dict[str, parameters.Kept]
    reads: tuple[str, ...]
    parts: dict[str, str]       # a digest of each thing that makes the run what it is
    needs: tuple["Plan", ...] = ()      # runs whose records it reads
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)       # parameters that nothing written has

    @property
    def run_id(self) -> str:
        """The identity of the run: 16 hex digits of all that it is made of."""
        return digest([json.dumps(self.parts, sort_keys=True).encode()])[:16]

    @property
    def name(self) -> str:
        """The name of the notebook."""
        return self.notebook.stem

    @property
    def folder(self) -> Path:
        """Where the record of the run is, or will be."""
        return runs_folder() / self.name / self.run_id


def is_own(notebook: Path) -> bool:
    """Whether a notebook is of the user's own, and none of the study's."""
    return notebook.parent != NOTEBOOKS


def plan(notebook: Path, overrides: Mapping[str, Any] | None = None, secrets: Mapping[str, str] | None = None,
         whole: bool = False) -> Plan:
    """Check everything that can be checked before a kernel starts, and name the run. `whole`: it reads no kept ensemble."""
    listed = catalogue.entry(notebook)
    notebook_file.refuse_other_languages(notebook)
    values = parameters.resolve(notebook, listed.parameters if listed else None, overrides or {}, secrets or ())
    if listed and listed.machine and overrides:     # defaults are a machine that can be
        _check_machine(listed.machine, values)
    files = [path for pattern in (listed.reads if listed else ("**/*",)) for path in data_files(pattern)]
    keeps = [DATA / "ensembles" / f"{name}.parquet" for name in (listed.keeps if listed and not whole else ())]
    needs = tuple(plan(catalogue.find(name), whole=whole) for name in (listed.needs if listed else ()))
    code = [cell.source for cell in notebook_file.cells(notebook) if cell.kind == "code"]
    reads = tuple(path.relative_to(DATA).as_posix() for path in (*files, *keeps))
    planned = Plan(notebook, values, reads, {
        "notebook": digest([notebook.stem.encode(), json.dumps(code).encode(), *_surroundings(notebook, code)]),
        "parameters": digest([json.dumps([values, sorted(secrets)] if secrets else values, sort_keys=True).encode()]),
        "listed": digest([repr(listed).encode()]), "sources": _sources(notebook, code),
        "lock": digest_of_files([LOCK]), "python": "{}.{}".format(*sys.version_info[:2]),
        **{path.relative_to(ROOT).as_posix(): digest_of_files([path]) for path in (*files, *keeps) if path.exists()},
        **{f"run of {needed.name}": needed.run_id for needed in needs},
        **_imports(listed.imports if listed else "", values)}, needs, secrets or {})
    return _with_inputs_of_today(planned) if is_own(notebook) else planned


def _with_inputs_of_today(first: Plan) -> Plan:
    """The run with what its inputs hold now. Which files these are, the record of an earlier run says. If they hold
    something else now, it is another run."""
    planned, looked_at = first, set()
    while planned.run_id not in looked_at and (names := _inputs(manifest(planned.folder))):
        if _unchanged(planned, names):
            return planned
        looked_at.add(planned.run_id)
        now = inputs.today(first.notebook.parent, names)
        planned = replace(first, parts=first.parts | {f"input {name}": value for name, value in now.items()})
    return planned


def _inputs(known: Mapping[str, Any] | None) -> dict[str, str]:
    return (known or {}).get("inputs") or {}


def _unchanged(planned: Plan, read: dict[str, str]) -> bool:
    return inputs.today(planned.notebook.parent, read) == read


def _check_machine(module: str, values: Mapping[str, parameters.Kept]) -> None:
    """What is wrong with parameters together, such as files that are larger than the disks."""
    try:
        import_module(module).check(**values)
    except ValueError as error:
        raise UserError(str(error)) from None


def _imports(module: str, values: Mapping[str, parameters.Kept]) -> dict[str, str]:
    """What it reads of the imports in the run store. Nothing where its parameters name none, as by default."""
    read = import_module(module).imports_read(**values) if module else []
    return {"imports": digest([json.dumps(read).encode()])} if read else {}


def _sources(notebook: Path, code: list[str]) -> str:
    """A digest of what the notebook can import from the project, itself or by the modules beside it, and of what runs it. Of
    the catalogue its own entry counts alone."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in _modules(notebook, code)]
    imported = {name for text in ["\n".join(code), *texts] for name in sources.modules_of(text)}
    return sources.digest_once(*sorted(imported), "study.runs.runner", "study.runs.guard", but=("study.runs.catalogue",))


def _surroundings(notebook: Path, code: list[str]) -> list[bytes]:
    """What else makes a notebook of the user's own: its folder, and the modules beside it that it imports."""
    if not is_own(notebook):
        return []
    return [str(notebook.parent).encode(), digest_of_files(_modules(notebook, code)).encode()]


def _modules(notebook: Path, code: list[str]) -> list[Path]:
    return beside.modules(notebook.parent, code) if is_own(notebook) else []


@dataclass(frozen=True)
class Limits:
    """What a run may take. `memory_bytes` None: no limit; beyond one the kernel gets a MemoryError. `run_seconds` None: a
    run may take as long as its cells do."""
    cell_seconds: int = 3600
    memory_bytes: int | None = None
    run_seconds: int | None = None


UNLIMITED = Limits()


@dataclass(frozen=True)
class Outcome:
    """How a run ended: status is 'ok', 'failed', 'timed out', 'died', 'interrupted', or 'not run', which leaves no
    record. `again` is False when it had been done before, at the time `started`."""
    plan: Plan
    status: str
    reason: str | None = None
    seconds: float = 0.0
    again: bool = True
    started: str = ""

    @property
    def exit_code(self) -> int:
        """For the command line: 2 if a value of the user's ended it."""
        return 0 if self.status == "ok" else 2 if (self.reason or "").startswith(OF_THE_USER) else 1


def all_plans(whole: bool = False) -> list[Plan]:
    """The study: every notebook with its defaults."""
    return [plan(path, whole=whole) for path in catalogue.books()]


def done_before(planned: Plan) -> Outcome | None:
    """The outcome of a run that went well before and need not be repeated. Its record is whole, and what a notebook of the
    user's own read is as it was. Whether something is current is judged here and nowhere else."""
    known = manifest(planned.folder)
    if known is None or known.get("status") != "ok":
        return None
    if not is_whole(planned.folder):
        with contextlib.suppress(OSError):      # a damaged record does not count, also where it cannot be taken away
            (planned.folder / MANIFEST).unlink()
        return None
    if not _unchanged(planned, _inputs(known)):
        return None
    return Outcome(planned, "ok", known.get("reason"), known["seconds"], again=False, started=known["started"])


def is_current(known: Mapping[str, Any]) -> bool:
    """Whether the run with this manifest is what its notebook would give today, with the same parameters."""
    try:
        path = Path(known["file"]) if known.get("file") else catalogue.find(known["notebook"])
        hidden = dict.fromkeys(known.get("secrets") or (), "")
        planned = plan(path, known["parameters"], hidden)
    except (UserError, KeyError):       # its notebook is gone, or takes other parameters now
        return False
    return planned.run_id == known["run_id"] and done_before(planned) is not None


def forget(planned: Plan) -> None:
    """Let a run count as not done, so that it is done anew."""
    (planned.folder / MANIFEST).unlink(missing_ok=True)


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



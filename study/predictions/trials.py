"""Published set-ups that were predicted before their results were seen: `data/trials/<set-up>/`.

    setup.toml          source, left_out, budget (transactions of a run), SHA-256 of a file of results that was `sealed`. A
                        [scenario]. Each [[cell]] with a name and fields that are changed
                        (`study.machines.scenario.changed`). Each [[ratio]] in words, `of` one cell `to` another
    blind.json          what was predicted of each cell, committed before the results were opened. By what: commit and
                        digests of model, study, priors, device sheets and setup.toml
    published.toml      what was published: metric, source, quote, used, [tps] by cell; in which `trial` it was. What is to
                        be changed to predict it `now`, where a name stands for something else since

A set-up is added by putting a folder there: `predict_blind(name)` writes blind.json, and refuses where results lie open or
predictions have been made. All cells are run with the same draws, so that a ratio of two has an interval of its own.

How a trial is graded stands in `study.predictions.trial_scores`.
"""
import json
import subprocess
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from model.jit import sources
from study.documents.published import explain, refuse_duplicates
from study.ensembles import intervals
from study.errors import UserError
from study.machines import run_length, scenario
from study.predictions import predict
from study.project import DATA, ROOT, data_file, data_files, digest, digest_of_files, write_atomically

Form = TypeVar("Form", bound=BaseModel)

KEPT = ("tps", "response_mean", "response_p95", "wal_per_transaction", "transactions_per_flush", "checkpoints")
NONE = "none"                   # a part of the scenario that a cell takes away: TOML has no word for it
DRAWS = 12
NonEmpty = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Cell(_Strict):
    name: NonEmpty
    changes: dict[str, Any]


class _Ratio(_Strict):
    name: NonEmpty
    of: NonEmpty
    to: NonEmpty


class _Setup(_Strict):
    source: NonEmpty
    left_out: str
    budget: Annotated[int, Field(ge=1000, le=10**7)]
    sealed: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    scenario: dict[str, Any]
    cell: Annotated[tuple[_Cell, ...], Field(min_length=1)]
    ratio: tuple[_Ratio, ...] = ()


class _Published(_Strict):
    metric: NonEmpty
    source: NonEmpty
    quote: NonEmpty
    used: NonEmpty
    trial: Annotated[int, Field(ge=1)]
    now: dict[str, Any] = {}
    tps: dict[str, Annotated[float, Field(gt=0)]]


class _Prediction(_Strict):
    run: NonEmpty
    draws: dict[str, Annotated[tuple[float, ...], Field(min_length=2)]]


class _Blind(_Strict):
    """What came before 22 November 2026 has neither commit nor digests of data."""
    model: NonEmpty
    study: NonEmpty
    cells: dict[str, _Prediction]
    commit: str | None = None
    setup: str | None = None
    priors: str | None = None
    hardware: str | None = None
    n_draws: int | None = None


class Setup(NamedTuple):
    """A published set-up as it was described before its results were seen."""
    name: str
    source: str
    left_out: str
    budget: int                             # transactions of a run
    cells: dict[str, scenario.Scenario]
    ratios: tuple[tuple[str, str, str], ...]        # in words, of one cell, to another
    sealed: str | None                      # SHA-256 of the file of results


def names() -> list[str]:
    """Names of all trials."""
    return [path.parent.name for path in data_files("trials/*/setup.toml")]


def _checked(kind: type[Form], file: str, content: dict) -> Form:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise UserError(explain(file, error)) from None


def read(name: str) -> Setup:
    """Raises UserError, one sentence, for a set-up that is not there or cannot be."""
    if name not in names():
        raise UserError(f"there is no set-up '{name}' in data/trials; name one of {', '.join(names())}")
    file = f"trials/{name}/setup.toml"
    return setup_of(name, scenario.toml(data_file(file)), file)


def setup_of(name: str, content: dict, file: str = "setup.toml") -> Setup:
    """The set-up that the file describes. A UserError names what is wrong in it."""
    described = _checked(_Setup, file, content)
    base = scenario.of(described.scenario, file)
    refuse_duplicates(file, "cell", [cell.name for cell in described.cell])
    cells = {cell.name: scenario.changed(base, {path: None if value == NONE else value
                                                for path, value in cell.changes.items()} | {"title": cell.name})
             for cell in described.cell}
    for ratio in described.ratio:
        for cell in (ratio.of, ratio.to):
            if cell not in cells:
                raise UserError(f"{file}: ratio '{ratio.name}' is of '{cell}', but there is no such cell; name one of "
                                f"{', '.join(cells)}")
    return Setup(name=name, source=described.source, left_out=described.left_out, budget=described.budget, cells=cells,
                 ratios=tuple((ratio.name, ratio.of, ratio.to) for ratio in described.ratio), sealed=described.sealed)


def predicted(setup: Setup, draws: int, cells: list[str] | None = None, budget: int | None = None) -> dict:
    """Of every cell the run's length in words, and each quantity of every draw."""
    chosen = {name: setup.cells[name] for name in cells or setup.cells}
    runs, lengths = predict.compare_with_lengths(list(chosen.values()), draws, 1, None,
                                                 run_length.Budget(budget or setup.budget))
    return {name: {"run": length.why, "draws": _by_draw(runs[runs.scenario == place])}
            for place, (name, length) in enumerate(zip(chosen, lengths, strict=True))}


def _by_draw(runs: pd.DataFrame) -> dict[str, list[float]]:
    rows = runs.sort_values("draw").dropna(axis=1, how="all")
    devices = [name for name in rows if ": " in name]
    return {name: [float(f"{value:.5g}") for value in rows[name].fillna(0)] for name in (*KEPT, *devices) if name in rows}


def predict_blind(name: str, draws: int = DRAWS) -> Path:
    """Predict all cells of a set-up and write blind.json beside it. Raises UserError if that would not be blind."""
    setup, folder = read(name), DATA / "trials" / name
    for file, why in (("published.toml", "its results lie open beside it"), ("blind.json", "it has been predicted")):
        if (folder / file).exists():
            raise UserError(f"{name} has a {file}, so that {why}; a prediction would not be blind")
    path = folder / "blind.json"
    commit(setup, predicted(setup, draws), path)
    return path


def commit(setup: Setup, cells: dict, path: Path) -> None:
    """Write predictions, with what they were made by."""
    header = {"commit": _commit_of_sources(), "model": sources.digest_once("model"), "study": sources.digest_once("study"),
              "priors": digest_of_files([data_file("priors.toml")]),
              "hardware": digest_of_files(data_files("hardware/*.toml")), "setup": _digest_of_setup(setup.name),
              "n_draws": len(next(iter(cells.values()))["draws"]["tps"])}
    write_atomically(path, json.dumps(header | {"cells": cells}, indent=1) + "\n")


def _digest_of_setup(name: str) -> str:
    return digest([data_file(f"trials/{name}/setup.toml").read_bytes()])


def _commit_of_sources() -> str:
    """Of the repository, and whether sources differ from it; "unknown" where there is none."""
    try:
        head = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "model", "study", "data/priors.toml", "data/hardware")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return head + (", with changes" if changed else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True,
                          timeout=60).stdout.strip()


def blind(name: str) -> dict:
    """The cells of what was committed. Raises UserError if the set-up is another one since."""
    file = f"trials/{name}/blind.json"
    committed = _checked(_Blind, file, json.loads(data_file(file).read_text()))
    if committed.setup is not None and committed.setup != _digest_of_setup(name):
        raise UserError(f"{file} was made from another setup.toml than the one beside it; put that one back")
    unknown = sorted(committed.cells.keys() - read(name).cells.keys())
    if unknown:
        raise UserError(f"{file} has a cell '{unknown[0]}', which setup.toml has not; put back the one it was made from")
    return {cell: {"run": kept.run, "draws": {quantity: list(values) for quantity, values in kept.draws.items()}}
            for cell, kept in committed.cells.items()}


def interval(cells: dict, cell: str, quantity: str = "tps") -> intervals.Interval:
    """The interval of a quantity in a cell, over the draws of the blind prediction."""
    return intervals.interval(pd.Series(cells[cell]["draws"][quantity]))


# --- what was published ---------------------------------------------------------------------------------------------------

def published(name: str) -> dict:
    """`tps` by cell, and where they come from. Raises UserError, one sentence, for what says too little."""
    file = f"trials/{name}/published.toml"
    return _checked(_Published, file, scenario.toml(data_file(file))).model_dump()


def opened(trial: int | None = None) -> list[str]:
    """Set-ups whose results have been opened: those that have a file of them. Of all trials, or of one."""
    with_results = [path.parent.name for path in data_files("trials/*/published.toml")]
    return [name for name in with_results if trial in (None, published(name)["trial"])]


def as_of_now(name: str) -> Setup:
    """To be predicted anew: with what its words mean since."""
    setup, changes = read(name), published(name)["now"]
    return setup._replace(cells={cell: scenario.changed(of, changes) for cell, of in setup.cells.items()})

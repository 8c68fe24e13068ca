"""Published set-ups that were predicted before their results were seen: `data/trials/<set-up>/`.

    setup.toml          a scenario, and cells: a name, and fields that are changed (`study.scenario.changed`)
    blind.json          what was predicted of each cell, committed before the results were opened
    published.toml      what was published, with its source

    found = trials.predict(trials.read("vondra-sata6"), draws=6)

All cells of a set-up are run with the same draws, so that a ratio of two has an interval of its own.
"""
import json
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from study import ensembles, predict, scenario
from study.plan import package_digest
from study.project import DATA, write_atomically

FOLDER = DATA / "trials"
KEPT = ("tps", "response_mean", "response_p95", "wal_per_transaction", "transactions_per_flush", "checkpoints")
NONE = "none"                   # a part of the scenario that a cell takes away: TOML has no word for it


class Setup(NamedTuple):
    name: str
    source: str
    left_out: str
    budget: int                             # transactions of a run
    cells: dict[str, scenario.Scenario]


def names() -> list[str]:
    return sorted(path.parent.name for path in FOLDER.glob("*/setup.toml"))


def read(name: str) -> Setup:
    content = scenario.toml(FOLDER / name / "setup.toml")
    base = scenario.of(content["scenario"], name)
    cells = {cell["name"]: scenario.changed(base, {path: None if value == NONE else value
                                                   for path, value in cell["changes"].items()} | {"title": cell["name"]})
             for cell in content["cell"]}
    return Setup(name, content["source"], content["left_out"], content["budget"], cells)


def predicted(one: Setup, draws: int, cells: list[str] | None = None, budget: int | None = None) -> dict:
    """Of every cell the run's length in words, and each quantity of every draw."""
    chosen = {name: one.cells[name] for name in cells or one.cells}
    runs, lengths = predict.compare_with_lengths(list(chosen.values()), draws, 1, None, budget or one.budget)
    return {name: {"run": length.why, "draws": _by_draw(runs[runs.scenario == place])}
            for place, (name, length) in enumerate(zip(chosen, lengths, strict=True))}


def _by_draw(runs: pd.DataFrame) -> dict[str, list[float]]:
    rows = runs.sort_values("draw").dropna(axis=1, how="all")
    devices = [name for name in rows if ": " in name]
    return {name: [float(f"{value:.5g}") for value in rows[name].fillna(0)] for name in (*KEPT, *devices) if name in rows}


def commit(one: Setup, found: dict, path: Path) -> None:
    """Write predictions, with what they were made by."""
    write_atomically(path, json.dumps({"model": package_digest("model"), "study": package_digest("study"),
                                       "cells": found}, indent=1) + "\n")


def blind(name: str) -> dict:
    """The cells of what was committed."""
    return json.loads((FOLDER / name / "blind.json").read_text())["cells"]


def interval(found: dict, cell: str, quantity: str = "tps") -> ensembles.Interval:
    return ensembles.interval(pd.Series(found[cell]["draws"][quantity]))

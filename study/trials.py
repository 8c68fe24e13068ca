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

import numpy as np
import pandas as pd

from study import ensembles, predict, scenario
from study.errors import UserError
from study.plan import package_digest
from study.project import DATA, data_file, data_files, write_atomically

FOLDER = DATA / "trials"
KEPT = ("tps", "response_mean", "response_p95", "wal_per_transaction", "transactions_per_flush", "checkpoints")
NONE = "none"                   # a part of the scenario that a cell takes away: TOML has no word for it


class Setup(NamedTuple):
    name: str
    source: str
    left_out: str
    budget: int                             # transactions of a run
    cells: dict[str, scenario.Scenario]
    ratios: tuple[tuple[str, str, str], ...]        # in words, of one cell, to another


def names() -> list[str]:
    return [path.parent.name for path in data_files("trials/*/setup.toml")]


def read(name: str) -> Setup:
    if name not in names():
        raise UserError(f"there is no set-up '{name}' in data/trials; name one of {', '.join(names())}")
    content = scenario.toml(data_file(f"trials/{name}/setup.toml"))
    base = scenario.of(content["scenario"], name)
    cells = {cell["name"]: scenario.changed(base, {path: None if value == NONE else value
                                                   for path, value in cell["changes"].items()} | {"title": cell["name"]})
             for cell in content["cell"]}
    return Setup(name, content["source"], content["left_out"], content["budget"], cells,
                 tuple((ratio["name"], ratio["of"], ratio["to"]) for ratio in content["ratio"]))


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
    return json.loads(data_file(f"trials/{name}/blind.json").read_text())["cells"]


def interval(found: dict, cell: str, quantity: str = "tps") -> ensembles.Interval:
    return ensembles.interval(pd.Series(found[cell]["draws"][quantity]))


# --- what was published ---------------------------------------------------------------------------------------------------

def published(name: str) -> dict:
    """`tps` by cell, and where they come from; tests hold that there is a source."""
    return scenario.toml(data_file(f"trials/{name}/published.toml"))


def opened() -> list[str]:
    """Set-ups whose results have been opened: those that have a file of them."""
    return [path.parent.name for path in data_files("trials/*/published.toml")]


def compared(found: dict[str, dict] | None = None) -> pd.DataFrame:
    """A row per cell: set-up, cell, published, the interval, published over the middle, whether it lies within. `found`: by
    set-up; what was predicted blind if it is left out."""
    found = found or {name: blind(name) for name in opened()}
    rows = [(name, cell, published(name)["tps"][cell], *interval(cells, cell)) for name, cells in found.items()
            for cell in cells]
    return _judged(pd.DataFrame(rows, columns=["setup", "what", "published", "low", "middle", "high"]))


def compared_ratios() -> pd.DataFrame:
    """The same of the ratios that each set-up names, draw by draw."""
    rows = []
    for name in opened():
        cells, tps = blind(name), published(name)["tps"]
        for what, of, to in read(name).ratios:
            if of in cells and to in cells:
                draws = pd.Series(cells[of]["draws"]["tps"]) / pd.Series(cells[to]["draws"]["tps"])
                rows.append((name, what, tps[of] / tps[to], *ensembles.interval(draws)))
    return _judged(pd.DataFrame(rows, columns=["setup", "what", "published", "low", "middle", "high"]))


def _judged(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(factor=table.published / table.middle, within=table.published.between(table.low, table.high))


class Score(NamedTuple):
    n: int
    within: int
    off: float              # median over rows of the factor between published and middle, whichever is larger
    worst: float
    bias: float             # geometric mean of published over middle: below 1 where predictions are too high


def score(table: pd.DataFrame) -> Score:
    logs = np.log(table.factor)
    return Score(len(table), int(table.within.sum()), float(np.exp(logs.abs().median())), float(np.exp(logs.abs().max())),
                 float(np.exp(logs.mean())))


def directions(table: pd.DataFrame, least: float = 1.1, foretold: float = 1.05) -> tuple[int, int]:
    """Of the ratios whose published value is at least `least` away from 1: how many, and of how many the middle is on the
    same side, by `foretold` at least."""
    clear = table[np.log(table.published).abs() >= np.log(least)]
    along = np.log(clear.middle) * np.sign(np.log(clear.published))
    return len(clear), int((along >= np.log(foretold)).sum())


def metrics(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Each row's middle as a result, by a name of small letters."""
    names = [f"{row.setup}.{row.what}".lower().translate(str.maketrans("/ ,=", "----")) for row in table.itertuples()]
    return pd.DataFrame({"name": names, "value": table.middle.to_numpy(), "unit": quantity})


def verdict(cells: pd.DataFrame, ratios: pd.DataFrame) -> str:
    """In words, from the numbers."""
    one, other = score(cells), score(ratios)
    clear, foretold = directions(ratios)
    side = "too high" if one.bias < 1 else "too low"
    return (f"Of {one.n} rates that were predicted before their results were opened, {one.within} lie within their "
            f"intervals; half are off by a factor of {one.off:.2f} or more, the worst by {one.worst:.1f}, and on average "
            f"predictions are {side} by {max(one.bias, 1 / one.bias):.2f}. Of {other.n} ratios of two variants "
            f"{other.within} lie within; half are off by {other.off:.2f} or more. Where the published ratio is a tenth or "
            f"more away from 1, the side is foretold in {foretold} of {clear}.")

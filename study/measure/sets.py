"""A measured ladder as a table: from `data/measured`, or from runs of the store by their label.

    measured = sets.shipped("virtual-machine")      the files of a folder, read by the importers
    measured = sets.labelled("mine")                what `study measure pgbench --label mine` kept
"""
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from study.errors import UserError
from study.ingest import imports, measured, tables
from study.ingest.fio import importer as fio
from study.ingest.pgbench import importer as pgbench
from study.ingest.reading import Damaged, Reading, Source
from study.project import DATA, data_file, data_files

FOLDER = "measured"         # of data
RUN = "measure."            # in the names of parameters
FIO = "fio"                 # a parameter of runs: ids of the imports of fio's outputs, in the order in which they were given
RUNGS = "rungs"             # a parameter of runs: names of all rungs of the ladder


class Run(NamedTuple):
    """One run of a rung."""
    params: dict[str, Any]              # of measured.json: rung, repeat, chosen.shared_buffers …
    totals: dict[str, float]            # of pgbench: pgbench.tps, pgbench.response.mean …
    samples: pd.DataFrame               # series, subject, t, name, value, unit: a row a second and quantity


class Measured(NamedTuple):
    """A ladder that was run."""
    name: str
    runs: list[Run]
    fio: list[tuple[dict[str, Any], dict[str, float]]]      # options of the jobs, and totals, of each output of fio

    @property
    def first(self) -> dict[str, Any]:
        """The parameters of the first run."""
        return self.runs[0].params

    @property
    def machine(self) -> dict[str, str]:
        """What it was measured on."""
        return {name.removeprefix("machine."): value for name, value in self.first.items() if name.startswith("machine.")}


def names() -> list[str]:
    """Of the sets in data/measured."""
    return sorted(path.parent.parent.name for path in (DATA / FOLDER).glob("*/fio/*1.json"))


def read(name: str) -> Measured:
    """A set of data/measured, or else of that label. Raises UserError if there is neither."""
    return shipped(name) if name in names() else labelled(name)


def imports_read(measured: str, **others: object) -> list[str]:
    """What a run of notebook 12 takes from the store, for its identity: each run and output of fio."""
    if measured in names():
        return []
    of_ladder = [(known, folder) for known, folder in imports.kept() if known["parameters"].get(f"{RUN}set") == measured]
    fio_ids = {run_id for known, _ in of_ladder for run_id in str(known["parameters"].get(f"{RUN}{FIO}", "")).split()}
    return sorted({known["run_id"] for known, _ in of_ladder} | fio_ids)


def shipped(name: str) -> Measured:
    """Raises UserError for a set that is damaged."""
    runs = []
    for path in data_files(f"{FOLDER}/{name}/runs/*/{measured.FILE}"):
        place = path.parent.relative_to(DATA).as_posix()
        measurement, counted = _reading(measured, path), _reading(pgbench, data_file(f"{place}/pgbench.txt"), "text")
        runs.append(Run(measurement.params, {total.name: total.value for total in counted.totals}, _samples(measurement)))
    outputs = [_reading(fio, path, "json") for path in data_files(f"{FOLDER}/{name}/fio/*.json")]
    return Measured(name, sorted(runs, key=_order), [
        (reading.params, {total.name: total.value for total in reading.totals}) for reading in outputs])


def _reading(module: Any, path: Path, kind: str = "measured") -> Reading:
    try:
        with tempfile.TemporaryDirectory() as scratch:
            reading = module.read([Source(path, path.name, kind)], Path(scratch))
    except Damaged as error:
        raise UserError(f"{path.name} cannot be read: {error}; restore the file, or make it anew") from None
    if reading.problems or reading.refused:
        raise UserError(f"{path.name} is not whole; restore the file, or make it anew")
    return reading


def _samples(reading: Reading) -> pd.DataFrame:
    columns = ["series", "subject", "t", "name", "value", "unit"]
    if not reading.series:
        return pd.DataFrame(columns=columns)
    return pd.concat([series.table().to_pandas()[columns] for series in reading.series], ignore_index=True)


def planned(name: str, runs: list[dict[str, Any]], outputs: list[Path]) -> Measured:
    """A ladder that has not been run yet: parameters of each run, and outputs of fio. It can be predicted."""
    readings = [_reading(fio, path, "json") for path in outputs]
    return Measured(name, [Run(dict(measured.flat(params)), {}, pd.DataFrame()) for params in runs], [
        (reading.params, {total.name: total.value for total in reading.totals}) for reading in readings])


def labelled(label: str) -> Measured:
    """Raises UserError if no ladder of that label was measured."""
    runs, outputs = [], {}
    for known, folder in imports.kept():
        params = known["parameters"]
        if params.get(f"{RUN}set") == label:
            table = pd.read_parquet(folder / f"{tables.OBSERVATIONS}.parquet")
            table = table[table.series.str.startswith(RUN)].reset_index(drop=True)
            runs.append(Run({name.removeprefix(RUN): value for name, value in params.items() if name.startswith(RUN)},
                            tables.totals(folder), table))
        elif any(name.startswith(f"{FIO}.") for name in params):
            outputs[known["run_id"]] = params, folder
    if not runs:
        raise UserError(f"no ladder called '{label}' was measured; data/measured has {', '.join(names()) or 'none'}, and "
                        f"`study measure pgbench --label {label}` measures one")
    runs.sort(key=_order)
    return Measured(label, runs, _outputs(label, runs[0].params.get(FIO, "").split(), outputs))


def _outputs(label: str, run_ids: list[str], known: dict[str, tuple[dict[str, Any], Path]]) -> list[
        tuple[dict[str, Any], dict[str, float]]]:
    """Options and totals of the outputs of fio that a ladder was given, whatever their labels are."""
    if lost := [run_id for run_id in run_ids if run_id not in known]:
        raise UserError(f"'{label}' was measured with outputs of fio that are no longer imported ({', '.join(lost)}); "
                        "import these files again by `study ingest`")
    return [({name.removeprefix(f"{FIO}."): value for name, value in params.items()}, tables.totals(folder))
            for params, folder in (known[run_id] for run_id in run_ids)]


def _order(run: Run) -> int:
    return int(run.params["order"])


def rates(of: Measured) -> pd.DataFrame:
    """A row a rung, each below the one that it changes if that was measured. Columns: rung, against, change, unsafe, n, tps
    (the middle), low, high (the extremes). Raises UserError if none was measured. `missing` names the others."""
    rows: dict[str, dict[str, Any]] = {}
    for run in _measured(of):
        of_rung = {name: run.params[name] for name in ("rung", "against", "change", "unsafe")}
        row = rows.setdefault(run.params["rung"], of_rung | {"all": []})
        row["all"].append(run.totals["pgbench.tps"])
    if not rows:
        raise UserError(f"no rung of '{of.name}' was measured; measure it by `study measure pgbench`, under another --label")
    roots = dict.fromkeys(row["against"] for row in rows.values() if row["against"] not in rows)
    table = pd.DataFrame([line for root in roots for line in _below(root, rows)])
    return table.assign(n=table["all"].map(len), tps=table["all"].map(lambda all_of: float(pd.Series(all_of).median())),
                        low=table["all"].map(min), high=table["all"].map(max)).drop(columns="all")


def missing(of: Measured) -> list[str]:
    """Rungs that were to be measured, or that a measured one changes, and have no run: the ladder was stopped."""
    planned = [name for run in of.runs for name in (*str(run.params.get(RUNGS, "")).split(), run.params["against"])]
    return [name for name in dict.fromkeys(planned) if name and name not in {run.params["rung"] for run in _measured(of)}]


def _measured(of: Measured) -> list[Run]:
    return [run for run in of.runs if "pgbench.tps" in run.totals]


def _below(name: str, rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the rungs that change a rung, and of those that change these; by name, single changes first."""
    own = sorted((row for row in rows.values() if row["against"] == name),
                 key=lambda row: (any(other["against"] == row["rung"] for other in rows.values()), row["rung"]))
    return [line for row in own for line in (row, *_below(row["rung"], rows))]


def mean(run: Run, series: str, name: str, subject: str | None = None) -> float:
    """Of a sampled quantity over a run; NaN where it was not sampled. `subject`: of one device, else of all rows."""
    rows = run.samples[(run.samples.series == f"{RUN}{series}") & (run.samples.name == name)]
    if subject is not None:
        rows = rows[rows.subject == subject]
    return float(rows.value.mean()) if len(rows) else float("nan")

"""Ensembles that are kept in `data/ensembles`: what was simulated of each case, so that it need not be simulated each time.

    rows(Kept("exchange", __name__, (seconds,)), function, calls)

gives what `function` returns for each of `calls`: rows, which are dicts of numbers. A kept file counts if it is of the same
calls, code and data. Of its calls HANDFUL, drawn at random each time, are simulated anew. They must give what the file has,
to DIGITS digits, or the run ends with `DoesNotComeOut`. All others are read.

Where no file counts, all calls are simulated. A batch run then writes the file into its own folder, and `study reproduce
--accept` copies it from there. Who wants all of an ensemble simulated anew removes its file.
"""
import io
import json
import math
import random
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from model.jit import sources
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.pools import engine_share
from study.project import DATA, data_files, digest, digest_of_files, refuse_undeclared, write_atomically
from study.runs import record

Row = dict[str, Any]
FOLDER = DATA / "ensembles"
HANDFUL = 3
DIGITS = 6
CALL, POOLS, SECONDS = "call", "pools", "processor_s"
MADE_FROM = "made_from"


class DoesNotComeOut(Exception):
    """A number of a kept ensemble is another one when it is simulated anew."""


class Kept(NamedTuple):
    """Which ensemble is meant, and what else than its calls makes it what it is."""
    name: str               # of the file data/ensembles/<name>.parquet
    maker: str              # module whose functions simulate it
    of: Any                 # values that the function has by itself, such as a machine
    reads: tuple[str, ...] = ()     # patterns below data/ of files that are read for it

    @property
    def file(self) -> Path:
        return file_of(self.name)


def file_of(name: str) -> Path:
    return FOLDER / f"{name}.parquet"


# --- rows of calls --------------------------------------------------------------------------------------------------------

def rows(ensemble: Kept | None, function: Callable[..., list[Row]], calls: list[tuple],
         key: Any = None) -> list[list[Row]]:
    """The rows of each of `calls`, in their order. `key` stands for the calls where they have functions in them. Of the
    ensemble None nothing is kept."""
    if ensemble is None:
        return on_all_processors(function, calls)
    made_from = _made_from(ensemble, calls if key is None else key)
    file = _of_today(ensemble, made_from)
    if file is None or len(calls) <= HANDFUL:
        return _all(ensemble, made_from, function, calls)
    known = read(file)
    drawn = sorted(random.SystemRandom().sample(range(len(calls)), HANDFUL))
    for call, again in zip(drawn, on_all_processors(function, [calls[call] for call in drawn]), strict=True):
        if difference := _difference(known[call][0], again):
            raise DoesNotComeOut(f"data/ensembles/{ensemble.file.name}: {difference} in call {call}; find out why, or "
                                 "remove the file, and all calls are simulated anew")
    for _, pools in known:
        engine_share.restore(pools)
    print(f"{len(calls) - HANDFUL} of {len(calls)} cases are read from data/ensembles/{ensemble.file.name}. The other "
          f"{HANDFUL}, drawn at random, were simulated anew and came out the same.")
    return [of_call for of_call, _ in known]


def _all(ensemble: Kept, made_from: dict[str, str], function: Callable[..., list[Row]],
         calls: list[tuple]) -> list[list[Row]]:
    start = time.process_time()
    made = on_all_processors(_with_pools, [(function, call) for call in calls])
    seconds = time.process_time() - start
    if (run := record.folder()) is not None:
        folder = run / FOLDER.name
        folder.mkdir(exist_ok=True)
        write(folder / ensemble.file.name, made, made_from | {SECONDS: f"{seconds:.0f}"})
    return [of_call for of_call, _ in made]


def _with_pools(function: Callable[..., list[Row]], call: tuple) -> tuple[list[Row], list[dict]]:
    with engine_share.noted() as pools:
        return function(*call), pools


def _difference(known: list[Row], again: list[Row]) -> str:
    """The first number that differs, in words; "" if none does."""
    if len(known) != len(again):
        return f"{len(known)} rows are kept and {len(again)} come out"
    for old, new in zip(known, again, strict=True):
        for name in old.keys() | new.keys():
            if not _same(old.get(name), new.get(name)):
                return f"{name} is {old.get(name)} in the file and {new.get(name)} now"
    return ""


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float | int) and not isinstance(new, bool):
        return math.isclose(old, new, rel_tol=10.0 ** -DIGITS) or (math.isnan(old) and math.isnan(new))
    return bool(old == new)


# --- what an ensemble is made from ----------------------------------------------------------------------------------------

def _made_from(ensemble: Kept, calls: Any) -> dict[str, str]:
    return {"maker": ensemble.maker, "reads": json.dumps(ensemble.reads),
            "calls": digest([as_text((ensemble.of, calls)).encode()]), **_today(ensemble.maker, ensemble.reads)}


def _today(maker: str, reads: Iterable[str]) -> dict[str, str]:
    """Digests of the code in reach of `maker`, and of the data."""
    return {"code": sources.digest_once(maker),
            "data": digest_of_files(path for pattern in reads for path in data_files(pattern))}


def _of_today(ensemble: Kept, made_from: dict[str, str]) -> Path | None:
    """The kept file, if it counts."""
    refuse_undeclared(f"{FOLDER.name}/{ensemble.file.name}")
    if not ensemble.file.exists():
        return None
    of_file = facts(ensemble.file)
    if of_file["calls"] == made_from["calls"] and not is_current(of_file):
        print(f"data/ensembles/{ensemble.file.name} is of older code or data, so that all cases are simulated.")
    return ensemble.file if all(of_file.get(name) == value for name, value in made_from.items()) else None


def is_current(of_file: Mapping[str, str]) -> bool:
    """Whether code and data of a kept file, whose `facts` these are, are those of today."""
    return all(of_file[name] == value for name, value in _today(of_file["maker"], json.loads(of_file["reads"])).items())


def as_text(value: Any) -> str:
    """What a value is, the same in each process: numbers to twelve digits, so that the last bits of a processor's own
    mathematics do not count."""
    match value:
        case bool() | None | str():
            return repr(value)
        case float() | np.floating():
            return f"{value:.12g}"
        case int() | np.integer():
            return str(int(value))
        case BaseModel():
            return as_text(value.model_dump())
        case np.ndarray():
            return as_text(value.tolist())
        case Mapping():
            return "{" + ",".join(f"{as_text(key)}:{as_text(value[key])}" for key in value) + "}"
        case tuple() | list():
            return "(" + ",".join(map(as_text, value)) + ")"
    raise TypeError(f"{value!r:.60} has no text that is the same in each process; leave it out of what an ensemble is of")


# --- files ----------------------------------------------------------------------------------------------------------------

def write(path: Path, made: list[tuple[list[Row], list[dict]]], of_file: Mapping[str, str]) -> None:
    """Rows, and the pools that were noted with them, of all calls."""
    flat = [{CALL: call, POOLS: None if number else json.dumps(pools)} | row
            for call, (of_call, pools) in enumerate(made) for number, row in enumerate(of_call)]
    names = dict.fromkeys(name for row in flat for name in row)
    table = pa.table({name: [row.get(name) for row in flat] for name in names})
    content = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({MADE_FROM: json.dumps(dict(of_file))}), content, compression="zstd")
    write_atomically(path, content.getvalue())


def keep(runs: Iterable[Path]) -> None:
    """From now on what the runs in these folders have simulated whole is kept."""
    for run in runs:
        for made in sorted((run / FOLDER.name).glob("*.parquet")):
            write_atomically(FOLDER / made.name, made.read_bytes())


def facts(path: Path) -> dict[str, str]:
    """What a kept file says of itself: maker, reads, digests, seconds of processor time. UserError for another file."""
    try:
        return json.loads((pq.read_schema(path).metadata or {})[MADE_FROM.encode()])
    except (pa.ArrowInvalid, KeyError, ValueError):
        raise UserError(f"{path} is no kept ensemble, or is damaged; restore it with: git checkout -- data") from None


def read(path: Path) -> list[tuple[list[Row], list[dict]]]:
    """For each call its rows and pools. What a row does not have is not in it."""
    made: list[tuple[list[Row], list[dict]]] = []
    for row in pq.read_table(path).to_pylist():
        call, pools = row.pop(CALL), row.pop(POOLS)
        if pools is not None:
            made.append(([], json.loads(pools)))
        made[call][0].append({name: value for name, value in row.items() if value is not None})
    return made

"""Ensembles that are kept in `data/ensembles`: what was simulated of each case, so that it need not be simulated each time.

    rows(Ensemble("exchange", __name__, (seconds,)), function, calls)

gives what `function` returns for each of `calls`: rows, which are dicts of numbers. A kept file counts if it is of the same
calls, code and data. Of its calls a handful, drawn at random each time, are simulated anew. They must give what the file
has, to DIGITS digits, or the run ends with `DoesNotComeOut`. All others are read. A digest tells whether the file was
altered. A handful is HANDFUL calls, fewer where these would take more than BUDGET_S of processor time, and one at least.
Outside of a batch run, as in JupyterLab, none is simulated anew: whoever looks at a notebook need not wait for it.

Where no file counts, all calls are simulated. A batch run then writes the file into its own folder, and `study reproduce
--accept` copies it from there. `study reproduce --whole` reads no file and simulates all calls. A batch run that is
interrupted loses no call that is done (`study.ensembles.interrupted`).
"""
import io
import json
import math
import random
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from model.jit import sources
from study.ensembles import interrupted
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.pools import engine_share
from study.project import DATA, LOCK, data_files, digest, digest_of_files, is_declared, write_atomically
from study.runs import record

Row = dict[str, Any]
Function = Callable[..., list[Row]]
Share = Callable[[list[Row]], Any]
FOLDER = DATA / "ensembles"
HANDFUL = 3
BUDGET_S = 5.0
DIGITS = 6
CALL, POOLS = "call", "pools"                     # columns besides numbers
# Draw, set and record what a run shows, which no row depends on.
SHOWS = ("study.html_tables", "study.runs.record", "study.short_tables")
MADE_FROM, SECONDS, ROWS = "made_from", "processor_s", "rows"


class DoesNotComeOut(Exception):
    """A number of a kept ensemble is another one when it is simulated anew."""


class Made(NamedTuple):
    """What came of one call."""
    rows: list[Row]
    pools: list[dict[str, Any]]     # that the fast engine noted: see `study.pools.engine_share`


class Ensemble(NamedTuple):
    """Which ensemble is meant, and what else than its calls makes it what it is."""
    name: str               # of the file data/ensembles/<name>.parquet
    maker: str              # module whose functions simulate it
    of: Any                 # values that the function has by itself, such as a machine
    reads: tuple[str, ...] = ()     # patterns below data/ of files that are read for it

    @property
    def file(self) -> Path:
        """Where this ensemble is kept."""
        return file_of(self.name)


def file_of(name: str) -> Path:
    """Where the ensemble of this name is kept."""
    return FOLDER / f"{name}.parquet"


# --- rows of calls --------------------------------------------------------------------------------------------------------

def rows(ensemble: Ensemble | None, function: Function, calls: list[tuple],
         key: Any = None, share: Share | None = None) -> list[list[Row]]:
    """The rows of each of `calls`, in their order. `key` stands for the calls where they have functions in them. What
    `share` takes from the rows of the first call is one more argument of all others. Of the ensemble None, and of a handful
    of calls, nothing is kept."""
    if ensemble is None or len(calls) <= HANDFUL:
        return [of_call.rows for of_call in _simulated(function, calls, share, None)]
    made_from = _made_from(ensemble, calls if key is None else key)
    if not _counts(ensemble, made_from):
        return _all(ensemble, made_from, function, calls, share)
    known = read(ensemble.file)
    shared = _with_shared(calls, share, known[0])
    drawn = sorted(random.SystemRandom().sample(range(len(calls)), _handful(ensemble, len(calls))))
    again = on_all_processors(_once_more, [(function, shared[call]) for call in drawn]) if drawn else []
    for call, new in zip(drawn, again, strict=True):
        if difference := _difference(known[call], new):
            raise DoesNotComeOut(f"data/ensembles/{ensemble.file.name}: {difference}, in call {call}; find out why, or "
                                 "simulate all of them with study reproduce --whole")
    for of_call in known:
        engine_share.restore(of_call.pools)
    print(f"{len(calls) - len(drawn)} of {len(calls)} cases are read from data/ensembles/{ensemble.file.name}. "
          f"{_how_it_was_checked(drawn)}")
    return [of_call.rows for of_call in known]


def _how_it_was_checked(drawn: list[int]) -> str:
    if not drawn:
        return "Here none is simulated anew; study run and make reproduce draw some at random and do."
    return (f"Drawn at random and simulated anew: {', '.join(map(str, drawn))}. They came out the same to {DIGITS} digits.")


def _handful(ensemble: Ensemble, n_calls: int) -> int:
    """How many calls of a kept file are simulated anew: none outside of a batch run."""
    if record.folder() is None:
        return 0
    seconds_a_call = float(facts(ensemble.file)[SECONDS]) / n_calls
    return max(1, min(HANDFUL, int(BUDGET_S / max(seconds_a_call, 1e-9))))


def _simulated(function: Function, calls: list[tuple], share: Share | None, folder: Path | None) -> list[Made]:
    """All calls, but for those that an interrupted run left in `folder`. The first one is by itself: it compiles, and the
    others may share what it found."""
    first = _one_call(folder, 0, function, calls[0])
    return [first, *on_all_processors(_one_call, [
        (folder, number, function, call) for number, call in enumerate(_with_shared(calls, share, first)) if number])]


def _one_call(folder: Path | None, number: int, function: Function, call: tuple) -> Made:
    if folder is None:
        return _with_pools(function, call)
    content, was_there = interrupted.known_or_made(folder, number, lambda: _with_pools(function, call))
    if was_there:
        engine_share.restore(content[1])
    return Made(*content)


def _with_shared(calls: list[tuple], share: Share | None, first: Made) -> list[tuple]:
    """The calls, all but the first with what is shared of it."""
    return calls if share is None else [calls[0], *((*call, share(first.rows)) for call in calls[1:])]


def _all(ensemble: Ensemble, made_from: dict[str, str], function: Function, calls: list[tuple],
         share: Share | None) -> list[list[Row]]:
    run = record.folder()
    parts = interrupted.folder_of(made_from) if run is not None else None
    seconds, start = interrupted.seconds(parts) if parts else 0.0, time.process_time()
    if parts and (n := interrupted.count(parts)):
        print(f"{n} of {len(calls)} cases were simulated by a run that was interrupted.")
    made = _simulated(function, calls, share, parts)
    seconds += time.process_time() - start
    if run is not None and parts is not None:
        folder = run / FOLDER.name
        folder.mkdir(exist_ok=True)
        write(folder / ensemble.file.name, made, made_from | {SECONDS: f"{seconds:.0f}"})
        interrupted.done(parts)
    return [of_call.rows for of_call in made]


def _with_pools(function: Function, call: tuple) -> Made:
    with engine_share.noted() as pools:
        return Made(function(*call), pools)


def _once_more(function: Function, call: tuple) -> Made:
    with engine_share.noted(is_apart=True) as pools:
        return Made(function(*call), pools)


def _difference(known: Made, again: Made) -> str:
    """The first number that differs, in words; "" if none does. Of pools those that both have noted are compared: a thread
    does not make, or note, what another has made before."""
    if len(known.rows) != len(again.rows):
        return f"{len(known.rows)} rows are kept and {len(again.rows)} come out"
    for old, new in zip(known.rows, again.rows, strict=True):
        for name in sorted(old.keys() | new.keys()):
            if not _same(old.get(name), new.get(name)):
                return f"{name} is {old.get(name)} in the file and {new.get(name)} now"
    noted = {pool["pool"]: pool for pool in known.pools}
    return next((f"a pool is {noted[pool['pool']]} in the file and {pool} now" for pool in again.pools
                 if noted.get(pool["pool"], pool) != pool), "")


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float | int) and not isinstance(new, bool):
        return math.isclose(old, new, rel_tol=10.0 ** -DIGITS) or (math.isnan(old) and math.isnan(new))
    return bool(old == new)


# --- what an ensemble is made from ----------------------------------------------------------------------------------------

def _made_from(ensemble: Ensemble, calls: Any) -> dict[str, str]:
    return {"maker": ensemble.maker, "reads": json.dumps(ensemble.reads),
            "calls": digest([as_text((ensemble.of, calls)).encode()]), **today(ensemble.maker, ensemble.reads)}


def today(maker: str, reads: Iterable[str]) -> dict[str, str]:
    """Digests of the code in reach of `maker`, of the data, and of what they run with."""
    return {"code": sources.digest_once(maker, but=SHOWS), "lock": digest_of_files([LOCK]),
            "python": "{}.{}".format(*sys.version_info[:2]),
            "data": digest_of_files(path for pattern in reads for path in data_files(pattern))}


def _counts(ensemble: Ensemble, made_from: dict[str, str]) -> bool:
    """Whether a file is kept that is of all this. A run that has not declared it, reads none."""
    if not ensemble.file.exists() or not is_declared(f"{FOLDER.name}/{ensemble.file.name}"):
        return False
    of_file = facts(ensemble.file)
    if of_file["calls"] == made_from["calls"] and not is_current(of_file):
        print(f"data/ensembles/{ensemble.file.name} is of older code or data, so that all cases are simulated.")
    return all(of_file.get(name) == value for name, value in made_from.items())


def is_current(of_file: Mapping[str, str]) -> bool:
    """Whether code and data of a kept file, whose `facts` these are, are those of today."""
    try:
        now = today(of_file["maker"], json.loads(of_file["reads"]))
    except (UserError, ValueError):     # its module or its data are no more
        return False
    return all(of_file.get(name) == value for name, value in now.items())


def as_text(value: Any) -> str:
    """What a value is, the same in each process. Numbers go to twelve digits, so that the last bits of a processor's own
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

def write(path: Path, made: list[Made], of_file: Mapping[str, str]) -> None:
    """Rows, and the pools that were noted with them, of all calls. Each call has a row at least."""
    flat = [{CALL: call, POOLS: None if number else json.dumps(of_call.pools)} | row
            for call, of_call in enumerate(made) for number, row in enumerate(of_call.rows)]
    names = dict.fromkeys(name for of_call in made for row in of_call.rows for name in row)
    if not all(of_call.rows for of_call in made) or {CALL, POOLS} & names.keys():
        raise ValueError(f"a call has no row, or a number of the name '{CALL}' or '{POOLS}'")
    table = pa.table({name: [row.get(name) for row in flat] for name in (CALL, POOLS, *names)})
    of_rows = dict(of_file) | {ROWS: _digest(table)}
    content = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({MADE_FROM: json.dumps(of_rows)}), content, compression="zstd")
    write_atomically(path, content.getvalue())


def keep(runs: Iterable[Path]) -> list[str]:
    """From now on what the runs in these folders have simulated whole is kept. Gives the names of the files."""
    made = [path for run in runs for path in sorted((run / FOLDER.name).glob("*.parquet"))]
    for path in made:
        write_atomically(FOLDER / path.name, path.read_bytes())
    return [path.name for path in made]


def facts(path: Path) -> dict[str, str]:
    """What a kept file says of itself: maker, reads, digests, seconds of processor time. UserError for another file."""
    try:
        of_file = json.loads((pq.read_schema(path).metadata or {})[MADE_FROM.encode()])
    except (pa.ArrowException, OSError, KeyError, ValueError):
        raise _damaged(path) from None
    if missing := {"maker", "reads", "calls", SECONDS, ROWS} - of_file.keys():
        raise _damaged(path, f" ({', '.join(sorted(missing))} not said)")
    return of_file


def read(path: Path) -> list[Made]:
    """For each call its rows and pools. What a row does not have is not in it."""
    made: list[Made] = []
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError):
        raise _damaged(path) from None
    if _digest(table) != facts(path)[ROWS]:
        raise _damaged(path, " (its rows are not those of its digest)")
    for row in table.to_pylist():
        call, pools = row.pop(CALL), row.pop(POOLS)
        if pools is not None:
            made.append(Made([], json.loads(pools)))
        made[call].rows.append({name: value for name, value in row.items() if value is not None})
    return made


def _digest(table: pa.Table) -> str:
    return digest([json.dumps(table.to_pydict()).encode()])


def _damaged(path: Path, why: str = "") -> UserError:
    return UserError(f"{path} is no kept ensemble, or was altered{why}; restore it with git checkout -- data, or remove it")

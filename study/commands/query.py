"""Questions to the run store: a query, two runs side by side, the origin of a figure."""
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from study import console, errors
from study.commands import result
from study.errors import UserError
from study.project import refuse_unwritable, runs_folder, write_atomically
from study.runs.folder import MANIFEST, manifest
from study.runs.plan import all_plans, is_current
from study.store import store
from study.words import counted

FORMATS = ("table", "csv", "json", "parquet")
# Which columns of the store have a unit: by another column, or always the same.
BY_COLUMN = {"value": "unit", "said_low": "said_unit", "said_high": "said_unit", "published": "published_unit",
             "published_low": "published_unit", "published_high": "published_unit", "effect_none": "published_unit",
             **{f"{interval}_{end}": "published_unit" for interval in ("unfitted", "fitted", "reach")
                for end in ("low", "middle", "high")}}
UNBOUND = 10**6       # columns of a terminal
ALWAYS = {"t": "s", "seconds": "s", "cpu_seconds": "s"}
ASKING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.PRAGMA,
          duckdb.StatementType.MULTI)       # a PIVOT


def query(sql: str, form: str | None, to: Path | None, out: Console) -> None:
    """Print or write what `sql` gives. A file is of the format that its name ends in, if no other one is asked for."""
    ending = to.suffix.lower().removeprefix(".") if to is not None else ""
    form = form or (ending if ending in FORMATS else "table")
    if ending in FORMATS and form in FORMATS and ending != form:
        raise UserError(f"{to} ends in .{ending} and the format is {form}; leave the format out, or choose another name")
    if form not in FORMATS:
        raise UserError(f"format '{form}' is none of {', '.join(FORMATS)}; take one of these")
    if form == "parquet" and to is None:
        raise UserError("parquet is not for a terminal; name a file: --to FILE.parquet")
    if to is not None:
        refuse_unwritable(to)
    with store.open() as connection:
        try:
            answer = connection.execute(_one_question(sql)).df()
        except duckdb.Error as error:
            store.refuse_damaged(error)
            raise UserError(f"the query fails ({_message(error)}); docs/run-store.md lists tables and columns") from None
    if form == "table" and to is None:
        show(answer, out)
        return
    writers = {"csv": lambda: answer.to_csv(index=False).encode(),
               "table": lambda: (answer.to_string(index=False) + "\n").encode(),
               "json": lambda: (result.in_json(answer) + "\n").encode(),
               "parquet": lambda: answer.to_parquet(index=False)}
    content = writers[form]()
    if to is None:
        out.out(content.decode(), end="", highlight=False)
    else:
        write_atomically(to, content)
        out.print(f"{counted(len(answer), 'row')} written to {to}", soft_wrap=True)


def show(answer: pd.DataFrame, out: Console) -> None:
    """As a table; where its rows do not fit the terminal, as a block a row."""
    table = _table(answer)
    if Measurement.get(out, out.options.update_width(UNBOUND), table).maximum <= out.width:
        out.print(table)
        return
    for place, row in enumerate(answer.to_dict("records"), start=1):
        out.print(f"row {place} of {len(answer)}")
        out.print(console.page({f"  {name}": _with_unit(name, row) for name in row if name not in _units_of(row)}))


def _one_question(sql: str) -> duckdb.Statement:
    """The one statement, which must ask and not do. Raises UserError."""
    statements = duckdb.extract_statements(sql)
    if not statements:
        raise UserError("the query is empty; give one SELECT statement")
    if len(statements) > 1:
        raise UserError(f"the query has {len(statements)} statements, but only one can be answered; give one")
    if statements[0].type not in ASKING:
        raise UserError(f"the query is of the kind {statements[0].type.name}, but the store only answers; give one SELECT "
                        "statement")
    return statements[0]


def _message(error: duckdb.Error) -> str:
    """What DuckDB says is wrong, without the picture of the place that it draws below."""
    message = " ".join(str(error).split("\n\nLINE ")[0].split())
    return re.sub(r' Did you mean "(pg_|duckdb_|sqlite_)[^"]*"\?', "", message)     # tables of its own


def _table(frame: pd.DataFrame) -> Table:
    table = console.table(*(f"{name} [{ALWAYS[name]}]" if name in ALWAYS else str(name) for name in frame.columns))
    for row in frame.itertuples(index=False):
        table.add_row(*map(_cell, row))
    return table


def _units_of(row: dict) -> set[str]:
    """The columns that are the unit of another one that is there."""
    return {BY_COLUMN[name] for name in row if name in BY_COLUMN} & row.keys()


def _with_unit(name: str, row: dict) -> str:
    unit, value = ALWAYS.get(name) or _cell(row.get(BY_COLUMN.get(name, ""))), _cell(row[name])
    return f"{value} {unit}" if value and unit not in ("", "1") else value


def _cell(value: Any) -> str:
    """A value for the terminal, a broken number to six digits; nothing for NULL."""
    if value is None or value is pd.NaT:
        return ""
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.{10 if value.is_integer() else 6}g}"


def diff(first_id: str, second_id: str, out: Console, as_json: bool = False) -> None:
    """Parameters, code, data and numbers in which two runs differ. Two notebooks differ in everything, so of these it says
    what they have in common."""
    first, second = _record(first_id), _record(second_id)
    if first["notebook"] != second["notebook"]:
        _give_apart(first, second, as_json, out)
        return
    differences = [*_pairs(first["parameters"], second["parameters"]), *_sources(first, second)]
    with store.open() as connection:
        metrics = {run["run_id"]: dict(connection.execute(
            "SELECT name, value FROM metrics WHERE run_id = ? AND t IS NULL", [run["run_id"]]).fetchall())
            for run in (first, second)}
    differences += _pairs(metrics[first["run_id"]], metrics[second["run_id"]])
    table = console.table("what", first_id, second_id)
    for difference in differences:
        table.add_row(*difference)
    result.give([dict(zip(("what", "first", "second"), difference, strict=True)) for difference in differences], as_json,
                lambda: out.print(table if differences else "no difference"))


def _give_apart(first: dict, second: dict, as_json: bool, out: Console) -> None:
    lines = []
    for run in (first, second):
        parameters = ", ".join(f"{name}={value}" for name, value in run["parameters"].items()) or "no parameters"
        lines.append(f"{run['run_id']} is of {run['notebook']}: {parameters}")
    same = sorted(name for name, value in first["made_from"].items() if second["made_from"].get(name) == value)
    words = [*(name for name in same if "/" not in name), f"{counted(sum('/' in name for name in same), 'file')} of data"]
    lines.append(f"two notebooks, so their numbers are not compared; the same are: {', '.join(words)}")
    runs = [{name: run[name] for name in ("run_id", "notebook", "parameters")} for run in (first, second)]
    result.give({"runs": runs, "same": same}, as_json, lambda: out.print("\n".join(lines), soft_wrap=True))


def _pairs(first: dict, second: dict) -> list[tuple[str, str, str]]:
    return [(name, str(first.get(name, "none")), str(second.get(name, "none")))
            for name in sorted(first.keys() | second.keys()) if first.get(name) != second.get(name)]


def _sources(first: dict, second: dict) -> list[tuple[str, str, str]]:
    """Code, data, lock file, Python and files read by the first digits of their digests; parameters are shown in full
    elsewhere."""
    made = [{name: value[:8] for name, value in (*run["made_from"].items(), *(run.get("inputs") or {}).items())
             if name != "parameters" and not name.startswith("input ")} for run in (first, second)]
    return _pairs(*made)


def _record(run_id: str) -> dict:
    """The manifest of a run, named by the start of its id."""
    folders = [folder for folder in runs_folder().glob(f"*/{run_id}*")
               if (manifest(folder) or {}).get("notebook")]
    if len(folders) != 1:
        raise UserError(f"'{run_id}' names {len(folders) or 'no'} finished runs; see the ids with: "
                        "study query \"SELECT run_id, name, label FROM runs WHERE origin = 'simulated'\"")
    return manifest(folders[0]) or {}


def trace(figure: str, out: Console, as_json: bool = False) -> None:
    """Where a figure comes from, by its name."""
    defaults = {plan.run_id for plan in all_plans()}
    with store.open() as connection:
        figures = connection.execute("""
            SELECT figures.*, runs.name AS notebook, runs.source, runs.label, runs.started
            FROM figures JOIN runs USING (run_id) WHERE figures.name = ? ORDER BY started DESC""", [figure]).df()
        figure_names = [name for (name,) in connection.execute("SELECT DISTINCT name FROM figures ORDER BY name").fetchall()]
    if not len(figures):
        raise UserError(f"no run has a figure '{figure}'; " + errors.meant(
            figure, figure_names, f"there are {', '.join(figure_names) or 'none yet: run make reproduce'}"))
    rows = list(figures.itertuples())
    known = {row.run_id: manifest(runs_folder() / row.source) or {} for row in rows}
    ranked = [*(row for row in rows if row.run_id in defaults), *rows]      # that of defaults, then the newest
    row = next((row for row in ranked if is_current(known[row.run_id])), rows[0])
    made = known[row.run_id]
    names = [name for name in made["made_from"] if not name.startswith("input ")]      # these are shown by themselves
    lines = {"figure": row.name, "caption": row.caption, "drawn by": row.drawn_by, "notebook": row.notebook,
             "run": f"{row.run_id} of {made['started']}, {'current' if is_current(made) else 'of older code or data'}",
             "parameters": row.label, "files": f"{runs_folder() / row.source}/figures/{row.name}-*",
             **{f"made from {name}": made["made_from"][name] for name in names if "/" not in name},
             "made from data": _folders([name for name in names if "/" in name]),
             **({"read": ", ".join(made["inputs"]) or "no file of its own"} if "inputs" in made else {}),
             **({"git commit": made["git"]["commit"] + (", with changes" if made["git"]["dirty"] else "")}
                if made.get("git") else {}),
             "digests of data": f"{runs_folder() / row.source}/{MANIFEST}"}
    text = "\n".join(f"{name}: {value}" for name, value in lines.items())
    result.give(lines, as_json, lambda: out.print(text, soft_wrap=True))


def _folders(files: list[str]) -> str:
    """Files by name, or by folder and how many where there are several in one."""
    several = Counter(str(Path(name).parent) for name in files)
    named = [f"{folder} ({several[folder]} files)" if several[folder] > 3 else name
             for name in files for folder in [str(Path(name).parent)]]
    return ", ".join(dict.fromkeys(named)) or "none"

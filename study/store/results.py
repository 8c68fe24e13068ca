"""What the study found, rounded: `paper/results.json` is committed, computed anew each time, and compared."""
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duckdb import DuckDBPyConnection

from study.errors import UserError
from study.project import PAPER
from study.runs.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

FILE = PAPER / "results.json"
DIGITS = 6      # what is asked to be the same on every machine


def rounded(value: float) -> float | int:
    """`value` to six significant digits; whole numbers stay whole."""
    if value == 0 or not math.isfinite(value):
        return 0
    if value == int(value) and abs(value) < 2**53:
        return int(value)
    return float(f"{value:.{DIGITS}g}")


def numbers(connection: DuckDBPyConnection, plans: list[Plan]) -> dict[str, dict]:
    """All whole-run metrics of the given runs, not their samples: '<notebook>/<metric>' -> value (rounded) and unit."""
    names = {plan.run_id: plan.name for plan in plans}
    rows = connection.execute("""
        SELECT run_id, name, value, unit FROM metrics
        WHERE t IS NULL AND list_contains(?, run_id) ORDER BY name
        """, [list(names)]).fetchall()
    values = {f"{names[run_id]}/{name}": {"value": rounded(value), "unit": unit} for run_id, name, value, unit in rows}
    return dict(sorted(values.items()))


def collect(connection: DuckDBPyConnection, plans: list[Plan], board: "pd.DataFrame") -> dict:
    """Everything that `results.json` holds: per claim what the audit finds and its grade (`board` is the scoreboard's
    frame), and all numbers. The two other grades stand beside where they are others."""
    return {
        "claims": {row.claim_id: _of_claim(row) for row in board.itertuples()},
        "numbers": {name: number["value"] for name, number in numbers(connection, plans).items()},
    }


def _of_claim(row: Any) -> dict[str, str]:
    others = {"single_changes": row.single_changes, "own_error": row.own_error}
    return {"audit": row.audit, "grade": row.grade} | {name: grade for name, grade in others.items() if grade != row.grade}


def as_text(results: dict) -> str:
    """Results as `paper/results.json` has them: sorted JSON, a line for each value."""
    return json.dumps(results, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def committed(file: Path = FILE) -> dict:
    """The results as accepted last; empty where there are none yet."""
    empty: dict[str, dict] = {"claims": {}, "numbers": {}}
    try:
        results = json.loads(file.read_text()) if file.exists() else empty
    except ValueError:
        results = None
    if not isinstance(results, dict) or any(not isinstance(results.get(part), dict) for part in empty):
        raise UserError(f"{file} does not hold results; restore it with: git checkout -- paper/results.json")
    return results


def differences(accepted: dict, new: dict) -> list[str]:
    """One line for each entry that is new, gone or changed."""
    changes = []
    for part in ("claims", "numbers"):
        before, after = accepted.get(part, {}), new.get(part, {})
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                changes.append(f"{name}: {_in_words(before.get(name))} -> {_in_words(after.get(name))}")
    return changes


def _in_words(entry: object) -> str:
    if isinstance(entry, dict):
        return ", ".join(f"{name} {value}" for name, value in entry.items())
    return "none" if entry is None else str(entry)

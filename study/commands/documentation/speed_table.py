"""How long the model takes beside the real code, for docs/traces.md: from `data/real_code_speed.toml`."""
import tomllib
from collections.abc import Iterable, Sequence

from study.commands.documentation.markdown import table
from study.project import data_file

REWRITES, POOL = "rand4k", "l2"  # how the names of traces begin


def real_code_speed() -> str:
    """A row for each kind of decision: ns of the real code, of the exact engine or the cache, and of the fast engine. Then
    what those who recorded the real code say of both."""
    measured = tomllib.loads(data_file("real_code_speed.toml").read_text())
    kinds = (("allocation and free, blocks of 4 KiB rewritten at 50, 72 and 90 % full, four variants",
              [row for row in measured["allocator"] if row["trace"].startswith(REWRITES)]),
             ("the same, a pool of 200 metaslabs at 60 %",
              [row for row in measured["allocator"] if row["trace"].startswith(POOL)]),
             ("operation of the vdev cache", measured["vdev_cache"]))
    times = {name: _range(values, 1 if max(values) < 3 else 0) for name, values in measured["side_by_side"].items()}
    return table(("what", "real code", "exact engine, or cache", "fast engine"), [
        (kind, f"{_range(row['real_ns'] for row in rows)} ns", _beside(rows, "model_ns"),
         _beside(rows, "fast_ns") if "fast_ns" in rows[0] else "") for kind, rows in kinds]) + (
        "\n\nThose who recorded the real code ran it beside an earlier state of the model, in one run. The exact engine\n"
        f"was {times['exact']} times as fast as the C. The fast engine was {times['fast']} times as fast, and "
        f"the vdev cache {times['vdev_cache']} times.")


def _beside(rows: Sequence[dict], name: str) -> str:
    times = [row["real_ns"] / row[name] for row in rows]
    digits = 1 if max(times) < 3 else 0
    return f"{_range(row[name] for row in rows)} ns: {_range(times, digits)} times as fast"


def _range(values: Iterable[float], digits: int = 0) -> str:
    values = list(values)
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"

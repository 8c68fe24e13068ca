"""Which draw comes nearest to all that the post of 2010 prints of the order entry (`study.ensembles.at_once`).

Nothing was printed of the machine before the change, but what the change did.
"""
from typing import Any

import pandas as pd

from study.documents import priors, published
from study.ensembles import ensembles, history_matching, kept
from study.ensembles.ensembles import AFTER
from study.experiments.allocator_2010 import order_entry
from study.experiments.protocol import Drawn

PRINTED = ("lutz-2010/order-entry-change", "lutz-2010/order-entry-series")
CYCLE = "lutz-2010/order-entry-cycle"
GAIN, REDUCTION, R_SQUARED, SKEWNESS = (f"{AFTER}/{name}" for name in (
    "throughput.gain", "variability.reduction", "io_size.r_squared", "cycle.skewness"))
SHOWN = {GAIN: "gain (%)", REDUCTION: "less variability (%)", R_SQUARED: "R² of I/O size", SKEWNESS: "skewness",
         "farthest": "farthest (factor)"}
SHARES = {GAIN: "throughput, new over old", REDUCTION: "variability, new over old", R_SQUARED: "R² of I/O size"}


def factors_off(results: pd.DataFrame) -> pd.DataFrame:
    """By which factor each draw of `order_entry.predict` is off gain, steadiness and R². Throughput and variability count as
    shares of what they were."""
    return history_matching.factors(*compared(ensembles.unfitted(results)))


def compared(draws: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draws, and what was printed, with gain and steadiness as shares of what was."""
    facts = pd.concat(history_matching.printed(draws, {AFTER: run}) for run in PRINTED).set_index("column")
    ends = pd.DataFrame({end: _as_shares(facts[[end]].T).iloc[0] for end in ("printed", "low", "high")})
    shares = pd.DataFrame({"column": ends.index, "printed": ends.printed, "low": ends[["low", "high"]].min(axis=1),
                           "high": ends[["low", "high"]].max(axis=1)}).reset_index(drop=True)
    return _as_shares(draws), shares


def drawn(n_runs: int, cycle_runs: int, *, n_users: int, record_kib: float, scale: int, window_s: float,
          **others: Any) -> Drawn:
    """What a draw is made of: see `study.experiments.protocol`. Of `others`, disks, fill and age, nothing is taken: they are
    drawn."""
    fixed = dict(n_users=n_users, record_kib=record_kib, scale=scale, window_s=window_s)
    known = priors.read(order_entry.EXPERIMENT)

    def simulate(values: dict, seed: int, variant: str) -> dict[str, float]:
        row, = order_entry.of_case(values | {"seed": seed}, fixed, n_runs, cycle_runs)
        names = (column.removeprefix(f"{variant}/") for column in SHOWN if column in row)
        return {name: row[f"{variant}/{name}"] for name in names}

    ensemble = kept.Ensemble("order-entry", __name__, (fixed, n_runs, cycle_runs, ensembles.parts_of(known)))
    return Drawn(known=known, variants=(AFTER,), simulate=simulate, ensemble=ensemble, printed_runs={}, compared=compared)


def _as_shares(numbers: pd.DataFrame) -> pd.DataFrame:
    """Per cent more, or less, as shares of what was."""
    return numbers.assign(**{GAIN: 1 + numbers[GAIN] / 100, REDUCTION: 1 - numbers[REDUCTION] / 100})


def nearest_first(results: pd.DataFrame, off: pd.DataFrame) -> pd.DataFrame:
    """The draws, the nearest first: what each shows, its skewness, and by which factor its farthest number is off."""
    return ensembles.unfitted(results)[[GAIN, REDUCTION, R_SQUARED, SKEWNESS]].assign(
        farthest=off.max(axis=1)).sort_values("farthest")


def with_cycle(results: pd.DataFrame) -> int:
    """How many draws have the cycle, by the bound of its skewness."""
    run, = (run for run in published.runs() if run.run_id == CYCLE)
    return int((ensembles.unfitted(results)[SKEWNESS] >= float(run.metrics.value.iloc[0])).sum())


def metrics(results: pd.DataFrame, off: pd.DataFrame) -> pd.DataFrame:
    """Of the nearest draw, for the run store; and how many draws have the cycle: name, value, unit."""
    nearest = nearest_first(results, off).iloc[0]
    rows = [("gain", nearest[GAIN], "%"), ("reduction", nearest[REDUCTION], "%"), ("r-squared", nearest[R_SQUARED], "1"),
            ("with-cycle", with_cycle(results), "draws")]
    return pd.DataFrame([(f"at-once.{name}", value, unit) for name, value, unit in rows], columns=["name", "value", "unit"])

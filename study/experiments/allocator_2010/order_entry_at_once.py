"""Which draw comes nearest to all that the post of 2010 prints of the order entry.

Nothing was printed of the machine before the change, but what the change did. So what comes nearest explains, and predicts
nothing.

    table = all_at_once(results)        `results`: of `order_entry.predict`
    metrics(table), sentence(table)
"""
import pandas as pd

from study.documents import published
from study.ensembles import ensembles, history_matching
from study.ensembles.ensembles import AFTER

PRINTED = ("lutz-2010/order-entry-change", "lutz-2010/order-entry-series")
CYCLE = "lutz-2010/order-entry-cycle"
GAIN, REDUCTION, R_SQUARED, SKEWNESS = (f"{AFTER}/{name}" for name in (
    "throughput.gain", "variability.reduction", "io_size.r_squared", "cycle.skewness"))
SHOWN = {GAIN: "gain (%)", REDUCTION: "less variability (%)", R_SQUARED: "R² of I/O size", SKEWNESS: "skewness",
         "farthest": "farthest (factor)"}


def all_at_once(results: pd.DataFrame) -> pd.DataFrame:
    """The draws, nearest first: what each shows of the printed numbers, and by which factor the farthest of them is off.
    Throughput and variability count as shares of what they were. The skewness of the cycle does not count."""
    draws = ensembles.unfitted(results)
    facts = pd.concat(history_matching.printed(draws, {AFTER: run}) for run in PRINTED).set_index("column")
    ends = pd.DataFrame({end: _as_shares(facts[[end]].T).iloc[0] for end in ("low", "high")})
    shares = pd.DataFrame({"column": ends.index, "low": ends.min(axis=1), "high": ends.max(axis=1)})
    off = history_matching.factors(_as_shares(draws), shares).max(axis=1)
    return draws[[GAIN, REDUCTION, R_SQUARED, SKEWNESS]].assign(farthest=off).sort_values("farthest")


def _as_shares(numbers: pd.DataFrame) -> pd.DataFrame:
    """Per cent more, or less, as shares of what was."""
    return numbers.assign(**{GAIN: 1 + numbers[GAIN] / 100, REDUCTION: 1 - numbers[REDUCTION] / 100})


def _least_skewness() -> float:
    run, = (run for run in published.runs() if run.run_id == CYCLE)
    return float(run.metrics.value.iloc[0])


def metrics(table: pd.DataFrame) -> pd.DataFrame:
    """Of the nearest draw, for the run store; and how many draws have the cycle: name, value, unit."""
    nearest = table.iloc[0]
    return pd.DataFrame([("at-once.farthest", nearest.farthest, "1"), ("at-once.gain", nearest[GAIN], "%"),
                         ("at-once.reduction", nearest[REDUCTION], "%"), ("at-once.r-squared", nearest[R_SQUARED], "1"),
                         ("at-once.with-cycle", (table[SKEWNESS] >= _least_skewness()).sum(), "draws")],
                        columns=["name", "value", "unit"])


def sentence(table: pd.DataFrame) -> str:
    """What comes together and what does not."""
    nearest, n_cycles = table.iloc[0], (table[SKEWNESS] >= _least_skewness()).sum()
    return (f"Of {len(table)} draws the nearest shows all three numbers within a factor of {nearest.farthest:.2f}: "
            f"throughput {nearest[GAIN]:+.0f} %, variability {-nearest[REDUCTION]:+.0f} %, R² {nearest[R_SQUARED]:.2f}. The "
            f"cycle, a skewness of {_least_skewness():.2f} or more, is in {n_cycles or 'none'} of them.")

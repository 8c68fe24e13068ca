"""What is graded of the order entry beside what its ensemble has by itself: the joint fact of the second post. And what the
grades come to, in sentences and numbers.

The joint fact. When performance is high, a write has HIGH blocks or more. When it is low, it has LOW or fewer. One machine
shows both. Its number is the smaller one of two factors:

    fastest / HIGH      `fastest`: records in a write in the fastest test run under the old rules
    LOW / slowest       `slowest`: the same in the slowest one

From 1 on a series shows the fact. HIGH and LOW are words of the claim, which say what is looked for. They make no series
faster or slower, and a test holds them to what is printed.
"""
import numpy as np
import pandas as pd

from study.ensembles import ensembles, intervals
from study.ensembles.ensembles import AFTER
from study.experiments.allocator_2010 import order_entry
from study.grades.full_size import FULL_SIZE, TO_SCALE
from study.grades.remaining_draws import range_of

HIGH, LOW = 8, 2        # records in a write
JOINT, JOINT_CLAIM = "aggregation.joint", "aggregation-joint"
FASTEST, SLOWEST = f"{AFTER}/aggregation.good", f"{AFTER}/aggregation.bad"
NUMBERS = {     # of a claim: its quantity, unit, and the name of its range in the run store
    "lutz-gain": ("throughput.gain", "%", "gain"), "lutz-variability": ("variability.reduction", "%", "reduction"),
    "lutz-r2": ("io_size.r_squared", "1", "r-squared"), JOINT_CLAIM: (JOINT, "1", "joint")}
ENDS = ("low", "middle", "high")


def joint(fastest: pd.Series, slowest: pd.Series) -> pd.Series:
    """The number of the joint fact, for series with so many records in a write in the fastest and the slowest test run."""
    return pd.Series(np.minimum(fastest / HIGH, LOW / slowest), index=fastest.index)


def with_joint(results: pd.DataFrame) -> pd.DataFrame:
    """Cases of `order_entry.predict`, or draws at full size, with the number of the joint fact."""
    return results.assign(**{f"{AFTER}/{JOINT}": joint(results[FASTEST], results[SLOWEST])})


def metrics(results: pd.DataFrame, full: pd.DataFrame | None) -> pd.DataFrame:
    """For the run store: how many draws show the joint fact, and its range to scale. And of draws at full size, None where
    grades are to scale, the range of each claim: name, value, unit."""
    drawn = ensembles.unfitted(results)[f"{AFTER}/{JOINT}"]
    rows = [*_named("all.joint", intervals.interval(drawn), "1"), ("all.joint-shown", int((drawn >= 1).sum()), "draws")]
    if full is not None:
        for quantity, unit, name in NUMBERS.values():
            rows += _named(f"full-size.{name}", range_of(full[f"{AFTER}/{quantity}"].dropna()), unit)
        n_shown, n_draws = int((full[f"{AFTER}/{JOINT}"] >= 1).sum()), int(full[f"{AFTER}/{JOINT}"].notna().sum())
        rows += [("full-size.joint-shown", n_shown, "draws"), ("full-size.draws", n_draws, "draws")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def _named(name: str, of_claim: tuple[float, float, float], unit: str) -> list[tuple[str, float, str]]:
    return [(f"{name}-{end}", value, unit) for end, value in zip(ENDS, of_claim, strict=True)]


def verdict(scores: pd.DataFrame, claim: str) -> str:
    """One row of `full_size.scores` in a sentence. Where draws at full size give the grade, that to scale stands
    beside."""
    score = scores.set_index("claim").loc[claim]
    is_full_size, unit = score.get(FULL_SIZE, False), NUMBERS.get(claim, ("", "%"))[1]
    if unit == "%" and not is_full_size:
        return order_entry.verdict(scores, claim)
    printed = {"lutz-r2": f"published R² {score['published']:.2f}", JOINT_CLAIM: "1 or more shows the joint fact"}.get(
        claim, f"published up to {score['published']:.0f} %")
    shown = f"{score['left, low']:.0f} to {score['left, high']:.0f} %" if unit == "%" else (
        f"{score['left, low']:.2f} to {score['left, high']:.2f}")
    return f"{score['grade']}: {printed}, simulated {shown} " + (
        f"in {score['draws left']:.0f} draws at full size (simulated to scale the grade would be *{score[TO_SCALE]}*)"
        if is_full_size else "to scale")

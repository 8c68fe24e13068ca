"""What notebook 04 says of its tables, in sentences that are made of them."""
import itertools

import numpy as np
import pandas as pd

from study.ensembles.ensembles import AFTER, unfitted
from study.ensembles.intervals import interval


def cycle(cycles: pd.DataFrame, results: pd.DataFrame, criterion: float) -> str:
    """Whether throughput falls slowly and returns at once, and where. `cycles` of `order_entry_questions`, by best guess;
    `results` of the ensemble; `criterion`: the skewness of changes from which on it does."""
    own = cycles[cycles.name.str.endswith(".skewness")]
    ages = own.name.str.extract(r"age-(.*)\.skewness$")[0].tolist()
    drawn = unfitted(results)[f"{AFTER}/cycle.skewness"]
    low, _, high = interval(drawn)
    there = [f"by best guess after {age} turnovers" for age in np.array(ages)[own.value >= criterion]]
    if (n := int((drawn >= criterion).sum())):
        there.append(f"in {n} of {len(drawn)} draws")
    by_age = ", ".join(f"{value:.2f} after {age}" for age, value in zip(ages, own.value, strict=True))
    return (f"Slow falls with sudden returns appear {' and '.join(there) or 'nowhere'}. They would take a skewness of "
            f"{criterion:.3f} or more. By best guess the skewness is, by turnovers before the first run: {by_age}. In the "
            f"draws it is {low:.2f} to {high:.2f} (5 to 95 %)")


def full_scale(numbers: pd.DataFrame) -> str:
    """What days of runs on pools as large as theirs come to; `numbers` of `order_entry_full_scale.metrics`."""
    value = numbers.set_index("name").value
    ages = numbers.name.str.extract(r"full\.age-(.*)\.series\.gain$")[0].dropna()
    return ". ".join(_of_age(age, value.rename(lambda name, age=age: name.removeprefix(f"full.age-{age}."))) for age in ages)


def _of_age(age: str, value: pd.Series) -> str:
    return (f"After {age} turnovers the new rules make it {value['series.gain']:.0f} % faster, and runs vary "
            f"{value['series.reduction']:.0f} % less. Under the old rules a write has {value['before.blocks-least']:.1f} to "
            f"{value['before.blocks-most']:.1f} records. Under them throughput stays in the lower half of its range for "
            f"up to {value['before.low.longest']:.0f} runs on end. From one run to the next, its largest step up is from "
            f"{value['before.return.from']:.0f} to {value['before.return.to']:.0f} transactions a second. ZFS loads "
            f"{value['before.return.loads']:.0f} space maps meanwhile")


def ablation(steps: pd.DataFrame) -> str:
    """Which changes alone make runs vary more, or less, under every seed."""
    alone = steps[(steps.key != "old") & ~steps.key.str.startswith("all-")]
    ranges = alone.groupby("label", sort=False).reduction.agg(["mean", "min", "max"]).sort_values("mean")
    more, less = ranges[ranges["max"] < 0], ranges[ranges["min"] > 0][::-1]
    return (f"Some changes alone act on the variability in the same way under every seed. Runs vary more with "
            f"{_listed(-more['mean'])}. They vary less with {_listed(less['mean'])}. Variability of a few runs is a rough "
            "number. The figure has the gain in the mean beside it")


def _listed(means: pd.Series) -> str:
    return ", ".join(f"*{label}* (by {mean:.0f} %)" for label, mean in means.items()) or "none"


def over_unpublished(table: pd.DataFrame, published: tuple[float, float]) -> str:
    """Where, of what was not published, the two published changes lie: what comes nearest, and between which neighbouring
    numbers of one thing they are crossed. `table` of `order_entry_questions.over_unpublished`; gain and reduction in %."""
    return ". ".join(_where(table, *quantity) for quantity in (("gain", published[0], 1), ("reduction", published[1], -1)))


def _where(table: pd.DataFrame, name: str, target: float, sign: int) -> str:
    nearest = table.loc[(table[name] - target).abs().idxmin()]
    numbers = table[table.is_number].groupby("factor", sort=False)
    crossed = [f"{before.label} {before.level} and {after.level}"
               for _, rows in numbers for before, after in itertools.pairwise(rows.itertuples())
               if np.sign(getattr(before, name) - target) * np.sign(getattr(after, name) - target) < 0]
    quantity = {"gain": "A gain", "reduction": "A change of variability"}[name]
    return (f"{quantity} of {sign * target:+.0f} % is published. Nearest to it is {nearest.label} {nearest.level} "
            f"({sign * nearest[name]:+.0f} %). "
            + (f"Lines cross it between {', between '.join(crossed)}" if crossed
               else "No line crosses it between two neighbouring numbers"))

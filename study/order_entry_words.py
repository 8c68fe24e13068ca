"""What notebook 04 says of its tables, in sentences that are made of them."""
import itertools

import numpy as np
import pandas as pd

from study.ensembles import AFTER, interval, unfitted
from study.order_entry_2010 import Comparison


def cycle(cycles: pd.DataFrame, results: pd.DataFrame, criterion: float) -> str:
    """Whether throughput falls slowly and returns at once, and where. `cycles` of `order_entry_questions`, by best guess;
    `results` of the ensemble; `criterion`: of runs of a fall over those of a rise, from which on it does. 0 is no cycle."""
    own = cycles[cycles.name.str.endswith(".fall-over-rise")]
    ages = own.name.str.extract(r"age-(.*)\.fall-over-rise$")[0].tolist()
    drawn = unfitted(results)[f"{AFTER}/cycle.fall_over_rise"]
    low, _, high = interval(drawn)
    there = [f"by best guess after {age} turnovers" for age in np.array(ages)[own.value >= criterion]]
    if (n := int((drawn >= criterion).sum())):
        there.append(f"in {n} of {len(drawn)} draws")
    by_age = ", ".join(f"{value:.1f} after {age}" for age, value in zip(ages, own.value, strict=True))
    return (f"A slow fall and a sudden return appear {' and '.join(there) or 'nowhere'}: runs of a fall over runs of a rise "
            f"are, by best guess and turnovers before the series, {by_age}; over all draws {low:.1f} to {high:.1f}, and it "
            f"takes {criterion:g} (0: not two of each)")


def full_scale(full: Comparison, found: pd.DataFrame) -> str:
    """What a day of runs on a pool as large as theirs comes to; `found` of `order_entry_full_scale.metrics`."""
    value = found.assign(name=found.name.str.removeprefix("full.")).set_index("name").value
    n_vdevs = int(full.before.pool.n_primary.iloc[0])
    return (f"The new rules make it {value['series.gain']:.0f} % faster, and runs vary {value['series.reduction']:.0f} % "
            f"less. Under the old rules throughput falls from {value['before.first']:.0f} to {value['before.least']:.0f} "
            f"transactions a second, and returns: at its largest step up, from {value['before.return.from']:.0f} to "
            f"{value['before.return.to']:.0f} from one run to the next, {value['before.return.loads']:.0f} space maps are "
            f"loaded for {n_vdevs} vdevs. A fall takes {value['before.fall.runs']:.1f} runs on the average and a rise "
            f"{value['before.rise.runs']:.1f}; under the new rules {value['after.fall.runs']:.1f} and "
            f"{value['after.rise.runs']:.1f}, between {value['after.least']:.0f} and {value['after.most']:.0f}. "
            f"R² of I/O size with throughput is {value['before.io-size.r2']:.2f} under the old rules, number "
            f"{value['before.io-size.rank']:.0f} of the statistics that could explain it, of which the best has "
            f"{value['before.best.r2']:.2f}; under the new ones it is {value['after.io-size.r2']:.2f}, number "
            f"{value['after.io-size.rank']:.0f}")


def ablation(steps: pd.DataFrame) -> str:
    """Which changes alone make runs vary more, or less, under every seed."""
    alone = steps[(steps.key != "old") & ~steps.key.str.startswith("all-")]
    ranges = alone.groupby("label", sort=False).reduction.agg(["mean", "min", "max"]).sort_values("mean")
    more, less = ranges[ranges["max"] < 0], ranges[ranges["min"] > 0][::-1]
    return (f"Alone, and in every seed, runs vary more with {_listed(-more['mean'])}; less with {_listed(less['mean'])}. "
            "Variability of a few runs is a rough number: what a change does to the mean stands beside it")


def _listed(means: pd.Series) -> str:
    return ", ".join(f"*{label}* (by {mean:.0f} %)" for label, mean in means.items()) or "none"


def over_unpublished(table: pd.DataFrame, published: tuple[float, float]) -> str:
    """Where, of what was not published, the two published changes lie: what comes nearest, and between which neighbouring
    levels of one thing they are crossed. `table` of `order_entry_questions.over_unpublished`; gain and reduction in %."""
    return "; ".join(_where(table, *one) for one in (("gain", published[0], 1), ("reduction", published[1], -1)))


def _where(table: pd.DataFrame, name: str, target: float, sign: int) -> str:
    nearest = table.loc[(table[name] - target).abs().idxmin()]
    crossed = [f"{one.label} {one.level} and {other.level}"
               for _, rows in table.groupby("factor", sort=False) for one, other in itertools.pairwise(rows.itertuples())
               if np.sign(getattr(one, name) - target) * np.sign(getattr(other, name) - target) < 0]
    return (f"{sign * target:+.0f} % is nearest with {nearest.label} {nearest.level} ({sign * nearest[name]:+.0f} %), and "
            + (f"lies between {', between '.join(crossed)}" if crossed else "lies between no two neighbouring levels"))

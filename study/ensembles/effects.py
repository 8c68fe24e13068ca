"""The effect of a change, in %: what an ensemble makes of it, under each condition, and beside simpler models.

    effect = Effect("summary.rate", "gain", labels)     1.2 after over before is a gain of 20 %
    effect = Effect("summary.rate", "loss", labels)     0.8 is a loss of 20 %
"""
import re
from typing import NamedTuple

import pandas as pd

from study.documents import readable
from study.documents.priors import Known, Prior
from study.ensembles import ensembles, intervals
from study.ensembles.ensembles import BEFORE


class Effect(NamedTuple):
    """A quantity after over before. `labels` say in words what a choice of a switch is: (switch, choice): text."""
    quantity: str
    kind: str       # gain or loss
    labels: dict

    def percent(self, ratio: pd.Series | float) -> pd.Series | float:
        """A ratio of after to before as a gain or a loss [%]."""
        return 100 * (ratio - 1) if self.kind == "gain" else 100 * (1 - ratio)

    def of(self, results: pd.DataFrame) -> pd.Series:
        """The effect in each row of an ensemble [%]."""
        return self.percent(ensembles.ratio(results, self.quantity))

    def interval(self, results: pd.DataFrame) -> intervals.Interval:
        """The interval of the effect over an ensemble [%]."""
        return intervals.interval(self.of(results))


def conditions(results: pd.DataFrame, known: Known, effect: Effect) -> pd.DataFrame:
    """The effect under each choice of each condition, others at their best guess: label, effect (%), is_central."""
    percent = effect.of(results)
    rows = [("best guess", percent[ensembles.unfitted(results, "central").index[0]], True)]
    rows += [(changed(case, known, effect.labels), percent[index], False)
             for index, case in ensembles.unfitted(results, "structure").iterrows()]
    return pd.DataFrame(rows, columns=["label", "effect", "is_central"])


def changed(case: dict, known: Known, labels: dict) -> str:
    """What is not as by best guess, in words: of a range by its value with its unit, of a switch by its label."""
    return ", ".join(_of_range(condition, value) if isinstance(condition, Prior) else labels[condition.name, value]
                     for condition, value in ensembles.changed(case, known))


def _of_range(condition: Prior, value: float) -> str:
    """By two digits. The unit stands once, where the name has it as a word."""
    text, name = readable.number(condition, float(f"{value:.2g}")), str(condition.condition)
    has_unit = re.search(rf"(?<![\w/]){re.escape(condition.unit)}(?![\w/])", name) is not None
    return f"{name}: {text.removesuffix(f' {condition.unit}') if has_unit else text}"


def beside_simpler(results: pd.DataFrame, simpler: pd.DataFrame, effect: Effect) -> pd.DataFrame:
    """The effect (%) as simpler models (frame: what, effect) and the ensemble have it: what, low, middle, high."""
    rows = [(row.what, row.effect, row.effect, row.effect) for row in simpler.itertuples()]
    for label, of_kind in (("simulated, nothing fitted", ensembles.unfitted(results)),
                        ("simulated, one constant fitted", ensembles.fitted(results))):
        if len(of_kind):
            rows.append((label, *effect.interval(of_kind)))
    return pd.DataFrame(rows, columns=["what", "low", "middle", "high"])


def parts(results: pd.DataFrame, effect: Effect) -> pd.DataFrame:
    """What the interval is made of: part, low, high (%)."""
    widths = ensembles.widths(results, effect.quantity)
    ends = widths[["low", "high"]].map(effect.percent)
    return pd.DataFrame({"part": widths.part, "low": ends.min(axis=1), "high": ends.max(axis=1)})


def metrics(results: pd.DataFrame, effect: Effect, constant: str, scale: float, unit: str) -> pd.DataFrame:
    """For the run store: intervals of the effect and of the level before, parts, and what fitting made of the constant
    (times `scale`, in `unit`). Columns: name, value, unit."""
    rows = []
    for kind, of_kind in (("unfitted", ensembles.unfitted(results)), ("fitted", ensembles.fitted(results))):
        if len(of_kind):
            level = intervals.interval(of_kind[f"{BEFORE}/{effect.quantity}"])
            for name, interval, unit_of in ((effect.kind, effect.interval(of_kind), "%"), ("before", level, "1/s")):
                rows += [(f"{kind}.{name}-{end}", value, unit_of) for end, value in interval._asdict().items()]
    rows += [(f"part.{row.part}-{end}", value, "%") for row in parts(results, effect).itertuples()
             for end, value in (("low", row.low), ("high", row.high))]
    of_all = results[(results.part == "all") & results.fitted]
    rows += [("fitted.draws", int(of_all.reached.sum()), "draws"),
             ("fitted.out-of-reach", int((~of_all.reached).sum()), "draws")]
    if of_all.reached.any():
        rows.append(("fitted.constant", scale * of_all[of_all.reached][constant].median(), unit))
    return pd.DataFrame(rows, columns=["name", "value", "unit"])

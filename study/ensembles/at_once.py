"""Whether one draw shows all that was printed of a machine, and which numbers do not come together.

    off = of_document(results, "vandenbogaard-2008")        draws by numbers: factors
    table(off)          each number: how near any draw comes, and how near the draw that is nearest to all
    pairs(off)          two numbers: how near a draw comes to both
    sentence(off)       all of it
    left_out = each_left_out(draws, "rajadurai-2009")       each number inferred from all others
    sentence_of_left_out(left_out)

Nothing is fitted. Numbers of treated runs take part, so what comes nearest explains, and predicts nothing.
"""
import itertools

import numpy as np
import pandas as pd

from study.documents import published
from study.ensembles import ensembles, history_matching


def of_document(results: pd.DataFrame, document: str) -> pd.DataFrame:
    """By which factor each draw (row) is off each number (column) that a document prints. A column of `results` is named
    after the published run and the number: `pgbench-1/transactions.rate`."""
    draws = ensembles.unfitted(results)
    return history_matching.factors(draws, _printed(draws, document))


def _printed(draws: pd.DataFrame, document: str) -> pd.DataFrame:
    return history_matching.printed(draws, runs_of(document))


def runs_of(document: str) -> dict[str, str]:
    """The published runs of a document: name, id."""
    return {run.run_id.removeprefix(f"{document}/"): run.run_id for run in published.runs()
            if run.run_id.startswith(f"{document}/")}


def each_left_out(draws: pd.DataFrame, document: str) -> pd.DataFrame:
    """Each number that a document prints, inferred from all others: see `history_matching.each_number_left_out`. `draws`: a
    row each, columns as in `of_document`."""
    table = history_matching.each_number_left_out(draws, _printed(draws, document))
    return table.assign(number=table.number.map(_in_words))


def sentence_of_left_out(table: pd.DataFrame) -> str:
    """Of how many numbers the others tell something, how many of these lie in the range, and which is farthest outside."""
    inferred = table[table.outside.notna()]
    if inferred.empty:
        return f"None of {len(table)} numbers can be inferred from all others: too few draws show these."
    inside, farthest = (inferred.outside == 1).sum(), inferred.loc[inferred.outside.idxmax()]
    words = (f"From all others {len(inferred)} of {len(table)} numbers can be inferred. The draws that show the others "
             f"leave a range for each. Of the numbers inferred {inside} lie in their range.")
    return words + (f" The farthest outside is {farthest.number}, by a factor of {farthest.outside:.2f}."
                    if inside < len(inferred) else "")


def metrics_of_left_out(table: pd.DataFrame, before: str = "") -> pd.DataFrame:
    """For the run store: name, value, unit."""
    values = {"inferred": table.outside.notna().sum(), "inside": (table.outside == 1).sum()}
    return pd.DataFrame([(f"{before}left-out.{name}", float(value), "numbers") for name, value in values.items()],
                        columns=["name", "value", "unit"])


def pairs(off: pd.DataFrame) -> pd.DataFrame:
    """Two numbers each and the least factor within which one draw has both (first, second, factor), the farthest first."""
    rows = [(first, second, np.maximum(off[first], off[second]).min())
            for first, second in itertools.combinations(off.columns, 2)]
    table = pd.DataFrame(rows, columns=["first", "second", "factor"])
    return table.sort_values("factor", ascending=False, ignore_index=True)


def table(off: pd.DataFrame) -> pd.DataFrame:
    """number; the factor of the draw that is nearest to it alone; that of the draw that is nearest to all."""
    nearest = off.max(axis=1).idxmin()
    return pd.DataFrame({"number": [_in_words(column) for column in off], "nearest to it": off.min().to_numpy(),
                         "nearest to all": off.loc[nearest].to_numpy()})


def metrics(off: pd.DataFrame, before: str = "") -> pd.DataFrame:
    """For the run store: how near one draw comes to all numbers, to any two, to each one: name, value, unit."""
    values = {"numbers": off.shape[1], "all": off.max(axis=1).min(), "pair": pairs(off).factor[0], "alone": off.min().max()}
    return pd.DataFrame([(f"{before}at-once.{name}", value, "1") for name, value in values.items()],
                        columns=["name", "value", "unit"])


def sentence(off: pd.DataFrame) -> str:
    """How near one draw comes to all, and what keeps it off."""
    nearest, hardest = off.loc[off.max(axis=1).idxmin()], pairs(off).iloc[0]
    alone = off.min()
    return (f"One of {len(off)} draws comes nearest. It shows all {off.shape[1]} printed numbers within a factor of "
            f"{nearest.max():.2f}. Its farthest number is {_in_words(nearest.idxmax())}. Taken alone, each number has a "
            f"draw within a factor of {alone.max():.2f}. The farthest of these is {_in_words(alone.idxmax())}. Two numbers "
            f"come together least: {_in_words(hardest['first'])} and {_in_words(hardest['second'])}. No draw has both "
            f"within a factor of less than {hardest.factor:.2f}.")


def _in_words(column: str) -> str:
    variant, _, name = column.partition("/")
    return f"{name} of {variant}"

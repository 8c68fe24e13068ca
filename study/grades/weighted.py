"""What would come out if conditions had the odds that sources give them (`study.documents.odds`), and not equal ones.

    table = weighted.table(results, "06_exchange", "exchange")
    weighted.sentence(table, "exchange-gain")

The draws are those that a claim is graded by (`study.grades.remaining_draws`), weighed anew. No grade is made with
weights, and no draw is simulated again. Both ranges are 5 to 95 %, taken in the same way, so that only the odds differ.
*Place* is the share of the draws below the published number. Of fewer than ENOUGH draws of equal weight nothing is said.
"""
import numpy as np
import pandas as pd

from study.documents import claims, odds
from study.ensembles import ensembles
from study.ensembles.intervals import TAIL
from study.grades import claim_predictions, remaining_draws

ENOUGH = 10             # draws of equal weight that say as much
ENDS = (TAIL, 0.5, 1 - TAIL)
COLUMNS = ("claim", "published", "equal, low", "equal, middle", "equal, high", "equal, place (%)", "weighted, low",
           "weighted, middle", "weighted, high", "weighted, place (%)", "draws", "as good as")


def table(results: pd.DataFrame, notebook: str, experiment: str) -> pd.DataFrame:
    """For readers: each claim that the ensemble has, with COLUMNS. Numbers of a claim are in its unit."""
    of_choices, targets = odds.read(experiment), claims.targets().set_index("claim_id")
    draws, rows = ensembles.unfitted(results), []
    for claim, outcome in claim_predictions.outcomes(results, notebook):
        of_left = remaining_draws.draws_left(draws, claim, outcome)
        weight = odds.weights(of_choices, draws.loc[of_left.index])
        n_effective, value = odds.effective(weight), float(targets.loc[claim.id, "value"])
        equal = _described(of_left, pd.Series(1.0, index=of_left.index), value, len(of_left))
        rows.append((claim.id, value, *equal, *_described(of_left, weight, value, n_effective), len(of_left), n_effective))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _described(outcome: pd.Series, weight: pd.Series, value: float, n_effective: float) -> tuple[float, ...]:
    """Low, middle, high, and the share (%) below `value`; nan of too few draws."""
    if n_effective < ENOUGH:
        return (np.nan,) * 4
    low, middle, high = np.quantile(outcome, ENDS, weights=weight, method="inverted_cdf")
    return float(low), float(middle), float(high), float(100 * weight[outcome < value].sum() / weight.sum())


def metrics(rows: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    names = {"weighted, low": "low", "weighted, middle": "middle", "weighted, high": "high", "weighted, place (%)": "place"}
    return pd.DataFrame([(f"weighted.{row['claim']}.{name}", row[column], "%" if name == "place" else "1")
                         for row in rows.to_dict("records") for column, name in names.items() if pd.notna(row[column])],
                        columns=["name", "value", "unit"])


def sentence(rows: pd.DataFrame, claim: str) -> str:
    """What the odds do to one claim of a `table`."""
    row = rows.set_index("claim").loc[claim]
    draws, as_good = f"{row['draws']:.0f}", f"{row['as good as']:.0f}"
    if pd.isna(row["weighted, middle"]):
        return f"The {draws} draws are as good as {as_good} of equal weight. Of so few nothing is said."
    equal, by_odds = ([f"{row[f'{kind}, {end}']:.3g}" for end in ("low", "middle", "high")]
                      for kind in ("equal", "weighted"))
    return (f"With equal odds {draws} draws give {equal[0]} to {equal[2]} (5 to 95 %), and {equal[1]} in the middle. "
            f"With the odds of sources they give {by_odds[0]} to {by_odds[2]}, and {by_odds[1]} in the middle. "
            f"The published number is {row['published']:.3g}. With equal odds {row['equal, place (%)']:.0f} % of the draws "
            f"lie below it. With the odds of sources {row['weighted, place (%)']:.0f} % do.")

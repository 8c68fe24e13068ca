"""Which readings of a ladder come nearest to all that was published of it.

    of = nearest(PGBENCH, every, published)      `every` of `study.experiments.ladders_2009.questions.of_all_readings`
    sentence(PGBENCH, of, published)
    in_order_up_to(every)                        how far the rungs are in the published order

All published rates of the ladder are used, those to be predicted too. So this explains, and predicts nothing: no prediction
and no grade is made of it.
"""
import numpy as np
import pandas as pd

from study.experiments.ladders_2009.readings import Ladder, central, is_safe, readings
from study.experiments.ladders_2009.rungs import RATE

FACTOR = "typically off by"     # a factor, 1 or more: of simulated over published, the root mean square of logarithms
CLOSE = 1.25                    # a rung within this factor is met, by our reading


def nearest(ladder: Ladder, every: pd.DataFrame, published: list[float]) -> pd.DataFrame:
    """A row per reading, the nearest first. It has its choices, whether commits survive, and of its nearest draw FACTOR, how
    many rungs are within CLOSE, and the rates (rung 1, …)."""
    rates = every.pivot_table(index=["reading", "draw"], columns="rung", values=RATE)
    logs = np.log(rates / np.asarray(published))
    factors = np.exp(np.sqrt((logs ** 2).mean(axis=1)))
    best = factors.groupby("reading").idxmin()
    multiplied = [switch.name for switch in ladder.switches if not switch.aside]
    table = pd.DataFrame([{name: reading[name] for name in multiplied} for reading in readings(ladder)])
    table["survives power cut"] = [is_safe(ladder, reading) for reading in readings(ladder)]
    table[FACTOR] = factors.loc[best].to_numpy()
    table["rungs met"] = (np.abs(logs.loc[best]) <= np.log(CLOSE)).sum(axis=1).to_numpy()
    for rung, of_rung in rates.loc[best].items():
        table[f"rung {rung + 1}"] = of_rung.to_numpy()
    return table.sort_values(FACTOR, kind="stable", ignore_index=True)


def in_order_up_to(every: pd.DataFrame) -> list[float]:
    """For each rung but the first, a share of all pairs of a reading and a draw. In these the rungs up to it are each faster
    than the one before, as published."""
    rates = every.pivot_table(index=["reading", "draw"], columns="rung", values=RATE)
    faster = rates.diff(axis=1).iloc[:, 1:] > 0
    return [float(share) for share in faster.cummin(axis=1).mean()]


def as_draws(ladder: Ladder, every: pd.DataFrame) -> pd.DataFrame:
    """A row for each pair of a reading and a draw, a column for each rung: `pgbench-1/transactions.rate`."""
    rates = every.pivot_table(index=["reading", "draw"], columns="rung", values=RATE)
    return rates.set_axis([f"{rung.run}/{RATE}" for rung in ladder.rungs], axis=1)


def metrics(ladder: Ladder, table: pd.DataFrame, every: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit. `table` of `nearest`."""
    first = table.iloc[0]
    rows = [("factor", first[FACTOR], "1"), ("met", first["rungs met"], "rungs"),
            *((f"rung-{i + 1}", first[f"rung {i + 1}"], "1/s") for i in range(len(ladder.rungs))),
            *((f"in-order-{rung}", 100 * share, "%") for rung, share in enumerate(in_order_up_to(every), 2))]
    return pd.DataFrame([(f"{ladder.name}.nearest.{name}", value, unit) for name, value, unit in rows],
                        columns=["name", "value", "unit"])


def sentence(ladder: Ladder, table: pd.DataFrame, published: list[float]) -> str:
    """What the nearest reading is, and what it gives; `table` of `nearest`."""
    first = table.iloc[0]
    choices = ", ".join(f"{name}: {first[name]}" + "*" * (first[name] == central(ladder)[name])
                        for name in table.columns[:list(table.columns).index("survives power cut")])
    simulated = ", ".join(f"{first[f'rung {i + 1}']:.0f}" for i in range(len(published)))
    return (f"Nearest of {len(table)} readings, in its best draw: {choices} (* the likeliest choice). Its rungs make "
            f"{simulated} transactions a second; published are {', '.join(f'{rate:g}' for rate in published)}. A rung "
            f"is typically off by a factor of {first[FACTOR]:.2f}, and {first['rungs met']} of {len(published)} are within "
            f"{CLOSE:g}")

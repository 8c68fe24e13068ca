"""Every rung of a ladder under every reading of its words. What comes out, and what holds what was published? What would
somebody have had to write down to tell the readings apart?

    every = of_all_readings(PGBENCH, length, draws=3, seed=1)   a row for each reading, rung and draw
    intervals(every)                    per reading and rung: low, middle, high of the transactions per second
    summary(PGBENCH, every, published)  per reading: its choices, whether commits survive, its order, what it can give
    shares(PGBENCH, every, published)   per choice and rung: in how many of its readings the published number is held
    tell_apart(every)                   per measurement: how many pairs of readings it separates

Parameters are drawn once, so that all readings meet the same machines; switches that are not the readings' are drawn with
them. Rungs of different readings that are one machine are run once.
"""
import itertools
import math

import numpy as np
import pandas as pd

from study.documents import priors
from study.documents.priors import Known
from study.ensembles import ensembles, kept
from study.ensembles.intervals import interval
from study.experiments.ladders_2009.readings import Ladder, central, is_safe, readings
from study.experiments.ladders_2009.rungs import LENGTH, RATE, READS, known, measured, rungs


def _draws(ladder: Ladder, draws: int, seed: int) -> list[dict]:
    """Values of priors and of switches that are no part of a reading."""
    all_known, asked = known(ladder), {switch.name for switch in ladder.switches}
    switches = tuple(switch for switch in all_known.switches if switch.name not in asked)
    return priors.draws(Known(all_known.priors, switches), draws, seed).to_dict("records")


def of_all_readings(ladder: Ladder, length: float, draws: int, seed: int) -> pd.DataFrame:
    """reading (its number), rung, draw, and a column for each quantity."""
    machines = [rungs(ladder, reading, {LENGTH[ladder.name]: length}) for reading in readings(ladder)]
    different = {machine.model_dump_json(): machine for several in machines for machine in several}
    drawn = _draws(ladder, draws, seed)
    jobs = [(key, i) for key in different for i in range(draws)]
    rows = kept.rows(kept.Ensemble(f"{ladder.name}-readings", __name__, None, READS), lambda *call: [measured(*call)],
                     [(different[key], drawn[i], seed) for key, i in jobs])
    results = {job: row for job, (row,) in zip(jobs, rows, strict=True)}
    return pd.DataFrame([{"reading": i, "rung": j, "draw": k} | results[machine.model_dump_json(), k]
                         for i, several in enumerate(machines) for j, machine in enumerate(several) for k in range(draws)])


def intervals(every: pd.DataFrame, quantity: str = RATE) -> pd.DataFrame:
    """reading, rung, low, middle, high."""
    rows = [(*key, *interval(group[quantity])) for key, group in every.groupby(["reading", "rung"])]
    return pd.DataFrame(rows, columns=["reading", "rung", "low", "middle", "high"])


def in_order(every: pd.DataFrame) -> pd.Series:
    """Per reading: the share of draws in which each rung is faster than the one before, as published."""
    rates = every.pivot_table(index=["reading", "draw"], columns="rung", values=RATE)
    return (rates.diff(axis=1).iloc[:, 1:] > 0).all(axis=1).groupby("reading").mean()


def summary(ladder: Ladder, every: pd.DataFrame, published: list[float]) -> pd.DataFrame:
    """For readers: what each reading is, whether all of its rungs keep commits over a power cut, in how many draws these are
    in order. Then which published rates lie within its intervals, whether all do (then it is possible), its rates."""
    chosen = pd.DataFrame([{name: reading[name] for name in _multiplied(ladder)} for reading in readings(ladder)])
    chosen["survives power cut"] = [is_safe(ladder, reading) for reading in readings(ladder)]
    chosen["in published order"] = in_order(every).to_numpy()
    can = held(every, published)
    chosen["gives rungs"] = [", ".join(str(rung + 1) for rung in can.columns[row]) or "none" for row in can.to_numpy(bool)]
    chosen["possible"] = can.all(axis=1).to_numpy()
    for rung, rows in intervals(every).groupby("rung"):
        chosen[f"rung {rung + 1}"] = [f"{row.low:.0f} to {row.high:.0f}" for row in rows.itertuples()]
    return chosen


def _multiplied(ladder: Ladder) -> list[str]:
    return [switch.name for switch in ladder.switches if not switch.aside]


def held(every: pd.DataFrame, published: list[float]) -> pd.DataFrame:
    """Per reading (row) and rung (column): whether the interval holds the published rate. For readers."""
    bounds = intervals(every)
    rates = np.asarray(published)[bounds.rung]
    bounds["held"] = (bounds.low <= rates) & (rates <= bounds.high)
    return bounds.pivot(index="reading", columns="rung", values="held")


def shares(ladder: Ladder, every: pd.DataFrame, published: list[float]) -> pd.DataFrame:
    """Per choice, the share (%) of its readings that hold each published rate: switch, choice, a column for each rung."""
    hold, all_readings, rows = held(every, published), readings(ladder), []
    for switch in ladder.switches:
        if switch.aside:
            continue
        for choice in switch.choices:
            own = [i for i, reading in enumerate(all_readings) if reading[switch.name] == choice.name]
            rows.append((switch.name, choice.name, *(100 * hold.loc[own].mean())))
    return pd.DataFrame(rows, columns=["switch", "choice", *range(len(ladder.rungs))])


def tell_apart(every: pd.DataFrame) -> pd.DataFrame:
    """Per quantity and rung: the share (%) of pairs of readings whose intervals do not meet. Then how far the middles of
    readings lie apart (largest over smallest), against how wide one is (median of high over low). Best first. A ratio to
    nothing is nan."""
    rows = []
    quantities = [column for column in every.columns if column not in ("reading", "rung", "draw")]
    for quantity, rung in itertools.product(quantities, sorted(every.rung.unique())):
        bounds = intervals(every[every.rung == rung], quantity)
        separate = (bounds.low.to_numpy()[:, None] > bounds.high.to_numpy()[None, :]).sum()
        pairs = len(bounds) * (len(bounds) - 1) / 2
        rows.append((quantity, rung + 1, 100 * separate / pairs, _times(bounds.middle.max(), bounds.middle.min()),
                     float(pd.Series([_times(row.high, row.low) for row in bounds.itertuples()]).median())))
    quantities_by_rung = pd.DataFrame(rows, columns=["quantity", "rung", "pairs told apart (%)", "between", "within"])
    return quantities_by_rung.sort_values("pairs told apart (%)", ascending=False, kind="stable", ignore_index=True)


def _times(large: float, small: float) -> float:
    """A ratio that is 1 for nothing at all, and nan for something to nothing."""
    if small <= 0:
        return 1.0 if large <= 0 else math.nan
    return large / small


def single_steps(ladder: Ladder, results: pd.DataFrame) -> pd.DataFrame:
    """From an ensemble: rates of all rungs by best guesses with one choice of the readings changed: what, and the rungs."""
    rows = []
    for part in ("central", "structure"):
        for _, case in ensembles.unfitted(results, part).iterrows():
            thrown = [f"{switch.name}: {case[switch.name]}" for switch in ladder.switches
                      if case[switch.name] != central(ladder)[switch.name]]
            if thrown or part == "central":
                rows.append((", ".join(thrown) or "likeliest", *(case[f"{rung.run}/{RATE}"] for rung in ladder.rungs)))
    return pd.DataFrame(rows, columns=["reading", *(f"rung {i + 1}" for i in range(len(ladder.rungs)))])


def steps(ladder: Ladder, results: pd.DataFrame, published: list[float], dumb: list[float]) -> pd.DataFrame:
    """For readers, of each rung over the one before: rung, published, low, middle, high, dumb. Nothing fitted."""
    unfitted, rows = ensembles.unfitted(results), []
    for i, (before, after) in enumerate(itertools.pairwise(ladder.rungs)):
        ratio = interval(unfitted[f"{after.run}/{RATE}"] / unfitted[f"{before.run}/{RATE}"])
        rows.append((f"{i + 2} over {i + 1}", published[i + 1] / published[i], *ratio, dumb[i]))
    return pd.DataFrame(rows, columns=["rung", "published", "low", "middle", "high", "dumb"])


def findings(ladder: Ladder, every: pd.DataFrame, published: list[float]) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    table, hold, rates = summary(ladder, every, published), held(every, published), intervals(every)
    order, name = table["in published order"], ladder.name
    safe = np.array([is_safe(ladder, reading) for reading in readings(ladder)])
    honest = safe & [reading.get("flush", "honest") == "honest" for reading in readings(ladder)]
    rows = [("readings", len(table), "readings"), ("safe", int(safe.sum()), "readings"),
            ("in-order", int((order == 1).sum()), "readings"), ("in-order-once", int((order > 0).sum()), "readings"),
            ("hold-all", int(hold.all(axis=1).sum()), "readings"), ("most-held", int(hold.sum(axis=1).max()), "rungs")]
    for rung, of_rung in rates.groupby("rung"):
        rows += [(f"rung-{rung + 1}.held", int(hold[rung].sum()), "readings"),
                 (f"rung-{rung + 1}.lowest", of_rung.low.min(), "1/s"),
                 (f"rung-{rung + 1}.highest", of_rung.high.max(), "1/s"),
                 (f"rung-{rung + 1}.highest-safe", of_rung[safe[of_rung.reading]].high.max(), "1/s"),
                 (f"rung-{rung + 1}.highest-honest", of_rung[honest[of_rung.reading]].high.max(), "1/s")]
    rows += [(f"step-{rung + 1}.{end}", value, "1") for rung, ratios in _ratios(every).items()
             for end, value in (("least", ratios.min()), ("most", ratios.max()))]
    return pd.DataFrame([(f"{name}.{metric}", value, unit) for metric, value, unit in rows],
                        columns=["name", "value", "unit"])


def _ratios(every: pd.DataFrame) -> pd.DataFrame:
    """Per reading and draw: each rung but the first (column) over the one before."""
    rates = every.pivot_table(index=["reading", "draw"], columns="rung", values=RATE)
    return (rates / rates.shift(axis=1)).iloc[:, 1:]


def constants(ladder: Ladder, results: pd.DataFrame, constant: str) -> pd.DataFrame:
    """For the run store, of what fitting made of one constant: how many draws met the first rung, and its median in ms."""
    of_all, name = results[(results.part == "all") & results.fitted], ladder.name
    rows = [(f"{name}.fitted.draws", int(of_all.reached.sum()), "draws"),
            (f"{name}.fitted.out-of-reach", int((~of_all.reached).sum()), "draws")]
    if of_all.reached.any():
        rows.append((f"{name}.fitted.constant", 1e-6 * of_all[of_all.reached][constant].median(), "ms"))
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def metrics_of_steps(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    rows = [(f"{name}.step-{row.rung[0]}.{column}", getattr(row, column), "1") for row in table.itertuples()
            for column in ("low", "middle", "high", "dumb")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def verdict(scores: pd.DataFrame, numbers: pd.DataFrame) -> str:
    """A ladder in a sentence: the grades of its steps, and what its readings do."""
    grades = ", ".join(f"{grade} {n}" for grade, n in scores.grade.value_counts(sort=False).items())
    values = numbers.set_index(numbers.name.str.partition(".")[2]).value
    return (f"steps by grade: {grades}; of {values['readings']:.0f} readings {values['in-order']:.0f} have the published "
            f"order in every draw; the best holds {values['most-held']:.0f} of {numbers.name.str.endswith('.held').sum()} "
            "published rates")

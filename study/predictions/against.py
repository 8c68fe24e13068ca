"""`study predict A --against B`: what a change gains, judged as `study advise` judges a step.

    made = against.compare(before, after, draws=24)
    made.gain, made.sign        TPS after over before, at 5, 50 and 95 % of the draws; 1, -1, or 0 where that holds 1
    made.table                  every quantity before and after

Two predictions by themselves need not be comparable. The longer an interval between checkpoints is, the more a machine is
made smaller (`study.machines.run_length`), and one that is smaller is not as fast. Here both have the same draws, runs of
one judgement, and one size (`study.predictions.sizes`). Both have been at work for hours.
"""
from typing import NamedTuple

import pandas as pd
from rich.console import Console

from study import console
from study.ensembles import intervals
from study.errors import UserError
from study.machines import run_length
from study.machines import simulate as machines
from study.machines.scenario import Scenario
from study.predictions import advise, ladder, predict, sizes

SAID = {1: "faster", -1: "slower", 0: "open: nobody can say whether faster or slower"}
EQUAL = "as fast in every draw"
ALIKE = "as fast, to a tenth of a percent"
TENTH = 0.0005      # of a gain: what is less is printed as 0.0 %
HINT = "to judge a change: study predict THIS --against CHANGED; runs apart may differ in size, and so in rate"


class Comparison(NamedTuple):
    """What a change of the machine gains, and both machines beside each other."""
    before: str                 # titles
    after: str
    gain: intervals.Interval    # TPS after over before
    sign: int
    table: pd.DataFrame         # quantity, unit, before and after at 50 %, in the size of both
    smaller_by: float           # times both machines are
    own_tps: tuple[float, float] | None     # where that is not the first's own: its rate there, as of advice; times the gain
    n_draws: int
    is_whole: bool              # all runs hold what comes once between two checkpoints


def compare(before: Scenario, after: Scenario, draws: int = predict.DRAWS,
            budget: run_length.Budget = run_length.BUDGET) -> Comparison:
    """UserError if they are of databases of two kinds, or are one machine."""
    if before.database.kind != after.database.kind:
        raise UserError(f"the databases are {before.database.kind} and {after.database.kind}, but a change is one of a "
                        "machine with its database; compare two of one kind")
    pair = [machines.checked(advise.at_work(machine)) for machine in (before, after)]
    known = machines.known(pair, predict.EXPERIMENTS[before.database.kind])
    values = known.central()
    size, own = sizes.of_pair(pair[0], pair[1], values, budget), sizes.own(pair[0], values, budget)
    runs = predict.compare(pair, draws, budget=budget, known=known, smaller_by=size)
    tps = runs.pivot(index="draw", columns="scenario", values="tps")
    gain = tps[1] / tps[0]
    alone = predict.compare(pair[:1], draws, budget=budget, known=known, smaller_by=own).tps if own != size else None
    middle = [predict.table(runs[runs.scenario == place]).set_index(["quantity", "unit"]).middle for place in (0, 1)]
    table = pd.concat(middle, axis=1, keys=["before", "after"]).reset_index()
    return Comparison(
        before=before.title, after=after.title, gain=intervals.interval(gain), sign=ladder.sign(gain), table=table,
        own_tps=None if alone is None else (float(alone.median()), float((alone * gain).median())),
        smaller_by=size or 1.0, n_draws=draws, is_whole=bool(runs.is_whole.all()))


def sentence(made: Comparison) -> str:
    """Which is faster, by how much."""
    low, middle, high = (f"{end - 1:+.1%}".replace("-0.0%", "+0.0%") for end in made.gain)
    words = SAID[made.sign]
    if all(abs(end - 1) < TENTH for end in made.gain):
        words = EQUAL if made.gain.low == made.gain.high == 1 else ALIKE
    return f"the second is {words}: {middle} TPS ({low} to {high}, 5 to 95 % of {made.n_draws} draws)"


def say(made: Comparison, out: Console, before: str, after: str) -> None:
    """For the terminal; `before` and `after`: how the two are called."""
    shown = console.table("50 % of the draws", "before", "after", "unit")
    for row in made.table.itertuples():
        shown.add_row(predict.READABLE.get(row.quantity, row.quantity), console.number(row.before),
                      console.number(row.after), row.unit)
    out.print(f"before: {before}; after: {after}", soft_wrap=True)
    out.print(sentence(made), soft_wrap=True)
    out.print(shown)
    size = f", and made smaller alike, {made.smaller_by:.3g} times" if made.smaller_by > 1 else ""
    out.print(f"both after hours of work, under the same draws{size}", soft_wrap=True)
    if made.own_tps is not None:
        before_tps, after_tps = map(console.number, made.own_tps)
        out.print(f"That size is for the gain. In its own size the first makes {before_tps} TPS; the second, by the gain, "
                  f"{after_tps}.", soft_wrap=True)
    if not made.is_whole:
        out.print(advise.ALL_BEGIN, soft_wrap=True)

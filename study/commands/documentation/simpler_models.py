"""What a simpler model makes of each effect, beside the simulation: a table of `paper/results.json` for docs/results.md.

The simpler model counts I/Os. Of two builds or settings it takes the I/Os for an operation. Of a rung it takes those
that the slides' price table gives its devices. The simulation is taken at its best guess. No claim is graded by it.
"""
import math
from typing import NamedTuple

from study.commands.documentation.committed_results import Results, committed
from study.commands.documentation.markdown import table
from study.commands.documentation.results_tables import LADDERS
from study.documents import claims

ALIKE = 1.05        # factors of error that differ by less are alike


class Beside(NamedTuple):
    """An effect as a factor: as published, by best guess, by the number of I/Os."""
    what: str
    published: float
    simulated: float
    by_ios: float

    @property
    def nearer(self) -> str:
        """Which of both is nearer to what was published."""
        simulated, by_ios = (abs(math.log(model / self.published)) for model in (self.simulated, self.by_ios))
        if abs(simulated - by_ios) < math.log(ALIKE):
            return "alike"
        return "simulation" if simulated < by_ios else "I/Os"


def effects(n: Results) -> list[Beside]:
    """All effects that have both."""
    targets = claims.targets().set_index("claim_id").value

    def number(name: str) -> float:
        return n.numbers[name]

    oltp, seqread, exchange = "01_vdev_cache_oltp", "02_vdev_cache_seqread", "06_exchange"
    rows = [
        Beside("2007: gain of the database", targets["oltp-gain"],
               number(f"{oltp}/after.summary.rate") / number(f"{oltp}/before.summary.rate"),
               1 + number(f"{oltp}/simpler.ios") / 100),
        Beside("2007: loss of sequential readers", targets["seqread-loss"], 1 - number(f"{seqread}/loss") / 100,
               1 - number(f"{seqread}/simpler.ios") / 100),
        Beside("2010: gain of Exchange", 1 + targets["exchange-gain"] / 100, 1 + number(f"{exchange}/gain") / 100,
               1 + number(f"{exchange}/simpler.ios") / 100)]
    for ladder, name, steps in LADDERS:
        rates = [number(f"{ladder}.rung-{rung}.rate") for rung in range(1, len(steps) + 2)]
        rows += [Beside(f"2009: {name.partition(' (')[0]}, {step}", targets[f"{ladder.partition('/')[2]}-{rung}"],
                        rates[rung - 1] / rates[rung - 2], number(f"{ladder}.step-{rung}.dumb"))
                 for rung, step in enumerate(steps, start=2)]
    return rows


def beside_simpler() -> str:
    """The table, and how often each is nearer."""
    rows = effects(committed())
    count = {which: sum(row.nearer == which for row in rows) for which in ("simulation", "I/Os", "alike")}
    shown = [(row.what, *(f"{factor:.2f}" for factor in row[1:]), row.nearer) for row in rows]
    return "\n".join((
        f"Of {len(rows)} effects the simulation is nearer in {count['simulation']}, the number of I/Os in {count['I/Os']}. "
        f"In {count['alike']} both are alike.", "",
        table(("effect", "published factor", "best guess", "by I/Os", "nearer"), shown)))

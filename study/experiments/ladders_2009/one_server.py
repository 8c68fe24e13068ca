"""One server for all ladders of a notebook: what a draw of it is made of (`study sweep --draws`).

    drawn("pgbench", (PGBENCH,), 100_000)           known, variants (rungs), simulate
    drawn("sysbench", SYSBENCH, 300.0)              both ladders of sysbench on the same machine

The three ladders were climbed on one server. So a draw has one machine and one reading, and simulates every rung with them.
"""
from study.documents.priors import Known
from study.ensembles import at_once, kept
from study.experiments.ladders_2009 import rungs as ladders_2009
from study.experiments.ladders_2009.readings import SYSBENCH_RO, SYSBENCH_RW, Ladder
from study.experiments.protocol import Drawn

DOCUMENT = "rajadurai-2009"
SYSBENCH = (SYSBENCH_RW, SYSBENCH_RO._replace(switches=SYSBENCH_RW.switches))     # the words of both say the same


def drawn(name: str, of: tuple[Ladder, ...], length: float) -> Drawn:
    """What a draw is made of: see `study.experiments.protocol`. `name`: of its ensemble. `length`: transactions of
    pgbench in all, or seconds."""
    places = {rung.run: (ladder, place) for ladder in of for place, rung in enumerate(ladder.rungs)}
    asked = {switch.name for ladder in of for switch in ladder.switches}

    def simulate(values: dict, seed: int, variant: str) -> dict[str, float]:
        ladder, place = places[variant]
        machines = ladders_2009.rungs(ladder, {name: values[name] for name in asked},
                                      {ladders_2009.LENGTH[ladder.name]: length})
        of_machine = {name: value for name, value in values.items() if name not in asked}
        return {ladders_2009.RATE: ladders_2009.measured(machines[place], of_machine, seed)[ladders_2009.RATE]}

    ensemble = kept.Ensemble(name, __name__, length, ladders_2009.READS)
    printed = at_once.runs_of(DOCUMENT)
    return Drawn(known=_known(of), variants=tuple(places), simulate=simulate, ensemble=ensemble,
                 printed_runs={name: printed[name] for name in places})


def _known(of: tuple[Ladder, ...]) -> Known:
    """What is not known for any of the ladders."""
    each = [ladders_2009.known(ladder) for ladder in of]
    priors = {prior.name: prior for known in each for prior in known.priors}
    switches = {switch.name: switch for known in reversed(each) for switch in known.switches}
    return Known(tuple(priors.values()), tuple(switches.values()))

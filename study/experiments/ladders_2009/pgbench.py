"""The ladder of pgbench, as `07_pgbench_ladder` has it."""
from typing import Any

from study.experiments.ladders_2009 import one_server
from study.experiments.ladders_2009.readings import PGBENCH
from study.experiments.protocol import Drawn


def drawn(transactions: int, **others: Any) -> Drawn:
    """What a draw is made of: see `study.experiments.protocol`. Of `others`, the sliders' starts, nothing is taken."""
    return one_server.drawn("pgbench", (PGBENCH,), transactions)

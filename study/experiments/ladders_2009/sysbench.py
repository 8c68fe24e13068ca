"""Both ladders of sysbench on one server, as `08_sysbench_ladders` has them."""
from typing import Any

from study.experiments.ladders_2009 import one_server
from study.experiments.protocol import Drawn


def drawn(seconds: float, **others: Any) -> Drawn:
    """What a draw is made of: see `study.experiments.protocol`. Of `others`, the sliders' starts, nothing is taken."""
    return one_server.drawn("sysbench", one_server.SYSBENCH, seconds)

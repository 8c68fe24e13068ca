"""In what size machines are compared.

    sizes.own(machine, values)                  times smaller than described, by itself
    sizes.of_pair(before, after, values)        and if the gain from one to the other is asked

A large machine is made smaller for its run (`study.machines.run_length`), and one that is smaller is not as fast. Twelve
disks in RAID-Z2 make 307 TPS as described, and 162 at a sixth of their size. So

 1. A rate is of the machine in its own size. What it is compared with plays no part.
 2. A gain is of two machines in one size: of the one that must be made smaller more. Others play no part.
 3. Such a size is a power of two, where the machines allow it. Few sizes are run, and the order of the two plays no part.
 4. The rate after a change is the rate before it, by rule 1, times the gain, by rule 2.
"""
import math

from study.machines import run_length
from study.machines.scenario import Scenario
from study.predictions import predict


def own(machine: Scenario, values: dict, budget: run_length.Budget = run_length.BUDGET) -> float | None:
    """Times smaller, 1 at least. None: only PostgreSQL's machines are made smaller."""
    return predict.alike([machine], values, budget)


def of_pair(before: Scenario, after: Scenario, values: dict, budget: run_length.Budget = run_length.BUDGET) -> float | None:
    """The same of both."""
    needed = predict.alike([before, after], values, budget)
    if needed is None or needed == 1:
        return needed
    power = 2.0 ** math.ceil(math.log2(needed))
    return min(run_length.scaling(machine, power) for machine in (before, after))

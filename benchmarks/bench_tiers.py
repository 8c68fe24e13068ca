"""Pools between price and rate: the simulation of one pool beside plain NumPy, which counts reads and knows no time.

NumPy draws as many blocks as the transactions of the simulated run want, and looks each up in a bitmap of what memory
holds. So the ratio says what a transaction costs with processors, queues, intent log, groups and devices, against its bare
look-ups.
"""

import numpy as np
import pytest

from study.experiments.tiers_2009 import hybrids, prices
from study.experiments.tiers_2009.prices import Point
from study.machines import simulate as machines

LOAD = hybrids.Load(working_set_gib=32.0, read_share=0.8, users=32, seconds=20.0)
POOL = Point(2, 1, 1, 16)
BLOCK, BLOCKS_OF_ONE = 8192, 10     # of a transaction, about; the model draws its own number
MACHINE = hybrids.machine(prices.read("2009"), POOL, LOAD)
VALUES = machines.known([MACHINE], "oracle").central() | {"changed_share": 1 - LOAD.read_share}


def with_model():
    done = machines.simulate(MACHINE, VALUES, 1)
    return round(done.tps * done.seconds)


def with_numpy(n):
    draws = np.random.default_rng(1)
    n_blocks = int(LOAD.working_set_gib * 2**30) // hybrids.SCALE // BLOCK
    in_memory = draws.random(n_blocks) < POOL.memory_gib / LOAD.working_set_gib
    return int((~in_memory[draws.integers(0, n_blocks, n * BLOCKS_OF_ONE)]).sum())


@pytest.mark.parametrize("contender", ["NumPy, blocks looked up", "model"])
def bench_a_hybrid_pool(contender, per_operation):
    n = with_model()
    is_numpy = contender.startswith("NumPy")
    call, arguments = (with_numpy, (n,)) if is_numpy else (with_model, ())
    made = per_operation("transactions on a hybrid pool", contender, n, lambda: arguments, call, rounds=3, base=is_numpy,
                         note="2 disks, both SSDs, 16 GiB")
    assert made == n or is_numpy

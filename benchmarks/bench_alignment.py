"""Requests to a misaligned LUN: the simulation beside plain NumPy, which counts the same blocks and knows no time.

Both tell how many blocks the same requests read from the pool, with memory for all that was read once. NumPy counts
different blocks of reads, and of writes those that are covered in part and were not there before. It has no device, no
transaction group and no intent log. So the ratio says what an event of a request costs against its bare count.
"""

import numpy as np
import pytest

from model.devices.ssd import SsdParams
from model.filesystems.calls import READ, WRITE
from model.filesystems.zfs.new_store import new_store
from model.filesystems.zfs.state import FileSettings, Group, Pool
from model.simulations import block_requests
from model.simulations import request_columns as request
from model.simulations.block_requests import Settings
from model.zfs.eras import era

LUN, BLOCK, START = 2**28, 2**13, 63 * 512
N_CLIENTS = 16


def requests(n):
    """Of a database: half reads, half writes, as large as a block, at random, misaligned."""
    draws = np.random.default_rng(1)
    table = np.empty((n, 3), np.int64)
    table[:, request.OPERATION] = np.where(draws.random(n) < 0.5, READ, WRITE)
    table[:, request.OFFSET] = START + draws.integers(0, LUN // BLOCK - 8, n) * BLOCK
    table[:, request.N_BYTES] = BLOCK
    return table


def with_model(table):
    s = FileSettings(record_bytes=BLOCK, log_record_bytes=BLOCK, on_zvol=1, memory_bytes=2**33, arc_max_bytes=2**32,
                     is_warm=0, prefetch=0)
    pool = Pool(Group(SsdParams(disk_bytes=2**34)))
    store = new_store(block_requests.files_of(LUN, BLOCK), s, era("b141"), pool, N_CLIENTS)
    done = block_requests.simulate(table, Settings(N_CLIENTS, 10**12), store, LUN)
    assert len(done.table) == len(table)
    return done.counts["data_reads"]


def with_numpy(table):
    """A request lies in two blocks, neither of which it covers: whatever was not there before is read."""
    first = table[:, request.OFFSET] // BLOCK
    return int(np.bincount(np.concatenate([first, first + 1]), minlength=LUN // BLOCK).astype(bool).sum())


@pytest.mark.parametrize("contender", ["NumPy, blocks counted", "model"])
def bench_requests_to_a_lun(contender, per_operation):
    n = 200_000
    table = requests(n)
    call = with_numpy if contender.startswith("NumPy") else with_model
    n_reads = per_operation("requests to a misaligned LUN", contender, n, lambda: (table,), call, rounds=3,
                            base=contender.startswith("NumPy"), note="blocks that the pool reads")
    assert n_reads == with_numpy(table)

"""ARCs on the same traces: misses of plain LRU, of libcachesim's ARC, of the published rules and of ZFS's, and their times.

libcachesim and the published rules differ by fractions in p (`tests/model/zfs/arc/test_arc_traces.py`). ZFS's are run at
1000 requests a second (10 a tick), and once with the thread of every second at every tick: what it does too late is what is
lost.
"""

import libcachesim
import numpy as np
import pytest
from bench_lru import REQUEST, fitted

from model.events.streams import stream
from model.structures.lru import misses, new_lru
from model.zfs.arc.arc import ArcParams, new_arc
from model.zfs.arc.replay import misses_textbook, misses_zfs

N = 300_000
RECORD = 8192


def uniform(u):
    return (30_000 * u).astype(np.int64)


def zipf(u):
    return np.exp(u * np.log(100_000)).astype(np.int64)


def loop(u):
    return np.arange(len(u)) % 12_000


def mixed(u):
    skewed = np.exp(np.modf(2 * u)[0] * np.log(30_000)).astype(np.int64)
    return np.where(u < 0.5, skewed, 50_000 + np.arange(len(u)) % 40_000)


@pytest.fixture(scope="module", params=[uniform, zipf, loop, mixed], ids=lambda shape: shape.__name__)
def trace(request, tmp_path_factory):
    """(name, block numbers, path of the same for libcachesim)."""
    keys = request.param(stream(1, "arc trace").random(N)) + 1
    requests = np.zeros(N, REQUEST)
    requests["block"], requests["n_bytes"], requests["next"] = keys, 1, -1
    path = tmp_path_factory.mktemp("arc") / f"{request.param.__name__}.oracleGeneral.bin"
    requests.tofile(path)
    return request.param.__name__, keys, str(path)


def peer(path, c):
    reader = libcachesim.TraceReader(path, libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    return round(libcachesim.ARC(c, **fitted(c)).process_trace(reader)[0] * N)


def published(keys, c):
    params = ArcParams(c, c)
    return misses_textbook(new_arc(params, 100_002, 200_100, 0), params, keys)


def zfs(keys, c, adjust_ticks):
    params = ArcParams(c * RECORD, c * RECORD)
    return misses_zfs(new_arc(params, 100_002, 200_100), params, keys, RECORD, 10, adjust_ticks)


@pytest.mark.parametrize("c", [300, 3000, 10_000])
@pytest.mark.parametrize("contender", ["libcachesim", "published", "ZFS", "ZFS, trimmed every tick", "LRU"])
def bench_arc(trace, c, contender, per_operation):
    name, keys, path = trace
    call = {"libcachesim": lambda: peer(path, c), "published": lambda: published(keys, c), "ZFS": lambda: zfs(keys, c, 100),
            "ZFS, trimmed every tick": lambda: zfs(keys, c, 1), "LRU": lambda: misses(new_lru(c), keys)}[contender]
    n_misses = call()
    again = per_operation(f"ARC of {c} blocks: {name} trace of {N} requests", contender, N, lambda: (), call, rounds=3,
                          base=contender == "libcachesim", note=f"{n_misses} misses")
    assert again == n_misses
    if contender == "published":
        assert abs(n_misses - peer(path, c)) < 0.004 * N

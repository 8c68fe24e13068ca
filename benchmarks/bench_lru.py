"""The plain LRU kernel beside libcachesim's LRU, both from the same trace file to a count of misses.

The file is in libcachesim's own binary format, which its fastest reader maps into memory. Its hash table has 2^24
chains unless told otherwise, too many for these caches to stay in the processor's; so it is timed as it comes and with
a table fitted to the cache, and the ratio is to the latter, the faster one.
"""

import libcachesim
import numpy as np
import pytest

from model.events.streams import stream
from model.structures.lru import misses, n_buckets_for, new_lru

N = 1_000_000
REQUEST = np.dtype([("time", "<u4"), ("block", "<u8"), ("n_bytes", "<u4"), ("next", "<i8")])  # oracleGeneral, 24 B


def skewed(uniform):
    """Block numbers of which few are wanted often: about a third of all blocks take 80 % of the requests."""
    return (uniform**4 * 300_000).astype(np.int64)


def even(uniform):
    return (uniform * 300_000).astype(np.int64)


@pytest.fixture(scope="module", params=[skewed, even], ids=lambda shape: shape.__name__)
def trace(request, tmp_path_factory):
    """(name, path) of a trace file of a million requests."""
    requests = np.zeros(N, REQUEST)
    requests["time"] = np.arange(N) // 1000
    requests["block"] = request.param(stream(1, "blocks").random(N)) * 7919 % 2**31  # scattered numbers
    requests["n_bytes"], requests["next"] = 1, -1
    path = tmp_path_factory.mktemp("trace") / f"{request.param.__name__}.oracleGeneral.bin"
    requests.tofile(path)
    return request.param.__name__, str(path)


def model_misses(path, n_frames):
    return misses(new_lru(n_frames), np.fromfile(path, REQUEST)["block"].astype(np.int64))


def peer_misses(path, n_frames, **options):
    reader = libcachesim.TraceReader(path, libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    miss_ratio, _ = libcachesim.LRU(n_frames, **options).process_trace(reader)
    return round(miss_ratio * N)


def fitted(n_frames):
    """The number of chains that the model uses."""
    return {"hashpower": n_buckets_for(n_frames).bit_length() - 1}


@pytest.mark.parametrize("n_frames", [100, 1000, 10_000, 100_000])
@pytest.mark.parametrize("contender", ["libcachesim, fitted table", "libcachesim", "model", "model, requests in memory"])
def bench_lru(trace, n_frames, contender, per_operation):
    name, path = trace
    expected = model_misses(path, n_frames)
    blocks = np.fromfile(path, REQUEST)["block"].astype(np.int64)
    setup, call = {
        "libcachesim, fitted table": (lambda: (), lambda: peer_misses(path, n_frames, **fitted(n_frames))),
        "libcachesim": (lambda: (), lambda: peer_misses(path, n_frames)),
        "model": (lambda: (), lambda: model_misses(path, n_frames)),
        "model, requests in memory": (lambda: (new_lru(n_frames), blocks), misses),
    }[contender]
    n_misses = per_operation(f"LRU of {n_frames} frames: {name} trace of {N} requests", contender, N, setup, call, rounds=5,
                             base=contender.startswith("libcachesim, fitted"), note=f"{expected} misses")
    assert n_misses == expected

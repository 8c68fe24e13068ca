"""Traces for ARCs: what is asked for, and what libcachesim's ARC misses of it."""

import numpy as np

from model.events.streams import stream

N = 20_000


def uniform(u):
    return (3000 * u).astype(np.int64)


def zipf(u):
    """A chance of about 1 / k for block k, of 10 000."""
    return np.exp(u * np.log(10_000)).astype(np.int64)


def loop(u):
    return np.arange(len(u)) % 1200


def mixed(u):
    """Every other request, by chance, is of a loop over 4000 blocks; the others are as `zipf`, of 3000."""
    skewed = np.exp(np.modf(2 * u)[0] * np.log(3000)).astype(np.int64)
    return np.where(u < 0.5, skewed, 5000 + np.arange(len(u)) % 4000)


TRACES = {shape.__name__: shape for shape in (uniform, zipf, loop, mixed)}

# Misses of libcachesim.ARC(c) on `keys(name)`: {(name, c): misses}.
MISSES = {
    ("uniform", 30): 19821, ("uniform", 300): 18020, ("uniform", 1000): 13488,
    ("zipf", 30): 13355, ("zipf", 300): 8722, ("zipf", 1000): 6456,
    ("loop", 30): 20000, ("loop", 300): 20000, ("loop", 1000): 20000,
    ("mixed", 30): 16135, ("mixed", 300): 13964, ("mixed", 1000): 13065,
}


def keys(name, n=N):
    return TRACES[name](stream(1, "arc trace").random(n)) + 1


def libcachesim_misses(requests, c):
    """Of libcachesim, request by request."""
    import libcachesim
    cache, request, misses = libcachesim.ARC(c, hashpower=16), libcachesim.Request(), 0
    request.obj_size = 1
    for key in requests.tolist():
        request.obj_id = key
        misses += not cache.get(request)
    return misses

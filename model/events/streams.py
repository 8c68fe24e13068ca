"""Randomness has a name.

One stream for each source of chance, keyed by `(seed, name)`. A new stream never disturbs the others. Two policies that are
compared under one seed meet the same arrivals. Kernels own no generator; they are handed numbers.
"""

import zlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """A `numpy.random.Generator` for the source of chance `name` under `seed` (an integer, 0 or more)."""
    if seed < 0:
        raise ValueError(f"seed is {seed}, but it must be 0 or more; use any non-negative integer")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()),)))

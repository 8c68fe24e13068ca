"""The dedup table of a hundred million entries: the kernel, leaf by leaf, beside plain NumPy on sorted keys.

The kernel gets its keys in sorted portions, so that neighbours meet the same leaf. Portions of 2 x 10^7 keys have several
keys for each leaf of a table of 10^8: an entry then costs 13 to 22 ns. With portions of 10^6 each key met another leaf, out
of the processor's caches, and cost 92 ns. Larger portions need more memory, 0.2 GB for each 2 x 10^7 keys.

Both count the leaves of the same keys. NumPy's may, because with nothing removed the leaves do not depend on the order of
keys: a prefix is split if more keys than a leaf holds begin with it. It knows no references, and no key can be added to
what it made.
"""

import numpy as np
import pytest

from model.zfs.dedup import zap_columns as leaf_of
from model.zfs.dedup.zap import KEY_BITS, ZapParams, enter_all, leaf_entries, new_zap

PARAMS = ZapParams()
PORTION = 2 * 10**7


def portions(n):
    """Keys, as random numbers come."""
    draws = np.random.default_rng(1)
    for begin in range(0, n, PORTION):
        yield draws.integers(0, 2**KEY_BITS, min(PORTION, n - begin), dtype=np.int64)


def with_kernel(n):
    zap = new_zap(PARAMS, n)
    for keys in portions(n):
        keys.sort()
        assert enter_all(zap, keys) == len(keys)
    return int(zap.scalars[leaf_of.N_LEAVES])


def with_numpy(n):
    keys, capacity = np.concatenate(list(portions(n))), leaf_entries(PARAMS)
    keys.sort()
    first, end, prefix, n_leaves = np.array([0]), np.array([n]), np.array([0]), 0
    for depth in range(KEY_BITS):
        is_full = end - first > capacity
        n_leaves += int((~is_full).sum())
        first, end, prefix = first[is_full], end[is_full], prefix[is_full]
        if not len(first):
            return n_leaves
        middle = np.searchsorted(keys, (2 * prefix + 1) << (KEY_BITS - depth - 1))
        first, end = np.column_stack([first, middle]).ravel(), np.column_stack([middle, end]).ravel()
        prefix = np.column_stack([2 * prefix, 2 * prefix + 1]).ravel()
    return n_leaves


@pytest.mark.parametrize("n", [10**7, 10**8])
@pytest.mark.parametrize("contender", ["NumPy, sorted keys", "model"])
def bench_dedup_table(contender, n, per_operation):
    call = with_numpy if contender.startswith("NumPy") else with_kernel
    n_leaves = per_operation(f"dedup table of {n} entries", contender, n, lambda: (n,), call, rounds=1,
                             base=contender.startswith("NumPy"), note="keys made and sorted in both")
    assert n_leaves > n / 31

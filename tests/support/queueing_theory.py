"""Queueing theory that group commit is held against, and confidence limits of a rate."""

import math

import numpy as np

T_19 = 3.88  # of Student's t with 19 degrees of freedom: one in a thousand is farther out
N_WINDOWS = 20


def repairman_with_batches(n, think, service):
    """(Throughput, mean batch) of `n` clients who think for exponential times and share services of a constant one.

    A service takes all who wait when it begins, k of them. Each of the n - k others comes during it with probability
    1 - exp(-service / think), so the next batch is binomial; if nobody has come, it is the first who does, alone.
    """
    p = 1 - math.exp(-service / think)
    chain, nobody = np.zeros((n, n)), np.zeros(n)
    for k in range(1, n + 1):
        nobody[k - 1] = (1 - p) ** (n - k)
        for came in range(n - k + 1):
            chain[k - 1, max(came, 1) - 1] += math.comb(n - k, came) * p**came * (1 - p) ** (n - k - came)
    balance = np.vstack([chain.T - np.eye(n), np.ones(n)])
    weight = np.linalg.lstsq(balance, np.append(np.zeros(n), 1), rcond=None)[0]
    batch = weight @ np.arange(1, n + 1)
    return batch / (service + weight @ nobody * think / n), batch


def rate_limits(times):
    """(Low, high) of the rate at which `times`, sorted, go by: counts in twenty windows, the first tenth left out."""
    times = np.asarray(times, float)
    edges = np.linspace(times[len(times) // 10], times[-1], N_WINDOWS + 1)
    rates = np.histogram(times, edges)[0] / (edges[1] - edges[0])
    half = T_19 * rates.std(ddof=1) / math.sqrt(N_WINDOWS)
    return rates.mean() - half, rates.mean() + half

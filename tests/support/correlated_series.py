"""Series that go together as far as is asked for: what is analysed in tests of the correlation."""
import numpy as np
import pandas as pd
from scipy.signal import lfilter

TPS, SIZE = "database.tps", "appliance.io_size"


def ar1(rng, n, phi=0.9):
    """A stationary AR(1) series of variance 1."""
    noise = rng.standard_normal(n)
    noise[1:] *= np.sqrt(1 - phi * phi)
    return lfilter([1], [1, -phi], noise)


def related(rng, n, r2, phi=0.8):
    """Two AR(1) series with this R²."""
    x = ar1(rng, n, phi)
    return x, np.sqrt(r2) * x + np.sqrt(1 - r2) * ar1(rng, n, phi)


def series(seed=1, n=40, n_others=6):
    """A table as the store gives it: throughput, what drives it, what follows from it, what has nothing to do with it."""
    rng = np.random.default_rng(seed)
    size, tps = related(rng, n, 0.8)
    table = pd.DataFrame({"database.tps": 500 + 50 * tps, "appliance.io_size": 8192 + 1000 * size,
                          "os.reads": 3 * (500 + 50 * tps), "server.cpu": 40 + 4 * tps + 0.1 * rng.standard_normal(n),
                          **{f"wait.w{i}": 5 + ar1(rng, n) for i in range(n_others)}}, index=range(1, n + 1))
    table.attrs["units"] = {"database.tps": "1/s", "appliance.io_size": "B", "os.reads": "1/s", "server.cpu": "%"}
    return table

"""Order entry on disks to which every I/O costs the same."""
import numpy as np
import pandas as pd
import pytest

from study.ensembles import correlation
from study.experiments.allocator_2010 import io_cost
from support.correlated_series import SIZE, TPS, series

SMALL = dict(n_users=8, record_kib=4, scale=1024, n_disks=10, pool_fill=0.2, age=0.1, window_s=1.0, engine="fast", seed=1)


def test_every_io_costs_what_the_average_was():
    before = pd.DataFrame({"disk.service_time": [3.0, 5.0] * 4})
    table = io_cost.equal(before, SMALL)
    assert len(table) == 8
    assert table["disk.service_time"].to_numpy() == pytest.approx(4.0, rel=0.02)
    assert table["disk.utilisation"].to_numpy() == pytest.approx(
        0.4 * (table["disk.reads"] + table["disk.writes"]).to_numpy() / 10, rel=0.05)


def test_what_is_compared_is_what_the_analyses_say():
    analysis = correlation.analyse(series().assign(**{"disk.utilisation": np.linspace(40, 60, 40)}), TPS, SIZE)
    table = io_cost.compared({io_cost.COUNT: analysis})
    row, = table.to_dict("records")
    assert (row["size_middle"], row["busy"]) == (analysis.row.r2, 50)
    assert dict(io_cost.metrics(table)[["name", "value"]].to_numpy())["cost-count.size-r2"] == analysis.row.r2
    assert row["best_middle"] == analysis.best.middle >= row["size_low"]

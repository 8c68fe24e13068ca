"""The order-entry test of 2010 on disks that find and move blocks, and on disks to which every I/O costs the same, wherever
it is and however large. On the latter the number of I/Os is all that counts.
"""
import numpy as np
import pandas as pd

from study import order_entry_2010, series
from study.correlation import Analysis

POSITIONING, COUNT = "disks that seek and turn", "every I/O costs the same"


def equal(found: pd.DataFrame, seed: int, **like) -> pd.DataFrame:
    """The series again on disks whose every I/O takes the mean service time of the series `found`: as many runs of the old
    rules, on a pool that has aged in the same way. `like`: users, record and scale, warm-up and window."""
    machine = order_entry_2010.setup(**like)
    site = order_entry_2010.aged(machine, order_entry_2010.old_rules(), seed)
    service_ns = np.array([1e6 * found["disk.service_time"].mean()], np.int64)
    leaves = site.leaves._replace(disk=site.leaves.disk._replace(drawn_ns=service_ns))
    return series.wide(order_entry_2010.runs(site._replace(leaves=leaves), machine, len(found), seed).table)


def compared(analyses: dict[str, Analysis]) -> pd.DataFrame:
    """R² of the statistic and of the best of many by assumption: what, size_low to best_high."""
    rows = []
    for what, found in analyses.items():
        size = {"size_low": found.one.low, "size_middle": found.one.r2, "size_high": found.one.high}
        rows.append({"what": what, **size} | {f"best_{end}": value for end, value in found.best._asdict().items()})
    return pd.DataFrame(rows)

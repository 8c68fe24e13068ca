"""Which statistics of a benchmark run are throughput in other clothes. That they go with it explains nothing.

By the operational laws (P. Denning and J. Buzen, Computing Surveys 10, 1978), whatever the machine:

    forced flow    work per second     = throughput * work per transaction
    utilisation    share of time       = throughput * time per transaction (over the number of users, disks, processors)
    Little         number under way    = throughput * response time; so the response time follows where the number is fixed

What remains can explain throughput: sizes and times of single operations, numbers per transaction.
"""
import re

import pandas as pd

# What follows from throughput by what it is, as a pattern of "name unit", and why.
DISGUISES = {
    r" \S*/s$": "work per second is work per transaction times throughput (forced flow law)",
    r"^(\S*\bcpu\b\S*|\S*utilisation|wait\.\S*) %$":
        "share of time is time per transaction times throughput (utilisation law)",
    r"^measure\.(processors\.\S*|disk\.(\S*\.)?(busy|utilisation)|postgres\.wal_sync_ms) 1$":
        "share of time is time per transaction times throughput (utilisation law)",
    r"^transaction\.response ": "users over throughput: they do not think (Little's law)",
}
# A response time follows from its rate, and so from throughput, if about as many are always under way (Little's law).
RATES = {"os.read_time": "nfs.reads", "os.write_time": "nfs.data_writes", "os.log_write_time": "nfs.log_writes"}
ALWAYS_FULL = 0.25      # the number under way varies at most so much as throughput does


def disguise(name: str, unit: str) -> str:
    """Why a statistic is throughput in other clothes by what it is; "" if it is not."""
    return next((why for pattern, why in DISGUISES.items() if re.search(pattern, f"{name} {unit}")), "")


def under_way(table: pd.DataFrame, outcome: str) -> pd.DataFrame:
    """Operations under way at a time, rate times response time (in ms): statistic, mean, variation as a part of that of
    throughput."""
    rows = []
    for time, rate in RATES.items():
        if time in table and rate in table:
            number = table[time] * table[rate] / 1e3
            rows.append((time, number.mean(), _variation(number) / _variation(table[outcome])))
    return pd.DataFrame(rows, columns=["statistic", "mean", "variation"])


def _variation(values: pd.Series) -> float:
    return values.std() / values.mean()


def disguises(table: pd.DataFrame, outcome: str) -> dict[str, str]:
    """Of each statistic why it is throughput in other clothes, or ""."""
    units = table.attrs.get("units", {})
    shown = {name: disguise(name, units.get(name, "1")) for name in table.columns.drop(outcome)}
    for row in under_way(table, outcome).itertuples():
        if row.variation < ALWAYS_FULL:
            shown[row.statistic] = f"about {row.mean:.0f} are always under way: that number over their rate (Little's law)"
    return shown

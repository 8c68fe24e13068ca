"""The order-entry test of 2010 on disks that find and move blocks, and on disks to which every I/O costs the same. On the
latter the number of I/Os is all that counts, not where they are nor how large.
"""
import pandas as pd

from study.ensembles import correlation
from study.ensembles.correlation import Analysis
from study.experiments.allocator_2010 import order_entry_machine, order_entry_pool, order_entry_series
from study.experiments.allocator_2010 import rules as order_entry_rules

POSITIONING, COUNT = "disks that seek and turn", "every I/O costs the same"


def equal(runs: pd.DataFrame, parameters: dict) -> pd.DataFrame:
    """The series again on disks whose every I/O takes the mean service time of `runs`, as a table. There are as many runs of
    the old rules, on the machine of `04_oltp_gain` with these parameters."""
    service_ns, machine = service_of(runs), order_entry_machine.of_notebook(parameters)
    rules = order_entry_rules.old_rules()
    return correlation.wide(order_entry_series.series(machine, rules, len(runs), parameters["seed"], service_ns).table)


def service_of(runs: pd.DataFrame) -> int:
    """ns"""
    return round(1e6 * runs["disk.service_time"].mean())


def engines(runs: pd.DataFrame, parameters: dict) -> pd.DataFrame:
    """For the run store: what the allocator's engine places in a small pool of such disks."""
    machine = order_entry_machine.of_notebook(parameters | order_entry_machine.SMALL)
    return order_entry_pool.engines(machine._replace(service_ns=service_of(runs)), parameters["seed"])


def compared(analyses: dict[str, Analysis]) -> pd.DataFrame:
    """By assumption: what, R² of the statistic and of the best of many (size_low to best_high), throughput, its variation
    and how busy disks are (%)."""
    rows = []
    for assumption, analysis in analyses.items():
        size = {"size_low": analysis.row.low, "size_middle": analysis.row.r2, "size_high": analysis.row.high}
        tps = analysis.table[analysis.outcome]
        best = {f"best_{end}": value for end, value in analysis.best._asdict().items()}
        rows.append({"what": assumption, **size} | best | {
            "tps": tps.mean(), "variation": 100 * tps.std() / tps.mean(), "busy": analysis.table["disk.utilisation"].mean()})
    return pd.DataFrame(rows)


def metrics(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    units = {"size_middle": "1", "best_middle": "1", "tps": "1/s", "variation": "%", "busy": "%"}
    names = {POSITIONING: "positioning", COUNT: "count"}
    return pd.DataFrame([(f"cost-{names[row['what']]}.{name.replace('_middle', '-r2')}", row[name], unit)
                         for row in table.to_dict("records") for name, unit in units.items()],
                        columns=["name", "value", "unit"])

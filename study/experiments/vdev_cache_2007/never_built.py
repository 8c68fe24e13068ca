"""What the document of 2007 names as its own future work and nobody built: other limits on the I/Os of a disk.

    table = never_built.what_if(runs, seed)     of the runs that `filebench_oltp.compare` has made
    never_built.metrics(table)                  for the run store
"""
import pandas as pd

from model.zfs.vdev.queue import VdevQueueParams
from study.ensembles import kept
from study.ensembles.ensembles import AFTER
from study.experiments.vdev_cache_2007 import filebench_oltp

FIXED, RESERVED, DYNAMIC = "fixed limit, as built", "places reserved for reads", "limit set by each disk"


def what_if(runs: filebench_oltp.Runs, seed: int) -> pd.DataFrame:
    """The new build with other limits on the I/Os of a disk: rule, setting, operations_per_s, p50_ms, p99_ms. Runs are kept
    (`study.ensembles.kept`)."""
    machine, queue = runs.machine, runs.machine.queue
    settings = [(FIXED, str(n), queue._replace(max_pending=n, min_pending=min(n, queue.min_pending)))
                for n in (2, 4, 10, 35)]
    settings += [(RESERVED, str(n), queue._replace(reserved_slots=n)) for n in (30,) if n < queue.max_pending]
    settings += [(DYNAMIC, f"{ms} ms", queue._replace(dynamic_pending_ns=ms * 10**6)) for ms in (10, 25)]

    def row(rule: str, setting: str, changed: VdevQueueParams, with_seed: int) -> list[kept.Row]:
        x = runs.after if changed == queue else filebench_oltp.run(machine._replace(queue=changed), AFTER, with_seed)
        numbers = filebench_oltp.quantities(x, machine)
        return [{"rule": rule, "setting": setting, "operations_per_s": numbers["summary.rate"],
                 "p50_ms": numbers["shadowread.p50"], "p99_ms": numbers["shadowread.p99"]}]
    ensemble = kept.Ensemble("vdev-cache-oltp-what-if", __name__, machine)
    rows = kept.rows(ensemble, row, [(*setting, seed) for setting in settings])
    return pd.DataFrame([of_setting for (of_setting,) in rows])


def metrics(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    keys = {FIXED: "fixed", RESERVED: "reserved", DYNAMIC: "dynamic"}
    return pd.DataFrame([(f"what-if.{keys[row.rule]}-{row.setting.replace(' ', '')}.{quantity}", value, unit)
                         for row in table.itertuples() for quantity, value, unit in (
                             ("rate", row.operations_per_s, "1/s"), ("p99", row.p99_ms, "ms"))],
                        columns=["name", "value", "unit"])

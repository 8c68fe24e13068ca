"""CPU times and responses of FileBench's operations in the OLTP test of 2007, as its transcripts print them."""
import numpy as np
import pandas as pd

from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.run import Result
from study.documents import published
from study.ensembles.ensembles import AFTER, BEFORE

# What processors and threads make. It was added with the printed numbers in sight, so it chooses no draws. But the rows of
# hogs do. Both together say how many turns a hog has, and each says how long a turn takes (hog_ns).
OF_HOGS = ("shadowhog.cpu", "dbwr-hog.cpu")
OF_PROCESSORS = (*(f"{name}.cpu" for name in oltp.OPERATIONS), *(f"{name}.response" for name in oltp.OPERATIONS
                   if name not in ("shadowread", "dbwr-block", "lg-block")))


def of_operations(x: Result) -> dict[str, float]:
    """Of each operation its mean CPU time (us) and response (ms). They are nan of one that never returned, in a run shorter
    than a turn of its thread."""
    values: dict[str, float] = {}
    for name, row in zip(oltp.OPERATIONS, x.operations, strict=True):
        cpu_ns, response_ns = row[[oltp.CPU_NS, oltp.RESPONSE_NS]] / (row[oltp.N_RETURNED] or np.nan)
        values |= {f"{name}.cpu": float(cpu_ns) / 1e3, f"{name}.response": float(response_ns) / 1e6}
    return values


def summary_ns(x: Result) -> float:
    """What FileBench's summary divides by reads and writes (stats.c). It is the time of all processors, less that of
    operations that are no I/O, and of what FileBench does itself around operations. In ns."""
    no_io = [oltp.HOG, oltp.POST_LOG, oltp.POST_WRITERS, oltp.WRITER_HOG, oltp.BLOCK, oltp.LOG_BLOCK]
    return float(x.cpu_ns - x.overhead_ns - x.operations[no_io, oltp.CPU_NS].sum())


def beside_printed(table: pd.DataFrame, printed_runs: dict[str, str]) -> pd.DataFrame:
    """OF_PROCESSORS of both runs beside those printed: row, unit, and both of each variant. Nothing is computed from the
    printed ones. `table`: of `filebench_oltp.table`; `printed_runs`: the published run of each variant."""
    by_id = {run.run_id: run.metrics.set_index("name").value for run in published.runs()}
    rows = pd.DataFrame({"row": OF_PROCESSORS, "unit": table.unit[list(OF_PROCESSORS)].to_numpy()})
    for variant in (BEFORE, AFTER):
        rows[variant] = table[variant][list(OF_PROCESSORS)].to_numpy()
        rows[f"{variant}, printed"] = by_id[printed_runs[variant]][list(OF_PROCESSORS)].to_numpy()
    return rows

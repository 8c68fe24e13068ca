"""Ten million transactions of pgbench, as `-l` logs them, into Parquet and from there into tables of the run store.

A process does it, so that its memory can be told: under a minute and 2 GiB are asked for.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv

TRANSACTIONS, CLIENTS = 10_000_000, 16
SCRIPT = """
import json, resource, sys, time
from pathlib import Path
from study.ingest import given_runs, imports
from study.store import store
begin = time.time()
imports.imported(given_runs.given([Path(sys.argv[1])])[0], imports.Options())
imported = time.time()
store.refresh()
print(json.dumps({"imported": imported - begin, "in the store": time.time() - imported,
                  "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
"""


def write_log(path, seed=0):
    """As pgbench writes it: client, transaction, us, script, seconds and us of the time."""
    draw = np.random.default_rng(seed)
    at = 1795228000 * 10**6 + np.cumsum(draw.integers(1, 200, TRANSACTIONS))
    number = np.arange(TRANSACTIONS)
    table = pa.table(
        {
            "client": number % CLIENTS,
            "n": number // CLIENTS,
            "us": draw.integers(300, 90_000, TRANSACTIONS),
            "script": np.zeros(TRANSACTIONS, int),
            "s": at // 10**6,
            "of_s": at % 10**6,
        }
    )
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(include_header=False, delimiter=" "))


def bench_ingest(tmp_path, report):
    log = tmp_path / "pgbench_log.1"
    write_log(log)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(log)],
        env={**os.environ, "STUDY_RUNS": str(tmp_path / "runs")},
        capture_output=True,
        text=True,
        check=True,
    )
    took = json.loads(done.stdout)
    for name in ("imported", "in the store"):
        report(
            "ten million transactions of pgbench",
            "s",
            name,
            took[name],
            base=name == "imported",
            note=f"{took['GiB']:.1f} GiB",
        )

"""InnoDB in the loop of a database and its files. Run without the compiler: prints what differs.

    NUMBA_DISABLE_JIT=1 python innodb_on_files.py
"""

import json

from model.database_machine import MS
from model.database_run import Both, innodb_files, innodb_processes, simulate_innodb
from model.file_calls import new_device
from model.innodb import PAGE_BYTES
from model.innodb_machine import COLD, Settings
from model.innodb_run import simulate
from model.innodb_start import start
from model.sysbench import Cpu, oltp

TEST = oltp(10**5, Cpu(40_000, 15_000, 1_000, 100_000, 20_000), distribution="uniform")
SETTINGS = Settings(6, 300, buffer_pool_bytes=700 * PAGE_BYTES, start=COLD, log_file_bytes=2**20, n_log_files=3)
DEVICE = {"read_ns": MS, "write_ns": 20_000, "fsync_ns": 3 * MS, "wal_sync_ns": MS}


def main():
    alone = simulate(TEST, SETTINGS, new_device(**DEVICE), 7)
    together = simulate_innodb(TEST, SETTINGS, Both(device=new_device(**DEVICE)), 7)
    m, _ = start(TEST, SETTINGS)
    print(json.dumps({
        "same times": alone.ended_at.tolist() == together.ended_at.tolist(), "same counts": alone.counts == together.counts,
        "pages written": alone.counts["lru_writes"] + alone.counts["list_writes"],
        "processes": innodb_processes(m.s) == len(m.process),
        "files": innodb_files(TEST, m.s)[:, 0].tolist() == [3 * 2**20, m.table.n_pages * PAGE_BYTES, 128 * PAGE_BYTES]}))


if __name__ == "__main__":
    main()

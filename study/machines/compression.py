"""How far compression shrinks each kind of file of PostgreSQL.

A scenario says the ratio of its tables and indexes together, as `zfs get compressratio` does. Their kinds differ: rows of
pgbench are mostly blanks, keys of an index are not, and the log is made of images of both. It matters what does not shrink.
An index that takes 8 GB, where the whole at its ratio would take 2, does not go into the ARC.

    indexes, log, what only grows     as measured, by the size of a record, times what is drawn; never better than the whole
    tables                            what is left of the whole
"""
import math

import numpy as np

from model.databases.postgres.toolkit import INDEX, REST, TABLE
from study.machines import conf
from study.machines.scenario import Scenario

MAX_RATIO = 100     # of any file, as of a scenario
# lz4's ratio by KiB of a record. Measured for this: benchmarks/pack_records.py on files of PostgreSQL 15.18, pgbench of
# scale 40, 8 clients. accounts_pkey as loaded (2.51 at 128 KiB after 250 000 transactions). history. The log of 200 000
# transactions with images, 350 MB (of the first 48 000 after a checkpoint 5 % less). Of 100 000 without, 48 MB. Of 100 000
# with wal_compression=lz4, 96 MB. accounts itself: 8.0 to 14.5 as loaded, 8.0 to 12.9 then.
MEASURED_KIB = (8, 16, 32, 64, 128)
MEASURED = {"index": (1.78, 2.28, 2.66, 2.90, 2.61), "history": (1.61, 1.79, 1.94, 1.99, 2.04),
            "log": (3.96, 4.60, 5.13, 5.47, 5.59), "log_without_images": (2.01, 2.12, 2.19, 2.24, 2.24),
            "packed_log": (1.68, 1.82, 1.93, 2.00, 2.19)}


def measured(kind: str, record_kib: float) -> float:
    """The ratio of records of that size: between those measured by the logarithm of the size, beyond them as the last."""
    return float(np.interp(math.log2(record_kib), np.log2(MEASURED_KIB), MEASURED[kind]))


def of_indexes_and_tables(whole: float, of_index: float, share: float) -> tuple[float, float]:
    """The ratios of indexes, which are `share` of all bytes, and of tables, so that all together have that of the whole. If
    tables then had to pack better than `MAX_RATIO`, indexes do."""
    if share == 0:
        return of_index, whole
    of_index = max(of_index, share * MAX_RATIO / (MAX_RATIO / whole - 1 + share))
    return of_index, (1 - share) / (1 / whole - share / of_index)


def differs(machine: Scenario) -> bool:
    """Whether files of the scenario's database are compressed, and not all alike."""
    return machine.files.kind != "ufs" and machine.files.compress_ratio > 1 and machine.database.kind == "postgres"


def _log(machine: Scenario) -> str:
    """What its log is like."""
    settings = conf.check("postgres", machine.database.conf)
    if not settings.get("full_page_writes", True):
        return "log_without_images"
    return "log" if settings.get("wal_compression", "off") == "off" else "packed_log"


def ratios(machine: Scenario, values: dict, kinds: list[int], file_bytes: np.ndarray) -> list[float] | None:
    """How many times shorter a record gets, per file: of the log, then of those of `kinds`
    (`model.databases.postgres.toolkit`), which have `file_bytes` each. None if all are alike."""
    if not differs(machine):
        return None
    whole, record_kib = machine.zfs.compress_ratio, machine.zfs.record_kib
    log_kib = machine.zfs.log_record_kib or record_kib
    of_index = min(whole, values["index_packs"] * measured("index", record_kib))
    share = float(file_bytes[np.array(kinds) == INDEX].sum() / file_bytes.sum())
    of_index, of_tables = of_indexes_and_tables(whole, of_index, share)
    of_kind = {INDEX: of_index, TABLE: of_tables,
               REST: min(whole, values["index_packs"] * measured("history", record_kib))}
    return [min(whole, values["log_packs"] * measured(_log(machine), log_kib)), *(of_kind[kind] for kind in kinds)]

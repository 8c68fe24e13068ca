"""How far compression shrinks each kind of file of PostgreSQL.

A scenario says the ratio of its tables and indexes together, as `zfs get compressratio` does. Their kinds differ: rows of
pgbench are mostly blanks, keys of an index are not, and the log is made of images of both. It matters what does not shrink:
an index that takes 8 GB, where the whole at its ratio would take 2, does not go into the ARC.

    indexes, log, what only grows     as measured, by the size of a record, times what is drawn; never better than the whole
    tables                            what is left of the whole
"""
import math

import numpy as np

from model.oltp_toolkit import INDEX, REST, TABLE
from study import conf
from study.scenario import Scenario

MOST = 100      # of any file, as of a scenario
# lz4's ratio by KiB of a record. Measured for this: PostgreSQL 15.18, pgbench of scale 40, 8 clients; lz4_raw of pyarrow,
# records as ZFS keeps them: in whole sectors of 512 B, with 4 B for the length, and only if that saves an eighth.
# accounts_pkey as loaded (2.51 at 128 KiB after 250 000 transactions); history; the log of 200 000 transactions with images,
# 350 MB (of the first 48 000 after a checkpoint 5 % less), and of 100 000 without, 48 MB. accounts itself: 8.0 to 14.5 as
# loaded, 8.0 to 12.9 then.
MEASURED_KIB = (8, 16, 32, 64, 128)
MEASURED = {"index": (1.78, 2.28, 2.66, 2.90, 2.61), "history": (1.61, 1.79, 1.94, 1.99, 2.04),
            "log": (3.96, 4.60, 5.13, 5.47, 5.59), "log_without_images": (2.01, 2.12, 2.19, 2.24, 2.24)}


def measured(what: str, record_kib: float) -> float:
    """The ratio of records of that size: between those measured by the logarithm of the size, beyond them as the last."""
    return float(np.interp(math.log2(record_kib), np.log2(MEASURED_KIB), MEASURED[what]))


def of_indexes_and_tables(whole: float, of_index: float, share: float) -> tuple[float, float]:
    """The ratios of indexes, which are `share` of all bytes, and of tables, so that all together have that of the whole; if
    tables then had to pack better than `MOST`, indexes do."""
    of_index = max(of_index, share / (1 / whole - (1 - share) / MOST))
    return of_index, (1 - share) / (1 / whole - share / of_index)


def differs(one: Scenario) -> bool:
    """Whether files of the scenario's database are compressed, and not all alike."""
    return one.files.kind == "zfs" and one.files.compress_ratio > 1 and one.database.kind == "postgres"


def _log(one: Scenario) -> str:
    """What its log is like; an image that PostgreSQL has compressed itself does not shrink again."""
    settings = conf.check("postgres", one.database.conf)
    bare = settings.get("full_page_writes", True) and settings.get("wal_compression", "off") == "off"
    return "log" if bare else "log_without_images"


def left(one: Scenario, values: dict, kinds: list[int], file_bytes: np.ndarray) -> list[int] | None:
    """What compression leaves of a record, %, per file: the log, then those of `kinds` (`model.oltp_toolkit`), which have
    `file_bytes` each. None if all are alike."""
    if not differs(one):
        return None
    whole, record_kib = one.files.compress_ratio, one.files.record_kib
    log_kib = one.files.log_record_kib or record_kib
    of_index = min(whole, values["index_packs"] * measured("index", record_kib))
    share = file_bytes[np.array(kinds) == INDEX].sum() / file_bytes.sum()
    of_index, of_tables = of_indexes_and_tables(whole, of_index, share)
    ratios = {INDEX: of_index, TABLE: of_tables,
              REST: min(whole, values["index_packs"] * measured("history", record_kib))}
    of_log = min(whole, values["log_packs"] * measured(_log(one), log_kib))
    return [round(100 / ratio) for ratio in (of_log, *(ratios[kind] for kind in kinds))]

"""The cases that the document names, each as a pair of test runs: what fits the storage's blocks, and what does not.

    1. a database on a LUN: the partition begins at a border of its blocks, or at sector 63
    2. a backup that streams to a LUN with a log device: likewise
    3. a large file is written anew by NFS in pieces of 32K, by CIFS of 64K: records of that size, or of 128K
    4. an SSD that has pages of 4 KiB: writes of 4 KiB at a border of pages, or half a KiB behind one

Case 4 is of one device, by `model.devices.ssd_pages`. A write that covers pages in part reads these first, and writes them
whole. That is our reading of *will work much better*; such an SSD may do less, for it maps smaller pieces.
"""
from typing import NamedTuple

import numpy as np
import pandas as pd

from model.devices.ssd import PAGE_BYTES, SsdParams
from model.devices.ssd_pages import page_writes
from model.events.clock import SECOND_NS
from model.events.streams import stream
from model.zfs.dmu import straddling
from study.ensembles.ensembles import AFTER, BEFORE
from study.ensembles.processors import on_all_processors
from study.experiments.alignment_2010 import lun
from study.machines import hardware
from study.machines.appliance_lun import BACKUP, DATABASE, Setup, quantities

BACKUP_KIB = 64                 # of a request; the document says nothing: the size that CIFS clients send
SSDS = ("x25-e", "sas-ssd-slc-200", "sata-ssd-s3700")
SSD_WRITES = 20_000             # of which the second half counts: caches are full by then
DEFAULT_RECORD_KIB = 128


class Case(NamedTuple):
    """Two machines, and the variant that each is run under."""
    key: str
    label: str
    fits: tuple[Setup, str]
    does_not: tuple[Setup, str]


def all_of(seconds: float) -> list[Case]:
    """Cases 1 to 3, by best guess."""
    database = lun.setup(seconds=seconds, load=DATABASE)
    backup = lun.setup(seconds=seconds, load=BACKUP, request_kib=BACKUP_KIB, synchronous=1, log_device=1)
    cases = [Case("database", "database on a LUN", (database, BEFORE), (database, AFTER)),
             Case("backup", f"{BACKUP_KIB}K stream to a LUN", (backup, BEFORE), (backup, AFTER))]
    for key, kib in (("nfs", 32), ("cifs", 64)):
        fits, does_not = (lun.setup(seconds=seconds, block_kib=record, on_zvol=False, load=BACKUP, request_kib=kib,
                                    synchronous=0) for record in (kib, DEFAULT_RECORD_KIB))
        cases.append(Case(key, f"{key.upper()}, {kib}K in 128K", (fits, BEFORE), (does_not, BEFORE)))
    return cases


def table(seconds: float, seed: int) -> pd.DataFrame:
    """All four: key, case, slowdown, rates of both (1/s), their response times (ms), what is read first for a write."""
    cases = all_of(seconds)
    runs = on_all_processors(lun.run, [(*which, seed) for case in cases for which in (case.fits, case.does_not)])
    rows = []
    for case, fits, does_not in zip(cases, runs[::2], runs[1::2], strict=True):
        good, bad = quantities(fits, case.fits[0]), quantities(does_not, case.does_not[0])
        rows.append((case.key, case.label, good["requests.rate"] / bad["requests.rate"], good["requests.rate"],
                     bad["requests.rate"], good["requests.response"], bad["requests.response"],
                     bad["pool.reads_first"]))
    of_ssds = [(f"ssd-{sheet}", f"SSD, {sheet}", *_ssd_row(sheet, seed)) for sheet in SSDS]
    return pd.DataFrame([*rows, *of_ssds], columns=["key", "case", "slowdown", "fits_rate", "does_not_rate", "fits_ms",
                                                    "does_not_ms", "read_first"])


def _ssd_row(sheet: str, seed: int) -> tuple[float, ...]:
    """Writes of 4 KiB at random, one after the other; of so many the second half counts."""
    params = hardware.read(sheet).params
    assert isinstance(params, SsdParams)
    pages = (stream(seed, "pages of an SSD").random(SSD_WRITES) * (params.disk_bytes // PAGE_BYTES - 2)).astype(np.int64)
    n = SSD_WRITES // 2
    fits, does_not = (float(done[-1] - done[n - 1]) / SECOND_NS for done in (
        page_writes(params, pages, offset) for offset in (0, straddling.SECTOR_BYTES)))
    part = straddling.touched(straddling.SECTOR_BYTES, PAGE_BYTES, PAGE_BYTES).n_part
    return does_not / fits, n / fits, n / does_not, 1e3 * fits / n, 1e3 * does_not / n, float(part)


def metrics(cases: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    units = {"slowdown": "1", "fits_rate": "1/s", "does_not_rate": "1/s", "fits_ms": "ms", "does_not_ms": "ms"}
    return pd.DataFrame([(f"case.{row['key']}.{name}", row[name], unit) for row in cases.to_dict("records")
                         for name, unit in units.items()], columns=["name", "value", "unit"])

"""Runs on a zvol: which laws each breaks, facts of them, and defects that these notice. Run without the compiler:

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.zvols
"""

import json

from defects.zfs_files import SSD, broken
from laws import zvols
from laws.zfs_files import sample_few_indirect_blocks
from model.filesystems.zfs import calls as zfs_calls
from model.filesystems.zfs import reads as zfs_reads
from model.filesystems.zfs.state import Pool

SOUND = {
    "of 2009": {}, "of 4 KiB": {"name": "openzfs", "record_bytes": 4096},
    "of 64 KiB, throughput": {"name": "openzfs", "record_bytes": 2**16, "log_record_bytes": 2**16, "logbias_throughput": 1},
    "the log on one of its own": {"name": "b141", "own_log_system": 1},
    "log device": {"name": "openzfs_2017", "pool": Pool(SSD, SSD)},
}


def _of_one_file(*a, real=zfs_calls.commit):
    """A flush that commits what was written to the log alone."""
    return real(*a[:4], 1, *a[5:])


def _from_the_front(process, of_file, record_bytes, p, real=zfs_reads.record_of):
    """Every file begins where the zvol does."""
    file = process[p, zfs_reads.fs.FILE]
    return real(process, of_file, record_bytes, p) - of_file[file, zfs_reads.fs.BEGIN]


def with_defect(module, name, replacement, look):
    real = getattr(module, name)
    setattr(module, name, replacement)
    try:
        return look()
    finally:
        setattr(module, name, real)


def without_regions():
    """Records that 150 writes to a table and a log dirty if all files begin where the zvol does; and as it is."""
    return [with_defect(module, "record_of", function, zvols.records_of_table_and_log)
            for module, function in ((zfs_calls, _from_the_front), (zfs_calls, zfs_calls.record_of))]


def main():
    sample_few_indirect_blocks()
    zvol = {"on_zvol": 1}
    print(json.dumps({
        "sound": {name: broken(**zvol, **how) for name, how in SOUND.items()},
        "left": {"zvol": zvols.left_by_flushes(**zvol), "files": zvols.left_by_flushes(),
                 "defect": with_defect(zfs_calls, "commit", _of_one_file, lambda: zvols.left_by_flushes(**zvol))},
        "read_first": {n: zvols.read_first(n) for n in (4096, 8192, 16384, 65536)},
        "reads_all": with_defect(zfs_reads, "piece_bytes", lambda *a: 1, lambda: zvols.read_first(8192)),
        "amplified": {n: zvols.amplified(n) for n in (8192, 16384, 131072)},
        "logged": {"zvol": zvols.logged(**zvol), "files": zvols.logged(), "disabled": zvols.logged(zil_disabled=1, **zvol),
                   "always": zvols.logged(sync_always=1, **zvol),
                   "throughput": zvols.logged(logbias_throughput=1, **zvol)},
        "in_order": zvols.in_order(), "regions": without_regions()}, default=lambda number: number.item()))


if __name__ == "__main__":
    main()

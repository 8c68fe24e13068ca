"""Runs of ZFS under a made-up database: which laws each breaks, those with a defect among them. Run without the compiler:
prints facts of sound runs, and for every defect the laws that noticed it.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.zfs_files
"""

import json

import numpy as np

from laws import zfs_files as zfs_files_laws
from laws.zfs_files import LAWS, MIXED, SECOND, run
from model.devices.ssd import SsdParams
from model.filesystems.calls import READ, WAL_CREATE, WAL_WRITE_THROUGH, WRITE
from model.filesystems.zfs import calls as zfs_calls
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import devices as zfs_devices
from model.filesystems.zfs import intent_logs, read_ahead, txg_sync, txg_timing
from model.filesystems.zfs import reads as zfs_reads
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs import store as zfs_store
from model.filesystems.zfs.state import CACHE, DATA, LOG, Group, Pool
from model.zfs.arc.primarycache import METADATA_ONLY
from model.zfs.dmu.recordsize import amplification
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import GOES_ON
from model.zfs.vdev.raid import vdev_params
from model.zfs.zil import columns as intent
from support.defects import with_columns

SSD = Group(SsdParams(is_volatile=1, flush_ns=50_000))
SOUND = {
    "one disk": {},
    "records of 128 KiB": {"record_bytes": 2**17},
    "records of 1 MiB": {"record_bytes": 2**20, "name": "openzfs", "mix": ((WRITE, 1.0),), "n": 500, "n_pages": 7000,
                         "n_processes": 4, "log_record_bytes": 2**20},
    "records of 2 MiB, log device": {"record_bytes": 2**21, "log_record_bytes": 2**21, "name": "openzfs",
                                     "pool": Pool(SSD, SSD), "n": 60, "n_pages": 4096, "is_warm": 0},
    "mirrors": {"pool": Pool(Group(n_vdevs=2, vdev=vdev_params("mirror", 2))), "shares_cpus": 1},
    "RAID-Z": {"pool": Pool(Group(vdev=vdev_params("raidz1", 4)))},
    "RAID-Z with padding": {"pool": Pool(Group(vdev=vdev_params("raidz2", 5))), "name": "b141"},
    "RAID-Z of OpenZFS": {"pool": Pool(Group(vdev=vdev_params("raidz3", 7, 12))), "name": "openzfs",
                          "mix": ((WRITE, 1.0),)},
    "log device": {"pool": Pool(Group(), SSD)},
    "an SSD": {"pool": Pool(SSD)},
    "cold, with cache device": {"pool": Pool(Group(), SSD, SSD), "is_warm": 0, "memory_bytes": 2**26,
                                "arc_max_bytes": 2**22},
    "onnv_69": {"name": "onnv_69"},
    "spring of 2008": {"name": "b89", "n": 700, "mix": ((WRITE, 1.0),), "n_pages": 20_000, "n_processes": 2},
    "slim log, logbias=throughput": {"name": "b141", "logbias_throughput": 1},
    "OpenZFS": {"name": "openzfs", "mix": ((WRITE, 1.0),), "n": 900, "n_pages": 7000, "n_processes": 4,
                "memory_bytes": 2**26},
    "records of 4 KiB": {"record_bytes": 4096, "name": "openzfs_2019", "mix": ((WRITE, 1.0),), "n": 300, "n_processes": 4},
    "OpenZFS of 2013": {"name": "openzfs_2013", "mix": ((WRITE, 1.0),), "n": 600, "n_pages": 7000, "n_processes": 4},
    "OpenZFS, what the log writes in place": {"name": "openzfs", "logbias_throughput": 1, "log_record_bytes": 2**16},
    "primarycache=metadata": {"primarycache": METADATA_ONLY, "is_warm": 0},
    "a zvol": {"on_zvol": 1, "name": "openzfs_2017"},
    "writers only": {"mix": ((WRITE, 1.0),), "n": 700, "n_pages": 20_000, "n_processes": 2},
    "writers sleep": {"mix": ((WRITE, 1.0),), "n": 300, "n_pages": 20_000, "record_bytes": 2**17, "memory_bytes": 2**29,
                      "name": "b89", "n_processes": 8, "think_ns": SECOND // 100},
}


def returns_twice(account, now, change, real=zfs_calls.change_by):
    real(account, now, change if change > 0 else 0)


def wants_nothing(m, now, real=txg_sync._write_next):
    real(m._replace(owed=np.zeros(2, np.int64)), now)


DEFECTS = {
    "the log forgets which vdevs it wrote to": (intent_logs, "touch", lambda *a: None, "one disk", "commits_are_on_disk"),
    "a commit does not wait": (zfs_calls, "commit", lambda *a: True, "one disk", "commits_are_on_disk"),
    "every other block of a group is forgotten": (txg_sync, "advance", lambda t, real=txg_sync.advance:
                                                  (real(t), t.cursor[0] and real(t)), "one disk",
                                                  "groups_write_what_was_dirtied"),
    "what was written early is written again": (intent_logs, "fs", with_columns(fs, OF_TXG=fs.LOG_OF_ROW),
                                                "slim log, logbias=throughput", "the_log_saves_groups_work"),
    "what was written stays dirty": (zfs_devices, "copy_written", lambda *a: None, "one disk", "the_arc_is_at_rest"),
    "who returns is still counted": (zfs_calls, "change_by", returns_twice, "one disk", "every_call_returns"),
    "a unit is not counted": (zfs_devices, "count_device", lambda *a: None, "one disk", "conserves_ios"),
    "padding that is left alone is forgotten": (zfs_devices, "take_dropped", lambda *a: 0, "RAID-Z with padding",
                                               "conserves_ios"),
    "a read of a record is not counted": (zfs_reads, "stat", with_columns(stat, DATA_READS=stat.WAITS),
                                          "primarycache=metadata", "reads_are_hits_or_misses"),
    "what misses costs no more than what hits": (zfs_reads, "read_cpu_ns", lambda *a: 0, "primarycache=metadata",
                                                 "cpu_is_the_sum_of_its_parts"),
    "threads of a group work for nothing": (txg_sync, "stat", with_columns(stat, SYNC_CPU_NS=stat.WAITS), "mirrors",
                                            "cpu_is_the_sum_of_its_parts"),
    "a call of two records costs as one of one": (zfs_calls, "fs", with_columns(fs, N_WRITTEN=fs.HAS_RECORD),
                                                  "records of 4 KiB", "cpu_is_the_sum_of_its_parts"),
    "what the log writes in place costs nothing": (intent_logs, "_row_ready", lambda m, now, i: now,
                                                   "slim log, logbias=throughput", "cpu_is_the_sum_of_its_parts"),
    "threads of a group want no processors": (txg_sync, "_write_next", wants_nothing, "mirrors",
                                              "threads_of_groups_want_the_databases_processors"),
    "nobody is kept from writing": (zfs_calls, "verdict", lambda *a: GOES_ON, "writers only",
                                    "no_group_is_beyond_its_limit"),
    "what is on disk stays dirty": (zfs_devices, "note_clean", lambda *a: 0, "OpenZFS",
                                    "what_is_on_disk_is_not_dirty"),
    "an indirect block of 128 KiB is clean by 16": (zfs_devices, "indirect_bytes", lambda files: 2**14, "OpenZFS",
                                                    "what_is_on_disk_is_not_dirty"),
    "what the log has written in place stays dirty": (txg_sync, "is_clean", lambda *a: None,
                                                      "OpenZFS, what the log writes in place",
                                                      "what_is_on_disk_is_not_dirty"),
    "nobody is delayed": (zfs_calls, "delayed_until", lambda state, params, began, now: now, "OpenZFS",
                          "who_fills_the_pool_is_delayed"),
    "sleepers sleep on": (txg_timing, "_wake_sleepers", lambda *a: None, "writers sleep", "nobody_sleeps_needlessly"),
}


def broken(**how):
    try:
        r = run(**how)
    except (AssertionError, IndexError, ValueError, ZeroDivisionError) as error:
        return [type(error).__name__]
    return [name for name, law in LAWS.items() if not law(r)]


def with_defect(module, name, replacement, scenario):
    real = getattr(module, name)
    setattr(module, name, replacement)
    try:
        return broken(**SOUND[scenario])
    finally:
        setattr(module, name, real)


# ---- facts ----


def one_client():
    """Commits of one client: period by revolutions; with nothing flushed; without a log, which costs the write alone."""
    only = {"mix": ((WAL_WRITE_THROUGH, 1.0),), "n_processes": 1, "n": 80}
    r = run(**only)
    rev = r.m.leaves.disk.disk.rev_ns
    unflushed, off = run(no_cache_flush=1, **only), run(zil_disabled=1, **only)
    cpu = r.settings.write_ns
    return {"revolutions": float(np.median(zfs_files_laws.commit_periods(r))) / rev,
            "unflushed": float(np.median(zfs_files_laws.commit_periods(unflushed))) / rev,
            "off": float(np.median(zfs_files_laws.commit_periods(off))), "cpu": cpu,
            "off_log_blocks": off.counts["log_blocks"],
            "log_bytes": r.counts["log_bytes"] / r.counts["log_blocks"]}


def log_work():
    """ns from a commit to its end, with what it writes in place and without what that costs a processor: the cost, and by
    how much it is longer."""
    how = {"name": "b141", "logbias_throughput": 1, "mix": ((WAL_WRITE_THROUGH, 1.0),), "n_processes": 1, "n": 40,
           "pool": Pool(Group(SsdParams(write_ns=10_000, buffer_bytes=2**24)))}
    r, real = run(**how), intent_logs._row_ready
    intent_logs._row_ready = lambda m, now, i: now
    free, intent_logs._row_ready = run(**how), real
    longer = np.median(zfs_files_laws.commit_periods(r)) - np.median(zfs_files_laws.commit_periods(free))
    return {"longer": float(longer), "cpu": int(r.m.of_file[0, fs.SYNC_CPU])}


def entries():
    """Entries of the intent log for a page that is written, and for a page of a new file."""
    runs = [run(mix=((call, 1.0),), n_processes=1, n=20, rest_s=0) for call in (WAL_WRITE_THROUGH, WAL_CREATE)]
    return [r.m.zil.logs[0, intent.NEWEST] / 20 for r in runs]


def delays():
    """Sleeps of one who writes 32 KiB at a time, four records, into a pool that has too much dirty, where each record is a
    transaction of its own and where all are one."""
    sleeps = {}
    for name in ("openzfs_2021", "openzfs"):
        r = run(name=name, mix=((WRITE, 1.0),), n=300, n_pages=8000, n_processes=4, memory_bytes=2**26, record_bytes=2048)
        sleeps[name] = r.counts["sleeps"] / 300
    return sleeps


def uncached():
    """Reads of one page each, with primarycache=metadata."""
    r = run(mix=((READ, 1.0),), primarycache=METADATA_ONLY, n=120, n_pages=300, is_warm=0)
    kept = run(mix=((READ, 1.0),), n=120, n_pages=300, is_warm=0)
    return {"reads": r.counts["reads"], "misses": r.counts["data_reads"], "shared": r.counts["joined"],
            "kept_misses": kept.counts["data_reads"]}


def groups():
    """Groups in a minute of few writes, and what the writes of one group dirty."""
    few = {"mix": ((WRITE, 1.0),), "n_processes": 1, "n": 240, "think_ns": SECOND // 4, "rest_s": 0}
    old, new = run(name="onnv_69", **few), run(name="b111", **few)
    large = run(record_bytes=2**17, n_pages=640, **few)
    groups_of = [n for n in zfs_files_laws.per_group(large).values() if n > 0]
    return {"old": old.counts["txgs"], "new": new.counts["txgs"], "dirtied": max(groups_of),
            "expected": zfs_files_laws.expected_dirty(40, 120)}


def amplified():
    """B written by groups of records for each B asked for, of 40 records of so many pages with 100 writes in each group, and
    n (1 - exp(-l)) / l."""
    ratios = {}
    for pages in (16, 32, 128):
        r = run(record_bytes=pages * zfs_files_laws.PAGE, n_pages=40 * pages, mix=((WRITE, 1.0),), n_processes=1, n=1000,
                think_ns=SECOND // 20, rest_s=20, name="openzfs", memory_bytes=2**33)
        asked = r.asked[WRITE] * zfs_files_laws.PAGE
        expected = amplification(pages * zfs_files_laws.PAGE, zfs_files_laws.PAGE, 100 / 40)
        ratios[pages] = r.counts["record_bytes"] / asked, expected
    return ratios


def timed():
    """ns when the first groups of 2007 end, if the first commit, at once, ends the very first one."""
    r = run(name="onnv_69", mix=((WAL_WRITE_THROUGH, 1.0),), n_processes=1, n=70, think_ns=SECOND // 4, rest_s=0)
    return [end / SECOND for end in r.group_ends[:3]]


def two_disks():
    """Revolutions that two commits of one client take, one on each disk, whose blocks are B long."""
    r = run(mix=((WAL_WRITE_THROUGH, 1.0),), n_processes=1, n=80, pool=Pool(Group(n_vdevs=2)))
    periods = zfs_files_laws.commit_periods(r)
    return float(np.median(periods[:-1] + periods[1:])) / r.m.leaves.disk.disk.rev_ns


def never_written():
    """How a run ends whose log blocks are never written."""
    real, zfs_store.row_done = zfs_store.row_done, lambda *a: None
    try:
        return run(mix=((WAL_WRITE_THROUGH, 1.0),), n=10, rest_s=0).ended_as
    finally:
        zfs_store.row_done = real


def counted():
    """B, inflated, that the throttle counts for one record of a table and one of the log, with the blocks above them."""
    r = run(mix=((WRITE, 1.0),), n_processes=1, n=1, rest_s=0)
    return {"counted": int(r.m.throttle[throttled.DIRTY + 1]), "levels": int(r.m.files.n_levels[1])}


def in_order():
    """A reader of 300 records, one after the other, who computes for longer than a disk needs for one."""
    how = {"mix": ((READ, 1.0),), "n_processes": 1, "n": 300, "n_pages": 300, "is_warm": 0, "in_order": True,
           "think_ns": SECOND // 50, "rest_s": 10}
    runs = {"ahead": run(**how), "not": run(prefetch=0, **how), "uncached": run(primarycache=METADATA_ONLY, **how),
            "raidz": run(pool=Pool(Group(vdev=vdev_params("raidz1", 4))), **how), "haste": run(**how | {"think_ns": 0})}
    real, read_ahead.show_block = read_ahead.show_block, lambda *a: 0
    runs["deaf"] = run(**how)
    read_ahead.show_block = real
    return {name: {"reads": r.counts["data_reads"], "ahead": r.counts["read_ahead"], "ns": r.history[-1].ended,
                   "broken": [law for law, holds in LAWS.items() if not holds(r)]} for name, r in runs.items()}


def repeated():
    ends = [[call.ended for call in run(seed=seed, n=60).history] for seed in (1, 1, 2)]
    return {"same": ends[0] == ends[1], "differs": ends[0] != ends[2]}


def log_device():
    r, main = run(pool=Pool(Group(), SSD), mix=MIXED), run(mix=MIXED)
    biased = run(pool=Pool(Group(), SSD), name="b141", logbias_throughput=1)
    main_writes = [int(ran.m.tally.devices[DATA, stat.DEVICE_WRITES]) for ran in (main, r)]
    return {"log_writes": int(r.m.tally.devices[LOG, stat.DEVICE_WRITES]), "log_blocks": r.counts["log_blocks"],
            "fewer_main_writes": main_writes[0] - main_writes[1],
            "biased_log_writes": int(biased.m.tally.devices[LOG, stat.DEVICE_WRITES]),
            "biased_file_blocks": biased.counts["file_blocks"]}


def cache_device():
    """Reads of a table twice as large as the ARC, with a cache device that takes all of it in two seconds."""
    r = run(mix=((READ, 1.0),), pool=Pool(Group(), None, SSD), n=900, n_processes=2, n_pages=500, think_ns=SECOND // 200,
            arc_max_bytes=2**21, is_warm=0)
    return {"reads": r.counts["reads"], "hits": r.counts["read_hits"], "shared": r.counts["joined"],
            "from_cache": r.counts["l2_reads"], "from_disk": r.counts["data_reads"],
            "units": int(r.m.tally.devices[CACHE, stat.DEVICE_READS]),
            "fed_bytes": int(r.m.tally.devices[CACHE, stat.DEVICE_WRITTEN_BYTES])}


def processors():
    """Reads of what is in core by four processes, with one processor and with four: ns a read."""
    how = {"mix": ((READ, 1.0),), "n": 400, "n_pages": 300, "rest_s": 0}
    single, four = (run(n_cpus=n, **how) for n in (1, 4))
    return {"single": single.history[-1].ended / 400, "four": four.history[-1].ended / 400,
            "read_ns": single.settings.read_ns}


def costs():
    """CPU of a read of 128 KiB, at 1 ns for each byte, that is not in core, and is on disk as 128 or as 32 KiB; and of one
    that is, with an ARC that holds it as it is on disk and one that does not. Less what indirect blocks take to unpack."""
    def cpu_ns(**changed):
        how = {"n_processes": 1, "n": 200, "n_pages": 1600, "record_bytes": 2**17, "miss_ns": 0, "checksum_ps": 1000}
        r = run(mix=((READ, 1.0),), **how | changed)
        unpacked = r.counts["metadata_reads"] * 2**14 * r.settings.unpack_ps // 1000
        return (r.counts["cpu_ns"] - unpacked) / r.counts["reads"] - r.settings.read_ns
    packed, cold = {"compress_pct": 25, "unpack_ps": 1000}, {"primarycache": METADATA_ONLY}
    return {"raw": cpu_ns(unpack_ps=0, **cold), "packed": cpu_ns(**packed, **cold),
            "in_core": cpu_ns(**packed), "kept_packed": cpu_ns(**packed, compressed_arc=1)}


def cache_at_first():
    """Reads of each record of a table once: from a cache device that has been at work, and from one that has not."""
    how = {"mix": ((READ, 1.0),), "pool": Pool(Group(), None, SSD), "n": 500, "n_processes": 1, "n_pages": 500,
           "in_order": True, "arc_max_bytes": 2**21, "prefetch": 0, "rest_s": 0}
    warm, cold = run(cache_is_warm=1, **how), run(is_warm=0, **how)
    return {"warm": warm.counts["l2_reads"], "cold": cold.counts["l2_reads"], "in_core": warm.counts["read_hits"],
            "headers": warm.headers, "n": 500}


def main():
    zfs_files_laws.sample_few_indirect_blocks()
    print(json.dumps({"sound": {name: broken(**how) for name, how in SOUND.items()},
                      "defects": {name: with_defect(*defect[:4]) for name, defect in DEFECTS.items()},
                      "one_client": one_client(), "log_work": log_work(), "delays": delays(), "entries": entries(),
                      "uncached": uncached(), "groups": groups(), "amplified": amplified(), "repeated": repeated(),
                      "in_order": in_order(), "timed": timed(), "two_disks": two_disks(),
                      "never_written": never_written(), "counted": counted(),
                      "log_device": log_device(), "processors": processors(),
                      "costs": costs(), "cache_at_first": cache_at_first(), "cache_device": cache_device()},
                     default=lambda number: number.item()))


if __name__ == "__main__":
    main()

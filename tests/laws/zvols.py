"""Facts of runs on a zvol: what a flush leaves unlogged, what is read before a block can be written, and what is written.

Run without the compiler (`defects.zvols`). The runs are those of `laws.zfs_files`, whose laws hold here, too.
"""

from laws.zfs_files import PAGE, SECOND, run
from model.filesystems.calls import READ, WAL_WRITE_THROUGH, WRITE
from model.filesystems.zfs import calls as zfs_calls
from model.filesystems.zfs import intent_logs
from model.structures.sentinels import NIL
from model.zfs.dmu.recordsize import amplification
from model.zfs.zil import columns as intent

COMMITS_AND_WRITES = ((WAL_WRITE_THROUGH, 0.3), (WRITE, 0.7))


class Flushes:
    """Notes, of every commit that returns, how many entries older than its beginning are still to be logged."""

    def __init__(self):
        self.began, self.left, self.zil, self.real = {}, [], None, {}

    def __enter__(self):
        self.real = {"commit": zfs_calls.commit, "returns": zfs_calls.returns}
        zfs_calls.commit, zfs_calls.returns, intent_logs.returns = self.commit, self.returns, self.returns
        return self

    def __exit__(self, *_):
        zfs_calls.commit, zfs_calls.returns = self.real["commit"], self.real["returns"]
        intent_logs.returns = self.real["returns"]

    def commit(self, zil, params, settings, log, file, task, txg):
        self.zil, self.began[task] = zil, (log, int(zil.logs[log, intent.NEWEST]))
        return self.real["commit"](zil, params, settings, log, file, task, txg)

    def returns(self, tally, processes, db_calendar, now, process):
        log, newest = self.began.pop(process)
        self.left.append(len([None for sequence, txg in listed(self.zil, log)
                              if sequence <= newest and txg > self.zil.logs[log, intent.SYNCED]]))
        self.real["returns"](tally, processes, db_calendar, now, process)


def listed(zil, log):
    """(sequence, transaction group) of the entries that wait."""
    entry = int(zil.logs[log, intent.FIRST])
    while entry != NIL:
        yield int(zil.entries[entry, intent.SEQUENCE]), int(zil.entries[entry, intent.TXG])
        entry = int(zil.entries[entry, intent.FOLLOWING])


def left_by_flushes(**how):
    """Entries that the commit which left most of them left."""
    with Flushes() as flushes:
        run(mix=COMMITS_AND_WRITES, n_processes=3, n=120, name="openzfs", **how)
    return max(flushes.left)


def read_first(block_bytes, **how):
    """Blocks read to be written in part, of 150 writes of a page to a zvol that is not in core."""
    r = run(on_zvol=1, record_bytes=block_bytes, mix=((WRITE, 1.0),), is_warm=0, name="openzfs", n_processes=2, n=150,
            rest_s=20, **how)
    return r.counts["read_first"]


def amplified(block_bytes):
    """(B written by groups for each B asked for, n (1 - exp(-l)) / l) of 40 blocks with 100 writes in each group."""
    pages = max(1, block_bytes // PAGE)
    r = run(on_zvol=1, record_bytes=block_bytes, n_pages=40 * pages, mix=((WRITE, 1.0),), n_processes=1, n=1000,
            think_ns=SECOND // 20, rest_s=20, name="openzfs", memory_bytes=2**33)
    return r.counts["record_bytes"] / (r.asked[WRITE] * PAGE), amplification(pages * PAGE, PAGE, 100 / 40)


def logged(**how):
    """Counts of the log in a run of writes and commits, and how many calls of each there were."""
    r = run(mix=COMMITS_AND_WRITES, n_processes=1, n=60, name="openzfs", rest_s=0, **how)
    asked = {"writes": r.asked[WRITE], "commits_asked": r.asked[WAL_WRITE_THROUGH]}
    return {name: r.counts[name] for name in ("commits", "log_blocks", "log_bytes", "file_blocks")} | asked


def in_order():
    """Reads of the records of a table, one after the other, on a zvol."""
    r = run(on_zvol=1, mix=((READ, 1.0),), n_processes=1, n=300, n_pages=300, is_warm=0, in_order=True, rest_s=10,
            think_ns=SECOND // 50)
    return {"reads": r.counts["data_reads"], "ahead": r.counts["read_ahead"]}


def records_of_table_and_log():
    """Different records that were dirtied, of a table and of the log."""
    r = run(on_zvol=1, mix=COMMITS_AND_WRITES, n_processes=1, n=60, n_pages=200, name="openzfs", rest_s=0)
    border = int(r.m.files.first[1])
    records = {block for block, _ in r.dirtied}
    return [len([block for block in records if block < border]), len([block for block in records if block >= border])]

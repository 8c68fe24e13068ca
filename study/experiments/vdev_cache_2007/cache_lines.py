"""What the vdev cache of one leaf holds while a database is read at random, under each rule that ZFS has had.

This explains the mechanism; it predicts no published number. There is no disk and no queue here, so how long a fill
takes is a parameter.
"""
from typing import NamedTuple

import numpy as np
import pandas as pd

from model.events.streams import stream
from model.zfs.vdev.cache import BYPASS_DATA, FILL_ALL, FILL_METADATA, HIT, JOINED, MISS, VdevCacheParams
from model.zfs.vdev.cache_replay import READ, drive, operations
from model.zfs.vdev.random_reads import L1_PLACES, Reads, RecordReads, random_record_reads, resident_over_time

HZ = 100
LARGEST_READ = VdevCacheParams().max_read_bytes


class Rule(NamedTuple):
    """One of the states that the cache has been in."""
    key: str
    label: str
    fill_rule: int
    max_read_bytes: int     # zfs_vdev_cache_max


RULES = (
    Rule("every-read", "every small read fills (to onnv_69)", FILL_ALL, LARGEST_READ),
    Rule("metadata-only", "only metadata fills (onnv_70 to 78)", FILL_METADATA, LARGEST_READ),
    Rule("data-bypasses", "data bypasses the cache (onnv_79 on)", BYPASS_DATA, LARGEST_READ),
    Rule("off", "cache off (zfs_vdev_cache_max = 1)", FILL_ALL, 1),
)


class Lines(NamedTuple):
    """One rule's run. Arrays have an element per read that reached the leaf."""
    rule: Rule
    time_s: np.ndarray
    metadata_lines: np.ndarray      # resident, brought in by a read of metadata
    data_lines: np.ndarray          # resident, brought in by a read of a record
    limit: float                    # lines that zfs_vdev_cache_size stands for
    l1_reads: int                   # reads of indirect blocks that reached the leaf
    l1_answered: int                # of them: answered from a line, or by a fill under way
    disk_reads: int                 # that went on to the disk, fills among them
    disk_bytes: int                 # that these moved
    record_reads: int

    @property
    def answered(self) -> float:
        """Share of the metadata reads that the cache answered."""
        return self.l1_answered / self.l1_reads if self.l1_reads else 0.0

    @property
    def kib_per_record(self) -> float:
        """KiB that the disk moved for each record read."""
        return self.disk_bytes / self.record_reads / 1024


def lines_under_each_rule(record_kib: int, line_kib: int, cache_mib: int, leaf_gib: float, reads_per_s: float,
                          seconds: float, l1_bytes: int, l1_place: str, fill_ticks: int, seed: int) -> list[Lines]:
    """The same reads (same seed, same arrivals) through an empty cache under each of RULES.

    Raises ValueError with one sentence when a value makes no sense.
    """
    n_records = int(leaf_gib * 2**30) // (record_kib * 1024)
    layout = RecordReads(n_records, record_kib * 1024, l1_bytes, L1_PLACES.index(l1_place), reads_per_s, HZ)
    n_reads = int(reads_per_s * seconds)
    reads = random_record_reads(layout, stream(seed, "arrivals").random(n_reads), stream(seed, "choices").random(n_reads))
    return [_run(rule, reads, line_kib * 1024, cache_mib * 2**20, fill_ticks) for rule in RULES]


def of_recording(rule: Rule, rows: np.ndarray, params: VdevCacheParams) -> Lines:
    """What the vdev cache of one leaf held during a run of `model.simulations.filebench_oltp.run` whose operations `rows`
    were recorded. The same operations are done once more, fills completing where they did
    (`model.zfs.vdev.leaves.Recorder`)."""
    held, _ = drive(params, operations(*rows[:, :5].T))
    reads, metadata, outcome = rows[:, 1] == READ, rows[:, 4] == 1, held.outcome
    answered = (outcome == HIT) | (outcome == JOINED)
    moved = np.where(outcome == MISS, 1 << params.line_shift, np.where(answered, 0, rows[:, 3]))
    l1 = reads & metadata
    return Lines(
        rule=rule, time_s=rows[:, 0] / HZ, metadata_lines=held.n_metadata_lines,
        data_lines=held.n_lines - held.n_metadata_lines, limit=params.cache_bytes / (1 << params.line_shift),
        l1_reads=int(l1.sum()), l1_answered=int((l1 & answered).sum()), disk_reads=int((reads & ~answered).sum()),
        disk_bytes=int(moved[reads].sum()), record_reads=int((reads & ~metadata).sum()))


def metrics(runs: list[Lines]) -> pd.DataFrame:
    """The numbers of these runs: name, value, unit."""
    rows = [(f"{run.rule.key}.{quantity}", value, unit) for run in runs for quantity, value, unit in (
        ("metadata_reads", run.l1_reads, "reads"), ("metadata_answered", 100 * run.answered, "%"),
        ("disk_per_record", run.kib_per_record, "KiB"), ("disk_reads_per_record", run.disk_reads / run.record_reads, "1"),
        ("metadata_lines_at_end", run.metadata_lines[-1], "lines"), ("data_lines_at_end", run.data_lines[-1], "lines"))]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def _run(rule: Rule, reads: Reads, line_bytes: int, cache_bytes: int, fill_ticks: int) -> Lines:
    params = VdevCacheParams(line_bytes.bit_length() - 1, cache_bytes, rule.max_read_bytes, rule.fill_rule)
    held = resident_over_time(params, reads, fill_ticks)
    l1 = reads.is_metadata == 1
    answered = (held.outcome == HIT) | (held.outcome == JOINED)
    moved = np.where(held.outcome == MISS, line_bytes, np.where(answered, 0, reads.n_bytes))
    return Lines(
        rule=rule, time_s=reads.tick / HZ, metadata_lines=held.n_metadata_lines, data_lines=held.n_data_lines,
        limit=cache_bytes / line_bytes, l1_reads=int(l1.sum()), l1_answered=int((l1 & answered).sum()),
        disk_reads=int((~answered).sum()), disk_bytes=int(moved.sum()), record_reads=int((~l1).sum()))

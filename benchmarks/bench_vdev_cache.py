"""Time per operation of the vdev cache, on the recorded traces and on a database read at random.

A kind of trace is compared with reads that bypass the cache: they cost the loop and the first test. Beside each stands
what the C code took when the traces were recorded (gcc -O2, no assertions, another machine): an order of magnitude.
"""

import pytest

from model.devices.sectors import SECTOR_BYTES
from model.events.streams import stream
from model.zfs.vdev import cache_replay
from model.zfs.vdev.cache import FILL_RULES, VdevCacheParams, new_cache
from model.zfs.vdev.cache_replay import READ
from model.zfs.vdev.random_reads import RecordReads, random_record_reads
from study.project import DATA
from study.replays.vdev_cache import read_stats, read_vdev_cache_trace

TRACES = DATA / "traces" / "vdev_cache"
RECORDED_NS = {"user8k": 19, "meta_L1": 357, "mix_L2": 159, "mixw_L2": 349}  # as the recordings' notes give them


def run_of(params, operations, fill_ticks):
    """(setup, call) that run all `operations` through an empty cache."""
    def setup():
        return (new_cache(params), params, cache_replay.new_fills(params), fill_ticks, operations,
                cache_replay.new_decisions(len(operations.tick)))
    return setup, cache_replay.run


@pytest.mark.parametrize("name", ["user8k", "mix_max1", "mix_L2", "mixw_L2", "meta_L1", "meta_slowtick"])
def bench_recorded_trace(name, per_operation):
    columns, entry = read_vdev_cache_trace(TRACES / f"{name}.parquet"), read_stats(TRACES / "stats.jsonl")[name]
    operations = cache_replay.operations(columns["tick"], columns["op"], columns["off512"] * SECTOR_BYTES,
                                             columns["size512"] * SECTOR_BYTES, dont_cache=columns["nocache"])
    params = VdevCacheParams(**entry.sizes)
    note = f"recorded C code, another machine: {RECORDED_NS[name]}" if name in RECORDED_NS else ""
    per_operation("vdev cache: recorded traces, completions as recorded", name, len(operations.tick),
                  *run_of(params, operations, cache_replay.RECORDED), rounds=50, base=name == "user8k", note=note)


@pytest.mark.parametrize("rule", range(3), ids=FILL_RULES)
def bench_database(rule, per_operation):
    reads = random_record_reads(RecordReads(n_records=2_000_000, reads_per_s=150.0),
                                *(stream(1, name).random(500_000) for name in ("arrivals", "records")))
    operations = cache_replay.operations(reads.tick, READ, reads.offset, reads.n_bytes, reads.is_metadata)
    per_operation("vdev cache: 8 KiB records read at random, own completions", FILL_RULES[rule], len(reads.tick),
                  *run_of(VdevCacheParams(fill_rule=rule), operations, 1), rounds=7, base=rule == 0)

"""How many times shorter lz4 makes the records of files: what `study/machines/compression.py` has of pgbench's.

    python benchmarks/pack_records.py FILE ...

For each file its ratio with records of 8 to 128 KiB, as ZFS keeps them: in whole sectors of 512 B, with 4 B for the length,
and only if that saves an eighth. The files: `pgbench -i -s 40`, a checkpoint, and the first segment of pgbench_accounts and
of its key (`pg_relation_filepath`); after 250 000 transactions of 8 clients the same and pgbench_history; segments of
pg_wal that were written in between, and during 100 000 transactions more each with `full_page_writes = off` and with
`wal_compression = lz4`.
"""
import sys
from pathlib import Path

import pyarrow

from model.devices.sectors import SECTOR_BYTES

LENGTH_BYTES = 4        # in front of what is compressed
MAX_BYTES = 200 * 2**20        # of a file


def ratio(content: bytes, record_bytes: int) -> float:
    """Of whole records; 0 if there is none."""
    starts = range(0, len(content) // record_bytes * record_bytes, record_bytes)
    return len(starts) * record_bytes / max(1, sum(kept(content[start:start + record_bytes]) for start in starts))


def kept(record: bytes) -> int:
    """B on disk."""
    packed = len(pyarrow.compress(record, codec="lz4_raw", asbytes=True)) + LENGTH_BYTES
    packed = -(-packed // SECTOR_BYTES) * SECTOR_BYTES
    return packed if packed <= len(record) - len(record) // 8 else len(record)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        content = Path(path).read_bytes()[:MAX_BYTES]
        print(path, *(f"{kib} KiB: {ratio(content, kib * 1024):.2f}" for kib in (8, 16, 32, 64, 128)), sep="  ")

"""How many threads make the blocks of a transaction group ready for the disks.

The sync thread goes through what is dirty and begins a write for each block. Compression, check-sum and a place are work for
a processor, and who does it changed:

    to onnv_78        the sync thread itself; only records that are compressed go to 8 threads
    from onnv_79      8 threads, for every block
    from b117         as many as 80 % of the processors

There are never more at work than there are processors. Blocks still come in order, and a group waits for all of them; so
threads divide the time that one block after another takes. One part stays with one thread after the other: the sync thread
goes through the lists of what is dirty and makes each block's zio. A metaslab gives space to one at a time, under its
lock. A group is as fast as that part, or as all threads together:

    from one block to the next = max(serial, (serial + parallel) / threads)

In ZFS: dbuf.c, `dbuf_sync_list`; metaslab.c, `metaslab_group_alloc`, ms_lock; zio.c, `zio_next_stage`, `zio_issue_async`;
spa.c, `zio_taskqs`; spec 2.12, 5.3.

That processes of the database want the same processors makes those wait, not the group (`model.events.servers`).
"""

from typing import NamedTuple


class IssueParams(NamedTuple):
    """The rules of a build; the defaults are those of 2007."""

    threads: int = 8
    for_all: int = 0  # 1: for every block, 0: for records that are compressed
    cpus_pct: int = 0  # of the processors, in place of `threads`


def n_threads(params, cpus, is_compressed_record):
    """At work on blocks of one kind."""
    if not params.for_all and not is_compressed_record:
        return 1
    threads = cpus * params.cpus_pct // 100 if params.cpus_pct else params.threads
    return max(1, min(threads, cpus))


def time_between(params, cpus, is_compressed_record, serial_ns, parallel_ns):
    """ns from one block to the next."""
    return max(serial_ns, (serial_ns + parallel_ns) // n_threads(params, cpus, is_compressed_record))

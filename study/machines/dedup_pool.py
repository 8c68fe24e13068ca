"""What dedup asks of a machine: memory for the table, and the rate of writes when not all of it is there.

    pool = forecast(ddt.read(path), memory_bytes, …)    what `study dedup` prints
    sustained(machine, has_dedup, seed)                 a run that is long enough for its rate
    rates(machine)                                      MB/s with dedup and without, simulated, and what limits each
    with_duplicates(machine, share)                     the machine, where such a share of what is written is there already

How much of memory may hold metadata, the table among it, is a rule of the release:

    2010       a quarter of the ARC, which is all memory but 1 GiB, and at least three quarters (`arc_init`; spec 7.1, 8)
    openzfs    three quarters of the ARC, which is half of memory (Linux, 0.7 to 2.1: zfs(4), zfs_arc_meta_limit_percent and
               zfs_arc_max). Later releases have no limit of its own.
"""
import math
from typing import NamedTuple

from model.devices.data_sheet import SheetParams, new_drive
from model.devices.ssd import SsdParams
from model.simulations.dedup_writes.run import Result, simulate
from model.simulations.dedup_writes.state import ARC_LEAST_BYTES, BLOCK_BYTES, Settings, largest_arc_bytes
from model.simulations.rules import Rules
from model.zfs.arc.arc import ArcParams
from model.zfs.dedup.zap import ZapParams, leaf_entries
from model.zfs.eras import era
from model.zfs.txg.throttle import max_limit_bytes
from study.errors import UserError
from study.machines import hardware
from study.pools.ddt import Ddt

MEAN_FILL = 0.693       # ln 2: of leaves that split in halves when they are full, on the average (tests/model/zfs/dedup)
METADATA_SHARES = {"2010": 0.25, "openzfs": 0.75}      # of the ARC: see above
LEAST_RATIO = 2.0       # from which on dedup may pay: docs.oracle.com/cd/E36784_01/html/E39134/fsdedup-1.html
TABLE_BLOCKS = 2**16    # about as many table blocks are simulated as fit in memory: a machine to scale
BUILD = "b141"
SHA256_RATE = 155e6     # B/s of a core of 2.66 to 2.93 GHz, 150 to 165 (conditions 10.9: S. Gueron, V. Krasnov, July 2012)
FLETCHER_RATE = 1e9     # B/s; not known, and far above the disks: no result here depends on it
COPY_RATE = 1e9         # B/s of one thread from user space; not known
CALL_NS = 8000          # of a call at least; likewise, for blocks of 8 KiB and more
WRITERS = 4             # threads that write at a time: so many that disks or check-sums are the limit, and not they
FREE_NS = 40_000        # from one freed block to the next: 25 000 a second are asked for, not more
DUPLICATE_ENTRIES = 0.7  # share of entries with two references or more, over the share of blocks that are found; see
#   `with_duplicates`
BUSY = 0.7              # of the threads' time, by the sheet's seek and half a turn for each read: they are the limit
L2_READ_NS = 100_000    # of a cache device, about: 85 us in the x25-e's sheet
NEAR = 0.9              # of a limit: what is as near to it is bound by it
SLOW = 100e6            # B/s: a run below this is made again, for LONG_S. Rates of less than that rise for minutes
LONG_S = 600.0
FORECAST_S = 60.0      # of a forecast, some groups of 5 to 30 s: in 20 s rates depend on where a group ends, by a third
LEAST_SHARE = 0.5       # of the rate without dedup, our choice: below this dedup does not pay
MAX_TIMES = 200.0       # a table of so many times the room: 99.5 % of look-ups read a disk, and a larger one changes nothing
THREADS = 8             # that write a group: zio_taskqs of 2010, at most as many as 80 % of the processors


class DedupMachine(NamedTuple):
    """A pool with dedup and who writes to it; sizes at full size, in bytes."""
    unique_bytes: float             # of the table's unique object, in core
    duplicate_bytes: float = 0.0    # likewise of its duplicate one
    limit_bytes: float = 2**32      # of metadata in memory
    l2_bytes: float = 0.0           # of a cache device
    memory_bytes: float = 16 * 2**30
    block_bytes: int = 8192
    found_share: float = 0.0        # of the blocks that are written: there is such a block already
    second_share: float = 0.0       # of the blocks, among these: there is one, so that its entry moves
    n_disks: int = 8
    sheet: str = "sata-7k2-1tb"
    threads: int = THREADS
    is_free: bool = False
    offered: float = 0.0            # B/s that are written; 0: as fast as it goes
    leaf_disk_bytes: int = BLOCK_BYTES
    is_sync: bool = False           # each call waits for the intent log
    has_log_device: bool = False
    was_fast: bool = False          # the throttle begins at its most, as after groups that were written fast
    has_writer: bool = True
    n_files: int = 0                # that are read one after the other; sizes to scale are the caller's
    file_blocks: int = 0
    shared_blocks: int = 0          # of a file, which all files have in common
    seconds: float = 40.0
    warm_s: float = 15.0


def with_duplicates(machine: DedupMachine, found_share: float) -> DedupMachine:
    """The machine, with as large a table in all, where `found_share` of the blocks written are there already.

    Six published tables stand beside found_share in data/priors.toml. Their share of entries with two references or more
    is 0.64 to 1.14 times the share found. DUPLICATE_ENTRIES is within 4 % of all entries. Where a pool goes on as it began,
    each new entry makes as many of these: so many blocks are the second of their kind.
    """
    duplicates = DUPLICATE_ENTRIES * found_share
    table = machine.unique_bytes + machine.duplicate_bytes
    return machine._replace(unique_bytes=table * (1 - duplicates), duplicate_bytes=table * duplicates,
                            found_share=found_share, second_share=second_share(found_share, duplicates))


def second_share(found_share: float, duplicate_entries: float) -> float:
    """Share of the blocks written that are the second of their kind, in a pool whose shares stay what they are."""
    return min(found_share, (1 - found_share) * duplicate_entries)


def entry_bytes() -> float:
    """In core, of a grown table of the first release; 191 B."""
    return BLOCK_BYTES / (leaf_entries(ZapParams()) * MEAN_FILL)


def metadata_room(memory_bytes: float, release: str) -> float:
    """B that metadata may take. UserError for less memory than the least ARC needs."""
    if release not in METADATA_SHARES:
        raise UserError(f"release is '{release}', but limits are known of 2010 and openzfs; take one of these")
    arc = largest_arc_bytes(int(memory_bytes)) if release == "2010" else memory_bytes / 2
    if arc < ARC_LEAST_BYTES:
        raise UserError(f"memory of {memory_bytes / 2**20:.0f} MiB gives an ARC of {arc / 2**20:.0f} MiB, but ZFS has "
                        f"{ARC_LEAST_BYTES // 2**20} MiB at least; give more")
    return METADATA_SHARES[release] * arc


def _call_ns(block_bytes: int) -> int:
    """From one call to the next, of WRITERS threads together."""
    return round(max(CALL_NS, 1e9 * block_bytes / COPY_RATE) / WRITERS)


def simulated(machine: DedupMachine, has_dedup: bool, seed: int) -> Result:
    """A run of the machine, to a scale at which TABLE_BLOCKS fit in memory (or at full size, if fewer do)."""
    params, build = hardware.read(machine.sheet).params, era(BUILD)
    if not isinstance(params, SheetParams):
        raise UserError(f"sheet '{machine.sheet}' is no disk; take one of data/hardware that is")
    scale = max(1.0, machine.limit_bytes / (TABLE_BLOCKS * BLOCK_BYTES))
    limit = max(round(machine.limit_bytes / scale), ARC_LEAST_BYTES // 4)
    most = max_limit_bytes(int(machine.memory_bytes), build.txg)
    rate = SHA256_RATE if has_dedup else FLETCHER_RATE
    settings = Settings(
        n_leaves=machine.n_disks, has_dedup=int(has_dedup),
        n_unique=max(1, round(machine.unique_bytes / scale / BLOCK_BYTES)),
        n_duplicate=round(machine.duplicate_bytes / scale / BLOCK_BYTES),
        found_share=machine.found_share if has_dedup else 0.0,
        second_share=machine.second_share if has_dedup else 0.0,
        is_free=int(machine.is_free), block_bytes=machine.block_bytes,
        gap_ns=round(1e9 * machine.block_bytes / machine.offered) if machine.offered else 0,
        copy_ns=FREE_NS if machine.is_free else _call_ns(machine.block_bytes),
        hash_ns=round(1e9 * machine.block_bytes / rate), threads=machine.threads, leaf_disk_bytes=machine.leaf_disk_bytes,
        arc=ArcParams(4 * limit, limit), max_limit=most, first_limit=most if machine.was_fast else 0,
        l2_bytes=round(machine.l2_bytes / scale), span_bytes=params.disk_bytes // 2,
        has_writer=int(machine.has_writer), is_sync=int(machine.is_sync), has_log_device=int(machine.has_log_device),
        n_files=machine.n_files, file_blocks=machine.file_blocks, shared_blocks=machine.shared_blocks,
        warm_ns=round(1e9 * machine.warm_s), duration_ns=round(1e9 * machine.seconds))
    if settings.found_share and not settings.n_duplicate:
        settings = settings._replace(n_duplicate=1)
    rules = Rules(build.cache, build.queue, new_drive(params, ()))
    ssd = hardware.read("x25-e").params
    assert isinstance(ssd, SsdParams)
    return simulate(settings, rules, build, ssd, seed)


def sustained(machine: DedupMachine, has_dedup: bool, seed: int) -> Result:
    """A run of the machine. If it is slow it is made again for LONG_S, the first third of which does not count."""
    done = simulated(machine, has_dedup, seed)
    if done.bytes_per_s >= SLOW or machine.seconds >= LONG_S:
        return done
    return simulated(machine._replace(seconds=LONG_S, warm_s=LONG_S / 3), has_dedup, seed)


class Rate(NamedTuple):
    """Of writes, and what limits it, in words."""
    mb_per_s: float
    limit: str


def rates(machine: DedupMachine, seed: int = 1) -> tuple[Rate, Rate]:
    """MB/s (10^6) with dedup and without."""
    with_dedup, without = (_rate(sustained(machine, has_dedup, seed), machine, has_dedup) for has_dedup in (True, False))
    return with_dedup, without


def _rate(done: Result, machine: DedupMachine, has_dedup: bool) -> Rate:
    return Rate(done.bytes_per_s / 1e6, limit_of(done, machine, has_dedup))


def limit_of(done: Result, machine: DedupMachine, has_dedup: bool) -> str:
    """What a run could not do faster. How long threads wait for reads is an estimate."""
    given, checked = 1e9 * machine.block_bytes / _call_ns(machine.block_bytes), SHA256_RATE * machine.threads
    waits, hashes = _waiting(done, machine), done.bytes_per_s / checked
    if has_dedup and waits > hashes and waits + hashes >= BUSY:
        return (f"{machine.threads} threads that wait for reads of the table, about {min(waits, 1 - min(hashes, 1)):.0%} of "
                "their time")
    if done.bytes_per_s >= NEAR * given:
        return f"those who write, with {given / 1e6:.0f} MB/s"
    if has_dedup and done.bytes_per_s >= NEAR * checked:
        return f"SHA-256, by {machine.threads} threads of {SHA256_RATE / 1e6:.0f} MB/s"
    if done.busiest_share >= NEAR:
        return f"the disks, of which one is busy {100 * done.busiest_share:.0f} % of the time"
    return "transaction groups, which wait for their slowest disk and for the thread that changes the table"


def _waiting(done: Result, machine: DedupMachine) -> float:
    """Share of the threads' time in reads of the table, about."""
    params, lookups = hardware.read(machine.sheet).params, max(1, done.counts["lookups"])
    assert isinstance(params, SheetParams)
    disk_ns = params.average_seek_ns + 30e9 / params.rpm
    read_ns = (done.counts["disk_reads"] * disk_ns + done.counts["l2_reads"] * L2_READ_NS) / lookups
    return done.bytes_per_s / machine.block_bytes * read_ns / 1e9 / machine.threads


class Forecast(NamedTuple):
    """What `study dedup` says; bytes, None where it is not known."""
    entries: int
    ratio: float
    mean_block_bytes: float | None
    table_bytes: float          # in core, now
    is_estimated: bool          # the size of the table
    is_of_all: bool             # it was printed, without a word of whether it is of all entries or of each
    full_bytes: float | None    # when the pool is full
    room_bytes: float           # for metadata
    room_entries: float
    room_data_bytes: float | None   # of unique data, by entries of this size
    found_share: float          # of the blocks written: they are in the table, and no data are written
    is_split_assumed: bool      # no histogram says how large blocks are, and how many entries have two references
    with_mb_per_s: float
    with_limit: str             # what keeps it from being faster
    without_mb_per_s: float
    without_limit: str
    pays: bool
    reason: str


def size_of(table: Ddt) -> float:
    """B of the table in core; expected of so many entries where it was not printed."""
    return table.in_core_bytes if table.in_core_bytes is not None else table.entries * entry_bytes()


def by_size(table: Ddt, room: float) -> tuple[bool, str]:
    """Whether dedup can pay, and why, by its ratio and by the size of its table alone."""
    return _verdict(table.ratio, size_of(table), room, False, 1.0)


def forecast(table: Ddt, memory_bytes: float, release: str, pool_bytes: float | None, n_disks: int, sheet: str,
             room: float | None = None) -> Forecast:
    """Whether dedup pays on such a machine. `room`: B for metadata, where the ARC is not that of the release. UserError
    where something about it cannot be."""
    room, total = metadata_room(memory_bytes, release) if room is None else room, table.total
    size = size_of(table)
    each = size / table.entries
    unit = total.disk_bytes / total.blocks if total and total.disk_bytes else None
    if pool_bytes is not None and (unit is None or total is None or pool_bytes < total.disk_bytes):
        have = "no histogram" if total is None else f"{total.disk_bytes} bytes in its table"
        raise UserError(f"size of the pool is {pool_bytes:.0f} bytes, but the file has {have}; give a larger size, or the "
                        "output of -DD")
    full = None if pool_bytes is None or unit is None else max(size, each * pool_bytes / unit)
    block = _block(total.logical_bytes / total.blocks if total else 131072)
    n_unique = sum(bucket.blocks for bucket in table.buckets if bucket.references == 1)
    found_share = 1 - total.blocks / total.referenced_blocks if total else max(0.0, 1 - 1 / table.ratio)
    share = n_unique / total.blocks if total and total.blocks else max(0.0, 1 - DUPLICATE_ENTRIES * found_share)
    needed = full or size
    table_bytes = min(needed, MAX_TIMES * room)
    machine = DedupMachine(
        unique_bytes=table_bytes * share, duplicate_bytes=table_bytes * (1 - share), limit_bytes=room,
        memory_bytes=memory_bytes, block_bytes=block, found_share=found_share,
        second_share=second_share(found_share, 1 - share), n_disks=n_disks, sheet=sheet, seconds=FORECAST_S,
        warm_s=FORECAST_S / 3)
    with_dedup, without = rates(machine)
    pays, reason = _verdict(table.ratio, needed, room, full is not None, with_dedup.mb_per_s / without.mb_per_s)
    return Forecast(
        entries=table.entries, ratio=table.ratio, mean_block_bytes=total.logical_bytes / total.blocks if total else None,
        table_bytes=size, is_estimated=table.in_core_bytes is None, is_of_all=table.is_of_all,
        full_bytes=full, room_bytes=room, room_entries=room / each, room_data_bytes=unit and unit * room / each,
        found_share=found_share, is_split_assumed=total is None, with_mb_per_s=with_dedup.mb_per_s,
        with_limit=with_dedup.limit, without_mb_per_s=without.mb_per_s, without_limit=without.limit, pays=pays,
        reason=reason)


def _block(mean_bytes: float) -> int:
    """The size of blocks that is nearest, 512 B to 128 KiB."""
    return min(2**17, max(512, 2 ** round(math.log2(max(1.0, mean_bytes)))))


def _verdict(ratio: float, needed: float, room: float, is_full: bool, share: float) -> tuple[bool, str]:
    gib, when = 2**30, "when the pool is full" if is_full else "now"
    if ratio < LEAST_RATIO:
        return False, (f"the ratio is {ratio:.2f}, and below {LEAST_RATIO:g} more is lost than won; compression or clones "
                       "cost less")
    if needed > room:
        return False, (f"the table takes {needed / gib:.3g} GiB {when}, but memory leaves {room / gib:.3g} GiB for "
                       "metadata, so that writes and frees wait for disks")
    if share < LEAST_SHARE:
        return False, (f"the table's {needed / gib:.3g} GiB {when} nearly fill the {room / gib:.3g} GiB for metadata, and "
                       f"writes go at {100 * share:.0f} % of the rate without dedup")
    return True, (f"the ratio is {ratio:.2f}, and the table's {needed / gib:.3g} GiB {when} fit into the "
                  f"{room / gib:.3g} GiB that memory leaves for metadata")

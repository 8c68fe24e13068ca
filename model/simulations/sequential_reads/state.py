"""What the simulation of sequential readers is made of: parameters, state, and how a machine is put together.

`Readers` says what is read, `Settings` what an experiment chooses beside the rules of a build; `Machine` is all state of
a run. What happens is in `model.simulations.sequential_reads.events`, the loop in `model.simulations.sequential_reads.run`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.devices.command_queue import Drive
from model.devices.data_sheet import SheetParams
from model.devices.sectors import SECTOR_BYTES
from model.events import accounts
from model.events.calendar import Calendar, new_calendar
from model.events.queues import NOBODY
from model.events.streams import stream
from model.simulations.rules import rules_of as rules_of_disks
from model.simulations.sequential_reads import columns as reader
from model.simulations.sequential_reads import watch_columns as watched
from model.simulations.sequential_reads.layout import lay_out
from model.zfs.arc.arc import greatest_c
from model.zfs.dmu import fetch_columns as to_fetch
from model.zfs.dmu.indirect import CHECKSUM_OFF
from model.zfs.dmu.layout import Files, Layout, Sizes, block_sizes, number_blocks
from model.zfs.dmu.zfetch import Zfetch, ZfetchParams, max_fetches, new_zfetch
from model.zfs.eras import era
from model.zfs.vdev import recorder_columns as recorded
from model.zfs.vdev.cache import VdevCacheParams
from model.zfs.vdev.leaves import new_leaves
from model.zfs.vdev.places import OFFSET_MASK
from model.zfs.vdev.queue import VdevQueueParams

MIB = 2**20

# Status of a block.
ABSENT, READING = 0, 1
FRESH = 2  # in core, and no reader has had it yet
IN_CORE = 3

# What a block is read as.
DEMAND, PREFETCH, INDIRECT = 0, 1, 2
KINDS = ("demand", "prefetch", "indirect")

# What a thread is doing.
COPYING = 0  # data to the reader
ISSUING = 1  # a read of a record
WAITING = 2  # for records
STALLED = 3  # for an indirect block
ACTIVITIES = ("copying", "issuing", "waiting for data", "stalled on an indirect block")

HOLD, FETCH, AWAIT, COPY, FINISH = 0, 1, 2, 3, 4

# How a run ended.
DONE, OUT_OF_READS, OUT_OF_IOS = 0, 1, 2

PASSES = 8  # passes of a file after which the draws of which copy is read come again


class Readers(NamedTuple):
    """FileBench's multistreamread: each reader has a file of its own; spec 9.4."""

    n_streams: int = 4
    file_bytes: int = 16 * 2**30  # B; not known of any published run
    record_bytes: int = 2**17
    read_bytes: int = 2**20  # iosize 1m


class Settings(NamedTuple):
    """What an experiment chooses. The CPU times are what such processors may need, not from any run; ranges for the machines
    of the documents: data/priors.toml."""

    n_leaves: int = 46
    duration_ns: int = 120 * 10**9
    copy_ns: int = 1_000_000  # of CPU, for a MiB to user space by a lone copy: 1 GB/s from DDR memory
    memory_ns: int = 0  # of memory, for what copying a MiB moves; copies under way share it. 0: more than is ever asked
    issue_ns: int = 20_000  # to issue the read of a record: DMU, ZIO, sd, SATA
    complete_ns: int = 15_000  # interrupt and completion of a record
    arc_bytes: int = greatest_c(16 * 2**30)  # B, arc_c of a machine of 16 GiB
    keeps_indirect: int = 0  # 0: an indirect block leaves core with the last record below it; 1: never
    warm_indirect: int = 0  # 1: all indirect blocks are in core at the start
    warm_records: int = 0  # 1: all records too


class Site(NamedTuple):
    """Where everything lies; no run changes it, so many can share it."""

    readers: Readers
    n_leaves: int
    files: Files
    sizes: Sizes
    layout: Layout


class Rules(NamedTuple):
    """The mechanisms of a run."""

    cache: VdevCacheParams
    queue: VdevQueueParams
    disk: Drive
    zfetch: ZfetchParams


class Core(NamedTuple):
    """Records that readers have had, in order of use: a ring (model.structures.lru) of record + 1, with 0 as its
    sentinel."""

    older: np.ndarray  # of what is not in the ring: -1
    newer: np.ndarray
    n: np.ndarray  # one element: in the ring
    n_below: np.ndarray  # per indirect block: blocks right below it that are in the ring, or have something below that is


class Tally(NamedTuple):
    """What is measured."""

    counts: np.ndarray  # see reader.COUNTS
    stream: np.ndarray  # of each read completed
    response_ns: np.ndarray  # likewise
    response_at: np.ndarray  # ns: when it was completed
    spent: np.ndarray  # [thread, activity]: ns
    interrupted: np.ndarray  # [thread]: ns of interrupts, which `spent` counts with the copying
    asked_at: np.ndarray  # per block: ns when it was last asked for
    asked_as: np.ndarray  # per block: one of KINDS
    took: np.ndarray  # [kind]: ns, sum over blocks that have come
    came: np.ndarray  # [kind]: blocks that have come
    under_way: np.ndarray  # blocks being read: an account (model.events.accounts)
    copy_read: np.ndarray  # [pass, indirect block]: which copy is read, 0 or 1; drawn


class Recorder(NamedTuple):
    """What one thread, one disk and all of zfetch do, until the arrays are full."""

    thread: int  # or -1
    leaf: int  # or -1
    n: np.ndarray  # rows written; see watched.ACTIVITIES
    activities: np.ndarray  # [row, column]; see watched.BEGAN
    commands: np.ndarray  # [row, column]; see model.zfs.vdev.recorder_columns
    calls: np.ndarray  # [row, column]: calls of zfetch; see watched.FILE


class Machine(NamedTuple):
    """All of a run but its pool."""

    settings: Settings
    readers: Readers
    files: Files
    layout: Layout
    status: np.ndarray  # per block
    threads: np.ndarray  # [thread, column]; see reader.STAGE
    fetches: np.ndarray  # [thread, row, column]: what the thread fetches; see to_fetch.FIRST_BLOCK
    answer: np.ndarray  # [row, column]: of zfetch's last call; see to_fetch.FIRST_BLOCK
    zfetch_params: ZfetchParams
    zfetch: Zfetch
    core: Core
    calendar: Calendar  # sources: the disks, then the threads
    tally: Tally
    recorder: Recorder


# ---- making one ----


def _check(name, value, low, high, of=""):
    if value != int(value) or not low <= value <= high:
        raise ValueError(f"{name}{of} is {value}, but it must be a whole number from {low} to {high}; "
                         "choose one in that range")


def check_readers(readers):
    """Raise ValueError with one sentence unless there can be such readers."""
    for name, low, high in (("n_streams", 1, 1024), ("record_bytes", 512, 2**17), ("read_bytes", 2**12, MIB),
                            ("file_bytes", 1, 2**44)):
        _check(name, getattr(readers, name), low, high)
    for name in ("record_bytes", "read_bytes"):
        value = getattr(readers, name)
        if value & (value - 1):
            raise ValueError(f"{name} is {value}, but it must be a power of two; choose {1 << value.bit_length()}")
    for name in ("record_bytes", "read_bytes"):
        if getattr(readers, name) > readers.file_bytes:
            raise ValueError(f"{name} is {getattr(readers, name)}, but a file has only {readers.file_bytes} B; "
                             "choose larger files")


def check_settings(settings: Settings, site: Site) -> None:
    """Raise ValueError with one sentence unless there can be such a run."""
    bounds = {"n_leaves": (1, 2**14), "duration_ns": (1, 10**13), "copy_ns": (1000, 10**10), "memory_ns": (0, 10**10),
              "issue_ns": (0, 10**9),
              "complete_ns": (0, 10**9), "arc_bytes": (0, 2**60)}
    for name, value in settings._asdict().items():
        _check(name, value, *bounds.get(name, (0, 1)))
    if settings.n_leaves != site.n_leaves:
        raise ValueError(f"n_leaves is {settings.n_leaves}, but the files were laid out on {site.n_leaves} disks; "
                         "choose that number or lay them out anew")


def check_disks(rules: Rules, site: Site) -> None:
    """Raise ValueError with one sentence unless the files fit on the disks."""
    readers, has = site.readers, rules.disk.disk.layout.n_blocks * SECTOR_BYTES
    end = int((site.layout.place & OFFSET_MASK).max()) + readers.record_bytes
    if end > has:
        raise ValueError(f"file_bytes is {readers.file_bytes} for each of {readers.n_streams} readers, which is {end} B "
                         f"of each disk, which has {has}; choose smaller files or more disks")


def new_site(readers: Readers | None = None, n_leaves: int = 46, checksum: int = CHECKSUM_OFF, seed: int = 0,
             first_byte: int = 0) -> Site:
    """The files of `readers`, written one after the other into a pool that is empty from `first_byte` of each leaf on."""
    readers = readers or Readers()
    check_readers(readers)
    _check("n_leaves", n_leaves, 1, 2**14)
    _check("first_byte", first_byte, 0, 2**46)
    files = number_blocks([-(-readers.file_bytes // readers.record_bytes)] * readers.n_streams, readers.record_bytes)
    sizes = block_sizes(seed, readers.record_bytes, checksum, n_leaves)
    return Site(readers, n_leaves, files, sizes, lay_out(files, sizes, n_leaves, first_byte=first_byte)[0])


def rules_of(name: str, sheet: SheetParams | None = None, drawn_ns: Sequence[int] = ()) -> Rules:
    """The rules of the build `name`, with disks as in `model.simulations.rules`."""
    rules = rules_of_disks(name, sheet, drawn_ns)
    return Rules(rules.cache, rules.queue, rules.disk, era(name).zfetch)


def new_recorder(thread: int = -1, leaf: int = -1, n: int = 0) -> Recorder:
    """A recorder of up to `n` rows a table, of one thread and one leaf; without arguments it records nothing."""
    return Recorder(
        thread=thread, leaf=leaf, n=np.zeros(watched.N_TABLES, np.int64),
        activities=np.zeros((n, watched.N_ACTIVITY_COLUMNS), np.int64),
        commands=np.zeros((n, recorded.N_COMMAND_COLUMNS), np.int64), calls=np.zeros((n, watched.N_CALL_COLUMNS), np.int64))


def _new_core(files):
    core = Core(older=np.full(files.n_records + 1, -1), newer=np.full(files.n_records + 1, -1), n=np.zeros(1, np.int64),
                n_below=np.zeros(files.n_blocks - files.n_records, np.int64))
    core.older[0] = core.newer[0] = 0
    return core


def _new_tally(files, n_streams, n_reads, seed):
    n_indirect = files.n_blocks - files.n_records
    copy_read = (stream(seed, "copy read").random((PASSES, n_indirect)) < 0.5).astype(np.int64)
    return Tally(
        counts=np.zeros(len(reader.COUNTS), np.int64), stream=np.zeros(n_reads, np.int64),
        response_ns=np.zeros(n_reads, np.int64), response_at=np.zeros(n_reads, np.int64),
        spent=np.zeros((n_streams, len(ACTIVITIES)), np.int64), interrupted=np.zeros(n_streams, np.int64),
        asked_at=np.zeros(files.n_blocks, np.int64),
        asked_as=np.zeros(files.n_blocks, np.int8), took=np.zeros(len(KINDS), np.int64),
        came=np.zeros(len(KINDS), np.int64), under_way=np.zeros(accounts.N_ELEMENTS, np.int64),
        copy_read=copy_read)


def new_machine(site, rules, settings, seed, n_reads, n_ios, recorder, cache_recorder):
    """(Machine, Leaves), everything at rest at time 0. A task of the leaves is a block, which one thread at a time reads."""
    readers, files = site.readers, site.files
    status = np.zeros(files.n_blocks, np.int8)
    if settings.warm_indirect or settings.warm_records:
        status[files.n_records:] = IN_CORE
    if settings.warm_records:
        status[:files.n_records] = IN_CORE
    threads = np.zeros((readers.n_streams, reader.N_COLUMNS), np.int64)
    threads[:, reader.WAITS_FOR] = NOBODY
    rows = max_fetches(rules.zfetch)
    phase_ns = (stream(seed, "spindles").random(settings.n_leaves) * rules.disk.disk.rev_ns).astype(np.int64)
    leaves = new_leaves(settings.n_leaves, rules.cache, rules.queue, rules.disk, phase_ns, n_ios, files.n_blocks,
                        cache_recorder)
    return Machine(
        settings=settings, readers=readers, files=files, layout=site.layout, status=status, threads=threads,
        fetches=np.zeros((readers.n_streams, rows, to_fetch.N_COLUMNS), np.int64),
        answer=np.zeros((rows, to_fetch.N_COLUMNS), np.int64),
        zfetch_params=rules.zfetch, zfetch=new_zfetch(rules.zfetch, readers.n_streams), core=_new_core(files),
        calendar=new_calendar(settings.n_leaves + readers.n_streams),
        tally=_new_tally(files, readers.n_streams, n_reads, seed), recorder=recorder), leaves

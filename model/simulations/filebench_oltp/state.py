"""What the OLTP simulation is made of: parameters, state, and how a machine is put together.

`Settings` holds what an experiment chooses and no mechanism's own parameters do; `Machine` is all state of a run. The
events are in `model.simulations.filebench_oltp.run`.
"""

from typing import NamedTuple

import numpy as np

from model.devices.command_queue import Drive
from model.devices.sectors import SECTOR_SHIFT
from model.events import accounts, ring
from model.events.calendar import Calendar, new_calendar
from model.events.queues import NOBODY
from model.events.streams import stream
from model.jit.lent_memory import empty, in_lines
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.filebench import (
    Semaphores,
    Workload,
    check_workload,
    draw_log_records,
    draw_records,
    new_semaphores,
    records_per_file,
)
from model.simulations.filebench_oltp.processors import Processors, new_processors
from model.simulations.rules import Rules
from model.zfs.arc.arc import ArcParams, arc_params, copy_arc, greatest_c, new_arc
from model.zfs.arc.lists import Arc
from model.zfs.dmu.dirty import Txgs, new_txgs
from model.zfs.dmu.indirect import FLETCHER2
from model.zfs.dmu.layout import (
    ALIQUOT_BYTES,
    Files,
    Layout,
    Sizes,
    Space,
    block_sizes,
    check_fits,
    lay_out,
    new_space,
    number_blocks,
)
from model.zfs.txg.write_issue import IssueParams, n_threads
from model.zfs.vdev import owner_columns as of_io
from model.zfs.vdev.leaves import Leaves, Recorder, new_leaves
from model.zfs.vdev.places import SINGLE_DISK
from model.zfs.vdev.raid import VdevParams

# How a run ended.
DONE, OUT_OF_DRAWS, OUT_OF_IOS, OUT_OF_ENTRIES, OUT_OF_NODES, OUT_OF_SPACE = 0, 1, 2, 3, 4, 5

SPARE_NODES = 2**10  # headers of the ARC beyond one for every block: more than an event may take
AIO_TASKS = 256  # of a writer: it never has 200 outstanding, as it waits for half of them
MAX_CPUS = 256


class Settings(NamedTuple):
    """What an experiment chooses. The CPU times are what such processors may need, not from any run; ranges for the machine
    of the document: data/priors.toml."""

    n_leaves: int = 46
    duration_ns: int = 120 * 10**9
    txg_ns: int = 5 * 10**9  # txg_time; spec 5.6
    n_cpus: int = 4  # processors: an X4500 has two dual-core Opterons
    issue: IssueParams = IssueParams()  # of the build: threads that compress, check-sum and allocate a group's blocks
    sync_record_ns: int = 15_000  # of their CPU, to check-sum and allocate 8 KiB: 0.5 to 1 GB/s
    write_done_ns: int = 15_000  # of CPU, when a disk has served a command that writes
    sync_indirect_ns: int = 80_000  # to compress 16 KiB as well, 200 MB/s
    read_issue_ns: int = 0  # of a reader's CPU, for each block that it sends for
    read_done_ns: int = 0  # of CPU, when a disk has served a command that reads
    memory_bytes: int = 16 * 2**30  # B, physical: of the machine of 2007; the ARC may have all but 1 GiB of it
    warm_indirect: int = 0  # 1: all indirect blocks are in core at the start
    keeps_records: int = 1  # 0: nothing that is read stays in core


class Room(NamedTuple):
    """How much a run may need; too little is noticed, and the run made again with twice as much."""

    n_draws: int  # operations of a thread
    n_ios: int  # about at a time
    n_entries: int  # dirty blocks of a transaction group
    n_nodes: int  # headers of the ARC


# How a run ended that needs more room, and the field of Room that is to be larger.
SCARCE = {OUT_OF_DRAWS: "n_draws", OUT_OF_IOS: "n_ios", OUT_OF_ENTRIES: "n_entries", OUT_OF_NODES: "n_nodes"}


class Tasks(NamedTuple):
    """Operations under way: shadow i has task i; behind these come those of the writers."""

    rows: np.ndarray  # [task, column]; see oltp.FILE
    node: np.ndarray  # per task: the header of the block that it reads, which is held until it has come
    ready: np.ndarray  # tasks that can go on: a ring (model.events.ring)
    n_ready: np.ndarray  # its ends
    free: np.ndarray  # [writer, i]: tasks that it may use
    n_free: np.ndarray  # per writer


class Threads(NamedTuple):
    """What each shadow and each writer is at, and what was drawn for it."""

    n_done: np.ndarray  # per thread, shadows first, then writers: operations drawn
    next_taker: np.ndarray  # per shadow: whom it posts to next
    stage: np.ndarray  # per thread, in the order of their sources: what it is at; see oltp.BEGINS, oltp.HANDS_OVER
    began: np.ndarray  # ns, likewise: when its operation began
    was_in_core: np.ndarray  # per shadow: 1 if what it reads was
    handed_over: np.ndarray  # per writer: writes that no thread of the library has begun
    in_stretch: np.ndarray  # per writer: of them, those that its thread of the library now computes for
    outstanding: np.ndarray  # per writer: writes not reaped
    completed: np.ndarray  # per writer: of them completed
    reaping: np.ndarray  # per writer: completions it sleeps for, or 0
    shadow_records: np.ndarray  # [shadow, i]: drawn
    writer_records: np.ndarray  # [writer, i]: drawn
    log_records: np.ndarray


class Tally(NamedTuple):
    """What is measured."""

    counts: np.ndarray  # see oltp.COUNTS
    response_ns: np.ndarray  # of reads, in order of completion
    response_at: np.ndarray  # ns: when it was completed
    under_way: np.ndarray  # reads: an account (model.events.accounts)
    per_second: np.ndarray  # [row, second]: operations completed; see oltp.READS_IN
    copy_read: np.ndarray  # per indirect block: which copy is read, 0 or 1; drawn
    n_rewritten: np.ndarray  # per indirect block: children rewritten in this run
    sync_began: np.ndarray  # one element: ns
    operations: np.ndarray  # [operation, column]; see oltp.READ, oltp.N_RETURNED
    wakes: np.ndarray  # per taker: how often a post woke it
    earlier_wakes: np.ndarray  # likewise, until it last took


class Sources(NamedTuple):
    """Numbers of the sources of events; disks have theirs."""

    sync: int
    timer: int
    reclaim: int
    writers: int  # the first one, the log writer
    library: int  # the first one: threads that write for a writer
    shadows: int  # the first one


class Machine(NamedTuple):
    """All of a run but its pool. (Numba takes its time for every call that is handed so much: helpers get parts of it.)"""

    settings: Settings
    workload: Workload
    files: Files
    sizes: Sizes
    layout: Layout
    space: Space
    arc_params: ArcParams
    arc: Arc
    entry_of: np.ndarray  # per I/O of a transaction group: the entry that it writes
    tasks: Tasks
    threads: Threads
    semaphores: Semaphores
    txgs: Txgs
    sync_free: np.ndarray  # ns, per thread that writes a transaction group: when it is free
    processors: Processors
    calendar: Calendar
    sources: Sources
    tally: Tally


class Site(NamedTuple):
    """Where everything lies at the start; no run changes it, so many can share it."""

    workload: Workload
    n_leaves: int
    files: Files
    sizes: Sizes
    layout: Layout
    space: Space
    vdev: VdevParams = SINGLE_DISK  # each top-level vdev of the pool


def new_site(workload: Workload | None = None, n_leaves: int = 46, checksum: int = FLETCHER2, seed: int = 0,
             first_byte: int = 0, vdev: VdevParams = SINGLE_DISK) -> Site:
    """The files of `workload`, written one after the other into a pool. It holds nothing else, or only what takes the
    first `first_byte` B of every disk. Its `n_leaves` disks are the children of vdevs of one kind: see
    `vdev_params`."""
    workload = workload or Workload()
    check_workload(workload)
    files = number_blocks(records_per_file(workload), workload.record_bytes)
    new_space(n_leaves, ALIQUOT_BYTES, first_byte, vdev)  # before anything else, for the sake of its sentences
    sizes = block_sizes(seed, workload.record_bytes, checksum, n_leaves // vdev.n_children)
    layout, space = lay_out(files, sizes, n_leaves, ALIQUOT_BYTES, first_byte, vdev)
    return Site(workload=workload, n_leaves=n_leaves, files=files, sizes=sizes, layout=layout, space=space, vdev=vdev)


def first_room(settings: Settings) -> Room:
    """A guess, from 600 operations a second and disk: more than most runs need, as a run made again costs more."""
    seconds = max(1.0, settings.duration_ns / 1e9)
    n_txg = int(settings.n_leaves * 600 * min(seconds, settings.txg_ns / 1e9))
    return Room(n_draws=500 + 2 * int(seconds * settings.n_leaves), n_ios=max(2**14, n_txg // 2),
                n_entries=max(4096, 3 * n_txg), n_nodes=int(2.25 * greatest_c(settings.memory_bytes)) // 8192)


def _new_tasks(workload):
    n_writers = workload.n_writers + 1
    n = workload.n_shadows + n_writers * AIO_TASKS
    rows = in_lines((n, oltp.N_COLUMNS), np.int64)
    rows[:, oltp.N_RECORDS] = 1
    rows[:, oltp.WRITER] = rows[:, oltp.JOINED] = rows[:, oltp.JOINED_BEFORE] = NOBODY
    free = workload.n_shadows + np.arange(n_writers * AIO_TASKS).reshape(n_writers, AIO_TASKS)
    return Tasks(
        rows=rows, node=np.zeros(n, np.int64), ready=np.zeros(1 << n.bit_length(), np.int64),
        n_ready=np.zeros(ring.N_ENDS, np.int64), free=free, n_free=np.full(n_writers, AIO_TASKS))


def _new_threads(workload, seed, n_draws):
    """A writer goes through its draws at half the speed of ten shadows or more; its row is as long as it may need."""
    n_writers = workload.n_writers + 1
    shadows, writers = draw_records(workload, seed, n_draws)
    if workload.n_writers:
        writers = draw_records(workload._replace(n_shadows=0), seed, n_draws * max(1, workload.n_shadows // 10 + 1))[1]
    log, n_threads = draw_log_records(workload, seed, 16 + n_draws), workload.n_shadows + 2 * n_writers
    return Threads(
        n_done=np.zeros(workload.n_shadows + n_writers, np.int64), next_taker=np.full(workload.n_shadows, NOBODY),
        stage=np.zeros(n_threads, np.int64), began=np.zeros(n_threads, np.int64),
        was_in_core=np.zeros(workload.n_shadows, np.int64), handed_over=np.zeros(n_writers, np.int64),
        in_stretch=np.zeros(n_writers, np.int64), outstanding=np.zeros(n_writers, np.int64),
        completed=np.zeros(n_writers, np.int64), reaping=np.zeros(n_writers, np.int64), shadow_records=shadows,
        writer_records=writers, log_records=log)


def _new_tally(settings, workload, files, seed, n_draws):
    n_indirect = files.n_blocks - files.n_records
    n_reads = workload.n_shadows * n_draws
    seconds = -(-settings.duration_ns // 10**9)
    copy_read = (stream(seed, "copy read").random(n_indirect) < 0.5).astype(np.int64)
    return Tally(
        counts=np.zeros(len(oltp.COUNTS), np.int64), response_ns=empty(n_reads, np.int64),
        response_at=empty(n_reads, np.int64), under_way=np.zeros(accounts.N_ELEMENTS, np.int64),
        per_second=np.zeros((oltp.N_IN, seconds), np.int64), copy_read=copy_read,
        n_rewritten=np.zeros(n_indirect, np.int64), sync_began=np.zeros(1, np.int64),
        operations=np.zeros((len(oltp.OPERATIONS), oltp.N_OF_OPERATION), np.int64),
        wakes=np.zeros(workload.n_writers + 1, np.int64), earlier_wakes=np.zeros(workload.n_writers + 1, np.int64))


def check_space(space: Space, drive: Drive) -> None:
    """Raise ValueError with one sentence if the disks, unless their services are drawn, are too small."""
    if len(drive.drawn_ns) == 0:
        check_fits(space, drive.disk.layout.n_blocks << SECTOR_SHIFT)


def new_machine(site: Site, rules: Rules, settings: Settings, seed: int, room: Room, recorder: Recorder,
                core: Arc | None = None) -> tuple[Machine, Leaves]:
    """(Machine, Leaves), everything at rest at time 0, with the blocks of `core` in core."""
    workload, files = site.workload, site.files
    check_space(site.space, rules.disk)
    cache = arc_params(settings.memory_bytes)
    tasks = _new_tasks(workload)
    phase_ns = (stream(seed, "spindles").random(settings.n_leaves) * rules.disk.disk.rev_ns).astype(np.int64)
    leaves = new_leaves(settings.n_leaves, rules.cache, rules.queue, rules.disk, phase_ns, room.n_ios, len(tasks.rows),
                        recorder, rules.moves_whole_lines, site.vdev)
    space = site.space._replace(frontier=site.space.frontier.copy(), rotor=site.space.rotor.copy(),
                                given=site.space.given.copy())
    n_indirect = files.n_blocks - files.n_records
    n_nodes = max(room.n_nodes, n_indirect + SPARE_NODES if settings.warm_indirect else 0)
    n = settings.n_leaves
    n_writers = workload.n_writers + 1
    sources = Sources(sync=n, timer=n + 1, reclaim=n + 2, writers=n + 3, library=n + 3 + n_writers,
                      shadows=n + 3 + 2 * n_writers)
    return Machine(
        settings=settings, workload=workload, files=files, sizes=site.sizes, layout=site.layout, space=space,
        arc_params=cache,
        arc=new_arc(cache, files.n_blocks, min(n_nodes, files.n_blocks + SPARE_NODES)) if core is None
                   else copy_arc(core, files.n_blocks + SPARE_NODES),
        entry_of=leaves.queue.own[:, of_io.ENTRY], tasks=tasks, threads=_new_threads(workload, seed, room.n_draws),
        semaphores=new_semaphores(workload), txgs=new_txgs(n_indirect, room.n_entries),
        sync_free=np.zeros(n_threads(settings.issue, settings.n_cpus, is_compressed_record=False), np.int64),
        processors=new_processors(settings.n_cpus, workload.n_shadows + 2 * n_writers, n_writers),
        calendar=new_calendar(sources.shadows + workload.n_shadows), sources=sources,
        tally=_new_tally(settings, workload, files, seed, room.n_draws)), leaves


def check_settings(settings: Settings, site: Site) -> None:
    """Raise ValueError with one sentence unless there can be such a run."""
    bounds = {"n_leaves": (1, 2**14), "duration_ns": (1, 10**13), "txg_ns": (10**6, 10**13), "n_cpus": (1, MAX_CPUS),
              "sync_record_ns": (0, 10**9), "write_done_ns": (0, 10**9), "sync_indirect_ns": (0, 10**9),
              "read_issue_ns": (0, 10**9), "read_done_ns": (0, 10**9), "memory_bytes": (2**22, 2**50),
              "warm_indirect": (0, 1), "keeps_records": (0, 1)}
    for name, (low, high) in bounds.items():
        value = getattr(settings, name)
        if value != int(value) or not low <= value <= high:
            raise ValueError(f"{name} is {value}, but it must be a whole number from {low} to {high}; "
                             "choose one in that range")
    if settings.n_leaves != site.n_leaves:
        raise ValueError(f"n_leaves is {settings.n_leaves}, but the files were laid out on {site.n_leaves} disks; "
                         "choose that number or lay them out anew")

"""The OLTP workload of FileBench (oltp.f, 1.16): who reads and writes, and how semaphores tie them together.

    shadow     read a record; compute; post to the log writer; post to every database writer
    writer      write 100 records (asynchronously); compute; take 1000 posts; wait for half of the writes
    log writer  write 256 KiB (asynchronously); wait for half of the writes; take 3200 posts

All loop for ever. A thread reads or writes a file at a time, in turn, at a place drawn uniformly. The very last record of a
file never comes. So there are 100 x 10 writes for 1000 reads, whatever the machine does.

An asynchronous write is handed over to a thread of the library, which writes. (aio.c of 2008: the kernel's own asynchronous
I/O refuses files of ZFS.) Each writer is a process, and has one such thread here; the library has 4 to 256. Around each
operation FileBench reads the CPU times of its thread from /proc (flowop.c). One of the two readings falls into the time of
the operation, the other one into that of none.

A taker has two semaphores of its own: *posts* (starts at 0), and *room* (starts at its high water). A poster adds a
post and takes a room, in one step, and sleeps while there is no room. A taker first makes as much room as it wants
posts, then sleeps until there are as many posts. Sleeping posters go on in the order in which they came.

In FileBench: flowop_library.c; spec 9.2. Taker 0 is the log writer, 1 .. n the database writers.
"""

from typing import NamedTuple

import numpy as np

from model.events.queues import NOBODY
from model.events.streams import stream
from model.jit import kernel
from model.jit.lent_memory import empty

LOG_WRITER = 0
THOUSANDS_OF_HOG_NS = 20
WRITER_HOG_THOUSANDS = 10  # oltp.f 1.16
MAX_BURST = 128  # writes of a database writer: AIO_TASKS of `state` are twice as many


class Workload(NamedTuple):
    """The profile: sizes as the published run set them, everything else as in the script."""

    n_shadows: int = 200
    n_writers: int = 10
    n_files: int = 10
    file_bytes: int = 10 * 2**30  # B each
    log_bytes: int = 10 * 2**20
    record_bytes: int = 8192  # of the workload and of the dataset
    writes_per_burst: int = 100
    log_write_bytes: int = 2**18
    writer_posts: int = 1000  # taken at a time
    writer_high_water: int = 2000
    log_posts: int = 3200
    log_high_water: int = 1000
    # CPU times in ns; ranges for the machine of the document: data/priors.toml
    hog_thousands: int = 20  # thousand turns of a shadow; of a writer WRITER_HOG_THOUSANDS
    hog_ns: int = 39_000  # for 20 000 turns
    read_ns: int = 23_000  # to copy a record that is in core
    post_ns: int = 3_000  # to post to a taker: look up its semaphores, and change them
    wake_ns: int = 3_000  # of a taker that a post wakes
    proc_ns: int = 3_400  # to read the times of a thread from /proc
    handover_ns: int = 5_000  # to hand over an asynchronous write
    write_ns: int = 20_000  # of the thread that writes a record
    reap_ns: int = 700  # to reap a write that is completed


class Semaphores(NamedTuple):
    """Arrays per taker; posters that sleep are linked."""

    posts: np.ndarray
    room: np.ndarray
    wants: np.ndarray  # posts taken at a time
    asleep: np.ndarray  # 1: the taker waits for posts
    first: np.ndarray  # the poster that has slept longest, or NOBODY
    last: np.ndarray
    following: np.ndarray  # per poster: the poster that came to sleep next


@kernel
def hog_of_shadow_ns(workload):
    """CPU time of its hog, ns."""
    return workload.hog_ns * workload.hog_thousands // THOUSANDS_OF_HOG_NS


@kernel
def hog_of_writer_ns(workload):
    """Likewise, of a database writer."""
    return workload.hog_ns * WRITER_HOG_THOUSANDS // THOUSANDS_OF_HOG_NS


@kernel
def _count_post(semaphores, taker):
    """A post is made. True if the taker, asleep, has now got all that it wants."""
    semaphores.posts[taker] += 1
    semaphores.room[taker] -= 1
    if semaphores.asleep[taker] and semaphores.posts[taker] >= semaphores.wants[taker]:
        semaphores.posts[taker] -= semaphores.wants[taker]
        semaphores.asleep[taker] = 0
        return True
    return False


@kernel
def _sleep(semaphores, taker, poster):
    semaphores.following[poster] = NOBODY
    if semaphores.first[taker] == NOBODY:
        semaphores.first[taker] = poster
    else:
        semaphores.following[semaphores.last[taker]] = poster
    semaphores.last[taker] = poster


@kernel
def post(semaphores, taker, poster):
    """(whether it was possible, whether it wakes the taker). If not, the poster sleeps; its post is made when it wakes."""
    if semaphores.room[taker] < 1:
        _sleep(semaphores, taker, poster)
        return False, False
    return True, _count_post(semaphores, taker)


@kernel
def make_room(semaphores, taker):
    """First half of taking."""
    semaphores.room[taker] += semaphores.wants[taker]


@kernel
def wake_poster(semaphores, taker):
    """The next poster that now finds room, its post made; or NOBODY."""
    poster = semaphores.first[taker]
    if poster == NOBODY or semaphores.room[taker] < 1:
        return NOBODY
    semaphores.first[taker] = semaphores.following[poster]
    _count_post(semaphores, taker)
    return poster


@kernel
def take(semaphores, taker):
    """Second half of taking: True if the posts are there; otherwise the taker sleeps."""
    if semaphores.posts[taker] >= semaphores.wants[taker]:
        semaphores.posts[taker] -= semaphores.wants[taker]
        return True
    semaphores.asleep[taker] = 1
    return False


def new_semaphores(workload):
    """The semaphores as FileBench makes them: no posts yet, and nobody asleep."""
    n = workload.n_writers + 1
    room, wants = np.full(n, workload.writer_high_water), np.full(n, workload.writer_posts)
    room[LOG_WRITER], wants[LOG_WRITER] = workload.log_high_water, workload.log_posts
    return Semaphores(
        posts=np.zeros(n, np.int64), room=room, wants=wants, asleep=np.zeros(n, np.int64), first=np.full(n, NOBODY),
        last=np.full(n, NOBODY), following=np.full(workload.n_shadows, NOBODY))


def records_per_file(workload):
    """Of the data files, then of the log."""
    return [workload.file_bytes // workload.record_bytes] * workload.n_files + [
        workload.log_bytes // workload.record_bytes]


def draw_records(workload: Workload, seed: int, n_each: int) -> tuple[np.ndarray, np.ndarray]:
    """(of shadows, of writers): records to go to, int64[thread, n_each]; a longer row begins the same."""
    n_places = workload.file_bytes // workload.record_bytes - 1

    def rows(kind, n):
        records = empty((n, n_each), np.int64)
        for i in range(n):
            records[i] = stream(seed, f"{kind} {i}").random(n_each) * n_places
        return records
    return rows("shadow", workload.n_shadows), rows("writer", workload.n_writers)


def draw_log_records(workload: Workload, seed: int, n: int) -> np.ndarray:
    """Records at which the log writer's writes begin. The last place never comes, unless it is the only one."""
    per_write = workload.log_write_bytes // workload.record_bytes
    n_places = max(1, (workload.log_bytes - 1) // workload.log_write_bytes)
    return (stream(seed, "log writer").random(n) * n_places).astype(np.int64) * per_write


def check_workload(workload):
    """Raise ValueError with one sentence unless there can be such a run."""
    bounds = {"n_shadows": 0, "n_writers": 0} | dict.fromkeys((name for name in workload._fields if name.endswith("_ns")), 0)
    for name, value in workload._asdict().items():
        if value != int(value) or not bounds.get(name, 1) <= value <= 2**50:
            raise ValueError(f"{name} of the workload is {value}, but it must be a whole number from "
                             f"{bounds.get(name, 1)} to 2^50; choose one in that range")
    if workload.writes_per_burst > MAX_BURST:
        raise ValueError(f"writes_per_burst is {workload.writes_per_burst}, but a writer may have two bursts outstanding, "
                         f"and there is room for {2 * MAX_BURST} writes; choose {MAX_BURST} at most")
    if workload.record_bytes not in [512 << shift for shift in range(9)]:
        raise ValueError(f"record_bytes is {workload.record_bytes}, but a record is a power of two from 512 to 131072; "
                         "choose one of these")
    for name, min_bytes in (("file_bytes", 2 * workload.record_bytes), ("log_bytes", workload.log_write_bytes),
                            ("log_write_bytes", workload.record_bytes)):
        if getattr(workload, name) < min_bytes:
            raise ValueError(f"{name} is {getattr(workload, name)}, but must be {min_bytes} at least; make it larger")

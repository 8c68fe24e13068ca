"""UFS against its twin, the elevator against the list that it replaces, and defects that each must notice. Run without
the compiler: prints, for each defect, whether anything noticed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m laws.ufs
"""
import json

import numpy as np

from model.devices.command_queue import new_drives, place_in_list
from model.devices.data_sheet import SheetParams, new_drive
from model.events.calendar import NEVER, new_calendar, set_time
from model.events.streams import stream
from model.filesystems.calls import (
    CONTROL,
    EXTEND,
    FSYNC,
    READ,
    WAL_CREATE,
    WAL_SYNC,
    WAL_WRITE,
    WAL_WRITE_THROUGH,
    WRITE,
    ask,
    new_calls,
)
from model.filesystems.ufs import calls as ufs_calls
from model.filesystems.ufs import columns as ufs
from model.filesystems.ufs import page_cache
from model.filesystems.ufs import requests as ufs_requests
from model.filesystems.ufs import volume_columns as volume
from model.filesystems.ufs import volumes as ufs_volume
from model.filesystems.ufs.state import RETURN, UfsParams, new_ufs
from model.filesystems.ufs.volumes import Stripe
from model.structures.lru import unlink
from support.defects import with_columns
from twins.ufs import Twin

KIB = 1024
N_PROCESSES, INTERLACE, MEMBERS = 5, 16 * KIB, 3
SHEET = SheetParams(disk_bytes=10**9, n_zones=2, n_heads=2)
SIZES = [32 * 8 * KIB, 64 * 8 * KIB, 20 * 8 * KIB]
PARAMS = UfsParams(memory_bytes=40 * 8 * KIB, high_water=8 * 8 * KIB, low_water=3 * 8 * KIB, cluster_bytes=32 * KIB,
                   piece_bytes=64 * KIB, autoup_s=10**6, starts_full=1)
CASES = {"buffered": PARAMS, "throttled": PARAMS._replace(high_water=2 * 8 * KIB, low_water=8 * KIB),
         "direct": PARAMS._replace(log_directio=1, table_directio=1),
         "unthrottled, memory empty": PARAMS._replace(throttles=0, starts_full=0),
         "little memory": PARAMS._replace(throttles=0, memory_bytes=5 * 8 * KIB)}


def a_call(u):
    """(operation, file, offset, bytes), drawn by numbers in [0, 1)."""
    operation = (READ, READ, WRITE, WRITE, WRITE, WRITE, EXTEND, FSYNC, WAL_WRITE, WAL_WRITE, WAL_WRITE_THROUGH, WAL_SYNC,
                 WAL_CREATE, CONTROL)[int(u[0] * 14)]
    if operation in (WAL_WRITE, WAL_WRITE_THROUGH, WAL_CREATE, WAL_SYNC):
        first = int(u[1] * 28)
        n = 4 if operation == WAL_CREATE else 1 + int(u[2] * 3)
        return operation, 0, first * 8 * KIB, (0 if operation == WAL_SYNC else n * 8 * KIB)
    file = int(u[1] * 2)
    pages = SIZES[1 + file] // (8 * KIB)
    page = int(u[2] * pages) if u[3] < 0.5 else int(u[2] * 6)   # neighbours are likely
    return operation, file, page * 8 * KIB, 8 * KIB


def differences(s, seed, n_calls=120):
    """Calls that return at another time than the twin's, until the first one."""
    draws = stream(seed, "ufs twin")
    drawn = (1_000_000 + draws.integers(0, 10**6, 97)).astype(np.int64)
    drive = new_drive(SHEET._replace(depth=1, window=1, sorts=0), drawn)
    u = new_ufs(SIZES, [Stripe(drive, MEMBERS, INTERLACE)], [0, 0, 0, 0], N_PROCESSES, s, drive, [0] * MEMBERS, 4096, 30)
    set_time(u.volumes.calendar, u.volumes.n_disks, NEVER)     # fsflush has laws of its own
    twin, calls, calendar = Twin(SIZES, MEMBERS, INTERLACE, s, drawn.tolist()), new_calls(N_PROCESSES), new_calendar(8)
    begins = {p: int(draws.integers(1, 10**6)) for p in range(N_PROCESSES)}
    n = 0
    while n < n_calls:
        now, p = min((time, p) for p, time in begins.items()) if begins else (2**62, 0)
        own = min(int(ufs_calls.next_time(u)), twin.next_time())
        if now <= own:
            del begins[p]
            row = a_call(draws.random(4))
            ask(calls, p, *row)
            ufs_calls.take_calls(u, calls, calendar, now)
            ufs_calls.store_event(u, calendar, now)
            twin.begin(now, p, row)
        elif own == 2**62 or ufs_calls.next_time(u) != twin.next_time():
            return f"events at {ufs_calls.next_time(u)} and {twin.next_time()}"
        else:
            ufs_calls.store_event(u, calendar, own)
            twin.event()
        have = sorted((int(calendar.time[p]), p) for p in range(N_PROCESSES) if calendar.time[p] != NEVER)
        if have != sorted(twin.returned):
            return f"{have} and {twin.returned}"
        for time, p in have:
            n += 1
            set_time(calendar, p, NEVER)
            begins[p] = time + int(draws.integers(1, 3 * 10**6))
        twin.returned = []
    return served(u, twin)


def served(u, twin):
    """What the disks have done, as they were counted."""
    counted = u.volumes.per_second.sum(axis=(0, 2)).tolist()
    seen = [sum(n if kind == k else 0 for k, n in twin.served) if in_bytes else sum(k == kind for k, _ in twin.served)
            for kind in ("read", "write") for in_bytes in (False, True)]
    held = int(u.cache.held.sum()) == sum(twin.held.values())
    return "" if counted == seen and held else f"served {counted} and {seen}; held: {held}"


# --- the elevator ---------------------------------------------------------------------------------------------------------

def elevator_differs(sorts, seed, n=300):
    """Whether heaps and list ever give another command."""
    drive = new_drive(SHEET._replace(sorts=sorts))
    v = ufs_volume.new_volumes([Stripe(drive, 1)], drive, [0], n, 0)
    drives, draws = new_drives(drive, n, n, np.zeros(1, np.int64)), stream(seed, "elevator")
    line, waiting = drives.waiting, []
    for io in range(n):
        v.offset[io], v.io[io, volume.SEQUENCE] = draws.integers(0, 40), io
        ufs_volume.wait_in_driver(v, 0, io)
        place = place_in_list(drives, 0, io, v.offset) if sorts else len(waiting)
        waiting.insert(place, io)
        for _ in range(int(draws.integers(0, 3)) if waiting else 0):
            if ufs_volume.next_in_driver(v, 0) != (waiting.pop(0) if waiting else -1):
                return True
            line[0, :len(waiting)], drives.units[0, 1] = waiting, len(waiting)
        line[0, :len(waiting)], drives.units[0, 1] = waiting, len(waiting)
    return False


# --- fsflush --------------------------------------------------------------------------------------------------------------

def fsflush_misses():
    """Whether a page that was put off, and followed by nothing, is not on its way within `autoup`."""
    drive = new_drive(SHEET, [10**6])
    u = new_ufs(SIZES, [Stripe(drive, 1)], [0] * 4, 1, PARAMS._replace(autoup_s=7), drive, [0], 4096, 30)
    calls, calendar = new_calls(1), new_calendar(2)
    ask(calls, 0, WRITE, 0, 8 * KIB * 5, 8 * KIB)
    ufs_calls.take_calls(u, calls, calendar, 0)
    while ufs_calls.next_time(u) < 8 * 10**9:
        ufs_calls.store_event(u, calendar, int(ufs_calls.next_time(u)))
    return u.volumes.per_second[0, 2].sum() != 1


# --- defects --------------------------------------------------------------------------------------------------------------

def noticed():
    """The first law that does not hold, or nothing."""
    for name, s in CASES.items():
        for seed in range(3):
            if differences(s, seed):
                return name
    if any(elevator_differs(sorts, seed) for sorts in (0, 1) for seed in range(2)):
        return "elevator"
    return "fsflush" if fsflush_misses() else ""


def whole_write(u, process, file):
    ufs_calls.request(u, file, u.task[process, ufs.AT], u.task[process, ufs.LEFT], 1, process, 0)
    u.task[process, ufs.LEFT] = 0


def no_log(u, process, file):
    u.task[process, ufs.TODO] = RETURN
    ufs_calls.get_ready(u, process)


def careless(cache):
    page = cache.newer[0]
    unlink(cache, page)
    cache.in_core[page] = 0
    cache.n[0] -= 1
    return True


DEFECTS = {
    "none": (ufs_calls, "LOG", 0),
    "a run is not sent off when another begins": (ufs_requests, "send_off", lambda u, file: None),
    "fsync does not wait": (ufs_calls, "ufs", with_columns(ufs, SYNC_LEFT=ufs.UNDER_WAY_BYTES)),
    "synchronous writes are not cut into blocks": (ufs_calls, "_next_block", whole_write),
    "the inode is not logged": (ufs_calls, "_journal", no_log),
    "writers are never throttled": (ufs_calls, "ufs", with_columns(ufs, IS_THROTTLED=ufs.RUN_AT)),
    "a page that is on its way is given up": (page_cache, "_give_up_one", careless),
    "the second run is served first": (ufs_volume, "volume", with_columns(volume, NEXT_RUN=volume.RUN)),
    "fsflush does not look": (ufs_calls, "_look", lambda u, now: set_time(u.volumes.calendar, u.volumes.n_disks, NEVER)),
    "files are laid behind each other": (ufs_requests, "GROUP_SHARE", 1),
    "an interlace goes to the same member": (ufs_requests, "member_of", lambda v, stripe, at: (0, at, INTERLACE)),
    "reads always find their page": (ufs_calls, "is_in_core", lambda u, file, offset, n_bytes: True),
    "the page cache never forgets": (page_cache, "_give_up_one", lambda cache: True),
}


def main():
    noticed_as = {}
    for name, (module, attribute, defect) in DEFECTS.items():
        real = getattr(module, attribute)
        setattr(module, attribute, defect)
        try:
            noticed_as[name] = noticed()
        except (AssertionError, IndexError, ZeroDivisionError) as error:
            noticed_as[name] = type(error).__name__
        finally:
            setattr(module, attribute, real)
    print(json.dumps(noticed_as))


if __name__ == "__main__":
    main()

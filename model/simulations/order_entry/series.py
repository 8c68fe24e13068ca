"""Runs of the order entry, one after another: what is measured in each, and what happens to the pool in between.

    begin     a database is written into a pool, behind other data that stays
    settle    users work until the database writers write as much as is changed
    window    users work for a while, event by event; then, for as long again as is said, with everything counted
    rewrite   the pool ages by so many rewrites, with the disks and the clock left out

A run of half an hour rewrites a few per cent of the database, and the allocator comes a tenth of a metaslab further. So a
window of a few seconds in it sees the free space that the run has. What is left of the run is ageing, at the rates that the
window has measured. These are so many blocks a commit, so many records a transaction group, so much redo. That sampling
gives what simulating every second gives is tested (`tests/model/simulations/test_order_entry.py`).
"""

from typing import NamedTuple

import numpy as np

from model.devices import drive_columns as queued
from model.devices.command_queue import Drive
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.run import count_until, run
from model.simulations.order_entry.state import DOINGS, DONE, Machine, Orders, leaves_of, new_machine
from model.simulations.order_entry.txgs import Ageing
from model.simulations.order_entry.workload import draw_changes
from model.zfs.metaslab.state import Metaslabs
from model.zfs.space.long_free_runs import LONG, is_full
from model.zfs.space.status import FULL
from model.zfs.vdev.leaves import Leaves, busy_until
from model.zfs.vdev.queue import VdevQueueParams

BALANCED = 0.1  # writes and changes of a step are this close
LOAD_RECORDS = 2**13  # a transaction group, while the database is written
NOTHING = Ageing(
    records=np.zeros(0, np.int64), per_commit=1, per_txg=1, redo_bytes=0, per_redo=0, n_other=0,
    at=np.zeros(order.N_AT, np.int64))


class CannotRun(ValueError):
    """Some parameter asks for a run that cannot be."""


class PoolFull(CannotRun):
    """The pool is too small for what is on it and what is being rewritten."""


class Site(NamedTuple):
    """A machine, its disks and its free space."""

    machine: Machine
    leaves: Leaves
    space: Metaslabs
    now: np.ndarray  # one element: ns


class Window(NamedTuple):
    """What happened in `ns`."""

    ns: int
    tally: dict  # see order.TALLY
    doing_ns: dict  # see DOINGS: time of all users
    busy_ns: np.ndarray  # per disk
    served: np.ndarray  # per disk: units
    service_ns: np.ndarray  # per disk: of what was served, or is


def _run(site, until, ageing, ages):
    ended = run(site.machine, site.leaves, site.space, int(site.now[0]), int(until), ageing, ages)
    if ended != DONE and site.space.failure[0] == FULL:
        raise ValueError(_no_room(site.space))
    if ended != DONE:
        used, all_of_it = site.space.class_allocated[0], site.space.class_space[0]
        raise PoolFull(f"the pool fills up: {used} of {all_of_it} B are taken, and what is being rewritten finds no room; "
                       "choose a lower fill or more disks")


def _no_room(space):
    """What there is more of than the maps of free space have room for."""
    long = space.blocks.free.long if space.blocks is not None else None
    if long is not None and is_full(long):
        return (f"what is free lies in more than {long.first_end} places of {LONG} blocks and more, and there is no room "
                "for them; make the pool smaller")
    return "what is freed lies in more places than the maps have room for; make the pool with more segments"


def begin(orders: Orders, drive: Drive, queue: VdevQueueParams, space: Metaslabs, seed: int, n_other: int = 0) -> Site:
    """A Site whose database has just been written, behind `n_other` blocks of 128 KiB of other data."""
    site = Site(new_machine(orders, seed), leaves_of(orders, drive, queue, seed), space, np.zeros(1, np.int64))
    redo = -(-orders.n_redo_records * orders.redo_record_bytes // orders.n_records)
    load = Ageing(
        records=np.arange(orders.n_records), per_commit=orders.n_records + 1, per_txg=LOAD_RECORDS, redo_bytes=redo,
        per_redo=0, n_other=n_other, at=np.zeros(order.N_AT, np.int64))
    _run(site, 0, load, 1)
    return site


def restart(site: Site, orders: Orders, drive: Drive, queue: VdevQueueParams, seed: int) -> Site:
    """The same database and pool with other users. The transaction groups of those before are written first, with the disks
    and the clock left out. Of what one had under way the new machine knows nothing, so that it would never end."""
    _run(site, 0, NOTHING, 1)
    return Site(new_machine(orders, seed, site.machine), leaves_of(orders, drive, queue, seed), site.space,
                np.zeros(1, np.int64))


def _counters(site):
    """Everything that is counted, up to now."""
    now, units = site.now[0], site.leaves.drives.units
    count_until(site.machine, int(now))
    return {"tally": site.machine.tally.copy(), "doing_ns": site.machine.doing_ns.copy(),
            "busy_ns": busy_until(site.leaves.drives, now), "served": units[:, queued.N_SERVED].copy(),
            "service_ns": units[:, queued.SERVICE_NS].copy()}


def window(site: Site, warm_ns: int, ns: int) -> Window:
    """What happens in `ns` after another `warm_ns`."""
    counted = []
    for length in (warm_ns, ns):
        _run(site, site.now[0] + length, NOTHING, 0)
        site.now[0] += length
        counted.append(_counters(site))
    before, after = counted
    seen = {name: after[name] - before[name] for name in after}
    tally = dict(zip(order.TALLY, seen.pop("tally").tolist(), strict=True))
    doing_ns = dict(zip(DOINGS, seen.pop("doing_ns").tolist(), strict=True))
    return Window(ns=int(ns), tally=tally, doing_ns=doing_ns, **seen)


def settle(site: Site, step_ns: int, max_steps: int, by_stock: bool = False) -> bool:
    """Users work, step by step, until what is written in a step is what is changed in it, to a tenth. At first changed
    blocks gather, and all goes faster than it can for long. At most so many steps; whether they were enough.

    `by_stock`: until dirty blocks neither gather nor go, by more than a tenth of what is written in the step. A block that
    is changed again while it is dirty is written once. Where much is dirty, such changes alone are more than a tenth."""
    held = site.machine.counts
    for _ in range(max_steps):
        before = held[order.N_HELD]
        seen = window(site, 0, step_ns).tally
        apart, of = ((held[order.N_HELD] - before, seen["writes"]) if by_stock else
                     (seen["dirtyings"] - seen["writes"], seen["dirtyings"]))
        if seen["writes"] > 0 and abs(apart) <= BALANCED * of:
            return True
    return False


def redo_of_a_record(orders: Orders, seen: dict, per_redo: int) -> int:
    """B of redo for each record that is rewritten, by the tally `seen`. A write of redo, of `per_redo` records, is no larger
    than `state.log_blocks_of` has room for."""
    measured = round(seen["log_bytes"] / max(1, seen["writes"]))
    return min(measured, 2 * orders.n_users * orders.redo_bytes // max(1, per_redo))


def rewrite(site: Site, n: int, measured: Window, seed: int, name: str) -> None:
    """Rewrite `n` records, at the rates that the window `measured` has measured. CannotRun if nothing was written in it."""
    seen, orders = measured.tally, site.machine.orders
    writes = max(1, seen["writes"])
    if n > 0 and seen["writes"] == 0:
        raise CannotRun(f"nothing was written in a window of {measured.ns / 1e9:g} s, so that how a pool ages is not known; "
                        "measure longer, or let less be dirty")
    per_commit = max(1, round(seen["blocks_committed"] / max(1, seen["commits"])))
    per_txg = max(1, round(writes / seen["txgs"] if seen["txgs"] else writes * orders.txg.timeout_ns / measured.ns))
    per_redo = 0 if orders.has_slog else max(1, round(writes / max(1, seen["log_writes"])))
    records = draw_changes(orders, max(0, n), seed, name)
    redo = redo_of_a_record(orders, seen, per_redo)
    _run(site, 0, Ageing(
        records=records, per_commit=per_commit, per_txg=per_txg, redo_bytes=redo, per_redo=per_redo, n_other=0,
        at=np.zeros(order.N_AT, np.int64)), 1)

"""Whether records go into the free segments of a pool that a scenario says is filled.

    room_for_records.refuse_too_few(machine)

A run ends where a block finds no free segment that holds it: ZFS would cut it up into gang blocks, which are not simulated.
Where segments hold fewer records than `LEAST`, that is sure before the run. Each transaction group of a run writes more.
Where they hold more it may still come, and the run says so.
"""
from model.zfs import eras
from model.zfs.vdev import raid
from study.errors import UserError
from study.machines import pool_fill
from study.machines.scenario import Scenario
from study.machines.storage import Pool

LEAST = 100             # records that free segments hold
SEED = 1                # of the free space that is looked at; a run has others


def refuse_too_few(machine: Scenario) -> None:
    """UserError, one sentence, if the free segments of a pool hold fewer records than any run writes."""
    if machine.files.kind == "ufs" or getattr(machine.database, "only_reads", False):
        return
    files = machine.zfs
    of_log = files.log_record_kib or files.record_kib
    for name, pool, kib in (("pool", machine.pool, files.record_kib), ("log_pool", machine.log_pool, of_log)):
        if pool is not None and pool.fill:
            needed = _asize(pool, round(1024 * kib / files.compress_ratio))
            n = _n_held(pool, eras.era(files.era), needed)
            if n < LEAST:
                raise UserError(f"{name}: with fill = {pool.fill:g} and fragmentation = {pool.fragmentation:g} free "
                                f"segments hold {n} records of {needed / 1024:g} KiB, too few for a run; choose less, or "
                                "smaller records")


def _asize(pool: Pool, n_bytes: int) -> int:
    """B that a block takes of a data vdev."""
    data = pool.data
    vdev = raid.vdev_params("single" if data.layout == "stripe" else data.layout, data.group, data.ashift)
    return int(raid.asize(vdev, n_bytes))


def _n_held(pool: Pool, build: eras.Era, n_bytes: int) -> int:
    """Blocks of `n_bytes` that free segments hold, counted up to `LEAST`."""
    made, n = pool_fill.made(pool, build), 0
    for vdev in range(pool.data.n_vdevs):
        for metaslab in made.numbers:
            starts, ends = pool_fill.free_of(made.slab, SEED, vdev, metaslab).T
            n += int(((ends - starts) // n_bytes).sum())
            if n >= LEAST:
                return n
    return n

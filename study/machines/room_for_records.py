"""Whether a record goes into a free segment of a pool that a scenario says is filled.

    room_for_records.refuse_none(machine)

A run ends where a block finds no free segment that holds it: ZFS would cut it up into gang blocks, which are not simulated.
Where no segment is long enough, that is sure before the run.
"""
from model.zfs import eras
from model.zfs.vdev import raid
from study.errors import UserError
from study.machines import pool_fill
from study.machines.scenario import Scenario
from study.machines.storage import Pool

SEED = 1                # of the free space that is looked at; a run has others


def refuse_none(machine: Scenario) -> None:
    """UserError, one sentence, if the longest free segment of a pool is shorter than a record is there."""
    if machine.files.kind == "ufs" or getattr(machine.database, "only_reads", False):
        return
    files = machine.zfs
    of_log = files.log_record_kib or files.record_kib
    for name, pool, kib in (("pool", machine.pool, files.record_kib), ("log_pool", machine.log_pool, of_log)):
        if pool is not None and pool.fill:
            needed = _asize(pool, round(1024 * kib / files.compress_ratio))
            longest = _longest(pool, eras.era(files.era), needed)
            if longest < needed:
                raise UserError(f"{name}: with fill = {pool.fill:g} and fragmentation = {pool.fragmentation:g} free "
                                f"segments have {longest / 1024:g} KiB at most, but records take {needed / 1024:g}; choose "
                                "less, or smaller records")


def _asize(pool: Pool, n_bytes: int) -> int:
    """B that a block takes of a data vdev."""
    data = pool.data
    vdev = raid.vdev_params("single" if data.layout == "stripe" else data.layout, data.group, data.ashift)
    return int(raid.asize(vdev, n_bytes))


def _longest(pool: Pool, build: eras.Era, enough: int) -> int:
    """B of the longest free segment, or of the first that has `enough`."""
    made, longest = pool_fill.made(pool, build), 0
    for vdev in range(pool.data.n_vdevs):
        for metaslab in made.numbers:
            starts, ends = pool_fill.free_of(made.slab, SEED, vdev, metaslab).T
            longest = max(longest, int((ends - starts).max(initial=0)))
            if longest >= enough:
                return longest
    return longest

"""Whether records go into the free segments of a pool that a scenario says is filled.

    room_for_records.refuse_too_few(machine)

A run ends where a block finds no free segment that holds it: ZFS would cut it up into gang blocks, which are not simulated.
Where no segment holds a record, that is sure before the run: its first record finds none (`places.n_gangs`, by which
`model.filesystems.zfs.store.check_end` refuses a run). Where segments hold a few it may still come, and the run says so.
"""
from model.zfs import eras
from model.zfs.vdev import raid
from study.errors import UserError
from study.machines import pool_fill
from study.machines.scenario import Scenario
from study.machines.storage import Pool

SEED = 1                # of the first run, whose free space is looked at; each further pool of it has the next


def refuse_too_few(machine: Scenario) -> None:
    """UserError, one sentence, if no free segment of a pool holds a record, so that none can be written."""
    if machine.files.kind == "ufs" or getattr(machine.database, "only_reads", False):
        return
    files = machine.zfs
    of_log = files.log_record_kib or files.record_kib
    pools = (("pool", machine.pool, files.record_kib), ("log_pool", machine.log_pool, of_log))
    for seed, (name, pool, kib) in enumerate(pools, SEED):
        if pool is not None and pool.fill:
            needed = _asize(pool, round(1024 * kib / files.compress_ratio))
            longest = _longest(pool, eras.era(files.era), seed, needed)
            if longest < needed:
                raise UserError(f"{name}: with fill = {pool.fill:g} and fragmentation = {pool.fragmentation:g} the longest "
                                f"free segment has {longest / 1024:g} KiB, but a record takes {needed / 1024:g} KiB; choose "
                                "less, or smaller records")


def _asize(pool: Pool, n_bytes: int) -> int:
    """B that a block takes of a data vdev."""
    data = pool.data
    vdev = raid.vdev_params("single" if data.layout == "stripe" else data.layout, data.group, data.ashift)
    return int(raid.asize(vdev, n_bytes))


def _longest(pool: Pool, build: eras.Era, seed: int, enough: int) -> int:
    """B of the longest free segment, or of one that has `enough`."""
    made, longest = pool_fill.made(pool, build), 0
    for vdev in range(pool.data.n_vdevs):
        for metaslab in made.numbers:
            starts, ends = pool_fill.free_of(made.slab, seed, vdev, metaslab).T
            longest = max(longest, int((ends - starts).max(initial=0)))
            if longest >= enough:
                return longest
    return longest

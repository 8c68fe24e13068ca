"""A small run of PostgreSQL in a pool that is filled, and where its blocks lie in the end; without the compiler."""
import json

import numpy as np

from model.databases.postgres.toolkit import kinds_of_files
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import stats as stat
from model.simulations.database_server import n_processes_of, postgres_files, simulate_postgres
from model.zfs.vdev.places import FRONT_BYTES, OFFSET_MASK
from study.machines import pool_fill, scenario, servers
from study.machines import simulate as machines

N, SEED = 40, 1
MACHINE = scenario.of({
    "host": {"memory_gib": 1}, "files": {"era": "b141", "record_kib": 8, "groups_to_scale": 300},
    "pool": {"data": {"sheet": "savvio-10k2", "use_gib": 1}, "fill": 0.8, "fragmentation": 30},
    "database": {"kind": "postgres", "scale": 1, "clients": 4, "transactions": N, "conf": {
        "shared_buffers": "4MB", "checkpoint_segments": 3, "wal_buffers": "1MB"}}})


def free_segments(values):
    """[start, end) of what is free of the only vdev at the beginning."""
    made = pool_fill.made(MACHINE.pool, machines.build(MACHINE, values))
    size = made.slab.size_bytes
    return np.concatenate([m * size + pool_fill.free_of(made.slab, SEED, 0, m) for m in made.numbers])


def run():
    values = machines.known([MACHINE]).central()
    database, settings = servers.postgres_database(MACHINE, values, N), servers.postgres_settings(MACHINE, values, N)
    files = postgres_files(database, settings)
    files[0, :2] = np.minimum(files[0, :2], machines.max_log(N))
    place = machines.store(MACHINE, values, files, n_processes_of(settings), SEED, 0, kinds_of_files(database))
    before = int(place.zfs.data.places.space.class_allocated[0])
    simulate_postgres(database, settings, place, SEED)
    return place.zfs.data, before, free_segments(values)


def live(zfs):
    """[start, end) of all that the run has written and not replaced, in order: records, and both copies of the others."""
    new = np.flatnonzero(zfs.places.is_new)
    records, above = new[new < zfs.files.n_records], new[new >= zfs.files.n_records] - zfs.files.n_records
    psizes = zfs.of_file[np.searchsorted(zfs.files.base[:, 0], records, side="right") - 1, fs.PSIZE]
    starts = np.concatenate([zfs.layout.place[new], zfs.layout.second[above]])
    lengths = np.concatenate([psizes, zfs.layout.n_bytes[above], zfs.layout.n_bytes[above]])
    starts = (starts & OFFSET_MASK) - FRONT_BYTES
    order = np.argsort(starts)
    return np.stack([starts[order], (starts + lengths)[order]], axis=1)


def main():
    zfs, before, free = run()
    rows = live(zfs)
    within = np.searchsorted(free[:, 0], rows[:, 0], side="right") - 1
    space = zfs.places.space
    print(json.dumps({
        "n": len(rows), "groups": int(zfs.tally.counts[stat.TXGS]), "overlaps": int((rows[1:, 0] < rows[:-1, 1]).sum()),
        "outside": int((rows[:, 1] > free[within, 1]).sum()), "live_bytes": int((rows[:, 1] - rows[:, 0]).sum()),
        "more_bytes": int(space.class_allocated[0]) - before,
        "written_bytes": int(zfs.tally.devices[0, stat.DEVICE_WRITTEN_BYTES])}))


if __name__ == "__main__":
    main()

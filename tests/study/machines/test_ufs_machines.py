"""From a scenario to UFS: what lies on which volume, and how much memory caches files."""
import numpy as np
import pytest

from model.databases.postgres.toolkit import kinds_of_files
from model.filesystems.ufs import columns as ufs
from model.filesystems.ufs import volume_columns as volume
from model.simulations.database_server import postgres_files
from study.experiments.postgres_2008 import setups as checkpoints
from study.machines import scenario
from study.machines import simulate as machines
from study.machines.servers import postgres_database, postgres_settings

VALUES = checkpoints.known().central()


def placed(name, scale=64, more=None, **changes):
    """(the store's part, kinds of the tables' files)"""
    machine, values = checkpoints.of_test(name, VALUES, scale), checkpoints.scaled_values(VALUES, scale) | (more or {})
    machine = scenario.changed(machine, changes)
    database = postgres_database(machine, values, 1000)
    files = postgres_files(database, postgres_settings(machine, values, 1000))
    return machines.store(machine, values, files, 131, 1, 0, kinds_of_files(database)).ufs, kinds_of_files(database)


def test_all_on_one():
    u, _ = placed("ufs-nine-disks")
    assert set(u.file[:, ufs.STRIPE]) == {0}
    assert u.volumes.n_disks == 9
    assert u.s.log_directio == u.s.table_directio == 1


def test_the_log_on_disks_of_its_own():
    u, _ = placed("ufs-data-five-disks")
    assert u.volumes.stripe[:, volume.MEMBERS].tolist() == [5, 4]
    assert u.file[:, ufs.STRIPE].tolist() == [1, *[0] * (len(u.file) - 1)]


def test_seven_arrays_hold_log_tables_indexes_and_the_rest():
    u, kinds = placed("seven-arrays")
    assert u.volumes.stripe[:, volume.MEMBERS].tolist() == [1, 1, 1, 4]
    assert u.file[:, ufs.STRIPE].tolist() == [3, *kinds, 2]
    kinds_of_arrays = u.volumes.array_kind
    small, large = (u.volumes.arrays[kind].buffer_bytes for kind in (kinds_of_arrays[-1], kinds_of_arrays[0]))
    assert large == 4 * small


def test_memory_for_files_is_what_buffers_and_processes_leave():
    u, _ = placed("ufs-900s", scale=64)
    assert u.s.memory_bytes == pytest.approx((48 - 16 - VALUES["other_gib"]) / 64 * 2**30, rel=0.1)
    assert int(u.cache.n[0]) == min(u.cache.capacity, int(np.count_nonzero(u.cache.in_core[1:])))
    assert u.cache.n[0] > 0


@pytest.mark.parametrize(("changes", "drawn", "buffers"), [
    ({}, 0, 0), ({}, 1, 1), ({"pool.data.write_cache": True}, 0, 1), ({"pool.data.write_cache": False}, 1, 0),
    ({"pool.data.battery": True}, 0, 1)])
def test_a_disk_buffers_writes_as_the_scenario_says_or_else_as_drawn(changes, drawn, buffers):
    u, _ = placed("ufs-nine-disks", more={"ufs_write_cache": drawn}, **changes)
    assert u.volumes.drive.disk.buffers_writes == buffers

"""Pools that a scenario says are filled: free space is as described, and what a run writes goes there and nowhere else."""
import json

import numpy as np
import pytest

from model.zfs import eras
from model.zfs.ageing.described import n_units
from model.zfs.metaslab.metaslab_class import NO_HINT, allocate
from model.zfs.metaslab.sync import sync_txg
from model.zfs.space.status import OK
from study.errors import UserError
from study.machines import pool_fill, room_for_records, scenario
from study.machines.storage import Pool
from study.pools import described_space
from support.processes import interpreted

pytestmark = pytest.mark.interpreted

B141, OPENZFS = eras.era("b141"), eras.era("openzfs")
RECORD, GROUP, SEEDS = 8192, 2000, (1, 2)


def pool(fill, fragmentation, **data):
    return Pool.model_validate({"data": {"sheet": "savvio-10k2", "use_gib": 16} | data, "fill": fill,
                                "fragmentation": fragmentation})


def ios_of_a_group(fragmentation, seed):
    """I/Os of records that are written together, if they all wait."""
    space = pool_fill.of_pool(pool(0.8, fragmentation), B141, seed)
    places = []
    for _ in range(GROUP):
        assert allocate(space, 1, RECORD, 1, NO_HINT) == OK
        places.append((int(space.dva_vdev[0]), int(space.dva_offset[0])))
    assert sync_txg(space, 1) == OK
    vdevs, offsets = np.array(places).T
    return n_units(vdevs, offsets, RECORD, 2**17)


@pytest.mark.slow
def test_a_pool_without_fill_has_no_space_of_its_own():
    assert pool_fill.of_pool(pool(0, None), B141, 1) is None
    assert pool_fill.of_pool(None, B141, 1) is None


@pytest.mark.slow
def test_more_fragmentation_never_makes_fewer_ios():
    ios = [sum(ios_of_a_group(percent, seed) for seed in SEEDS) for percent in (0, 25, 75)]
    assert ios == sorted(ios)
    assert ios[-1] > 1.5 * ios[0]


@pytest.mark.slow
@pytest.mark.parametrize(("fill", "percent", "ashift"), [(0.5, 10, 9), (0.8, 40, 9), (0.8, 40, 12), (0.9, 75, 12)])
def test_free_space_has_the_fill_and_the_fragmentation_that_were_asked_for(fill, percent, ashift):
    made = pool_fill.made(pool(fill, percent, ashift=ashift), B141)
    free = np.concatenate([np.diff(pool_fill.free_of(made.slab, 1, 0, m)).ravel() for m in made.numbers])
    assert free.sum() / len(made.numbers) / made.slab.size_bytes == pytest.approx(1 - fill, abs=0.02)
    assert described_space.fragmentation(free) == pytest.approx(percent, abs=3)
    assert not (free % 2**ashift).any()


def test_large_pools_are_made_in_part_and_that_is_said():
    small, large = pool(0.8, 40), pool(0.5, 80, count=40, layout="raidz2", width=10, use_gib=60)
    assert "taken as full" not in pool_fill.note("pool", small, B141)
    made = pool_fill.made(large, B141)
    n_segments = large.data.n_vdevs * len(made.numbers) * described_space.n_segments(made.slab, 0)
    assert n_segments <= pool_fill.MAX_SEGMENTS
    assert f"in {len(made.numbers)} of the {made.n_metaslabs} metaslabs of each vdev" in pool_fill.note("pool", large, B141)
    assert "taken as full" in pool_fill.note("pool", large, B141)


def test_the_metaslab_that_is_set_aside_for_log_blocks_is_none_of_them():
    large = pool(0.8, 40, use_gib=60)
    assert pool_fill.made(large, B141).numbers[0] == 0
    assert pool_fill.made(large, OPENZFS).numbers[0] == 1


@pytest.mark.slow
def test_a_run_writes_to_what_was_free_and_never_over_itself():
    printed = json.loads(interpreted("drivers.filled_pool"))
    assert printed["n"] > 50
    assert printed["groups"] > 5
    assert printed["overlaps"] == printed["outside"] == 0
    assert printed["live_bytes"] <= printed["more_bytes"] < printed["written_bytes"]


def filled(fill, fragmentation, **files):
    return scenario.of({"pool": {"data": {"sheet": "savvio-10k2", "use_gib": 16, "ashift": 12}, "fill": fill,
                                 "fragmentation": fragmentation},
                        "files": {"era": "b141"} | files, "database": {"kind": "postgres", "scale": 10}})


@pytest.mark.parametrize(("fill", "fragmentation", "record_kib"), [(0.99, 95, 16), (0.99, 95, 128), (0.9, 90, 128)])
def test_records_that_free_segments_have_no_room_for_are_refused_before_a_run(fill, fragmentation, record_kib):
    machine = filled(fill, fragmentation, record_kib=record_kib)
    made = pool_fill.made(machine.pool, B141)
    longest = max(np.diff(pool_fill.free_of(made.slab, 1, 0, m)).max() for m in made.numbers)
    message = f"pool: with fill = {fill:g} .* has {longest / 1024:g} KiB, but a record takes {record_kib} KiB"
    with pytest.raises(UserError, match=message):
        room_for_records.refuse_too_few(machine)


@pytest.mark.parametrize(("fill", "fragmentation", "files"), [
    (0.8, 40, {"record_kib": 128}), (0.99, 95, {"record_kib": 4}), (0.99, 95, {"record_kib": 16, "compress_ratio": 4.0}),
    (0.99, 95, {"record_kib": 8})])     # a single one of which goes into the free segments
def test_records_that_free_segments_have_room_for_are_not_refused(fill, fragmentation, files):
    room_for_records.refuse_too_few(filled(fill, fragmentation, **files))

"""Ageing of pools: laws, in a process without the compiler; bad input."""

from types import SimpleNamespace

import numpy as np
import pytest

from laws.aged_pool import LAWS
from model.zfs.ageing.aged_pool import new_file
from model.zfs.eras import ERAS
from model.zfs.metaslab.new_pool import UNIT_BYTES, disk_asize, metaslab_shift, new_pool
from model.zfs.metaslab.state import TopVdev
from model.zfs.space.bitmaps import MAX_BLOCKS
from study.pools.age_recipe import MAX_DISK_GB, rows
from support.processes import interpreted


@pytest.mark.slow
def test_laws_of_ageing():
    """All hold, and a deliberate defect is noticed."""
    assert interpreted("laws.aged_pool").splitlines() == [*(law.__name__ for law in LAWS), "a defect is noticed"]


@pytest.mark.parametrize(("file", "named"), [((0, 4096, 10), "0 records"), ((10, 4000, 10), "4000"),
                                             ((10, 4096, 0), "writes 0"), ((5000, 4096, 10), "5000 records of 4096 B")])
def test_impossible_files_are_refused(file, named):
    pool = new_pool([TopVdev(asize=2**24)], ERAS["b103"].metaslab, metaslab_bytes=2**20, max_segments=100)
    with pytest.raises(ValueError, match=named):
        new_file(pool, *file)


def test_an_unknown_era_is_one_sentence(study):
    done = study("age", "--era", "b99")
    assert done.returncode == 2
    assert "era is 'b99'" in done.stderr


@pytest.mark.parametrize("gigabytes", ["13001", "1e12"])
def test_disks_with_metaslabs_too_large_for_the_engine_are_refused(study, gigabytes):
    done = study("age", "--disk-gb", gigabytes, "--records", "1000")
    assert done.returncode == 2
    assert "13000" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("n_txgs", "parts"), [(1, 1), (4, 4), (10, 10), (25, 10)])
def test_parts_of_the_rewriting_are_all_of_it(n_txgs, parts):
    seen = SimpleNamespace(fill_contiguity=np.ones(1), contiguity=np.arange(n_txgs, dtype=float))
    names, values = zip(*list(rows(seen, 3.0))[1:], strict=True)
    assert len(names) == parts
    assert (names[0].split()[1], names[-1].split()[-2]) == ("0.0", "3.0")
    assert list(values) == sorted(set(values))


def test_the_largest_disk_has_metaslabs_that_the_engine_can_map():
    bytes_of_largest = 2**metaslab_shift(disk_asize(MAX_DISK_GB * 10**9))
    assert bytes_of_largest // UNIT_BYTES <= MAX_BLOCKS

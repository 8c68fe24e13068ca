"""Ageing of pools: laws, in a process without the compiler; bad input."""

import os
import subprocess
import sys

import pytest
from aged_pool_laws import LAWS

from model.aged_pool import new_file
from model.eras import ERAS
from model.metaslab import TopVdev, new_pool


def test_laws_of_ageing():
    """All hold, and a deliberate defect is noticed."""
    here = os.path.dirname(__file__)
    done = subprocess.run([sys.executable, os.path.join(here, "aged_pool_laws.py")], capture_output=True, text=True,
                          cwd=os.path.dirname(here),
                          env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.path.dirname(here)})
    assert done.stdout.splitlines() == [*(law.__name__ for law in LAWS), "a defect is noticed"], done.stderr


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

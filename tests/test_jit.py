"""Compiled code is kept where it can never be stale, and decides what interpreted code does."""

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from model import jit


def test_the_digest_changes_with_every_source_and_setting(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("one")
    digests = [jit.sources_digest(tmp_path)]
    for change in (lambda: (tmp_path / "a.py").write_text("two"),
                   lambda: (tmp_path / "b.py").write_text(""),
                   lambda: (tmp_path / "b.py").rename(tmp_path / "c.py"),
                   lambda: monkeypatch.setattr(jit.numba.config, "BOUNDSCHECK", 1)):
        change()
        digests.append(jit.sources_digest(tmp_path))
    assert len(set(digests)) == len(digests)
    (tmp_path / "notes.txt").write_text("not a source")
    assert jit.sources_digest(tmp_path) == digests[-1]


def cache_folder_of_a_new_process(**settings):
    done = subprocess.run([sys.executable, "-c", "from model import jit; print(jit.CACHE_FOLDER)"], check=True,
                          env={**os.environ, **settings}, capture_output=True, text=True)
    return done.stdout.strip()


def test_numba_cache_dir_is_honoured_and_what_cannot_be_written_is_not_used(tmp_path):
    chosen = tmp_path / "chosen"
    assert cache_folder_of_a_new_process(NUMBA_CACHE_DIR=str(chosen)).startswith(f"{chosen}{os.sep}")
    (tmp_path / "file").write_text("")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    instead = cache_folder_of_a_new_process(NUMBA_CACHE_DIR=str(tmp_path / "file" / "below"), TMPDIR=str(temporary))
    assert instead.startswith(f"{temporary}{os.sep}")


@pytest.mark.skipif(os.name == "nt", reason="owners and modes are those of POSIX")
def test_a_temporary_folder_that_others_can_write_to_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(jit.tempfile, "tempdir", str(tmp_path))
    mine = jit.temporary_folder()
    assert jit.temporary_folder() == mine
    mine.chmod(0o777)
    assert jit.temporary_folder() != mine


def test_old_folders_are_forgotten_and_young_ones_and_those_of_others_are_not(tmp_path):
    def folder(name, days):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1e9 - 86400 * days,) * 2)
        return tmp_path / name

    old = [folder(f"{i:020x}", days=1000 + i) for i in range(jit.KEPT_FOLDERS + 2)]
    other = folder("not-a-digest-of-mine", days=5000)
    present = folder("f" * 20, days=0)
    jit.forget_old_folders(present)
    assert [f.exists() for f in old] == [True] * jit.KEPT_FOLDERS + [False] * 2
    assert other.exists()
    assert present.exists()


# ---- the same without the compiler, and with every index checked ----

SHORT_RUN = """
import numba
from twins import random_requests
from model import vdev_cache_trace
from model.lru import misses, new_lru
from model.streams import stream
from model.vdev_cache import VdevCacheParams
from model.workloads import RecordReads, random_record_reads
import numpy as np
digest = []
for rule in range(3):
    rows = np.array(random_requests(stream(7, "requests"), 700, flagged=False)).T
    params = VdevCacheParams(cache_bytes=2**20, fill_rule=rule)
    decisions, cache = vdev_cache_trace.drive(params, vdev_cache_trace.operations(*rows), 3)
    digest += [int((column * np.arange(1, 701)).sum()) for column in decisions]
digest.append(misses(new_lru(50), stream(7, "blocks").integers(0, 100, 2000)))
uniform = stream(7, "reads").random((2, 300))
digest += [int(column.sum()) for column in random_record_reads(RecordReads(n_records=9999), *uniform)]
print(digest)
"""


@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_interpreted_and_bounds_checked_code_decides_the_same(setting):
    here = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    plain, other = (subprocess.run([sys.executable, "-c", SHORT_RUN], env=env, capture_output=True, text=True, check=True)
                    for env in (here, {**here, setting: "1"}))
    assert plain.stdout == other.stdout != ""


# ---- fields that are looked up once ----


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


@jit.part
def _swapped(pair):
    return Pair(pair.second, pair.first)


@jit.kernel
def _in_turn(pair, n):
    """Names that stay what they are, and names that do not: arguments and fields among both."""
    one, other, total = pair.first, pair.second, 0
    while n > 0:
        total = 10 * total + one[0] + _swapped(pair).second[0]
        one, other = other, one
        if n == 2:
            pair = _swapped(pair)
        pair.first[0] += 1
        n -= 1
    return total


@jit.kernel
def _through_another_kernel(pair, n):
    return _in_turn(pair, n)


def test_what_is_looked_up_once_is_only_what_cannot_change():
    def pair():
        return Pair(np.array([1]), np.array([3]))

    expected = 0
    values, one, first = [1, 3], 0, 0
    for left in range(5, 0, -1):
        expected = 10 * expected + values[one] + values[first]
        one = 1 - one
        first = 1 - first if left == 2 else first
        values[first] += 1
    assert _in_turn(pair(), 5) == expected
    assert _through_another_kernel(pair(), 5) == expected

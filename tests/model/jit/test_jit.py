"""Compiled code is kept where it can never be stale, and decides what interpreted code does."""

import contextlib
import gc
import json
import os
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.np import arrayobj

from model.jit import by_reference, compile_lock, compiled_code, decorators
from support import checked_arrays
from support.processes import UNCOMPILED, interpreted, printed, prints_the_same


def test_the_digest_changes_with_every_setting(monkeypatch):
    before = compiled_code.code_digest("model.structures.lru")
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert compiled_code.code_digest("model.structures.lru") != before


def cache_folder_of_a_new_process(**settings):
    return printed(["-c", "from model.jit.compiled_code import CACHE_FOLDER; print(CACHE_FOLDER)"], **settings).strip()


@pytest.mark.slow
def test_numba_cache_dir_is_honoured_and_what_cannot_be_written_is_not_used(tmp_path):
    chosen = tmp_path / "chosen"
    assert cache_folder_of_a_new_process(NUMBA_CACHE_DIR=str(chosen)) == str(chosen)
    (tmp_path / "file").write_text("")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    instead = cache_folder_of_a_new_process(NUMBA_CACHE_DIR=str(tmp_path / "file" / "below"), TMPDIR=str(temporary))
    assert instead.startswith(f"{temporary}{os.sep}")


@pytest.mark.skipif(os.name == "nt", reason="owners and modes are those of POSIX")
def test_a_temporary_folder_that_others_can_write_to_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled_code.tempfile, "tempdir", str(tmp_path))
    mine = compiled_code.temporary_folder()
    assert compiled_code.temporary_folder() == mine
    mine.chmod(0o777)
    assert compiled_code.temporary_folder() != mine


# ---- the same without the compiler, and with every index checked ----

SHORT_RUN = """
import numba
from twins.vdev_cache import random_requests
from model.zfs.vdev import cache_replay
from model.structures.lru import misses, new_lru
from model.events.streams import stream
from model.zfs.vdev.cache import VdevCacheParams
from model.zfs.vdev.random_reads import RecordReads, random_record_reads
import numpy as np
digest = []
for rule in range(3):
    rows = np.array(random_requests(stream(7, "requests"), 700, flagged=False)).T
    params = VdevCacheParams(cache_bytes=2**20, fill_rule=rule)
    decisions, cache = cache_replay.drive(params, cache_replay.operations(*rows), 3)
    digest += [int((column * np.arange(1, 701)).sum()) for column in decisions]
digest.append(misses(new_lru(50), stream(7, "blocks").integers(0, 100, 2000)))
uniform = stream(7, "reads").random((2, 300))
digest += [int(column.sum()) for column in random_record_reads(RecordReads(n_records=9999), *uniform)]
print(digest)
"""


@pytest.mark.slow
@pytest.mark.parametrize("setting", UNCOMPILED)
def test_interpreted_and_bounds_checked_code_decides_the_same(setting):
    assert prints_the_same(SHORT_RUN, setting)


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


# ---- indices are taken as they are ----

NEVER_RUN = {
    # replays of recordings; what they call runs
    "zfs.space.replay_fast": {"_allocate", "_free", "_run"},
    "devices.disk": {"serve_in_turn"},
    "zfs.space.replay_exact": {"_allocate", "_free", "_run", "_start_anew"},
    "zfs.vdev.cache_replay": {"_completion"},
    # called by tests only, of the other direction or of what somebody may want to know
    "devices.disk_geometry": {"_grain_at", "_slotted_block", "block_at"},
    "zfs.dmu.indirect": {"block_above"},
    "zfs.space.space_map": {"holds"},
    # has nothing to do
    "filesystems.calls": {"no_event"},
}


@pytest.mark.slow
def test_no_kernel_has_an_index_below_0():
    never_ran = json.loads(interpreted("support.checked_arrays"))
    assert set(never_ran) == {f"{module}.{name}" for module, names in NEVER_RUN.items() for name in names}


def test_an_index_below_0_is_noticed():
    pair = checked_arrays.checked(Pair(np.arange(3), np.arange(6).reshape(2, 3)))
    for index in (lambda: pair.first[np.int64(-1)], lambda: pair.second[1][-1], lambda: pair.second[0, -2]):
        with pytest.raises(IndexError, match="an index below 0"):
            index()
    assert (pair.first[2], pair.second[1:][0, 2]) == (2, 5)


@decorators.kernel
def _behind(row, i):
    return row[i]


@numba.njit
def _of_a_user(row, i):
    return 100 * row[-1] + _behind(row[1:], i)


@pytest.mark.skipif(numba.config.DISABLE_JIT or numba.config.BOUNDSCHECK, reason="Python counts from the end")
def test_kernels_of_users_count_from_the_end_and_kernels_of_the_model_do_not():
    row = np.arange(1, 6)
    assert _behind(row[2:], -1) == 2
    assert _of_a_user(row, -1) == 501
    assert arrayobj.fix_integer_index.__module__ == "numba.np.arrayobj"
    assert arrayobj.fix_integer_index.__qualname__ == "fix_integer_index"


# ---- one process compiles ----

WANTS_A_KERNEL = """
import numpy as np
from model.jit import decorators as jit
from model.jit import compile_lock as jit_lock
from model.structures.lru import misses, new_lru
real = jit_lock.turn
def turn(*which):
    print("asks", flush=True)
    return real(*which)
jit_lock.turn = turn
misses(new_lru(5), np.arange(9))
print(sum(misses.stats.cache_hits.values()), sum(misses.stats.cache_misses.values()))
"""


@pytest.mark.parametrize("was_on", [True, False])
def test_python_looks_for_garbage_after_compiling_as_it_did_before(was_on, monkeypatch):
    on = [was_on]
    monkeypatch.setattr(compile_lock, "gc", SimpleNamespace(
        isenabled=lambda: on[0], enable=lambda: on.__setitem__(0, True), disable=lambda: on.__setitem__(0, False)))
    with contextlib.suppress(KeyError), compile_lock.without_collecting():
        assert not on[0]
        raise KeyError
    assert on[0] == was_on


def test_python_does_not_look_for_garbage_while_a_kernel_is_compiled(tmp_path):
    dispatcher = SimpleNamespace(py_func=decorators.kernel, compile=lambda signature: gc.isenabled())
    compile_lock.one_compiles(dispatcher, tmp_path)
    assert gc.isenabled()
    assert not dispatcher.compile("types")


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_of_two_processes_that_want_a_kernel_one_compiles_it(tmp_path):
    """The second asks while the first has its turn, and finds what the first has left."""
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(printed, ["-c", WANTS_A_KERNEL], NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
        outputs = sorted(process.result(600).splitlines() for process in both)
    assert outputs == [["asks", "0 1"], ["asks", "1 0"]]


def test_who_asks_for_another_kernel_or_where_no_file_can_be_made_does_not_wait(tmp_path):
    with compile_lock.turn(tmp_path, "one", "types"), compile_lock.turn(tmp_path, "one", "other types"), \
            compile_lock.turn(tmp_path, "another", "types"), compile_lock.turn(tmp_path / "missing", "one", "types"):
        assert len(list(tmp_path.iterdir())) == 3


# ---- fields that are looked up once ----


class Pairs(NamedTuple):
    here: Pair
    there: Pair


@decorators.part
def _second(pair):
    return pair.second[0]


@decorators.kernel
def _in_turn(pairs, n):
    """Names that stay what they are, and names that do not: arguments and fields among both."""
    pair, now, then, total = pairs.here, pairs.here.first, pairs.here.second, 0
    while n > 0:
        total = 10 * total + now[0] + _second(pair)
        now, then = then, now
        if n == 2:
            pair = pairs.there
        pair.first[0] += 1
        n -= 1
    return total


@decorators.kernel
def _through_another_kernel(pairs, n):
    return _in_turn(pairs, n)


def test_what_is_looked_up_once_is_only_what_cannot_change():
    def pairs():
        low, high = np.array([1]), np.array([3])
        return Pairs(Pair(low, high), Pair(high, low))

    expected = 0
    values, turn, first = [1, 3], 0, 0
    for left in range(5, 0, -1):
        expected = 10 * expected + values[turn] + values[1 - first]
        turn = 1 - turn
        first = 1 if left == 2 else first
        values[first] += 1
    assert _in_turn(pairs(), 5) == expected
    assert _through_another_kernel(pairs(), 5) == expected


# ---- states are handed over by reference ----


class Numbers(NamedTuple):
    """Without an array: a value, which kernels can make."""

    n: int
    share: float
    is_on: bool


class Everything(NamedTuple):
    numbers: Numbers
    pair: Pair
    nothing: Pair | None
    strided: np.ndarray
    turned: np.ndarray
    shape: tuple
    small: np.int32
    huge: int


@decorators.part
def _sum_of(pair, numbers):
    last = len(pair.second) - 1
    pair.second[last] += numbers.n
    return pair.first[0] + pair.second[last] * numbers.share


@decorators.kernel
def _all_of(state, out):
    for i in range(len(state.strided)):
        out[i] = state.strided[i]
    for i in range(state.turned.shape[0]):
        for k in range(state.turned.shape[1]):
            out[10 + 2 * i + k] = state.turned[i, k]
    out[4] = _sum_of(state.pair, Numbers(state.numbers.n + 1, state.numbers.share, False))
    out[5] = state.numbers.is_on + 10 * state.shape[1] + 100 * state.small
    out[6] = state.huge
    out[7] = 1 if state.nothing is None else 2
    out[8] = len(state.pair.second) + state.turned.size + state.strided.size


def everything(nothing):
    return Everything(
        numbers=Numbers(-3, 0.1, True), pair=Pair(np.array([0.5]), np.arange(3)), nothing=nothing,
        strided=np.arange(9)[::-3], turned=np.arange(6.0).reshape(2, 3).T, shape=(7, 8), small=np.int32(-9),
        huge=-(2**63))


@pytest.mark.parametrize("has_nothing", [True, False])
def test_every_kind_of_field_is_read_as_python_reads_it(has_nothing):
    results = []
    for function in (_all_of, _all_of.py_func if hasattr(_all_of, "py_func") else _all_of):
        state, out = everything(None if has_nothing else Pair(np.array([1.5]), np.arange(9)[2:4])), np.zeros(20)
        function(state, out)
        results.append([*out, *state.pair.second])
    assert results[0] == results[1]
    assert results[0][4] == 0.5 + (2 - 2) * 0.1
    assert results[0][:3] == [8, 5, 2]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="Python makes no table")
def test_a_table_that_cannot_be_made_is_an_error(monkeypatch):
    """Ctrl-C, say, in the middle of it."""
    def interrupted(state, words):
        raise KeyboardInterrupt

    _in_turn(Pairs(*[Pair(np.ones(1, np.int64), np.ones(1, np.int64))] * 2), 1)
    monkeypatch.setattr(by_reference, "_append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _in_turn(Pairs(*[Pair(np.ones(1, np.int64), np.ones(1, np.int64))] * 2), 1)


@decorators.kernel
def _makes_a_state(pair):
    return len(Pair(pair.second, pair.first).first)


@decorators.kernel
def _returns_a_state(pairs):
    return pairs.here


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="Python can")
def test_kernels_make_and_return_no_states():
    pair = Pair(np.zeros(1), np.zeros(2))
    with pytest.raises(numba.TypingError, match="a kernel cannot make a Pair, which holds arrays"):
        _makes_a_state(pair)
    with pytest.raises(numba.TypingError, match="a kernel cannot return a state"):
        _returns_a_state(Pairs(pair, pair))

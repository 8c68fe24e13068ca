"""Memory of large tables is lent to one array at a time, and a view holds it as well as the array does."""

import gc

import numpy as np
import pytest

from model.jit import lent_memory
from model.jit.lent_memory import MAX_RATIO, MAX_SPARE, MIN_BYTES, empty, zeros

N = MIN_BYTES // 8


@pytest.fixture(autouse=True)
def _nothing_spare():
    lent_memory._spare.clear()


def place(array):
    return array.__array_interface__["data"][0]


def test_the_next_array_gets_what_the_last_one_had():
    first = empty((N, 2), np.int64)
    at = place(first)
    del first
    assert place(empty(2 * N, np.int64)) == at


@pytest.mark.slow
@pytest.mark.parametrize("view", [lambda a: a[5:9], lambda a: a.reshape(2, -1)[:, 3], lambda a: a.view(np.int32),
                                  lambda a: a.T])
def test_a_view_holds_the_memory(view):
    array = empty(N, np.int64)
    kept = view(array)
    kept.fill(7)
    at = place(array)
    del array
    gc.collect()
    later = zeros(N, np.int64)
    assert place(later) != at
    assert (kept == 7).all()


def test_zeros_are_zeros_and_shapes_are_kept():
    used = empty((N, 3), np.int32)
    used.fill(-1)
    del used
    again = zeros((N, 3), np.int32)
    assert again.shape == (N, 3)
    assert again.dtype == np.int32
    assert again.flags.c_contiguous
    assert not again.any()


def test_the_smallest_that_is_large_enough_is_lent():
    arrays = [empty(n * N, np.int64) for n in (4, 1, 2)]
    at = place(arrays[2])
    arrays.clear()
    assert place(empty(3 * N // 2, np.int64)) == at


@pytest.mark.parametrize("next_size", [N, 2 * N])
def test_what_is_kept_has_an_end(next_size):
    arrays = [empty(N, np.int64) for _ in range(MAX_SPARE + 4)]
    arrays.clear()
    assert len(lent_memory._spare) == MAX_SPARE
    empty(next_size, np.int64)
    assert len(lent_memory._spare) <= MAX_SPARE


def test_a_small_array_does_not_hold_a_large_piece():
    empty(100 * N, np.int64)
    assert empty(N, np.int64).base.nbytes <= MAX_RATIO * MIN_BYTES


def test_a_table_a_fifth_as_long_gets_what_a_long_one_had():
    long = empty(5 * N, np.int64)
    at = place(long)
    del long
    assert place(empty(N, np.int64)) == at


def test_small_arrays_are_numpys_own():
    assert empty(10, np.int64).flags.owndata
    assert not zeros(10, np.int64).any()

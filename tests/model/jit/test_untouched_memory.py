"""Tables of which little is written may be larger than all memory."""
import os

import numpy as np
import pytest

from model.jit import untouched_memory


def test_a_table_larger_than_all_memory_is_written_here_and_there():
    n_bytes = 4 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    table = untouched_memory.zeros(n_bytes, np.int8)
    table[[0, n_bytes // 2, -1]] = 1, 2, 3
    assert table[[0, 1, n_bytes // 2, -1]].tolist() == [1, 0, 2, 3]


def test_what_the_system_refuses_is_one_sentence():
    with pytest.raises(MemoryError, match=r"refuses a table of [\d.]+ GiB, most of it never written"):
        untouched_memory.zeros(2**62, np.int8)


def test_a_small_table_is_as_numpy_makes_it():
    table = untouched_memory.zeros((3, 4), np.int32)
    assert (table == np.zeros((3, 4), np.int32)).all()
    assert table.dtype == np.int32

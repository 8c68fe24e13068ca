"""The plain LRU cache: against its naive twin, and against laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from model.structures.lru import access, bucket_of, misses, n_buckets_for, new_lru
from twins.vdev_cache import TwinOfLru

quick = settings(deadline=None, derandomize=True, max_examples=80)


@quick
@given(st.lists(st.integers(0, 12), max_size=80), st.integers(1, 10))
def test_each_reference_hits_or_misses_as_in_the_naive_twin(blocks, n_frames):
    lru, twin = new_lru(n_frames), TwinOfLru(n_frames)
    assert [access(lru, block) for block in blocks] == [twin.access(block) for block in blocks]


@pytest.mark.parametrize("scale", [1, 1000, 2**20, 2**35])
def test_misses_are_those_of_the_naive_twin_however_blocks_are_numbered(scale):
    blocks = (stream(1, "blocks").random(3000) ** 3 * 400).astype(np.int64) * scale
    twin = TwinOfLru(60)
    assert misses(new_lru(60), blocks) == sum(not twin.access(block) for block in blocks.tolist())


@quick
@given(st.lists(st.integers(0, 30), max_size=100), st.integers(1, 20))
def test_a_larger_cache_never_misses_more(blocks, n_frames):
    """LRU is a stack algorithm: what a cache holds, the larger one holds too."""
    blocks = np.array(blocks, np.int64)
    assert misses(new_lru(n_frames + 1), blocks) <= misses(new_lru(n_frames), blocks)


def test_a_cycle_longer_than_the_cache_never_hits():
    blocks = np.tile(np.arange(101), 5)
    assert misses(new_lru(100), blocks) == len(blocks)
    assert misses(new_lru(101), blocks) == 101


@pytest.mark.parametrize("stride", [1, 3, 8, 64, 1000, 4096, 2**20, 2**31, 2**40])
def test_chains_stay_short_for_blocks_at_any_stride(stride):
    """Neighbours and powers of two are what block numbers look like."""
    n_buckets = n_buckets_for(1000)
    chains = np.bincount([bucket_of(i * stride, n_buckets) for i in range(1000)])
    assert chains.max() <= 8


@pytest.mark.parametrize("n_frames", [0, -3, 2**30 + 1])
def test_bad_number_of_frames_is_one_sentence(n_frames):
    with pytest.raises(ValueError, match=f"n_frames is {n_frames}, but .*; choose"):
        new_lru(n_frames)

"""Numbers of keys, and stack distances, against dictionaries."""
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from model.structures.lru import misses, new_lru
from model.structures.numbering import larger, new_numbering, number_all
from model.structures.stack_distances import count_distances, new_stack

KEYS = st.lists(st.integers(-2**63, 2**63 - 1) | st.integers(0, 20), max_size=60)


@settings(deadline=None)
@given(KEYS, st.integers(1, 5))
def test_each_key_has_the_number_of_its_first_coming(keys, room):
    numbering, numbers, done = new_numbering(room), np.zeros(len(keys), np.int32), 0
    of_keys = np.array(keys, np.int64)
    while (done := done + number_all(numbering, of_keys[done:], numbers[done:])) < len(keys):
        numbering = larger(numbering)
    first = {}
    assert numbers.tolist() == [first.setdefault(key, len(first) + 1) for key in keys]
    assert numbering.n[0] == len(first)


def naive_hits(blocks, is_counted, c):
    cache, hits = OrderedDict(), 0
    for block, counts in zip(blocks, is_counted, strict=True):
        hits += counts and block in cache
        cache[block] = None
        cache.move_to_end(block)
        if len(cache) > c:
            cache.popitem(last=False)
    return hits


def hits_of_all_sizes(blocks, is_counted, n_blocks, places=None):
    stack, histogram = new_stack(n_blocks), np.zeros(n_blocks + 1, np.int64)
    if places is not None:      # so few that they are used up
        stack = stack._replace(tree=stack.tree[:places + 1], block_at=stack.block_at[:places + 1])
    count_distances(stack, np.array(blocks, np.int32), np.array(is_counted, np.bool_), histogram)
    assert histogram.sum() == sum(is_counted)
    histogram[0] = 0
    return np.cumsum(histogram)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 7), st.booleans()), max_size=120), st.sampled_from([None, 8, 9, 15]))
@example([(1, True), (2, True), (3, True), (1, True)], None)
def test_hits_are_those_of_an_lru_cache_of_every_size(references, places):
    blocks, is_counted = [block for block, _ in references], [counts for _, counts in references]
    mine = hits_of_all_sizes(blocks, is_counted, 7, places)
    assert mine.tolist() == [0, *(naive_hits(blocks, is_counted, c) for c in range(1, 8))]


@pytest.mark.parametrize("c", [1, 50, 300, 1000])
def test_hits_are_those_of_the_models_own_lru(c):
    blocks = 1 + (1000 * stream(3, "blocks").random(20_000) ** 2).astype(np.int64)
    hits = hits_of_all_sizes(blocks, np.ones(len(blocks), np.bool_), 1000)
    assert hits[c] == len(blocks) - misses(new_lru(c), blocks)

"""Free space made to a description has what the description says."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.errors import UserError
from study.pools import described_space
from study.pools.zdb import Slab

MIB = 2**20
SIZE = 64 * MIB


def slab(free_bytes, **more):
    return Slab(0, 0, True, free_bytes, SIZE, **more)


def made(described, record_bytes=8192, seed=1):
    return described_space.segments(described, record_bytes, np.random.default_rng(seed))


def lengths_of(segments):
    return segments[:, 1] - segments[:, 0]


DESCRIPTIONS = st.one_of(
    st.fixed_dictionaries({"histogram": st.dictionaries(st.integers(9, 18), st.integers(0, 60), min_size=1)}),
    st.fixed_dictionaries({"n_segments": st.integers(1, 3000)}),
    st.fixed_dictionaries({"fragmentation": st.integers(0, 100)}),
    st.just({}))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 63), DESCRIPTIONS, st.integers(0, 100))
def test_segments_are_apart_and_inside(mib, description, seed):
    segments = made(slab(mib * MIB, **description), seed=seed)
    assert segments[0, 0] >= 0
    assert segments[-1, 1] <= SIZE
    assert (segments[:, 0] < segments[:, 1]).all()
    assert (segments[1:, 0] > segments[:-1, 1]).all()
    assert (segments % 512 == 0).all()


def test_a_histogram_is_met_in_each_power_and_in_bytes():
    histogram = {12: 900, 13: 700, 14: 300, 15: 0, 16: 40}
    min_bytes = sum(count << power for power, count in histogram.items())
    lengths = lengths_of(made(slab(int(1.2 * min_bytes), histogram=histogram)))
    powers = np.bincount(np.log2(lengths).astype(int), minlength=18)
    assert powers[12:17].tolist() == [*histogram.values()]
    assert lengths.sum() == pytest.approx(1.2 * min_bytes, rel=0.01)


def test_number_and_longest_are_met():
    lengths = lengths_of(made(slab(16 * MIB, n_segments=1000, largest_bytes=100 * 1024)))
    assert len(lengths) == 1000
    assert lengths.max() == 100 * 1024
    assert lengths.sum() == pytest.approx(16 * MIB, rel=0.05)


@pytest.mark.parametrize("percent", [15, 30, 50, 70, 90, 98, 99, 100])
def test_a_fragmentation_is_met(percent):
    big = Slab(0, 0, True, 2048 * MIB, 4096 * MIB, fragmentation=percent)
    lengths = lengths_of(made(big))
    assert described_space.fragmentation(lengths) == pytest.approx(percent, abs=3 if percent < 90 else 0.1)
    assert lengths.sum() == pytest.approx(2048 * MIB, rel=0.02)


def test_fragmentation_is_that_of_the_table():
    assert described_space.fragmentation([512]) == 100
    assert described_space.fragmentation([128 * 1024]) == 50
    assert described_space.fragmentation([16 * MIB]) == 0
    assert described_space.fragmentation([128 * 1024] * 128 + [16 * MIB]) == 25     # as many bytes of each


def test_means_grow_as_fragmentation_falls():
    means = [described_space.mean_length(percent) for percent in range(1, 100)]
    assert (np.diff(means) < 0).all()


def test_without_a_description_holes_are_as_large_as_is_said():
    assert lengths_of(made(slab(16 * MIB))).tolist() == 2048 * [8192]
    assert lengths_of(made(slab(16 * MIB), SIZE)).tolist() == [16 * MIB]


def test_little_that_is_allocated_keeps_few_holes_apart():
    lengths = lengths_of(made(slab(SIZE - 512 * 100)))
    assert len(lengths) <= 101
    assert lengths.sum() == pytest.approx(SIZE, rel=0.01)


@pytest.mark.parametrize(("description", "is_unknown"), [
    ({}, True), ({"histogram": {0: 0}}, True), ({"fragmentation": 0}, False), ({"n_segments": 3}, False),
    ({"histogram": {13: 4}}, False), ({"is_used": False}, False), ({"free_bytes": SIZE}, False)])
def test_nothing_is_known_of_free_space_that_was_only_summed_up(description, is_unknown):
    assert described_space.unknown(slab(16 * MIB)._replace(**description)) == is_unknown


@given(st.sampled_from([2, 4, 8]), st.dictionaries(st.integers(9, 18), st.integers(0, 60), min_size=1))
def test_a_smaller_metaslab_has_a_part_of_each_power(k, histogram):
    whole = slab(32 * MIB, histogram=histogram)
    part = described_space.smaller(whole, k)
    assert (part.size_bytes, part.free_bytes) == (SIZE // k, max(32 * MIB // k, part.free_bytes))
    assert abs(sum(part.histogram.values()) - sum(histogram.values()) / k) <= 0.5
    assert all(abs(part.histogram[power] - count / k) <= 1 for power, count in histogram.items())


def test_a_fresh_metaslab_is_one_segment():
    assert made(Slab(0, 0, False, SIZE, SIZE)).tolist() == [[0, SIZE]]


def test_a_full_metaslab_has_none():
    assert made(slab(0)).shape == (0, 2)


@pytest.mark.parametrize(("fill", "percent", "match"), [(1.2, 10, "the fill is 1.2"), (-0.1, 10, "the fill is"),
                                                       (0.5, 101, "the fragmentation is 101"),
                                                       (0.3, 100, "is 100 %, but .* a fill of 0.3 has 99 at most"),
                                                       (0, 80, "is 80 %, but .* a fill of 0 has 0 at most")])
def test_a_pair_that_cannot_be_is_refused(fill, percent, match):
    with pytest.raises(UserError, match=match):
        described_space.alike(fill, percent, 10**12, 2**33)

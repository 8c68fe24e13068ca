"""Random reads of a database as a leaf sees them, and what the vdev cache makes of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from model.zfs.vdev.cache import BYPASS_DATA, DONT_CACHE, FILL_ALL, FILL_METADATA, VdevCacheParams
from model.zfs.vdev.random_reads import (
    L1_APART,
    L1_BEHIND_RECORDS,
    LABEL_START_BYTES,
    RecordReads,
    l1_offset,
    l1_stored_bytes,
    random_record_reads,
    record_offset,
    resident_over_time,
)

quick = settings(deadline=None, derandomize=True, max_examples=30)
params_drawn = st.builds(RecordReads, n_records=st.integers(1, 700), record_bytes=st.sampled_from([512, 8192, 131072]),
                         l1_bytes=st.integers(512, 16384), l1_place=st.sampled_from([L1_BEHIND_RECORDS, L1_APART]),
                         reads_per_s=st.just(100.0), hz=st.just(100))


def reads_of(params, n=2000, seed=1):
    return random_record_reads(params, stream(seed, "arrivals").random(n), stream(seed, "records").random(n))


@quick
@given(params_drawn)
def test_records_and_l1s_fill_the_leaf_without_gap_or_overlap(params):
    records = [(record_offset(params, i), params.record_bytes) for i in range(params.n_records)]
    l1s = [(l1_offset(params, i), l1_stored_bytes(params)) for i in range(-(-params.n_records // 128))]
    end = LABEL_START_BYTES
    for offset, n_bytes in sorted(records + l1s):
        assert offset == end
        end += n_bytes


def test_each_l1_is_read_once_and_before_its_records():
    reads, seen = reads_of(RecordReads(n_records=5000)), set()
    l1s = [l1_offset(RecordReads(n_records=5000), i) for i in range(40)]
    for offset, is_metadata in zip(reads.offset.tolist(), reads.is_metadata.tolist(), strict=True):
        if is_metadata:
            assert offset not in seen
            seen.add(offset)
        else:
            assert next(l1 for l1 in l1s if l1 > offset) in seen  # an L1 lies behind its records
    assert (reads.is_metadata == 0).sum() == 2000


def test_reads_arrive_at_the_rate_asked_for_and_cover_all_records():
    params = RecordReads(n_records=10, reads_per_s=50.0)
    reads = reads_of(params, n=20000)
    seconds = reads.tick[-1] / params.hz
    assert seconds == pytest.approx(20000 / 50, rel=4 / np.sqrt(20000))
    assert (np.diff(reads.tick) >= 0).all()
    assert set(reads.offset[reads.is_metadata == 0]) == {record_offset(params, i) for i in range(10)}


def test_a_rate_changes_when_but_not_what_is_read():
    slow, fast = (reads_of(RecordReads(n_records=5000, reads_per_s=rate)) for rate in (10.0, 1000.0))
    assert np.array_equal(slow.offset, fast.offset)
    assert slow.tick[-1] == pytest.approx(100 * fast.tick[-1], rel=0.01)


def test_data_crowds_metadata_out_only_where_data_may_fill():
    reads = reads_of(RecordReads(n_records=2_000_000), n=3000)
    all_, metadata, bypass = (resident_over_time(VdevCacheParams(fill_rule=rule), reads, 1)
                              for rule in (FILL_ALL, FILL_METADATA, BYPASS_DATA))
    assert all_.n_data_lines[-1] > all_.n_metadata_lines[-1] > 0
    assert (metadata.n_metadata_lines[-1], metadata.n_data_lines[-1]) == (161, 0)
    assert np.array_equal(metadata.n_metadata_lines, bypass.n_metadata_lines)
    assert ((bypass.outcome == DONT_CACHE) == (reads.is_metadata == 0)).all()


@pytest.mark.parametrize("bad", [{"n_records": 0}, {"record_bytes": 3000}, {"record_bytes": 2**18}, {"l1_bytes": 100},
                                 {"l1_place": 2}, {"reads_per_s": 0.0}, {"n_records": 1.5}])
def test_bad_values_are_one_sentence(bad):
    (name, value), = bad.items()
    with pytest.raises(ValueError, match=f"{name} of the record reads is {value}, but .*[;.] [Cc]hoose"):
        reads_of(RecordReads(**({"n_records": 100} | bad)))


def test_numbers_for_arrivals_and_choices_go_together():
    with pytest.raises(ValueError, match="3 numbers for arrivals and 2 for choices"):
        random_record_reads(RecordReads(n_records=9), [0.1, 0.2, 0.3], [0.1, 0.2])


def test_a_stream_has_a_name_and_does_not_depend_on_the_others():
    assert np.array_equal(stream(1, "a").random(5), stream(1, "a").random(5))
    assert not np.array_equal(stream(1, "a").random(5), stream(1, "b").random(5))
    assert not np.array_equal(stream(1, "a").random(5), stream(2, "a").random(5))
    with pytest.raises(ValueError, match="seed is -1"):
        stream(-1, "a")

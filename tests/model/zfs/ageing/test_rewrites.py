"""Streams of random rewrites: every record has one place at a time, and logs go round."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.zfs.ageing.rewrites import Rewrites, fill_txgs, operations, records_of, replaced, rows, writes
from model.zfs.space import replay_exact, replay_fast
from model.zfs.space.pickers import VARIANTS
from model.zfs.space.replay_exact import ALLOCATE, FREE, NEW_MAP, TXG_END

quick = settings(deadline=None, derandomize=True, max_examples=40)
works = st.builds(Rewrites, n_records=st.integers(1, 40), n_txgs=st.integers(1, 8), per_txg=st.integers(1, 9),
                  log_per_txg=st.integers(0, 2), log_records=st.integers(1, 5),
                  record_bytes=st.just(512), log_bytes=st.just(2**12))


@quick
@given(works, st.integers(0, 9))
def test_a_record_is_freed_when_it_is_written_anew_and_never_twice(work, seed):
    """Played by hand: what is allocated at the end are the last writes of each record."""
    done = writes(work, seed)
    kind, n_bytes, which = rows(done)
    place, live, ends = {}, {}, 0
    for operation, size, number in zip(kind.tolist(), n_bytes.tolist(), which.tolist(), strict=True):
        if operation == ALLOCATE:
            place[number] = live[number] = size
        elif operation == FREE:
            assert live.pop(number) == size
        else:
            assert number == ends
            ends += 1
    assert ends == fill_txgs(work) + work.n_txgs
    last = {record: number for number, record in enumerate(done.record.tolist())}
    assert sorted(live) == sorted(last.values())


@quick
@given(st.lists(st.integers(0, 6), max_size=40))
def test_what_is_replaced_is_the_last_of_the_same_record(record):
    plain = [max((j for j in range(i) if record[j] == number), default=-1) for i, number in enumerate(record)]
    assert replaced(np.array(record, np.int64)).tolist() == plain


def test_allocations_frees_and_the_end_follow_each_other_in_every_transaction_group():
    work = Rewrites(n_records=10, n_txgs=3, per_txg=5, log_per_txg=1, log_records=2)
    kind, n_bytes, _ = rows(writes(work, 1))
    groups = [group.tolist() for group in np.split(kind, np.flatnonzero(kind == TXG_END) + 1)][:-1]
    assert groups[0] == [ALLOCATE] * 6 + [TXG_END]
    assert groups[-1] == [ALLOCATE] * 6 + [FREE] * 6 + [TXG_END]
    assert (n_bytes[kind == ALLOCATE].reshape(5, 6) == [4096] * 5 + [2**17]).all()


def test_every_record_has_the_same_chance():
    counts = np.bincount(records_of(Rewrites(n_records=50, n_txgs=100, per_txg=500), 3).ravel(), minlength=50)
    assert len(counts) == 50
    assert abs(counts - 1000).max() < 5 * 1000**0.5


@pytest.mark.parametrize("variant", VARIANTS)
def test_both_engines_put_every_record_in_the_same_place(variant):
    work = Rewrites(n_records=1400, n_txgs=40, per_txg=50)
    stream = operations(work, 2048 * 4096, 2)
    exact, fast = (engine.drive(VARIANTS[variant], stream)[0] for engine in (replay_exact, replay_fast))
    assert stream.kind[0] == NEW_MAP
    assert (exact.offset == fast.offset).all()
    assert (exact.by_size == fast.by_size).all()
    assert (exact.offset >= 0).all()


@pytest.mark.parametrize("work", [Rewrites(0, 1, 1), Rewrites(100, 1, 10), Rewrites(10, 1, 1, 1, 9)])
def test_what_does_not_fit_is_one_sentence(work):
    with pytest.raises(ValueError, match=r"must be more than nothing and fit into \d+ B; write less"):
        operations(work, 105 * 4096, 1)

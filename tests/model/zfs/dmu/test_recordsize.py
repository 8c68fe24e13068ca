"""Records larger than writes, counted by the mechanism and in closed form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu import recordsize_columns as counted
from model.zfs.dmu.dirty import dirty, has_room, new_txgs
from model.zfs.dmu.layout import number_blocks
from model.zfs.dmu.recordsize import (
    amplification,
    counted_amplification,
    new_records,
    overwrite,
    overwrite_all,
    records_dirtied,
)

KiB = 1024
N = 4096


def written_at_random(record_bytes, per_record, n_groups=20, write_bytes=8 * KiB):
    records = new_records(N, record_bytes)
    per_txg = round(per_record * N)
    slots = N * record_bytes // write_bytes
    offsets = (stream(3, "offsets").random(n_groups * per_txg) * slots).astype(np.int64) * write_bytes
    overwrite_all(records, offsets, write_bytes, per_txg)
    return records


@pytest.mark.parametrize("per_record", [0.01, 0.25, 1, 4])
@pytest.mark.parametrize("record_kib", [8, 32, 128, 256, 1024])
def test_amplification_counted_is_that_of_the_closed_form(record_kib, per_record):
    records, n_groups = written_at_random(record_kib * KiB, per_record), 20
    w, n = round(per_record * N), N
    expected = n_groups * records_dirtied(n, w)
    variance = n_groups * (n * (n - 1) * (1 - 2 / n) ** w + n * (1 - 1 / n) ** w - (n * (1 - 1 / n) ** w) ** 2)
    assert abs(records.counts[counted.DIRTIED] - expected) < 4 * math.sqrt(variance) + 1
    assert counted_amplification(records) == pytest.approx(amplification(record_kib * KiB, 8 * KiB, w / n), rel=0.02)


def test_amplification_goes_from_sixteen_to_nothing_but_one_write_of_each_record():
    assert amplification(128 * KiB, 8 * KiB, 0) == 16
    assert amplification(128 * KiB, 8 * KiB, 1e-9) == pytest.approx(16)
    assert amplification(128 * KiB, 8 * KiB, 1000) == pytest.approx(16 / 1000)
    values = [amplification(128 * KiB, 8 * KiB, x / 4) for x in range(40)]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("record_kib", [8, 128])
def test_what_is_read_first_is_every_record_once_unless_writes_cover_it(record_kib):
    records = written_at_random(record_kib * KiB, 4)
    assert records.counts[counted.READ_FIRST] == (0 if record_kib == 8 else int(records.in_core.sum()))
    records.in_core[:], records.counts[:] = 1, 0
    overwrite(records, 4 * KiB, 8 * KiB, 99)
    assert records.counts[counted.READ_FIRST] == 0


def test_a_write_across_a_border_reads_and_dirties_two_records():
    """The alignment penalty: one write becomes two reads and two writes."""
    records = new_records(4, 8 * KiB)
    overwrite(records, 4 * KiB, 8 * KiB, 1)
    assert records.counts.tolist() == [8 * KiB, 2, 2]
    overwrite(records, 0, 24 * KiB, 2)
    assert records.counts.tolist() == [32 * KiB, 2, 5]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 60), st.integers(0, 1)), max_size=30), st.booleans())
def test_sets_say_the_same(writes, in_core):
    """A naive twin: bytes one by one."""
    unit = 512
    records, txg = new_records(10, 16 * unit, int(in_core)), 1
    core, n_read, n_dirtied, group = set(range(10)) if in_core else set(), 0, 0, set()
    for place, length, ends_group in writes:
        length = min(length, 160 - place)
        overwrite(records, place * unit, length * unit, txg)
        touched = set(range(place, place + length))
        for record in sorted({x // 16 for x in touched}):
            n_read += record not in core and not touched >= set(range(16 * record, 16 * record + 16))
            n_dirtied += record not in group
            core.add(record)
            group.add(record)
        if ends_group:
            txg, group = txg + 1, set()
    assert records.counts[1:].tolist() == [n_read, n_dirtied]


def test_transaction_groups_write_as_many_records_and_parents_as_the_closed_form_says():
    """The same law one level up: a record's L1 has 128 of them."""
    n_writes, files = 3000, number_blocks([2**17])
    txgs = new_txgs(files.n_blocks - files.n_records, 2**14)
    records = new_records(2**17, 8 * KiB)
    for record in (stream(4, "records").random(n_writes) * 2**17).astype(np.int64).tolist():
        if records.dirtied_in[record] == 0:
            assert has_room(txgs, 4)
            dirty(txgs, files, 0, record)
        overwrite(records, record * 8 * KiB, 8 * KiB, 1)
    blocks = txgs.entries[1 + 2**14:1 + 2**14 + txgs.quarters[1, dirtied.N_USED], 0]
    first = files.n_records
    n_l1 = int(((blocks >= first) & (blocks < first + 1024)).sum())
    assert int((blocks < first).sum()) == records.counts[counted.DIRTIED]
    assert records.counts[counted.DIRTIED] == pytest.approx(records_dirtied(2**17, n_writes), rel=0.01)
    assert n_l1 == pytest.approx(records_dirtied(1024, n_writes), rel=0.02)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: new_records(0, 8192), "0 records of 8192 B"),
    (lambda: new_records(10, 3000), "records of 3000 B"),
    (lambda: amplification(8192, 16384, 1), "writes of 16384 B to a record of 8192 B"),
])
def test_what_cannot_be_is_one_sentence(make, message):
    with pytest.raises(ValueError, match=message + ".*; choose"):
        make()

"""primarycache and secondarycache: what stays of a block with its last hold."""

import pytest

from drivers.arc import keys_on
from model.zfs.arc import arc
from model.zfs.arc import lists as arc_lists
from model.zfs.arc import scalars as scalar
from model.zfs.arc.arc import ArcParams, new_arc
from model.zfs.arc.lists import L2_CACHEABLE, MFU, MFU_GHOST, MRU, MRU_GHOST
from model.zfs.arc.primarycache import asks_prefetch, drop_unless_kept, is_kept, l2_mark, policy

N_KEYS, RECORD = 40, 10


def new(c=100):
    params = ArcParams(c, c)
    return new_arc(params, N_KEYS, 3 * N_KEYS), params


def begin(a, params, key, tick, is_metadata=0):
    """A block is read and held; True if it had to be read."""
    node = int(a.node_of[key])
    if arc_lists.in_core(a, node):
        arc_lists.hold(a, node)
        arc.access(a, params, node, tick)
        return False
    if node:
        arc.revive(a, params, node, 0, tick)
    else:
        node = arc.new_block(a, params, key, is_metadata, RECORD, 0, tick)
        arc.access(a, params, node, tick)
    return True


def end(a, key, value, is_metadata=0):
    arc_lists.release(a, a.node_of[key])
    drop_unless_kept(a, int(a.node_of[key]), policy(value), is_metadata)


@pytest.mark.parametrize(("value", "of_data", "of_metadata"), [("all", 1, 1), ("metadata", 0, 1), ("none", 0, 0)])
def test_what_each_value_keeps(value, of_data, of_metadata):
    a, params = new()
    for key, is_metadata in ((0, 0), (1, 1)):
        begin(a, params, key, 0, is_metadata)
        end(a, key, value, is_metadata)
    assert [arc_lists.in_core(a, int(a.node_of[key])) for key in (0, 1)] == [of_data, of_metadata]
    assert [is_kept(policy(value), meta) for meta in (0, 1)] == [of_data, of_metadata]
    assert [l2_mark(policy(value), meta) for meta in (0, 1)] == [of_data * L2_CACHEABLE, of_metadata * L2_CACHEABLE]
    assert asks_prefetch(policy(value)) == (value == "all")


def test_each_read_of_what_is_left_out_reads_unless_somebody_holds_it():
    """16 reads of a record in a row: 16 times from the pool. Whoever is held at the same time shares the read."""
    a, params = new()
    assert [begin(a, params, 0, 10 * i) and not end(a, 0, "metadata") for i in range(16)] == [True] * 16
    assert [begin(a, params, 0, 200), begin(a, params, 0, 200)] == [True, False]
    end(a, 0, "metadata")
    assert arc_lists.in_core(a, int(a.node_of[0]))
    end(a, 0, "metadata")
    assert arc_lists.total_bytes(a) == 0
    assert keys_on(a, 2 * MFU_GHOST) == [0]


def test_ghosts_of_what_is_left_out_still_move_p():
    a, params = new()
    for key in range(3):
        begin(a, params, key, 0)
        end(a, key, "metadata")
    before = int(a.scalars[scalar.P])
    assert keys_on(a, 2 * MRU_GHOST) == [0, 1, 2]
    begin(a, params, 0, 100)
    assert a.scalars[scalar.P] == before + RECORD


def test_what_is_dirty_stays_until_it_is_written():
    a, params = new()
    begin(a, params, 0, 0)
    node = int(a.node_of[0])
    arc.make_anonymous(a, node)
    arc_lists.hold(a, node)
    end(a, 0, "none")
    assert arc_lists.in_core(a, node)
    arc.access(a, params, node, 50)
    end(a, 0, "none")
    assert not arc_lists.in_core(a, node)


def test_blocks_above_are_let_go_with_what_holds_them():
    a, params = new()
    begin(a, params, 1, 0, 1)
    begin(a, params, 0, 0)
    arc_lists.hold_above(a, int(a.node_of[0]), int(a.node_of[1]))
    end(a, 1, "metadata", 1)
    assert keys_on(a, 2 * MRU + 1) == []
    end(a, 0, "metadata")
    assert keys_on(a, 2 * MRU + 1) == [1]
    assert a.n_bytes[MFU] == 0


def test_an_unknown_value_is_one_sentence():
    with pytest.raises(ValueError, match="is 'some', but ZFS knows none, metadata, all; choose"):
        policy("some")

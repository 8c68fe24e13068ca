"""Where the files of a database lie before a run: closed forms, and laws of moving them apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.events.streams import stream
from model.filesystems.zfs import file_layout
from model.filesystems.zfs.placement import FRONT_BYTES as PLACES_FRONT
from model.filesystems.zfs.placement import LOG_ZONE, log_bytes, new_places, place, place_of_log_block
from model.filesystems.zfs.state import FileSettings
from model.jit import kernel
from model.structures.sentinels import NOWHERE
from model.zfs.eras import ERAS, era
from model.zfs.txg.write_issue import time_between
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK

GB = 10**9


@pytest.mark.parametrize("used", [1e-4, 0.016, 0.1, 0.25])
def test_metaslabs_of_equal_weight_hold_what_is_in_use(used):
    """By summing over a thousand metaslabs: each is filled until its free space, twice as much worth at the front, weighs as
    much as the first empty one."""
    x = file_layout.share_by_weight(used)
    at = (np.arange(100_000) + 0.5) / 100_000
    full = np.maximum(0, 1 - (2 - x) / (2 - at)) * (at < x)
    assert full.mean() == pytest.approx(used, rel=0.01)


def test_for_little_data_the_square_root_counts():
    """d = X^2 / 4, nearly: 160 GB of 10 TB lie on a quarter of each disk."""
    assert file_layout.share_by_weight(0.016) == pytest.approx(2 * 0.016**0.5, rel=0.05)
    assert file_layout.span_bytes(160 * GB, 10_000 * GB, 1, 1) == pytest.approx(2500 * GB, rel=0.05)


@given(st.floats(1e-4, 0.95), st.floats(1, 16), st.floats(0, 1), st.floats(0, 1))
def test_data_lie_on_as_much_as_they_need_and_no_more_than_there_is(used, scale, spread, more):
    room = 1000 * GB
    span = file_layout.span_bytes(int(used * room), room, scale, spread)
    assert min(1, used * scale) * room * 0.999 - 1 <= span <= room * (1 + 1e-9)
    assert file_layout.span_bytes(int(used * room), room, scale, min(1, spread + more)) >= span - 1
    assert file_layout.span_bytes(int(used * room), room, scale * (1 + more), spread) >= span - 1


def test_a_pool_to_scale_has_as_long_ways_as_what_it_stands_for():
    spans = {file_layout.span_bytes(160 * GB // k, 10_000 * GB, k, 0.5) for k in (1, 2, 8)}
    assert max(spans) - min(spans) < GB // 1000


@given(st.floats(1, 40))
def test_moved_blocks_keep_their_order_their_neighbours_and_their_distance(factor):
    """What lies within a piece of 16 MiB stays together; nothing falls on anything else; what has no place gets none."""
    offsets = np.sort(stream(1, "places").choice(2**18, 4000, replace=False)) * 8192
    places = np.append(3 << LEAF_SHIFT | FRONT_BYTES + offsets, NOWHERE)
    moved = file_layout._moved(places, np.full(4, factor))
    assert moved[-1] == NOWHERE
    assert (moved[:-1] >> LEAF_SHIFT == 3).all()
    assert (np.diff(moved[:-1]) >= np.diff(places[:-1])).all()
    together = np.diff(offsets // file_layout.PIECE_BYTES) == 0
    assert (np.diff(moved[:-1])[together] == np.diff(offsets)[together]).all()
    reach = (moved[-2] - moved[0]) / (offsets[-1] - offsets[0])
    assert reach == pytest.approx(factor, rel=0.05)


@pytest.mark.parametrize("used", [0.01, 0.5, 0.9, 0.97])
def test_new_blocks_have_room_on_the_device(used):
    room = 1000 * GB
    places = new_places(np.zeros((2, 7), np.int64), np.array([0, 2, 2, 2]), [int(used * room)] * 2, [room] * 2,
                        [int(used * room)] * 2, 1)
    assert places.first.min() >= PLACES_FRONT
    assert (places.first[:, :LOG_ZONE] + places.region_bytes[:, None]).max() <= room
    assert (places.region_bytes >= min(used, 1 / 16) * room * 0.999).all()


@kernel
def commit_all(places, both):
    """Places of records, and of a log block with each, into `both` (int64[n, 2])."""
    for row in both:
        row[0] = place(places, 1, 1, 0, 8192)
        row[1] = place_of_log_block(places, 1, 0, 0, 4096)


@pytest.mark.parametrize("set_aside", [0, 2**30])
def test_log_blocks_lie_beside_data_or_in_a_metaslab_of_their_own(set_aside):
    """A commit that writes a record and a log block: side by side up to OpenZFS 2.0, later each in its place, one behind the
    other there, and from the front of the metaslab again when that is full."""
    vdevs = np.array([[0, 1, 0, 9, 0, 0, 0]])
    places = new_places(vdevs, np.array([0, 1, 1, 1]), [10 * GB], [200 * GB], [40 * GB], 1, set_aside)
    n = 2**30 // 4096 + 10
    both = np.zeros((n, 2), np.int64)
    commit_all(places, both)
    records, log = (both & OFFSET_MASK).T
    assert (records >= 10 * GB).all()
    if not set_aside:
        assert np.abs(log - records).max() <= 2 * 8192
        return
    assert log.min() == PLACES_FRONT
    assert log.max() - log.min() == 2**30 - 4096
    assert (np.diff(records) == 8192).all()
    assert (np.diff(log) == 4096).sum() == n - 2


@pytest.mark.parametrize(("gib", "mib"), [(8, 0), (31, 0), (32, 256), (100, 1024), (1000, 8192)])
def test_a_small_vdev_sets_nothing_aside_for_log_blocks(gib, mib):
    assert log_bytes(gib * 2**30) == mib * 2**20


def test_openzfs_from_2_1_on_sets_a_metaslab_aside():
    assert [name for name, of in ERAS.items() if of.zil.own_metaslab] == ["openzfs_2021", "openzfs"]


# ---- CPU of a record in a group ----


@pytest.mark.parametrize(("cpus", "ns"), [(1, 30_000), (2, 15_000), (4, 10_000), (64, 10_000)])
def test_a_group_is_as_fast_as_one_thread_or_all_of_them(cpus, ns):
    """10 us by one thread and 20 us by up to 80 % of the processors: their sum, half of it, and the serial part."""
    issue = era("b117").issue._replace(cpus_pct=100)
    assert time_between(issue, cpus, False, 10_000, 20_000) == ns


def test_a_record_costs_for_itself_and_for_its_bytes():
    s = FileSettings(sync_serial_ns=5000, sync_io_ns=20_000, checksum_ps=300, pack_ps=3000)
    small, large = file_layout.sync_cpu_ns(s, 8192, 8192), file_layout.sync_cpu_ns(s, 2**17, 2**17)
    assert small == (5000, 20_000 + 2457)
    assert large == (5000, 20_000 + 39_321)
    assert file_layout.sync_cpu_ns(s, 2**17, 2**15) == (5000, 20_000 + (300 * 2**15 + 3000 * 2**17) // 1000)

"""A small disk, and what becomes of requests at it."""

import numpy as np

from model.devices.disk import service
from model.devices.disk_geometry import Zone, make_layout
from model.devices.disk_mechanics import (
    AHEAD_BLOCKS,
    Disk,
    check_disk,
    new_state,
    seek_curve,
)

REV = 2_400_000  # ns; divides by every number of sectors used here
MS = 1_000_000
ZONES = (Zone(0, 3, 12, track_skew=3, cylinder_skew=5, offset=1), Zone(4, 9, 8, track_skew=2, cylinder_skew=4, offset=3))


def small_disk(zones=ZONES, heads=2, **changed):
    """Two zones of ten cylinders; no buffer unless asked for."""
    layout = make_layout(list(zones), heads)
    fields = {
        "layout": layout, "rev_ns": REV, "seek_ns": seek_curve(layout.n_cylinders, 400_000, 800_000, 1_500_000),
        "head_switch_ns": 300_000, "write_settle_ns": 100_000, "write_seek_min_ns": 50_000,
        "command_ns": np.array([[10, 20], [30, 40], [50, 60], [70, 80]]) * 1000, "idle_hit_ns": 5000, "data_ready_ns": 1000,
        "reconnect_ns": 2000, "done_ns": np.array([3000, 4000]), "bus_ns": 6000, "holds_bus": 0, "watermark": 0.0,
        "write_gather": 1, "read_on_arrival": 0, "write_on_arrival": 0, "ahead": AHEAD_BLOCKS, "ahead_blocks": 40,
        "ahead_on_hit": 0, "ahead_after_sequence": 0, "ahead_stops_at_once": 1, "almost_hits": 0, "keeps_read": 0,
        "hits_written": 1, "buffers_writes": 0, "joins_writes": 1, "segments": 0, "write_segments": 1,
        "own_write_segments": 0, "segment_blocks": 48, "passes": 64}
    return check_disk(Disk(**(fields | changed)))


def served_by(disk, requests):
    """Finishing times of (now, block, count, is_write) and the state after them."""
    state = new_state(disk, [0])
    return [service(disk, state, 0, *request) for request in requests], state

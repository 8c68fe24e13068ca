"""A disk of which only the data sheet is known, as a disk of the model.

What is printed, and what is made of it:

    rotation speed           the revolution
    three seek times         the seek curve (`seek_curve`): over one cylinder, on average, over the full stroke
    rates of two zones       lengths of the tracks, falling evenly from zone to zone; zones of equally many cylinders
    the sustained rate       skew: at the instantaneous rate a revolution's worth of bytes passes in a revolution. At the
                             sustained rate it passes in a revolution and a skew, on the average of all tracks
    capacity, heads          how many cylinders there are
    the buffer               segments of equal size; writes are buffered, and may fill it (disk_buffer.py); after a read
                             the drive reads on into its segment
    command overhead         one for all commands

A skew is there to give the arm the time that it needs, also before a write. So a cylinder's skew is a seek over one
cylinder and the settling of a write, if the sustained rate leaves that much. The other tracks share the rest of it; a
head switch takes as long as their skew leaves. Long transfers then lose no revolution at any track's end.

`platters` and `plain_electronics` are also what a measured drive is replayed with when all but its data sheet is ignored
(`study.replays.drive_file`). How far off such a disk is was measured.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from model.devices import overhead_columns as overhead
from model.devices.command_queue import Drive, check_drive
from model.devices.disk_geometry import Zone, make_layout
from model.devices.disk_mechanics import AHEAD_BLOCKS, AHEAD_NONE, Disk, check_disk, seek_curve
from model.devices.sectors import SECTOR_BYTES
from model.events.clock import SECOND_NS


class SheetParams(NamedTuple):
    """Hitachi HDS725050KLA360, a 7200 rpm SATA drive of 500 GB, of 2005 (physics 1.1); "typical": of drives of its kind."""

    disk_bytes: int = 500 * 10**9  # B; data sheet
    rpm: int = 7200  # data sheet
    overhead_ns: int = 350_000  # of a command; not in the sheet, 0.1 to 1 ms typical
    average_seek_ns: int = 8_370_000  # of a read; the sheet's time of random reads, less all else (it prints 8.2 and 8.5 ms)
    first_seek_ns: int = 1_090_000  # to the next cylinder; not in the sheet, measured on such a drive together with overhead
    full_seek_ns: int = 11_200_000  # over all cylinders; not in the sheet, from the same measurement
    write_settle_ns: int = 900_000  # average write seek less average read seek; 1 ms in sheets of the same maker
    outer_rate: int = 76_300_000  # B/s, instantaneous, zone 0; data sheet
    outer_sustained: int = 64_800_000  # B/s; data sheet
    inner_rate: int = 36_500_000  # B/s, instantaneous, last zone; data sheet
    n_zones: int = 30  # data sheet
    n_heads: int = 10  # typical of the capacity: five platters
    bus_rate: int = 133_000_000  # B/s; eight drives share a PCI-X bus of 1.07 GB/s (SATA alone: 300 MB/s)
    buffer_bytes: int = 16 * 2**20  # B; data sheet
    segments: int = 16  # that the buffer is divided into; typical
    buffers_writes: int = 1  # 1: reports a write when it is in the buffer; ZFS switches this on for whole disks
    reads_ahead: int = 1  # 1: goes on reading into the segment until it is full or a command comes. From the sheet's
    #   table of sequential reads: 16 MiB by 128 commands in one overhead, seek and latency, the rest at the sustained rate
    depth: int = 1  # commands that the drive holds; 32 with NCQ
    window: int = 1  # among how many of them it chooses; 1 to depth
    passes: int = 64  # by how many later commands one is passed over at most; see data/priors.toml
    sorts: int = 1  # 1: the driver sorts what the drive has not taken; default of Solaris' sd


_MIN = {"disk_bytes": 10**6, "rpm": 1, "outer_rate": 1, "outer_sustained": 1, "inner_rate": 1, "n_zones": 1, "n_heads": 1,
          "bus_rate": 1, "depth": 1, "window": 1}
_MAX = {"disk_bytes": 10**15, "rpm": 10**6, "overhead_ns": SECOND_NS, "average_seek_ns": SECOND_NS,
         "first_seek_ns": SECOND_NS, "full_seek_ns": SECOND_NS, "write_settle_ns": SECOND_NS, "outer_rate": 10**11,
         "n_zones": 1000, "n_heads": 100, "segments": 1024, "buffers_writes": 1, "reads_ahead": 1, "depth": 1024,
         "passes": 10**6, "sorts": 1}


def check_params(params):
    """Raise ValueError with one sentence unless there can be such a disk."""
    highest = _MAX | {"outer_sustained": params.outer_rate, "inner_rate": params.outer_rate,
                    "average_seek_ns": params.full_seek_ns, "first_seek_ns": params.average_seek_ns, "window": params.depth}
    for name, value in params._asdict().items():
        low, high = _MIN.get(name, 0), highest.get(name, 2**40)
        if value != int(value) or not low <= value <= high:
            raise ValueError(f"{name} of a disk is {value}, but it must be a whole number from {low} to {high}; "
                             "choose one in that range")
    if params.segments == 0 and (params.buffers_writes or params.reads_ahead):
        raise ValueError("segments of a disk is 0, but it buffers writes or reads ahead; choose at least 1, or neither")
    if params.segments and params.buffer_bytes < params.segments * SECTOR_BYTES:
        raise ValueError(f"buffer_bytes of a disk is {params.buffer_bytes}, which gives {params.segments} segments less "
                         f"than a block each; choose at least {params.segments * SECTOR_BYTES}")


def platters(n_blocks: int, n_heads: int, sectors: np.ndarray, rev_ns: int, seeks_ns: tuple[int, int, int],
             skews_ns: tuple[int, int], head_switch_ns: int) -> dict[str, Any]:
    """The fields of `Disk` that describe arm and platters. Zones of equally many cylinders have tracks of `sectors`, outer
    first. `seeks_ns` is over one cylinder, average, full; `skews_ns` of a track and of a cylinder's first track."""
    per_zone = max(1, -(-n_blocks // (n_heads * int(np.sum(sectors)))))
    of_track_ns, of_cylinder_ns = skews_ns
    zones = [Zone(first_cylinder=i * per_zone, last_cylinder=(i + 1) * per_zone - 1, sectors=int(n),
                  track_skew=float(np.ceil(of_track_ns / rev_ns * n)),
                  cylinder_skew=float(np.ceil(of_cylinder_ns / rev_ns * n))) for i, n in enumerate(sectors)]
    layout = make_layout(zones, n_heads)
    return {"layout": layout, "rev_ns": rev_ns, "seek_ns": seek_curve(layout.n_cylinders, *seeks_ns),
            "head_switch_ns": head_switch_ns}


def plain_electronics(overhead_ns: int, reads_ahead: int, segment_blocks: int) -> dict[str, Any]:
    """The fields of `Disk` that no data sheet gives. There is one overhead, a bus that starts with the first block and is
    free meanwhile, read-ahead that fills a segment."""
    return {"command_ns": np.full((overhead.N_KINDS, 2), overhead_ns, np.int64), "idle_hit_ns": 0, "data_ready_ns": 0,
            "reconnect_ns": 0, "done_ns": np.zeros(2, np.int64), "write_seek_min_ns": 0, "holds_bus": 0, "watermark": 0.0,
            "write_gather": 1, "read_on_arrival": 0, "write_on_arrival": 0,
            "ahead": AHEAD_BLOCKS if reads_ahead else AHEAD_NONE, "ahead_blocks": segment_blocks, "ahead_on_hit": 1}


def _skews(params, rev_ns):
    """(skew of a track, of a cylinder's first track, head switch) in ns; see the module text."""
    total = params.n_heads * (rev_ns * params.outer_rate // params.outer_sustained - rev_ns)  # of a cylinder
    of_cylinder = min(total, max(total // params.n_heads, params.first_seek_ns + params.write_settle_ns))
    of_track = (total - of_cylinder) // max(1, params.n_heads - 1)
    return of_track, of_cylinder, max(0, of_track - params.write_settle_ns)


def sheet_disk(params: SheetParams) -> Disk:
    """The `Disk` of a data sheet, one for all who ask; nobody writes to it. Raises ValueError for one that cannot exist."""
    check_params(params)
    return _sheet_disk(SheetParams(*map(int, params)))  # 7200 and 7200.0 are one key to a cache, but two types to a kernel


@lru_cache(maxsize=8)
def _sheet_disk(params):
    rev_ns = 60 * SECOND_NS // params.rpm
    rates = np.linspace(params.outer_rate, params.inner_rate, params.n_zones)
    sectors = np.maximum(1, (rates * rev_ns / SECOND_NS).astype(np.int64) // SECTOR_BYTES)
    *skews, head_switch = _skews(params, rev_ns)
    seeks = params.first_seek_ns, params.average_seek_ns, params.full_seek_ns
    blocks = -(-params.disk_bytes // SECTOR_BYTES)
    segment_blocks = params.buffer_bytes // SECTOR_BYTES // max(1, params.segments)
    return check_disk(Disk(
        **platters(blocks, params.n_heads, sectors, rev_ns, seeks, skews, head_switch),
        **plain_electronics(params.overhead_ns, params.reads_ahead, segment_blocks), write_settle_ns=params.write_settle_ns,
        bus_ns=SECTOR_BYTES * SECOND_NS // params.bus_rate, ahead_after_sequence=0, ahead_stops_at_once=1, almost_hits=1,
        keeps_read=1, hits_written=1, buffers_writes=params.buffers_writes, joins_writes=1, segments=params.segments,
        write_segments=params.segments, own_write_segments=0, segment_blocks=segment_blocks,
        passes=params.passes))


def new_drive(params: SheetParams, drawn_ns: Sequence[int] = ()) -> Drive:
    """The `Drive` of a data sheet: its disk, and how commands wait for it."""
    return check_drive(Drive(sheet_disk(params), params.depth, params.window, params.sorts, np.array(drawn_ns, np.int64)))

"""Where a block lies on the platters: zones, spare sectors, slipped and remapped defects, skew.

A host sees blocks 0, 1, 2 …; a drive has cylinders, heads and sectors, and gives outer tracks more sectors than inner
ones. Cylinders with equally long tracks form a *zone*. Inside a zone all sectors are numbered in the order in which
blocks are laid on them,

    place = (cylinder in the zone · heads + order of the head) · sectors + sector,

and only two things keep a block number from being a place: sectors set aside as *spares*, and *slipped* defects. These are
skipped, so that the data behind them moves up by one. Spares belong to a *unit* (a track, a cylinder, a few cylinders or the
zone), and slips use up spares. These are either those of their unit or the end of the zone.

    unit 0                                unit 1
    ├ data ······ x slipped ·· data ┤ spare ├ data ···
                                     ↑ the slip moved the data one sector into the spares

Both steps are a division and a search in a sorted array. `KEY` is the place of a slip less the number of slips before it in
its unit. Exactly the slips with `KEY <= p` lie before the block that would be at `p` without slips. Where whole tracks are
spared, the same arithmetic is done in tracks: the `GRAIN` is then a track and not a sector. A *remapped* defect keeps its
block number, but the block lives elsewhere in the zone.

*Skew* turns each track against the one before it, so that the head finds the next block after a head switch or a
one-cylinder seek. `_turned` adds it up. The format is that of DiskSim 4.0's first layout module, as far as measured
drives have been described in it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.devices import layout_columns as laid
from model.jit import kernel

NO_SPARES, TRACKS_PER_ZONE, PER_CYLINDER, PER_TRACK = 0, 1, 2, 3
PER_CYLINDER_TO_END, PER_CYLINDER_FRONT, PER_CYLINDER_FRONT_TO_END = 4, 5, 6
AT_END, PER_RANGE, PER_ZONE, PER_ZONE_TO_END = 7, 8, 9, 10
TO_END = (PER_CYLINDER_TO_END, PER_CYLINDER_FRONT_TO_END, AT_END, PER_ZONE_TO_END)
AT_FRONT = (PER_CYLINDER_FRONT, PER_CYLINDER_FRONT_TO_END)
IN_CYLINDER = (PER_CYLINDER, PER_CYLINDER_TO_END, *AT_FRONT)
TURNED_BY_SLIPS = (PER_TRACK, *IN_CYLINDER)  # schemes in which earlier slips turn a track further

MARK_BITS = 9  # a disk has up to 2^9 marks at which the zone is noted


class Zone(NamedTuple):
    """One zone, as it is described to `make_layout`. Places are counted from the start of the zone."""

    first_cylinder: int
    last_cylinder: int
    sectors: int  # per track
    track_skew: float = 0.0  # sectors by which a track is turned against the one before it in the cylinder
    cylinder_skew: float = 0.0  # sectors by which a cylinder's first track is turned against the track before it
    offset: float = 0.0  # sectors by which the first track of the zone is turned against the index
    empty: int = 0  # data sectors at the start of the zone that hold no block
    spares: int = 0  # sectors per unit; tracks where whole tracks are spared
    slips: tuple = ()  # places that are skipped; tracks where whole tracks are spared
    remaps: tuple = ()  # pairs (defect, where its block lives) of places, or of tracks


class Layout(NamedTuple):
    """The layout of a disk. All places are sectors from the start of a zone, except where GRAIN is a track."""

    n_blocks: int
    n_cylinders: int
    heads: int
    slips_to_end: int  # 1: a slip moves all later data of the zone; 0: only that of its unit
    turned_by_slips: int  # 1: slipped sectors of earlier tracks turn a track further
    serpentine: int  # 1, 2: odd cylinders (of the zone, of the disk) use the heads backwards; 0: none does
    zones: np.ndarray  # (zones + 1, column) int64; for the columns of all four see model.devices.layout_columns
    turns: np.ndarray  # (zones, column) float
    slips: np.ndarray  # (slips, column) int64
    remaps: np.ndarray  # (remaps, column) int64
    zone_shift: int
    zone_at: np.ndarray  # int16: the zone of every 2^zone_shift-th block, from which that of others is a step or two


@kernel
def count_upto(table, column, first, last, key):
    """How many of `table[first:last, column]`, which rises, are at most `key`."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if table[middle, column] <= key:
            low = middle + 1
        else:
            high = middle
    return low - first


@kernel
def _grain_place(layout, zone, grain):
    """Place, in grains, of the `grain`-th data grain of a zone."""
    zones = layout.zones
    unit, data = zones[zone, laid.UNIT], zones[zone, laid.DATA]
    first, last = zones[zone, laid.SLIP], zones[zone + 1, laid.SLIP]
    if layout.slips_to_end:
        grain += count_upto(layout.slips, laid.KEY, first, last, grain)
    number = grain // data if grain >= data else 0  # in a zone without spares, that is
    place = number * unit + zones[zone, laid.FRONT] + grain - number * data
    if first == last or layout.slips_to_end:
        return place
    first += count_upto(layout.slips, laid.PLACE, first, last, number * unit - 1)
    if zones[zone, laid.FRONT]:
        place -= count_upto(layout.slips, laid.PLACE, first, last, number * unit + unit - 1)
    return place + count_upto(layout.slips, laid.KEY, first, last, place)


@kernel
def _slot(layout, zone, block):
    """Place of a block before remapping."""
    number, grain = block - layout.zones[zone, laid.BLOCK] + layout.zones[zone, laid.EMPTY], layout.zones[zone, laid.GRAIN]
    if grain == 1:
        return _grain_place(layout, zone, number)
    return _grain_place(layout, zone, number // grain) * grain + number % grain


@kernel
def _moved(layout, zone, source, target, place):
    """The `target` of a remap of the zone whose `source` is `place`, else `place` itself."""
    first, last = layout.zones[zone, laid.REMAP], layout.zones[zone + 1, laid.REMAP]
    remap = first + count_upto(layout.remaps, source, first, last, place) - 1
    return layout.remaps[remap, target] if remap >= first and layout.remaps[remap, source] == place else place


@kernel
def locate(layout, block):
    """(zone, place) of `block`."""
    zone, last = int(layout.zone_at[min(block >> layout.zone_shift, len(layout.zone_at) - 1)]), layout.zones.shape[0] - 2
    while zone < last and layout.zones[zone + 1, laid.BLOCK] <= block:
        zone += 1
    return zone, _moved(layout, zone, laid.DEFECT, laid.HOME, _slot(layout, zone, block))


@kernel
def _grain_at(layout, zone, place):
    """Inverse of `_grain_place`; -1 for a spare or a slipped grain."""
    zones, slips = layout.zones, layout.slips
    unit, data = zones[zone, laid.UNIT], zones[zone, laid.DATA]
    first, last = zones[zone, laid.SLIP], zones[zone + 1, laid.SLIP]
    before = count_upto(slips, laid.PLACE, first, last, place)
    if before and slips[first + before - 1, laid.PLACE] == place:
        return -1
    number, inside = place // unit, place % unit - zones[zone, laid.FRONT]
    if layout.slips_to_end:
        return number * data + inside - before if 0 <= inside < data else -1
    inside -= before - count_upto(slips, laid.PLACE, first, last, number * unit - 1)
    if zones[zone, laid.FRONT]:
        inside += count_upto(slips, laid.PLACE, first, last, number * unit + unit - 1)
        inside -= count_upto(slips, laid.PLACE, first, last, number * unit - 1)
    return number * data + inside if 0 <= inside < data else -1


@kernel
def _slotted_block(layout, zone, place):
    """The block at a place before remapping, -1 where there is none: the inverse of `_slot`."""
    size = layout.zones[zone, laid.GRAIN]
    grain = _grain_at(layout, zone, place // size)
    block = layout.zones[zone, laid.BLOCK] + grain * size + place % size - layout.zones[zone, laid.EMPTY]
    return block if grain >= 0 and layout.zones[zone, laid.BLOCK] <= block < layout.zones[zone + 1, laid.BLOCK] else -1


@kernel
def block_at(layout, zone, place):
    """The block at a place of a zone, -1 where there is none: the inverse of `locate`."""
    slot = _moved(layout, zone, laid.SORTED_HOME, laid.ITS_DEFECT, place)
    if slot == place and _moved(layout, zone, laid.DEFECT, laid.HOME, place) != place:
        return -1
    return _slotted_block(layout, zone, slot)


@kernel
def run_on_track(layout, zone, block, place, limit):
    """(blocks, sectors): how many blocks from `block` at `place` on pass the head in order and on one track, and in how many
    sectors. They are at most `limit`. The sectors are more than the blocks if defects are slipped between them."""
    zones, sectors = layout.zones, layout.zones[zone, laid.SECTORS]
    first, last = zones[zone, laid.REMAP], zones[zone + 1, laid.REMAP]
    end = (place // sectors + 1) * sectors
    if first < last:
        if _moved(layout, zone, laid.SORTED_HOME, laid.ITS_DEFECT, place) != place:
            return 1, 1
        ahead = first + count_upto(layout.remaps, laid.DEFECT, first, last, place)
        if ahead < last:
            end = min(end, layout.remaps[ahead, laid.DEFECT])
    run = min(limit, end - place, zones[zone + 1, laid.BLOCK] - block)
    span = _slot(layout, zone, block + run - 1) + 1 - place
    while place + span > end:
        run -= 1
        span = _slot(layout, zone, block + run - 1) + 1 - place
    return run, span


@kernel
def _turned(layout, zone, track, cylinder):
    """By how many sectors a track, on a cylinder of the zone, is turned against the index."""
    turned = layout.turns[zone, laid.OFFSET] + layout.turns[zone, laid.CYLINDER_SKEW] * cylinder
    turned += layout.turns[zone, laid.TRACK_SKEW] * (track - cylinder)
    if layout.turned_by_slips:
        sectors = layout.zones[zone, laid.SECTORS]
        tracks = track if layout.zones[zone, laid.UNIT] == sectors else cylinder * layout.heads
        first, last = layout.zones[zone, laid.SLIP], layout.zones[zone + 1, laid.SLIP]
        turned += count_upto(layout.slips, laid.PLACE, first, last, tracks * sectors - 1)
    return turned


@kernel
def stand(layout, zone, place):
    """(cylinder, head, angle) of a place: where an arm has to stand to meet the start of its sector, and when. The angle is
    a fraction of a revolution from the index, in [0, 1)."""
    sectors = layout.zones[zone, laid.SECTORS]
    track = place // sectors
    inside = track // layout.heads
    cylinder, head = layout.zones[zone, laid.CYLINDER] + inside, track - inside * layout.heads
    odd = inside & 1 if layout.serpentine == 1 else cylinder & 1
    revolutions = (_turned(layout, zone, track, inside) + (place - track * sectors)) / sectors
    return (cylinder, layout.heads - 1 - head if layout.serpentine and odd else head,
            revolutions - np.floor(revolutions))


def _slip_rows(slips, unit, data, front, to_end):
    """Rows of Layout.slips: sorted places and their search keys; see the module text."""
    slips = np.unique(np.asarray(slips, np.int64))
    if to_end:
        slips = slips[(slips % unit >= front) & (slips % unit < front + data)]  # a spare holds nothing to move
    rank = np.arange(slips.size)
    if to_end:
        keys = slips // unit * data + slips % unit - front - rank
    else:
        keys = slips - rank + np.searchsorted(slips, slips // unit * unit)
    rows = np.zeros((len(slips), laid.N_SLIP_COLUMNS), np.int64)
    rows[:, laid.PLACE], rows[:, laid.KEY] = slips, keys
    return rows


def _units(zone, scheme, heads, cylinders_per_range):
    """(sectors per grain, grains per unit, spare grains per unit, those in front) of a zone."""
    cylinders = zone.last_cylinder - zone.first_cylinder + 1
    if scheme == TRACKS_PER_ZONE:
        return zone.sectors, cylinders * heads, zone.spares, 0
    if scheme == PER_TRACK:
        return 1, zone.sectors, zone.spares, 0
    if scheme in IN_CYLINDER:
        return 1, zone.sectors * heads, zone.spares, zone.spares if scheme in AT_FRONT else 0
    if scheme == PER_RANGE:
        return 1, zone.sectors * heads * cylinders_per_range, zone.spares, 0
    return 1, zone.sectors * heads * cylinders, zone.spares if scheme in (PER_ZONE, PER_ZONE_TO_END) else 0, 0


def _check_zone(index, zone, previous):
    if zone.sectors < 1 or zone.spares < 0 or zone.empty < 0:
        raise ValueError(f"zone {index} has {zone.sectors} sectors per track, {zone.spares} spares and {zone.empty} empty "
                         "sectors; give at least one sector per track and nothing negative")
    if zone.first_cylinder <= previous or zone.last_cylinder < zone.first_cylinder:
        raise ValueError(f"zone {index} spans cylinders {zone.first_cylinder} to {zone.last_cylinder} after cylinder "
                         f"{previous}; give zones from outside in, each of at least one cylinder")


def _check_defects(index, zone, size, unit, spares, scheme):
    places = [*zone.slips, *(place for pair in zone.remaps for place in pair)]
    if places and not 0 <= min(places) <= max(places) < size:
        raise ValueError(f"zone {index} has defects at {min(places)} to {max(places)}; its places are 0 to {size - 1}")
    worst = np.bincount(np.unique(zone.slips).astype(np.int64) // unit).max() if zone.slips else 0
    if scheme not in TO_END and worst > spares:
        raise ValueError(f"zone {index} slips {worst} defects where {spares} are spared; give more spares or fewer slips")


def _describe(row, index, zone, scheme, heads, cylinders_per_range):
    """Fill columns CYLINDER to EMPTY of the row of a zone. (blocks, sectors per grain, slip rows) of the zone."""
    grain, unit, spares, front = _units(zone, scheme, heads, cylinders_per_range)
    size = (zone.last_cylinder - zone.first_cylinder + 1) * heads * zone.sectors // grain
    data = unit - spares
    if data < 1:
        raise ValueError(f"zone {index} spares {spares} of {unit}; leave at least one for data")
    _check_defects(index, zone, size, unit, spares, scheme)
    slips = _slip_rows(zone.slips, unit, data, front, scheme in TO_END)
    whole, rest = divmod(size, unit)
    lost = len(slips) if scheme in TO_END else 0
    rest -= 0 if scheme in TO_END else int((slips[:, laid.PLACE] >= whole * unit).sum())
    blocks = (whole * data + min(max(rest, 0), data) - lost) * grain - zone.empty
    if blocks < 1:
        raise ValueError(f"zone {index} holds {blocks} blocks; give it more cylinders or fewer spares")
    row[laid.CYLINDER], row[laid.SECTORS], row[laid.EMPTY] = zone.first_cylinder, zone.sectors, zone.empty
    row[laid.GRAIN], row[laid.UNIT], row[laid.DATA], row[laid.FRONT] = grain, unit, data, front
    return blocks, grain, slips


def _remap_rows(zone, grain):
    """Rows of Layout.remaps, in sectors; a remapped track is a remap of each of its sectors."""
    pairs = sorted((defect * grain + i, home * grain + i) for defect, home in zone.remaps for i in range(grain))
    rows = np.zeros((len(pairs), laid.N_REMAP_COLUMNS), np.int64)
    rows[:, laid.DEFECT], rows[:, laid.HOME] = np.array(pairs, np.int64).reshape(-1, 2).T
    by_home = sorted(pairs, key=lambda pair: pair[1])
    rows[:, laid.ITS_DEFECT], rows[:, laid.SORTED_HOME] = np.array(by_home, np.int64).reshape(-1, 2).T
    return rows


def _set_firsts(row, block, slips, remaps):
    """A zone begins with `block`, behind the slips and remaps so far; both are lists of tables."""
    row[laid.BLOCK], row[laid.SLIP], row[laid.REMAP] = block, sum(map(len, slips)), sum(map(len, remaps))


def _check_homes(layout):
    """The layout, if every remapped block has a place of its own."""
    for zone in range(len(layout.zones) - 1):
        rows = layout.remaps[layout.zones[zone, laid.REMAP]:layout.zones[zone + 1, laid.REMAP]]
        for home in rows[:, laid.HOME].tolist():
            if (rows[:, laid.HOME] == home).sum() > 1 or _slotted_block(layout, zone, home) >= 0:
                raise ValueError(f"zone {zone} remaps a defect to place {home}, where there is a block already; "
                                 "give a spare place")
    return layout


def make_layout(zones: Sequence[Zone], heads: int, scheme: int = NO_SPARES, cylinders_per_range: int = 1,
                serpentine: int = 0) -> Layout:
    """Layout of a disk of `heads` surfaces and the given `Zone`s, outermost first.

    `scheme` says where spares lie and what slips use up: 0 none, 1 tracks per zone, 2 sectors per cylinder, 3 per track. 4
    is per cylinder with slips to the end of the zone, 5 and 6 are the same at the front of the cylinder. 7 is slips to the
    end only, 8 per range of `cylinders_per_range`, 9 per zone, 10 per zone with slips to the end. Raises ValueError for a
    disk that cannot exist.
    """
    if heads < 1 or not zones:
        raise ValueError(f"a disk of {heads} heads and {len(zones)} zones holds nothing; give at least one of each")
    if scheme not in range(11) or cylinders_per_range < 1 or serpentine not in range(3):
        raise ValueError(f"sparing scheme {scheme} over {cylinders_per_range} cylinders with head order {serpentine} is "
                         "unknown. Give a scheme from 0 to 10, at least one cylinder and an order from 0 to 2")
    table, turns = np.ones((len(zones) + 1, laid.N_ZONE_COLUMNS), np.int64), np.zeros((len(zones), laid.N_TURN_COLUMNS))
    slips: list[np.ndarray] = []
    remaps: list[np.ndarray] = []
    previous, block = -1, 0
    for index, zone in enumerate(zones):
        _check_zone(index, zone, previous)
        blocks, grain, its_slips = _describe(table[index], index, zone, scheme, heads, cylinders_per_range)
        _set_firsts(table[index], block, slips, remaps)
        turns[index, [laid.OFFSET, laid.TRACK_SKEW, laid.CYLINDER_SKEW]] = zone.offset, zone.track_skew, zone.cylinder_skew
        slips.append(its_slips)
        remaps.append(_remap_rows(zone, grain))
        block, previous = block + blocks, zone.last_cylinder
    _set_firsts(table[-1], block, slips, remaps)
    table[-1, laid.CYLINDER] = previous + 1
    table[-1, [laid.FRONT, laid.EMPTY]] = 0
    shift = max(0, int(block).bit_length() - MARK_BITS)
    marks = np.searchsorted(table[:-1, laid.BLOCK], np.arange(0, block, 1 << shift), "right") - 1
    return _check_homes(Layout(
        n_blocks=int(block), n_cylinders=previous + 1, heads=heads, slips_to_end=int(scheme in TO_END),
        turned_by_slips=int(scheme in TURNED_BY_SLIPS), serpentine=serpentine, zones=table, turns=turns,
        slips=np.concatenate(slips), remaps=np.concatenate(remaps), zone_shift=shift, zone_at=marks.astype(np.int16)))

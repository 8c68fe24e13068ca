"""A naive twin of the disk: every block in a list, every sector one by one.

Written from the meaning of the fields, not from the kernels. `defect` breaks one rule on purpose.
"""

from model.devices import overhead_columns as overhead

LATE_NS = 1000  # a head that is no later still gets its sector
TO_END, AT_FRONT = (4, 6, 7, 10), (5, 6)


def places(zones, heads, scheme, cylinders_per_range, defect=None):
    """[(zone, place)] of every block, in order."""
    placed = []
    for index, zone in enumerate(zones):
        grain = zone.sectors if scheme == 1 else 1
        cylinders = zone.last_cylinder - zone.first_cylinder + 1
        size = cylinders * heads * zone.sectors // grain
        unit = {3: zone.sectors, 8: zone.sectors * heads * cylinders_per_range}.get(scheme, size)
        unit = zone.sectors * heads if scheme in (2, 4, 5, 6) else unit
        slips = set() if defect == "forgets slips" else set(zone.slips)
        spares = 0 if scheme in (0, 7) or defect == "forgets spares" else zone.spares
        grains = []
        for start in range(0, size, unit):
            grains += _data_grains(list(range(start, min(start + unit, size))), unit, spares, slips, scheme)
        sectors = [g * grain + i for g in grains for i in range(grain)][zone.empty:]
        homes = {d * grain + i: h * grain + i for d, h in zone.remaps for i in range(grain)}
        homes = {} if defect == "forgets remaps" else homes
        placed += [(index, homes.get(place, place)) for place in sectors]
    return placed


def _data_grains(grains, unit, spares, slips, scheme):
    if scheme in TO_END:
        kept = grains[spares:] if scheme in AT_FRONT else grains[:unit - spares]
        return [g for g in kept if g not in slips]
    good = [g for g in grains if g not in slips]
    return good[-(unit - spares):] if scheme in AT_FRONT else good[:unit - spares]


def where(zones, heads, zone, place, defect=None):
    """(cylinder, head, angle as an exact number of sectors from the index, sectors per track)."""
    described = zones[zone]
    track, sector = divmod(place, described.sectors)
    turned = described.offset + sector
    if defect != "forgets skew":
        for t in range(1, track + 1):
            turned += described.track_skew if t % heads else described.cylinder_skew
    return described.first_cylinder + track // heads, track % heads, turned % described.sectors, described.sectors


def serve(disk, zones, requests, defect=None):
    """Finishing times of (now, block, count, is_write) on a disk without buffer, a sector at a time."""
    layout = places(zones, disk.layout.heads, 0, 1)
    arm, free, wrote, finished = (0, 0), 0, 0, []
    for now, block, count, is_write in requests:
        ready = now + int(disk.command_ns[overhead.WRITE_THROUGH if is_write else overhead.READ_MISS, wrote])
        at = max(ready, free)
        sent = ready + disk.data_ready_ns + count * disk.bus_ns
        gathered = sent - (count - 1) * disk.bus_ns
        first_passed = None
        for i in range(count):
            cylinder, head, angle, sectors = where(zones, disk.layout.heads, *layout[block + i], defect)
            at += _movement(disk, arm, (cylinder, head), is_write, defect)
            at = max(at, gathered, free + disk.write_seek_min_ns, ready + disk.write_seek_min_ns) if is_write else at
            arm = (cylinder, head) if defect != "keeps the arm" else arm
            turn = 0 if defect == "stops the spindle" else at % disk.rev_ns
            wait = round(angle * disk.rev_ns / sectors - turn) % disk.rev_ns
            at += (0 if wait > disk.rev_ns - LATE_NS else wait) + disk.rev_ns // sectors
            first_passed = first_passed or at
        free, wrote = at, is_write
        finished.append(max(sent, at) + disk.reconnect_ns + int(disk.done_ns[overhead.WRITE_DONE]) if is_write else
                        max(max(ready, first_passed) + disk.reconnect_ns + disk.data_ready_ns + count * disk.bus_ns,
                            at + disk.bus_ns) + int(disk.done_ns[overhead.READ_DONE]))
    return finished


def _movement(disk, arm, target, is_write, defect):
    distance = abs(arm[0] - target[0])
    ns = int(disk.seek_ns[distance])
    if arm[1] != target[1] and defect != "never switches heads":
        ns = max(ns, disk.head_switch_ns)
    settles = is_write or defect == "settles reads"
    return ns + disk.write_settle_ns if ns and settles else ns

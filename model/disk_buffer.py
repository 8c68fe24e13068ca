"""The buffer of a disk: segments of blocks, and what in them still has to be written.

The buffer is cut into segments of equal size. A segment holds blocks from FIRST to LAST: read, read ahead, or written. The
last UNWRITTEN of them are only in the buffer: a *run*, which the arm has to write. Six rules:

1. A run may be longer than a segment; it then takes the room of as many as it needs. All runs take that of `write_segments`
   at most, and a write that finds no room waits until the arm has made it. What was read has the rest of the buffer: the
   least recently used segment is given up.
2. A write that continues a run joins it. One that writes blocks of a run anew replaces them, so that they are written once.
3. The arm writes from the buffer when no command needs it: not before the last read is done, and rather than read ahead.
   So what waits in the buffer never makes a read wait, but for the piece that has been begun.
4. A piece is what of a run lies on one track.
5. The next piece is of the run whose first block the arm reaches soonest, as among commands (`model.drive_queue`); but if
   there is one that has been passed over by `write_segments` others and `passes` more, of that which has been most often.
6. A flush, and a write that finds no room, set the arm to it at once.

That what is written goes to the disk "at its next convenient opportunity", and that writes that follow each other are
merged, is printed (Seagate ST3655 product manual, C.5.2). That segments adapt to what is written, that reads go first, and
that the nearest run is next is printed by no maker that we know of, but is what a drive gains by; it is our reading. In the
replay of measured drives (`study.replay_disk`) requests are 7 to 70 ms apart, so that a buffer hardly ever holds more than a
write: they bear out that the arm follows a single write at once, and say nothing about the order.
"""

from model.disk_layout import arm_at, locate, run_on_track
from model.disk_mechanics import (
    AHEAD_SEGMENT,
    AT_CYLINDER,
    AT_HEAD,
    CLOCK,
    FIRST,
    FREE,
    GATHERED,
    IDLE,
    LAST,
    LAST_PIECE,
    N_PIECES,
    NEWEST,
    PIECE_BLOCKS,
    PIECE_END,
    PIECE_SEGMENT,
    READY,
    RUN_ANGLE,
    RUN_BLOCK,
    RUN_CYLINDER,
    RUN_HEAD,
    RUN_PLACE,
    RUN_ZONE,
    STOP_CYLINDER,
    STOP_HEAD,
    STOP_TIME,
    TAKEN,
    UNWRITTEN,
    USED,
    WRITTEN,
    angle_ns,
    latency,
    pass_on_track,
    rotation,
    seek_time,
    wait_for,
)
from model.jit import kernel, part

# ---- segments ----


@kernel
def stop(state, unit):
    """Take the arm away from read-ahead, which has been run until now."""
    units = state.units
    if units[unit, AHEAD_SEGMENT] >= 0:
        units[unit, AHEAD_SEGMENT] = -1
        units[unit, AT_CYLINDER], units[unit, AT_HEAD] = units[unit, STOP_CYLINDER], units[unit, STOP_HEAD]
        units[unit, FREE] = units[unit, STOP_TIME]


@kernel
def touch(state, unit, segment):
    """A segment is used."""
    state.units[unit, CLOCK] += 1
    state.segments[unit, segment, USED] = state.units[unit, CLOCK]


@kernel
def extend(disk, state, unit, segment, last):
    """Let a segment hold the blocks up to `last`; the first ones slide out, but none that is to be written."""
    segments = state.segments
    segments[unit, segment, LAST] = last
    kept = max(disk.segment_blocks, segments[unit, segment, UNWRITTEN])
    segments[unit, segment, FIRST] = max(segments[unit, segment, FIRST], last - kept)


@kernel
def _empty(state, unit, segment):
    state.segments[unit, segment, FIRST] = state.segments[unit, segment, LAST]
    state.segments[unit, segment, USED] = -1


@part
def claim(disk, state, unit, is_write):
    """The segment to use next, whatever it holds: an empty one if there is room, or the least recently used without a run;
    -1 if runs have all the room."""
    first, last, room = 0, disk.segments, disk.segments - state.units[unit, TAKEN]
    if disk.own_write_segments and is_write:
        last, room = disk.write_segments, disk.write_segments - state.units[unit, TAKEN]
    elif disk.own_write_segments:
        first, room = disk.write_segments, disk.segments - disk.write_segments
    oldest, empty, held = -1, -1, 0
    for segment in range(first, last):
        if state.segments[unit, segment, UNWRITTEN] > 0:
            continue
        if state.segments[unit, segment, FIRST] == state.segments[unit, segment, LAST]:
            empty = segment if empty < 0 else empty
        else:
            held += 1
            if oldest < 0 or state.segments[unit, segment, USED] < state.segments[unit, oldest, USED]:
                oldest = segment
    return empty if held < room and empty >= 0 else oldest


# ---- the arm writes ----


@kernel
def _worth(disk, blocks):
    """How many segments' room a run of `blocks` takes."""
    return (blocks + disk.segment_blocks - 1) // disk.segment_blocks


@kernel
def _set_run(disk, state, unit, segment, blocks):
    """The run of a segment has so many blocks now."""
    segments = state.segments
    state.units[unit, TAKEN] += _worth(disk, blocks) - _worth(disk, segments[unit, segment, UNWRITTEN])
    segments[unit, segment, UNWRITTEN] = blocks
    segments[unit, segment, NEWEST] = min(segments[unit, segment, NEWEST], blocks)


@kernel
def _find_run(disk, state, unit, segment, block):
    """Where `block` lies, with which the run of a segment begins. A run waits while others are written, so that is looked up
    once: a twentieth of the time of the OLTP simulation less."""
    segments = state.segments
    if segments[unit, segment, RUN_BLOCK] != block:
        zone, place = locate(disk.layout, block)
        segments[unit, segment, RUN_BLOCK] = block
        segments[unit, segment, RUN_ZONE], segments[unit, segment, RUN_PLACE] = zone, place
        segments[unit, segment, RUN_CYLINDER], segments[unit, segment, RUN_HEAD] = arm_at(disk.layout, zone, place)
        segments[unit, segment, RUN_ANGLE] = angle_ns(disk, zone, place)


@kernel
def _reached(disk, state, unit, segment, begins, turned, earliest, block):
    """When an arm that begins at `begins`, with the spindle at `turned`, is at `block`, with which the run of a segment
    begins: see `approach`."""
    segments = state.segments
    _find_run(disk, state, unit, segment, block)
    cylinder, head = segments[unit, segment, RUN_CYLINDER], segments[unit, segment, RUN_HEAD]
    on_track = max(earliest - begins, seek_time(disk, state, unit, cylinder, head, True))
    return begins + on_track + wait_for(disk.rev_ns, turned, on_track, segments[unit, segment, RUN_ANGLE])


@kernel
def _next_run(disk, state, unit, at):
    """(segment with the run to write next by an arm that is free from `at` on, when it can begin)."""
    segments, turned_at = state.segments, rotation(disk, state, unit, at)
    best, starts, soonest, lowest = -1, at, at, at
    for segment in range(disk.segments):
        run = segments[unit, segment, UNWRITTEN]
        if run == 0:
            continue
        is_new = run == segments[unit, segment, NEWEST]
        begins, block = max(at, segments[unit, segment, READY]) if is_new else at, segments[unit, segment, LAST] - run
        passed = state.units[unit, N_PIECES] - segments[unit, segment, LAST_PIECE]
        if passed >= disk.passes + disk.write_segments:
            reached = -passed  # before all others
        else:
            earliest = segments[unit, segment, GATHERED] if is_new else at
            turned = turned_at if begins == at else rotation(disk, state, unit, begins)
            reached = _reached(disk, state, unit, segment, begins, turned, earliest, block)
        if best < 0 or reached < soonest or (reached == soonest and block < lowest):
            best, starts, soonest, lowest = segment, begins, reached, block
    return best, starts


@kernel
def _begin_piece(disk, state, unit, segment, begins):
    """Begin to write from a run what lies on one track and has come over the bus: see `transfer`."""
    units, segments, blocks = state.units, state.segments, state.segments[unit, segment, UNWRITTEN]
    block, older = segments[unit, segment, LAST] - blocks, blocks - segments[unit, segment, NEWEST]
    earliest = segments[unit, segment, GATHERED]
    if older > 0 and earliest > begins:  # the newest is still to come
        blocks, earliest = older, begins
    _find_run(disk, state, unit, segment, block)
    zone, place = segments[unit, segment, RUN_ZONE], segments[unit, segment, RUN_PLACE]
    cylinder, head = segments[unit, segment, RUN_CYLINDER], segments[unit, segment, RUN_HEAD]
    count, span = run_on_track(disk.layout, zone, block, place, blocks)
    there = max(earliest, begins + seek_time(disk, state, unit, cylinder, head, True))
    start = there + latency(disk, state, unit, there, segments[unit, segment, RUN_ANGLE])
    _, units[unit, FREE] = pass_on_track(disk, there, start, zone, span, True)
    units[unit, AT_CYLINDER], units[unit, AT_HEAD] = cylinder, head
    units[unit, PIECE_SEGMENT], units[unit, PIECE_BLOCKS] = segment, count
    units[unit, PIECE_END] = units[unit, FREE]
    units[unit, N_PIECES] += 1
    segments[unit, segment, LAST_PIECE] = units[unit, N_PIECES]


@kernel
def _end_piece(disk, state, unit):
    """What the arm has been writing is on the platter."""
    segment = state.units[unit, PIECE_SEGMENT]
    state.units[unit, PIECE_SEGMENT] = -1
    _set_run(disk, state, unit, segment, state.segments[unit, segment, UNWRITTEN] - state.units[unit, PIECE_BLOCKS])
    extend(disk, state, unit, segment, state.segments[unit, segment, LAST])


@part
def write_when_idle(disk, state, unit, now):
    """Let the arm write, of its own accord, what it would have begun before `now`."""
    units = state.units
    while units[unit, TAKEN] > 0:
        if units[unit, PIECE_SEGMENT] < 0:
            segment, begins = _next_run(disk, state, unit, max(units[unit, FREE], units[unit, IDLE]))
            if begins >= now:
                break
            _begin_piece(disk, state, unit, segment, begins)
        if units[unit, PIECE_END] > now:
            break
        _end_piece(disk, state, unit)


@kernel
def _write_on(disk, state, unit, now):
    """Let the arm write a piece of a run now, or the one that it has begun: when it is on the platter."""
    if state.units[unit, PIECE_SEGMENT] < 0:
        segment, begins = _next_run(disk, state, unit, max(state.units[unit, FREE], now))
        _begin_piece(disk, state, unit, segment, begins)
    _end_piece(disk, state, unit)
    return max(now, state.units[unit, PIECE_END])


@part
def write_all(disk, state, unit, now):
    """Let the arm write all runs from `now` on: when nothing is left."""
    while state.units[unit, TAKEN] > 0:
        now = _write_on(disk, state, unit, now)
    return max(now, state.units[unit, PIECE_END])


# ---- a write comes ----


@kernel
def _replace(disk, state, unit, segment, block, end):
    """Blocks from `block` to `end` are written anew: a segment loses its copies, or has them inside its run: then True."""
    segments, last = state.segments, state.segments[unit, segment, LAST]
    if state.units[unit, PIECE_SEGMENT] == segment and last - segments[unit, segment, UNWRITTEN] < end:
        _end_piece(disk, state, unit)  # what is being written gets to the platter all the same
    run = segments[unit, segment, UNWRITTEN]
    first = last - run
    if first < block and end < last:
        return True
    if run == 0 or (block <= first and last <= end):
        _set_run(disk, state, unit, segment, 0)
        _empty(state, unit, segment)
    elif last <= end:
        segments[unit, segment, NEWEST] = max(0, segments[unit, segment, NEWEST] - (last - block))
        segments[unit, segment, LAST] = block
        _set_run(disk, state, unit, segment, block - first)
    else:
        segments[unit, segment, FIRST] = max(first, end)
        _set_run(disk, state, unit, segment, last - max(first, end))
    return False


@part
def look_for(disk, state, unit, block, end):
    """(segment whose run a write of these blocks continues, or in which they lie already; -1: none; whether they lie in it).
    Older copies go."""
    segments, found = state.segments, -1
    for segment in range(disk.segments):
        first, last = segments[unit, segment, FIRST], segments[unit, segment, LAST]
        if disk.joins_writes and last == block and segments[unit, segment, UNWRITTEN] > 0:
            found = segment
        elif last > block and first < end and _replace(disk, state, unit, segment, block, end):
            return segment, True
    return found, False


@part
def make_room(disk, state, unit, now, joined, count):
    """(segment, when) for a write that continues the run of segment `joined`, or begins one if that is -1."""
    while True:
        run = state.segments[unit, joined, UNWRITTEN] if joined >= 0 else 0
        more = _worth(disk, run + count) - _worth(disk, run)
        if state.units[unit, TAKEN] + more <= disk.write_segments:
            break
        now = _write_on(disk, state, unit, now)
    if joined < 0:
        return claim(disk, state, unit, True), now
    if run > 0 and more > 0:
        given_up = claim(disk, state, unit, True)
        if given_up >= 0:
            _empty(state, unit, given_up)
    return joined, now


@kernel
def take_in(disk, state, unit, segment, is_joined, block, count, ready, gathered):
    """A write has found room: its blocks are in the segment, and are to be written."""
    segments = state.segments
    if not is_joined:
        segments[unit, segment, FIRST] = segments[unit, segment, LAST] = block
        segments[unit, segment, LAST_PIECE] = state.units[unit, N_PIECES]
    segments[unit, segment, NEWEST] = count
    _set_run(disk, state, unit, segment, segments[unit, segment, UNWRITTEN] + count)
    segments[unit, segment, NEWEST] = count
    on_track = gathered if is_joined else max(gathered, ready + disk.write_seek_min_ns)
    segments[unit, segment, READY], segments[unit, segment, GATHERED], segments[unit, segment, WRITTEN] = ready, on_track, 1
    extend(disk, state, unit, segment, block + count)
    touch(state, unit, segment)

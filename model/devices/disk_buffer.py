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
5. The next piece is of the run whose first block the arm reaches soonest, as among commands (`model.devices.command_queue`).
   But if runs have been passed over by `write_segments` others and `passes` more, it is of that which has been most often.
6. A flush, and a write that finds no room, set the arm to it at once.

Data written go to the disk "at its next convenient opportunity", and writes that follow each other are merged. So it is
printed (Seagate ST3655 product manual, C.5.2). Segments adapt to what is written, reads go first, and the nearest run is
next. No maker that we know of prints this, but a drive gains by it; it is our reading. In the replay of measured drives
(`study.replays.disk`) requests are 7 to 70 ms apart, so that a buffer hardly ever holds more than a write. They bear out
that the arm follows a single write at once, and say nothing about the order.
"""

from model.devices import arm_columns as arm
from model.devices import segment_columns as cached
from model.devices.disk_geometry import run_on_track
from model.devices.disk_mechanics import find, latency, pass_on_track, rotation, seek_time, wait_for
from model.jit import kernel, part

SEGMENT_BITS = 16  # of a segment's number
LAST_SEGMENT = 2**SEGMENT_BITS - 1  # the largest number
NEVER_USED = 2**62  # later than any use. By the largest number itself the compiler would go through segments singly

# ---- segments ----


@kernel
def stop(state, unit):
    """Take the arm away from read-ahead, which has been run until now."""
    units = state.units
    if units[unit, arm.AHEAD_SEGMENT] >= 0:
        units[unit, arm.AHEAD_SEGMENT] = -1
        units[unit, arm.AT_CYLINDER], units[unit, arm.AT_HEAD] = units[unit, arm.STOP_CYLINDER], units[unit, arm.STOP_HEAD]
        units[unit, arm.FREE] = units[unit, arm.STOP_TIME]


@kernel
def touch(state, unit, segment):
    """A segment is used."""
    state.units[unit, arm.CLOCK] += 1
    state.buffer[unit, cached.USED, segment] = state.units[unit, arm.CLOCK]


@kernel
def extend(disk, state, unit, segment, last):
    """Let a segment hold the blocks up to `last`; the first ones slide out, but none that is to be written."""
    buffer = state.buffer
    buffer[unit, cached.LAST, segment] = last
    kept = max(disk.segment_blocks, buffer[unit, cached.UNWRITTEN, segment])
    buffer[unit, cached.FIRST, segment] = max(buffer[unit, cached.FIRST, segment], last - kept)


@kernel
def _empty(state, unit, segment):
    state.buffer[unit, cached.FIRST, segment] = state.buffer[unit, cached.LAST, segment]
    state.buffer[unit, cached.USED, segment] = -1


@kernel
def touches(disk, buffer, unit, first, last):
    """Whether some segment has one of the blocks `first` to `last`, or ends there. Every request asks, and most find none:
    without a branch in it the loop is a few steps of the processor's."""
    touched = False
    for segment in range(disk.segments):
        touched |= (buffer[unit, cached.LAST, segment] >= first) & (buffer[unit, cached.FIRST, segment] <= last)
    return touched


@part
def claim(disk, state, unit, is_write):
    """The segment to use next, whatever it holds: an empty one if there is room, or the least recently used without a run.
    It is -1 if runs have all the room."""
    first, last, room = 0, disk.segments, disk.segments - state.units[unit, arm.TAKEN]
    if disk.own_write_segments and is_write:
        last, room = disk.write_segments, disk.write_segments - state.units[unit, arm.TAKEN]
    elif disk.own_write_segments:
        first, room = disk.write_segments, disk.segments - disk.write_segments
    buffer, held, empty, oldest = state.buffer, 0, last, NEVER_USED  # `oldest` is clock and number in one, as in a calendar
    for segment in range(first, last):
        is_clean = buffer[unit, cached.UNWRITTEN, segment] == 0
        is_held = buffer[unit, cached.FIRST, segment] != buffer[unit, cached.LAST, segment]
        held += 1 if is_clean & is_held else 0
        empty = min(empty, segment if is_clean & (not is_held) else last)
        age = buffer[unit, cached.USED, segment] << SEGMENT_BITS | segment
        oldest = min(oldest, age if is_clean & is_held else NEVER_USED)
    if held < room and empty < last:
        return empty
    return oldest & LAST_SEGMENT if oldest != NEVER_USED else -1


# ---- the arm writes ----


@kernel
def _worth(disk, blocks):
    """How many segments' room a run of `blocks` takes."""
    return (blocks + disk.segment_blocks - 1) // disk.segment_blocks


@kernel
def _set_run(disk, state, unit, segment, blocks):
    """The run of a segment has so many blocks now."""
    buffer = state.buffer
    state.units[unit, arm.TAKEN] += _worth(disk, blocks) - _worth(disk, buffer[unit, cached.UNWRITTEN, segment])
    buffer[unit, cached.UNWRITTEN, segment] = blocks
    buffer[unit, cached.NEWEST, segment] = min(buffer[unit, cached.NEWEST, segment], blocks)


@kernel
def _find_run(disk, state, unit, segment, block):
    """Where `block` lies, with which the run of a segment begins. A run waits while others are written, so that is looked up
    once: a twentieth of the time of the OLTP simulation less."""
    buffer = state.buffer
    if buffer[unit, cached.RUN_BLOCK, segment] != block:
        zone, place, cylinder, head, its_angle = find(disk, block)
        buffer[unit, cached.RUN_BLOCK, segment], buffer[unit, cached.RUN_ANGLE, segment] = block, its_angle
        buffer[unit, cached.RUN_ZONE, segment], buffer[unit, cached.RUN_PLACE, segment] = zone, place
        buffer[unit, cached.RUN_CYLINDER, segment], buffer[unit, cached.RUN_HEAD, segment] = cylinder, head


@kernel
def _reached(disk, state, unit, segment, begins, turned, earliest, block):
    """When an arm that begins at `begins`, with the spindle at `turned`, is at `block`, with which the run of a segment
    begins: see `approach`."""
    buffer = state.buffer
    _find_run(disk, state, unit, segment, block)
    cylinder, head = buffer[unit, cached.RUN_CYLINDER, segment], buffer[unit, cached.RUN_HEAD, segment]
    on_track = max(earliest - begins, seek_time(disk, state, unit, cylinder, head, True))
    return begins + on_track + wait_for(disk.rev_ns, turned, on_track, buffer[unit, cached.RUN_ANGLE, segment])


@kernel
def _next_run(disk, state, unit, at):
    """(segment with the run to write next by an arm that is free from `at` on, when it can begin)."""
    buffer, turned_at = state.buffer, rotation(disk, state, unit, at)
    best, starts, soonest, lowest = -1, at, at, at
    for segment in range(disk.segments):
        run = buffer[unit, cached.UNWRITTEN, segment]
        if run == 0:
            continue
        is_new = run == buffer[unit, cached.NEWEST, segment]
        begins = max(at, buffer[unit, cached.READY, segment]) if is_new else at
        block = buffer[unit, cached.LAST, segment] - run
        passed = state.units[unit, arm.N_PIECES] - buffer[unit, cached.LAST_PIECE, segment]
        if passed >= disk.passes + disk.write_segments:
            reached = -passed  # before all others
        else:
            earliest = buffer[unit, cached.GATHERED, segment] if is_new else at
            turned = turned_at if begins == at else rotation(disk, state, unit, begins)
            reached = _reached(disk, state, unit, segment, begins, turned, earliest, block)
        if best < 0 or reached < soonest or (reached == soonest and block < lowest):
            best, starts, soonest, lowest = segment, begins, reached, block
    return best, starts


@kernel
def _begin_piece(disk, state, unit, segment, begins):
    """Begin to write from a run what lies on one track and has come over the bus: see `transfer`."""
    units, buffer, blocks = state.units, state.buffer, state.buffer[unit, cached.UNWRITTEN, segment]
    block, older = buffer[unit, cached.LAST, segment] - blocks, blocks - buffer[unit, cached.NEWEST, segment]
    earliest = buffer[unit, cached.GATHERED, segment]
    if older > 0 and earliest > begins:  # the newest is still to come
        blocks, earliest = older, begins
    _find_run(disk, state, unit, segment, block)
    zone, place = buffer[unit, cached.RUN_ZONE, segment], buffer[unit, cached.RUN_PLACE, segment]
    cylinder, head = buffer[unit, cached.RUN_CYLINDER, segment], buffer[unit, cached.RUN_HEAD, segment]
    count, span = run_on_track(disk.layout, zone, block, place, blocks)
    there = max(earliest, begins + seek_time(disk, state, unit, cylinder, head, True))
    start = there + latency(disk, state, unit, there, buffer[unit, cached.RUN_ANGLE, segment])
    _, units[unit, arm.FREE] = pass_on_track(disk, there, start, zone, span, True)
    units[unit, arm.AT_CYLINDER], units[unit, arm.AT_HEAD] = cylinder, head
    units[unit, arm.PIECE_SEGMENT], units[unit, arm.PIECE_BLOCKS] = segment, count
    units[unit, arm.PIECE_END] = units[unit, arm.FREE]
    units[unit, arm.N_PIECES] += 1
    buffer[unit, cached.LAST_PIECE, segment] = units[unit, arm.N_PIECES]


@kernel
def _end_piece(disk, state, unit):
    """What the arm has been writing is on the platter."""
    segment = state.units[unit, arm.PIECE_SEGMENT]
    state.units[unit, arm.PIECE_SEGMENT] = -1
    _set_run(disk, state, unit, segment, state.buffer[unit, cached.UNWRITTEN, segment] - state.units[unit, arm.PIECE_BLOCKS])
    extend(disk, state, unit, segment, state.buffer[unit, cached.LAST, segment])


@part
def write_when_idle(disk, state, unit, now):
    """Let the arm write, of its own accord, what it would have begun before `now`."""
    units = state.units
    while units[unit, arm.TAKEN] > 0:
        if units[unit, arm.PIECE_SEGMENT] < 0:
            idle = max(units[unit, arm.FREE], units[unit, arm.IDLE])
            if idle >= now:  # nothing begins before the arm is free and the last read is done
                break
            segment, begins = _next_run(disk, state, unit, idle)
            if begins >= now:
                break
            _begin_piece(disk, state, unit, segment, begins)
        if units[unit, arm.PIECE_END] > now:
            break
        _end_piece(disk, state, unit)


@kernel
def _write_on(disk, state, unit, now):
    """Let the arm write a piece of a run now, or the one that it has begun: when it is on the platter."""
    if state.units[unit, arm.PIECE_SEGMENT] < 0:
        segment, begins = _next_run(disk, state, unit, max(state.units[unit, arm.FREE], now))
        _begin_piece(disk, state, unit, segment, begins)
    _end_piece(disk, state, unit)
    return max(now, state.units[unit, arm.PIECE_END])


@part
def write_all(disk, state, unit, now):
    """Let the arm write all runs from `now` on: when nothing is left."""
    while state.units[unit, arm.TAKEN] > 0:
        now = _write_on(disk, state, unit, now)
    return max(now, state.units[unit, arm.PIECE_END])


# ---- a write comes ----


@kernel
def _replace(disk, state, unit, segment, block, end):
    """Blocks from `block` to `end` are written anew: a segment loses its copies, or has them inside its run: then True."""
    buffer, last = state.buffer, state.buffer[unit, cached.LAST, segment]
    if state.units[unit, arm.PIECE_SEGMENT] == segment and last - buffer[unit, cached.UNWRITTEN, segment] < end:
        _end_piece(disk, state, unit)  # what is being written gets to the platter all the same
    run = buffer[unit, cached.UNWRITTEN, segment]
    first = last - run
    if first < block and end < last:
        return True
    if run == 0 or (block <= first and last <= end):
        _set_run(disk, state, unit, segment, 0)
        _empty(state, unit, segment)
    elif last <= end:
        buffer[unit, cached.NEWEST, segment] = max(0, buffer[unit, cached.NEWEST, segment] - (last - block))
        buffer[unit, cached.LAST, segment] = block
        _set_run(disk, state, unit, segment, block - first)
    else:
        buffer[unit, cached.FIRST, segment] = max(first, end)
        _set_run(disk, state, unit, segment, last - max(first, end))
    return False


@part
def look_for(disk, state, unit, block, end):
    """(segment whose run a write of these blocks continues, or in which they lie already; -1: none; whether they lie in it).
    Older copies go."""
    buffer, continued = state.buffer, -1
    for segment in range(disk.segments if touches(disk, buffer, unit, block, end - 1) else 0):
        first, last = buffer[unit, cached.FIRST, segment], buffer[unit, cached.LAST, segment]
        if disk.joins_writes and last == block and buffer[unit, cached.UNWRITTEN, segment] > 0:
            continued = segment
        elif last > block and first < end and _replace(disk, state, unit, segment, block, end):
            return segment, True
    return continued, False


@part
def make_room(disk, state, unit, now, joined, count):
    """(segment, when) for a write that continues the run of segment `joined`, or begins one if that is -1."""
    while True:
        run = state.buffer[unit, cached.UNWRITTEN, joined] if joined >= 0 else 0
        more = _worth(disk, run + count) - _worth(disk, run)
        if state.units[unit, arm.TAKEN] + more <= disk.write_segments:
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
    buffer = state.buffer
    if not is_joined:
        buffer[unit, cached.FIRST, segment] = buffer[unit, cached.LAST, segment] = block
        buffer[unit, cached.LAST_PIECE, segment] = state.units[unit, arm.N_PIECES]
    buffer[unit, cached.NEWEST, segment] = count
    _set_run(disk, state, unit, segment, buffer[unit, cached.UNWRITTEN, segment] + count)
    buffer[unit, cached.NEWEST, segment] = count
    on_track = gathered if is_joined else max(gathered, ready + disk.write_seek_min_ns)
    buffer[unit, cached.READY, segment], buffer[unit, cached.GATHERED, segment] = ready, on_track
    buffer[unit, cached.WRITTEN, segment] = 1
    extend(disk, state, unit, segment, block + count)
    touch(state, unit, segment)

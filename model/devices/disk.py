"""A disk serves a request: command, buffer, arm, bus.

`service` is all that a simulation calls: it takes a request at a time. It lets the drive do what it would have done
since the last one, and says when the request is finished. No event happens inside: read-ahead and the writing of
buffered data are run forward only when somebody asks (`advance`). That is exact because nothing but the next request
disturbs them.

    read    hit      command, then the bus. The block is in a *segment* of the buffer.
            partly   what is there goes to the host while the arm reads the rest; a running read-ahead need not even move
            miss     command, arm, and the bus as soon as the first blocks are in; the slower of platter and bus decides
            after    the arm reads on into the same segment, until its limit or the next request (*read-ahead*)
    write   through  command, bus, arm; finished when the last sector is written.
            buffered finished when the last block has come over the bus, which may have to wait for room. The arm writes it
                     when no command needs it (`model.devices.disk_buffer`)

Segments are ranges of blocks that slide forward when they are full; the least recently used one is given up. A request
that a simulation serves while the arm is busy simply waits for it. Which of several queued requests to serve next is the
caller's choice: `positioning_time` says what each would cost.

Not modelled: thermal recalibration, spare-sector excursions within a revolution, tagged queueing inside the drive,
the electronics' own variation. What each is worth shows in the replay of real drives.
"""

from model.devices import arm_columns as arm
from model.devices import layout_columns as laid
from model.devices import overhead_columns as overhead
from model.devices import segment_columns as cached
from model.devices.disk_buffer import (
    LAST_SEGMENT,
    SEGMENT_BITS,
    claim,
    extend,
    look_for,
    make_room,
    stop,
    take_in,
    touch,
    touches,
    write_when_idle,
)
from model.devices.disk_geometry import locate, run_on_track, stand
from model.devices.disk_mechanics import (
    AHEAD_BLOCKS,
    AHEAD_CYLINDER,
    AHEAD_NEXT_TRACK,
    AHEAD_NONE,
    FROM_AHEAD,
    FROM_BUFFER,
    FROM_PLATTER,
    PARTLY,
    TO_BUFFER,
    TO_PLATTER,
    Disk,
    approach,
    transfer,
)
from model.jit import kernel, part


@kernel
def _read_ahead(disk, state, unit, now):
    """Let the read-ahead of a disk run until `now`, and note where its arm would be if stopped then."""
    units, segment = state.units, state.units[unit, arm.AHEAD_SEGMENT]
    units[unit, arm.STOP_CYLINDER], units[unit, arm.STOP_HEAD] = units[unit, arm.AT_CYLINDER], units[unit, arm.AT_HEAD]
    units[unit, arm.STOP_TIME] = max(now, units[unit, arm.FREE])
    while units[unit, arm.AHEAD_BLOCK] < units[unit, arm.AHEAD_LIMIT] and units[unit, arm.AHEAD_TIME] < now:
        block = units[unit, arm.AHEAD_BLOCK]
        zone, place, cylinder, head, there, start = approach(disk, state, unit, units[unit, arm.AHEAD_TIME], 0, block, False)
        units[unit, arm.STOP_CYLINDER], units[unit, arm.STOP_HEAD] = cylinder, head
        units[unit, arm.STOP_TIME] = max(now, there)
        sectors = disk.layout.zones[zone, laid.SECTORS]
        passed = (now - start) * sectors // disk.rev_ns
        if start >= now or passed == 0:
            if start < now and not disk.ahead_stops_at_once:
                units[unit, arm.STOP_TIME] = start + disk.rev_ns // sectors
            break
        run, span = run_on_track(disk.layout, zone, block, place, min(passed, units[unit, arm.AHEAD_LIMIT] - block))
        units[unit, arm.AT_CYLINDER], units[unit, arm.AT_HEAD] = cylinder, head
        units[unit, arm.AHEAD_BLOCK] += run
        units[unit, arm.AHEAD_TIME] = start + span * disk.rev_ns // sectors
    extend(disk, state, unit, segment, units[unit, arm.AHEAD_BLOCK])
    if units[unit, arm.AHEAD_BLOCK] >= units[unit, arm.AHEAD_LIMIT]:
        units[unit, arm.AHEAD_SEGMENT] = -1
        units[unit, arm.FREE] = max(units[unit, arm.FREE], units[unit, arm.AHEAD_TIME])


@kernel
def advance(disk, state, unit, now):
    """Let a disk do until `now` what it does when no command needs its arm: write from its buffer, or else read ahead."""
    units = state.units
    if units[unit, arm.AHEAD_SEGMENT] >= 0:
        writes = units[unit, arm.TAKEN] > 0 and units[unit, arm.IDLE] < now
        _read_ahead(disk, state, unit, units[unit, arm.IDLE] if writes else now)
        if writes:
            stop(state, unit)
    if units[unit, arm.TAKEN] > 0:
        write_when_idle(disk, state, unit, now)


@kernel
def _segment_of(disk, state, unit, block):
    """The segment that holds `block`, the one that reaches furthest if several do; -1 if none does."""
    buffer, best = state.buffer, -1  # `best` is reach and number in one, so that there is no branch: see `touches`
    ahead = state.units[unit, arm.AHEAD_SEGMENT] if disk.almost_hits else -1
    for segment in range(disk.segments if touches(disk, buffer, unit, block, block) else 0):
        first, last = buffer[unit, cached.FIRST, segment], buffer[unit, cached.LAST, segment]
        holds = (first <= block) & (block < last) | (block == last) & (segment == ahead)
        is_usable = (buffer[unit, cached.WRITTEN, segment] == 0) | (disk.hits_written != 0)
        reach = last << SEGMENT_BITS | (LAST_SEGMENT - segment)
        best = max(best, reach if holds & is_usable else -1)
    return LAST_SEGMENT - (best & LAST_SEGMENT) if best >= 0 else -1


@part
def _limit_of_ahead(disk, first, end):
    """Where read-ahead stops that fills a segment from `first` and has come to block `end`."""
    layout = disk.layout
    if disk.ahead == AHEAD_NONE or end >= layout.n_blocks:
        return end
    if disk.ahead == AHEAD_BLOCKS:
        return min(end + disk.ahead_blocks, layout.n_blocks)
    limit, home, track = end - (disk.ahead != AHEAD_NEXT_TRACK), -1, end
    while limit < layout.n_blocks:
        zone, place = locate(layout, limit)
        cylinder, _, _ = stand(layout, zone, place)
        if home >= 0 and (disk.ahead != AHEAD_CYLINDER or cylinder != home):
            break
        home, track = cylinder, limit - place % layout.zones[zone, laid.SECTORS]
        limit += run_on_track(layout, zone, limit, place, layout.n_blocks)[0]
    if disk.ahead != AHEAD_NEXT_TRACK:
        return min(limit, end + disk.ahead_blocks)
    if first < track:  # the stream has crossed into this track: one more
        limit += layout.zones[zone, laid.SECTORS]
    return min(limit, layout.n_blocks)


@part
def _read_on(disk, state, unit, segment, running, media_end, block, end, ready):
    """After a read of block … end − 1: keep or start read-ahead into its segment. `media_end` is 0 if it was all there."""
    units, buffer = state.units, state.buffer
    limit = _limit_of_ahead(disk, buffer[unit, cached.FIRST, segment], end)
    if running:
        units[unit, arm.AHEAD_LIMIT] = max(limit, units[unit, arm.AHEAD_LIMIT])
    elif (media_end > 0 or disk.ahead_on_hit) and (not disk.ahead_after_sequence or units[unit, arm.EXPECTED] == block):
        units[unit, arm.AHEAD_SEGMENT], units[unit, arm.AHEAD_LIMIT] = segment, limit
        units[unit, arm.AHEAD_BLOCK] = buffer[unit, cached.LAST, segment]
        units[unit, arm.AHEAD_TIME] = max(ready, units[unit, arm.FREE])
    if media_end > 0:
        units[unit, arm.AHEAD_BLOCK], units[unit, arm.AHEAD_TIME] = end, media_end
    if not disk.keeps_read:
        buffer[unit, cached.FIRST, segment] = min(end, buffer[unit, cached.LAST, segment])
    touch(state, unit, segment)


@part
def _read_finish(disk, now, command, hit, count, marked, media_end):
    """When a read is finished whose platter work (none: media_end 0) allows the bus from `marked` on."""
    start = max(now + command, marked)
    if not hit and not disk.holds_bus:
        start += disk.reconnect_ns
    sent = start + disk.data_ready_ns + count * disk.bus_ns
    if hit and not disk.holds_bus and media_end > sent:
        sent += disk.reconnect_ns
        media_end += disk.reconnect_ns
    if media_end:
        sent = max(sent, media_end + disk.bus_ns)
    return sent + disk.done_ns[overhead.READ_DONE]


@kernel
def read(disk, state, unit, now, block, count):
    """Read `count` blocks from `block` on at `now`: time when the host has them."""
    units, end, after = state.units, block + count, state.units[unit, arm.WROTE]
    segment = _segment_of(disk, state, unit, block)
    hit = segment >= 0
    running = hit and units[unit, arm.AHEAD_SEGMENT] == segment
    ready = now + disk.command_ns[overhead.READ_MISS, after]
    command = disk.command_ns[overhead.READ_HIT, after] if hit else ready - now
    if not running:
        stop(state, unit)
        command += disk.idle_hit_ns if hit else 0
    held = state.buffer[unit, cached.LAST, segment] if hit else block
    if not hit and disk.segments:
        segment = claim(disk, state, unit, False)
    if not hit and segment >= 0:
        state.buffer[unit, cached.FIRST, segment] = state.buffer[unit, cached.LAST, segment] = block
        state.buffer[unit, cached.WRITTEN, segment] = 0
    marked = media_end = now * 0
    if held < end:
        start = units[unit, arm.AHEAD_TIME] if running else max(ready, units[unit, arm.FREE])
        mark = max(1, int(min(count, max(1, disk.segment_blocks)) * disk.watermark))
        marked, media_end = transfer(disk, state, unit, start, 0, held, end - held, False, max(1, mark - held + block))
        marked = now * 0 if hit else marked
        units[unit, arm.FREE] = media_end
        if segment >= 0 and state.buffer[unit, cached.UNWRITTEN, segment] == 0:
            extend(disk, state, unit, segment, end)
    if segment >= 0 and state.buffer[unit, cached.UNWRITTEN, segment] == 0:
        _read_on(disk, state, unit, segment, running, media_end, block, end, ready)
    elif segment >= 0:
        touch(state, unit, segment)
    units[unit, arm.WROTE], units[unit, arm.EXPECTED] = 0, end
    units[unit, arm.SERVED] = (PARTLY if held < end else FROM_AHEAD if running else FROM_BUFFER) if hit else FROM_PLATTER
    done = _read_finish(disk, now, command, hit, count, marked, media_end)
    if media_end > 0:
        units[unit, arm.IDLE] = done
    return done


@part
def _write_through(disk, state, unit, segment, ready, earliest, block, count):
    """Write to the platter: when that is done. The blocks stay in a segment."""
    start = max(ready, state.units[unit, arm.FREE])
    earliest = max(earliest, start + disk.write_seek_min_ns)
    _, media_end = transfer(disk, state, unit, start, earliest, block, count, True, 1)
    state.units[unit, arm.FREE] = media_end
    if segment >= 0:
        state.buffer[unit, cached.FIRST, segment] = block
        state.buffer[unit, cached.WRITTEN, segment] = 1
        extend(disk, state, unit, segment, block + count)
        touch(state, unit, segment)
    return media_end


@kernel
def write(disk, state, unit, now, block, count):
    """Write `count` blocks from `block` on at `now`: time when the drive reports them written."""
    units, buffered = state.units, disk.buffers_writes > 0 and 0 < count <= disk.segment_blocks and disk.segments > 0
    stop(state, unit)
    segment, inside = look_for(disk, state, unit, block, block + count)
    joined = segment >= 0 and buffered
    if not buffered:
        segment = claim(disk, state, unit, True) if disk.segments else -1
    elif not inside:
        segment, now = make_room(disk, state, unit, now, segment, count)
    kind = overhead.WRITE_BUFFERED if disk.buffers_writes else overhead.WRITE_THROUGH
    ready = now + disk.command_ns[kind, units[unit, arm.WROTE]]
    sent = ready + disk.data_ready_ns + count * disk.bus_ns
    gathered = sent - max(0, count - disk.write_gather) * disk.bus_ns
    units[unit, arm.WROTE], units[unit, arm.EXPECTED] = 1, -1
    units[unit, arm.SERVED] = TO_BUFFER if buffered else TO_PLATTER
    if buffered and not inside:
        take_in(disk, state, unit, segment, joined, block, count, ready, gathered)
    if buffered:
        return sent + disk.done_ns[overhead.WRITE_DONE]
    media_end = _write_through(disk, state, unit, segment, ready, gathered, block, count)
    return max(sent, media_end) + (0 if disk.holds_bus else disk.reconnect_ns) + disk.done_ns[overhead.WRITE_DONE]


@part
def serve(disk, state, unit, now, block, count, is_write):
    """What is left of `service` for whoever has called `advance` already, to see where the arm is."""
    return write(disk, state, unit, now, block, count) if is_write else read(disk, state, unit, now, block, count)


@kernel
def service(disk, state, unit, now, block, count, is_write):
    """Serve one request that reaches disk `unit` at `now`: the time when it is finished. Requests come in order of time.

    The block and the count are the caller's to check (`check_request`): a kernel has no words for what is wrong.
    """
    advance(disk, state, unit, now)
    return serve(disk, state, unit, now, block, count, is_write)


@kernel
def serve_in_turn(disk, state, unit, before, after, block, count, is_write, took, served):
    """Serve requests one by one, `before[i]` ns after the last was finished and as many more as its `after` says. `took[i]`
    becomes the service time of request i and `served[i]` its way of being served. All arrays (n,) int64."""
    now = 0 * before[0]
    for i in range(block.size):
        now += before[i]
        finish = service(disk, state, unit, now, block[i], count[i], is_write[i])
        took[i], served[i] = finish - now, state.units[unit, arm.SERVED]
        now = finish + after[i]


def check_request(disk: Disk, block: int, count: int) -> None:
    """ValueError with one sentence if a disk cannot serve `count` blocks from `block` on."""
    if count < 1:
        raise ValueError(f"a request for {count} blocks asks for nothing; give at least 1")
    if block < 0 or block + count > disk.layout.n_blocks:
        raise ValueError(f"blocks {block} to {block + count - 1} are not on a disk of {disk.layout.n_blocks} blocks; "
                         f"give blocks from 0 to {disk.layout.n_blocks - 1}")

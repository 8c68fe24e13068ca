"""Which I/Os of a vdev queue go to the device together, as one *unit*: rules 5 and 6 of `model.zfs.vdev.queue`.

 5. The head takes neighbours along, reads only reads and writes only writes. First come those in front of it, then
    those behind, whatever their deadlines, while the next one is close and all fit into 128 KiB. Close is adjacent;
    later, reads up to 32 KiB apart: what lies between is then read and thrown away. The whole is one *unit* on the
    device.

    in front of the head                      behind it
      [ 8K ][ 8K ]........[  16K  ][ head ][ 8K ][ 8K ]................................[ 8K ]
       no: the gap is      2nd, 3rd <-- taken --> then                                 no: too far
       too wide

 6. RAID-Z writes of 2009 on come with OPTIONAL I/Os, one sector of padding each, that only serve to bridge holes. They never
    begin a unit, and end one only if that lets the device go on (the unit *stretches*). That is if from there on, without a
    hole, comes a write that is not optional, at most `write_gap_bytes` behind the last such one. One left alone is never
    written. From change 8005 of 2017 on they do not count for the length of a unit that they end, up to 16 MiB. Else a
    column of 128 KiB would never be joined with what lies behind its padding.

In ZFS (vdev_queue.c): `vdev_queue_io_to_issue`; spec 3.4, 3.5. Nothing here changes what waits, but that what a
unit is to stretch to need no longer be optional.
"""

from model.jit import kernel
from model.structures.sentinels import NIL

READ, WRITE = 0, 1  # what an I/O is
MAX_BYTES = 2**24  # of a unit; SPA_MAXBLOCKSIZE

# Marks of an I/O, ZFS's flags.
OPTIONAL = 1  # need not be written; rule 6
NODATA = 2  # is not worth a write of its own
DONT_AGGREGATE = 4  # has failed once and is tried again, alone
REPAIR, SELF_HEAL, RESILVER, SCRUB, SCRUB_THREAD = 8, 16, 32, 64, 128  # why it is done
INHERITED = DONT_AGGREGATE | REPAIR | SELF_HEAL | RESILVER | SCRUB | SCRUB_THREAD  # what a unit takes from its members
ALL_MARKS = OPTIONAL | NODATA | INHERITED


# ---- rule 5: neighbours ----


@kernel
def end_of(queue, io):
    """The first byte behind an I/O."""
    return queue.offset[io] + queue.n_bytes[io]


@kernel
def _is_optional(queue, io):
    return queue.marks[io] & OPTIONAL != 0


@kernel
def _gap(queue, left, right):
    """B between two I/Os, negative if they overlap. An end lies too far behind, and too far in front, of everything."""
    return queue.offset[right] - end_of(queue, left)


@kernel
def _are_close(queue, params, left, right):
    """Whether neighbours are, and alike."""
    max_gap = params.read_gap_bytes if queue.kind[left] == READ else 0
    if not 0 <= _gap(queue, left, right) <= max_gap:
        return False
    return (queue.marks[left] ^ queue.marks[right]) & params.agreeing_marks == 0


@kernel
def _bytes_of(queue, first, last):
    return end_of(queue, last) - queue.offset[first]


@kernel
def _may_end_with(queue, params, first, last):
    """Whether a unit from `first` on is not too long if `last` joins it."""
    max_bytes = MAX_BYTES if params.bridges_beyond and _is_optional(queue, last) else params.aggregation_bytes
    return _bytes_of(queue, first, last) <= max_bytes


@kernel
def _backward(queue, params, head):
    """The first of the I/Os in front of `head` that it takes along."""
    first, before = head, queue.by_offset.before[0, head]
    while _are_close(queue, params, before, first) and _bytes_of(queue, before, head) <= params.aggregation_bytes:
        first, before = before, queue.by_offset.before[0, before]
    return first


@kernel
def _forward(queue, params, first, head):
    """The last of the I/Os behind `head` that join those from `first` on."""
    last, after = head, queue.by_offset.after[0, head]
    while _are_close(queue, params, last, after) and _may_end_with(queue, params, first, after):
        last, after = after, queue.by_offset.after[0, after]
    return last


# ---- rule 6: optional I/Os ----


@kernel
def _without_leading_optional(queue, first, head):
    while first != head and _is_optional(queue, first):
        first = queue.by_offset.after[0, first]
    return first


@kernel
def _without_trailing_optional(queue, first, last):
    while last != first and _is_optional(queue, last):
        last = queue.by_offset.before[0, last]
    return last


@kernel
def _stretches(queue, params, last, mandatory):
    """Whether, without a hole behind `last`, a mandatory I/O comes close enough to `mandatory`, the unit's last one."""
    after = queue.by_offset.after[0, last]
    while _gap(queue, last, after) == 0 and _gap(queue, mandatory, after) <= params.write_gap_bytes:
        if not _is_optional(queue, after):
            return True
        last, after = after, queue.by_offset.after[0, after]
    return False


@kernel
def _last_member(queue, params, first, last):
    """Of a unit collected from `first` to `last`: where it is to end."""
    mandatory = _without_trailing_optional(queue, first, last)
    if _is_optional(queue, mandatory) or not _stretches(queue, params, last, mandatory):
        return mandatory
    queue.marks[queue.by_offset.after[0, last]] &= ~OPTIONAL  # what the device is to go on with
    return last


# ---- the unit ----


@kernel
def collect(queue, params, head):
    """(first, last) member of the unit around `head`."""
    if queue.marks[head] & params.agreeing_marks & DONT_AGGREGATE:
        return head, head
    first = _without_leading_optional(queue, _backward(queue, params, head), head)
    last = _forward(queue, params, first, head)
    if queue.kind[head] == WRITE:
        last = _last_member(queue, params, first, last)
    return first, last


@kernel
def join(queue, first, last):
    """What waits from `first` to `last` becomes one unit: its members in order of offset, and how long it is."""
    io = first
    while io != last:
        queue.next_member[io] = queue.by_offset.after[0, io]
        io = queue.next_member[io]
    queue.next_member[last] = NIL
    queue.unit_bytes[first] = end_of(queue, last) - queue.offset[first]

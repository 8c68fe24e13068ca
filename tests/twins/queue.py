"""The vdev queue of one leaf a second time, as plainly as it can be said: a list, sorted whenever it is looked at.

Written from the specification (section 3), step by step, not from the kernels; what was never built, from the rule in
words. `defect` breaks one rule on purpose.
"""

from dataclasses import dataclass, field

READ, WRITE = 0, 1
OPTIONAL, NODATA, DONT_AGGREGATE = 1, 2, 4

DEFECTS = (
    "the deadline ignores the time",
    "the deadline ignores the priority",
    "a tick is a deadline",
    "arrivals issue up to max_pending",
    "arrivals issue what arrived",
    "completions issue one",
    "completions issue up to one more than max_pending",
    "the sweep goes on from where it was",
    "equal places are served last come, first served",
    "forward before backward",
    "reads join writes",
    "neighbours need the same deadline",
    "no neighbours in front",
    "no neighbours behind",
    "reads bridge no gap",
    "writes bridge gaps as reads do",
    "gaps do not count for the length of a unit",
    "a unit may be one sector longer",
    "overlapping I/Os are adjacent",
    "marks need not agree",
    "what failed before is aggregated",
    "a unit counts as many times as it has members",
    "units begin with optional I/Os",
    "units end with optional I/Os",
    "units never stretch",
    "units stretch over holes",
    "units stretch to optional I/Os",
    "stretching ignores the write gap limit",
    "what a unit stretched to stays optional",
    "padding left alone is written",
    # what was never built
    "reserved places are for all",
    "one more place is reserved",
    "arrivals may take reserved places",
    "what is waited for goes first even if places are left",
    "reserved places go to what came first",
    "reserved places wait for the head",
    "cache fills are not waited for",
    "all places are reserved",
    "reserved places are those of max_pending",
    "a leaf's places never fall",
    "a leaf's places never rise",
    "places rise when nothing waited",
    "places rise after one completion with all of them taken, not after any",
    "places fall below min_pending",
    "places rise above max_pending",
    "a window begins with what the last one left",
    "windows are one completion longer",
    "waiting counts as being on the device",
    "only completions count time",
)


@dataclass(eq=False)
class Io:
    name: int
    kind: int
    offset: int
    n_bytes: int
    deadline: int
    marks: int
    is_waited_for: bool

    @property
    def end(self):
        return self.offset + self.n_bytes

    @property
    def is_optional(self):
        return bool(self.marks & OPTIONAL)


@dataclass
class TwinOfVdevQueue:
    """`waiting` is in order of arrival; `pending` counts units on the device."""

    params: object
    defect: str | None = None
    waiting: list = field(default_factory=list)
    pending: int = 0
    dropped: list = field(default_factory=list)
    last_offset: int = 0
    places: int | None = None  # of a leaf that has its own
    was_at: int = 0  # ns of the last event
    spells: list = field(default_factory=list)  # of the window: (ns, units on the device for so long)
    lacked: list = field(default_factory=list)  # of each completion in the window: whether something waited for a place

    def has(self, defect):
        assert defect in DEFECTS
        return self.defect == defect

    def io(self, name, kind, offset, n_bytes, tick, priority, marks):
        shift = 0 if self.has("a tick is a deadline") else self.params.time_shift
        deadline = (0 if self.has("the deadline ignores the time") else tick >> shift)
        deadline += 0 if self.has("the deadline ignores the priority") else priority
        last = 0 if self.has("cache fills are not waited for") else self.params.cache_fill_priority
        return Io(name, kind, offset, n_bytes, deadline, marks, priority <= last)

    def max_pending(self):
        return self.params.max_pending if self.places is None else self.places

    def let_pass(self, now):
        on_device = self.pending + (len(self.waiting) if self.has("waiting counts as being on the device") else 0)
        self.spells.append((now - self.was_at, on_device))
        self.was_at = now

    def regulate(self):
        """At a completion, of which the unit is still on the device."""
        params, places = self.params, self.max_pending()
        self.lacked.append(len(self.waiting) > 0 and self.pending >= places)
        if len(self.lacked) < params.dynamic_window + self.has("windows are one completion longer"):
            return
        mean_ns = sum(ns * units for ns, units in self.spells) / len(self.lacked)
        low, high = min(params.min_pending, params.max_pending), params.max_pending
        if self.has("places fall below min_pending"):
            low = 1
        if self.has("places rise above max_pending"):
            high += 1
        lacked = any(self.lacked) or self.has("places rise when nothing waited")
        if self.has("places rise after one completion with all of them taken, not after any"):
            lacked = self.lacked[-1]
        if mean_ns > params.dynamic_pending_ns:
            places -= places > low and not self.has("a leaf's places never fall")
        elif lacked:
            places += places < high and not self.has("a leaf's places never rise")
        self.places, self.lacked = places, []
        if not self.has("a window begins with what the last one left"):
            self.spells = []

    def arrive(self, io, now=0):
        if not self.has("only completions count time"):
            self.let_pass(now)
        self.waiting.append(io)
        if self.has("arrivals issue what arrived") and self.pending < self.params.min_pending:
            return self.issue(self.params.min_pending, io)
        limit = self.params.max_pending if self.has("arrivals issue up to max_pending") else self.params.min_pending
        return self.issue(limit, arrives=True)

    def complete(self, members=1, now=0):
        self.let_pass(now)
        if self.params.dynamic_pending_ns:
            self.regulate()
        self.pending -= members if self.has("a unit counts as many times as it has members") else 1
        limit = self.max_pending() + self.has("completions issue up to one more than max_pending")
        units = []
        for _ in range(1 if self.has("completions issue one") else self.params.ramp_rate):
            unit = self.issue(limit)
            if unit is None:
                break
            units.append(unit)
        return units

    def head(self):
        waiting = self.waiting
        if self.has("equal places are served last come, first served"):
            waiting = waiting[::-1]
        if self.has("what is waited for goes first even if places are left") and self.params.reserved_slots:
            waiting = [io for io in waiting if io.is_waited_for] or waiting
        if self.has("the sweep goes on from where it was"):
            return min(waiting, key=lambda io: (io.deadline, io.offset < self.last_offset, io.offset))
        return min(waiting, key=lambda io: (io.deadline, io.offset))

    def only_reserved_places_are_left(self):
        places = self.params.max_pending if self.has("reserved places are those of max_pending") else self.max_pending()
        reserved = self.params.reserved_slots
        if reserved == 0 or self.has("reserved places are for all"):
            return False
        reserved += self.has("one more place is reserved")
        return self.pending >= max(0 if self.has("all places are reserved") else 1, places - reserved)

    def permitted(self, head):
        """`head`, or what may go instead of it, or None."""
        if head.is_waited_for or not self.only_reserved_places_are_left():
            return head
        critical = [io for io in self.waiting if io.is_waited_for]
        if not critical or self.has("reserved places wait for the head"):
            return None
        if self.has("reserved places go to what came first"):
            return critical[0]
        return min(critical, key=lambda io: (io.deadline, io.offset))

    def issue(self, limit, head=None, arrives=False):
        """The members of the unit issued, in order of offset, or None."""
        while self.waiting and self.pending < limit:
            head = head or self.head()
            if not (arrives and self.has("arrivals may take reserved places")):
                head = self.permitted(head)
            if head is None:
                return None
            self.last_offset = head.offset
            unit = self.collect(head)
            for io in unit:
                self.waiting.remove(io)
            if len(unit) > 1 or not unit[0].marks & NODATA or self.has("padding left alone is written"):
                self.pending += len(unit) if self.has("a unit counts as many times as it has members") else 1
                return unit
            self.dropped.append(unit[0].name)
            head = None
        return None

    def may_join(self, left, right, first, last, head, candidate):
        """Whether `candidate` may join `head`: the gap from left to right, and the span from first to last."""
        params = self.params
        max_gap = params.read_gap_bytes if head.kind == READ or self.has("writes bridge gaps as reads do") else 0
        max_gap = 0 if self.has("reads bridge no gap") else max_gap
        gap = right.offset - left.end
        if gap > max_gap or (gap < 0 and not self.has("overlapping I/Os are adjacent")):
            return False
        if candidate.marks & params.agreeing_marks != head.marks & params.agreeing_marks and (
                not self.has("marks need not agree")):
            return False
        if self.has("neighbours need the same deadline") and candidate.deadline != head.deadline:
            return False
        span = last.end - first.offset
        if self.has("gaps do not count for the length of a unit"):
            span -= gap
        return span <= params.aggregation_bytes + (512 if self.has("a unit may be one sector longer") else 0)

    def collect(self, head):
        """Spec 3.5 and 3.6, in its order of steps; places in `line`, the I/Os of one kind in order of offset."""
        line = sorted((io for io in self.waiting if io.kind == head.kind or self.has("reads join writes")),
                      key=lambda io: io.offset)
        first = last = line.index(head)
        if (head.marks & self.params.agreeing_marks & DONT_AGGREGATE
                and not self.has("what failed before is aggregated")):
            return [head]
        mandatory = None if head.is_optional else first
        if self.has("forward before backward"):
            last, mandatory = self.forward(line, first, last, head, mandatory)
        while first > 0 and not self.has("no neighbours in front") and self.may_join(
                line[first - 1], line[first], line[first - 1], line[last], head, line[first - 1]):
            first -= 1
            if mandatory is None and not line[first].is_optional:
                mandatory = first
        while line[first].is_optional and first != last and not self.has("units begin with optional I/Os"):
            first += 1
        last, mandatory = self.forward(line, first, last, head, mandatory)
        last = self.trim(line, first, last, head, mandatory)
        return line[first:last + 1]

    def forward(self, line, first, last, head, mandatory):
        while last + 1 < len(line) and not self.has("no neighbours behind") and self.may_join(
                line[last], line[last + 1], line[first], line[last + 1], head, line[last + 1]):
            last += 1
            if not line[last].is_optional:
                mandatory = last
        return last, mandatory

    def trim(self, line, first, last, head, mandatory):
        """Where the unit ends: steps 5 and 6 of 3.6."""
        if head.kind == WRITE and mandatory is not None and self.stretches(line, last, line[mandatory]):
            if not self.has("what a unit stretched to stays optional"):
                line[last + 1].marks &= ~OPTIONAL
            return last
        while last != mandatory and last != first and not self.has("units end with optional I/Os"):
            last -= 1
        return last

    def stretches(self, line, last, mandatory):
        if self.has("units never stretch"):
            return False
        for before, after in zip(line[last:], line[last + 1:], strict=False):
            if after.offset != before.end and not self.has("units stretch over holes"):
                return False
            if (after.offset - mandatory.end > self.params.write_gap_bytes
                    and not self.has("stretching ignores the write gap limit")):
                return False
            if not after.is_optional or self.has("units stretch to optional I/Os"):
                return True
        return False

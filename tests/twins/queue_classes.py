"""The vdev queue of OpenZFS a second time, as plainly as it can be said: one leaf, a list, sorted whenever it is looked at.

Written from the rules in words (`model.zfs.vdev.queue_classes`), not from the kernels. `defect` breaks one on purpose.
"""

from dataclasses import dataclass, field

READ = 0
SYNC_READ, SYNC_WRITE, ASYNC_READ, ASYNC_WRITE, SCRUB = range(5)

DEFECTS = (
    "the least number does not come first",
    "the look always begins with the first class",
    "the look never begins with the first class",
    "classes have no greatest number",
    "max_active does not count",
    "async writes do not heed what is dirty",
    "sync I/Os go by place",
    "sweeps start at the bottom",
    "sweeps heed no window",
    "sweeps heed windows from the start",
    "neighbours must be of the class",
    "a unit counts as of its first member's class",
    "arrivals issue all they may",
    "completions issue one",
    "a scrub is as any other",
    "a scrub never has the device to itself",
    "a scrub's credit is not used up",
)


@dataclass(eq=False)
class Io:
    name: int
    kind: int
    offset: int
    n_bytes: int
    which: int
    came: int
    window: int

    @property
    def end(self):
        return self.offset + self.n_bytes


@dataclass
class TwinOfClassQueue:
    params: object
    classes: object
    defect: str | None = None
    waiting: list = field(default_factory=list)
    active: list = field(default_factory=list)  # the class of each unit on the device
    last_class: int = 4
    last_end: int = 0
    credit: int = 0
    n_came: int = 0

    def has(self, defect):
        assert defect in DEFECTS
        return self.defect == defect

    def others(self):
        return sum(which != SCRUB for which in self.active)

    def min_active(self, which):
        n_min = self.classes.min_per_class[which]
        is_scrub = which == SCRUB and self.classes.takes_turns and not self.has("a scrub is as any other")
        return min(self.credit, n_min) if is_scrub and self.others() else n_min

    def max_active(self, which, n_async_writes):
        if self.has("classes have no greatest number"):
            return 10**6
        if which == ASYNC_WRITE and not self.has("async writes do not heed what is dirty"):
            return n_async_writes
        if which == SCRUB and self.classes.takes_turns and not self.has("a scrub is as any other"):
            is_alone = not self.others() and self.credit >= self.classes.delay
            if not is_alone or self.has("a scrub never has the device to itself"):
                return self.min_active(which)
        return self.classes.max_per_class[which]

    def class_to_issue(self, n_async_writes):
        if len(self.active) >= self.classes.max_active and not self.has("max_active does not count"):
            return None
        there = {io.which for io in self.waiting}
        turns = self.classes.takes_turns and not self.has("the look always begins with the first class")
        begin = self.last_class + 1 if turns or self.has("the look never begins with the first class") else 0
        if not self.has("the least number does not come first"):
            for which in [(begin + i) % 5 for i in range(5)]:
                if which in there and self.active.count(which) < self.min_active(which):
                    return which
        for which in range(5):
            if which in there and self.active.count(which) < self.max_active(which, n_async_writes):
                return which
        return None

    def head(self, which):
        mine = [io for io in self.waiting if io.which == which]
        if which in (SYNC_READ, SYNC_WRITE) and not self.has("sync I/Os go by place"):
            return min(mine, key=lambda io: io.came)
        windows = (self.classes.takes_turns or self.has("sweeps heed windows from the start")) \
            and not self.has("sweeps heed no window")
        oldest = min(io.window for io in mine)
        sweep = [io for io in mine if io.window == oldest or not windows]
        ahead = [io for io in sweep if io.offset >= self.last_end and not self.has("sweeps start at the bottom")]
        return min(ahead or sweep, key=lambda io: (io.offset, io.came))

    def unit(self, head):
        gap = self.params.read_gap_bytes if head.kind == READ else 0
        near = sorted((io for io in self.waiting if io.kind == head.kind and (
            io.which == head.which or not self.has("neighbours must be of the class"))), key=lambda io: (io.offset, io.came))
        first = last = near.index(head)
        max_bytes = self.params.aggregation_bytes
        while first > 0 and 0 <= near[first].offset - near[first - 1].end <= gap \
                and near[last].end - near[first - 1].offset <= max_bytes:
            first -= 1
        while last + 1 < len(near) and 0 <= near[last + 1].offset - near[last].end <= gap \
                and near[last + 1].end - near[first].offset <= max_bytes:
            last += 1
        return near[first:last + 1]

    def issue(self, n_async_writes):
        which = self.class_to_issue(n_async_writes)
        if which is None:
            return None
        members = self.unit(self.head(which))
        self.waiting = [io for io in self.waiting if io not in members]
        counted = members[0].which if self.has("a unit counts as of its first member's class") else which
        if counted != SCRUB and not self.others():
            self.credit = 1
        elif counted == SCRUB and self.others() and not self.has("a scrub's credit is not used up"):
            self.credit -= 1
        self.active.append(counted)
        self.last_class, self.last_end = which, members[-1].end
        return [io.name for io in members], counted

    def arrive(self, name, kind, offset, n_bytes, which, now, n_async_writes):
        """The units issued."""
        self.n_came += 1
        self.waiting.append(Io(name, kind, offset, n_bytes, which, self.n_came, now >> 29))
        units = [self.issue(n_async_writes)]
        while units[-1] and self.has("arrivals issue all they may"):
            units.append(self.issue(n_async_writes))
        return [unit for unit in units if unit]

    def complete(self, which, n_async_writes):
        self.active.remove(which)
        if which != SCRUB:
            self.credit = self.classes.credit if self.others() else 0
        elif not self.others():
            self.credit += 1
        units = [self.issue(n_async_writes)]
        while units[-1] and not self.has("completions issue one"):
            units.append(self.issue(n_async_writes))
        return [unit for unit in units if unit]

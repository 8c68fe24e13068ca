"""Driving the queue of a leaf, the kernels or their twin, through a story of arrivals and completions."""

import itertools

import numpy as np

from model.events.streams import stream
from model.structures.sentinels import NIL
from model.zfs.vdev.queue import (
    DONT_AGGREGATE,
    NODATA,
    OPTIONAL,
    SCRUB,
    WRITE,
    arrive,
    complete,
    new_io,
    new_queue,
    release,
    take_dropped,
)
from twins.queue import TwinOfVdevQueue

K = 1024
PADDING = OPTIONAL | NODATA


class Leaf:
    """The kernels as the twin is called: I/Os have names, units are lists of names in order of offset."""

    def __init__(self, params, n_ios=4000, queue=None, leaf=0):
        self.params, self.leaf = params, leaf
        self.queue = queue or new_queue(params, 1, n_ios)
        self.names, self.dropped, self.gap_bytes = {}, [], 0
        self.issued = np.zeros(params.ramp_rate, np.int64)

    def io(self, name, *fields):
        number = new_io(self.queue, self.params, *fields)
        assert number not in (NIL, *self.names)
        self.names[number] = name
        return number

    def arrive(self, io, now=0):
        return self.members(arrive(self.queue, self.params, self.leaf, io, now))

    def complete(self, members=1, now=0):
        n = complete(self.queue, self.params, self.leaf, self.issued, now)
        return [self.members(unit) for unit in self.issued[:n]]

    def members(self, unit):
        """Names in `unit`, whose numbers are given back at once: the twin has no numbers."""
        if unit != NIL:
            self.gap_bytes += self.queue.unit_bytes[unit]
        return self.take(unit) or None

    def take(self, io):
        names = []
        while io != NIL:
            self.gap_bytes -= self.queue.n_bytes[io]
            names.append(self.names.pop(int(io)))
            io = release(self.queue, io)
        return names

    @property
    def state(self):
        self.dropped += reversed(self.take(take_dropped(self.queue, self.leaf)))
        return self.queue.n_pending[self.leaf], self.queue.n_waiting[self.leaf], self.dropped


class Twin(TwinOfVdevQueue):
    """The twin as a leaf: units as lists of names."""

    def arrive(self, io, now=0):
        unit = super().arrive(io, now)
        return unit and [io.name for io in unit]

    def complete(self, members=1, now=0):
        return [[io.name for io in unit] for unit in super().complete(members, now)]

    @property
    def state(self):
        return self.pending, len(self.waiting), self.dropped


def steps(leaf, story):
    """Drive a leaf through a story of (completions before, *I/O): yields what is issued and the state at each step."""
    on_device = []
    times = itertools.accumulate(1_000_000 * (i * 7919 % 31) for i in itertools.count())  # 0 to 30 ms apart
    for name, (n_completions, *io) in enumerate(story):
        units = []
        for _ in range(min(n_completions, len(on_device))):
            done = on_device.pop(len(on_device) * 7 // 11)  # in no order of its own
            units.append(leaf.complete(len(done), next(times)))
            on_device += units[-1]
        unit = leaf.arrive(leaf.io(name, *io), next(times))
        on_device += [unit] if unit else []
        yield list(itertools.chain(*units)), unit, *leaf.state
    while on_device:
        done = on_device.pop(0)
        units = leaf.complete(len(done), next(times))
        on_device += units
        yield units, None, *leaf.state


def steps_seen(leaf, story):
    """All steps of a story, copied as they happen."""
    return [(units, unit, int(pending), int(waiting), list(dropped))
            for units, unit, pending, waiting, dropped in steps(leaf, story)]


def random_story(seed, n, n_places=300, p_padding=0.2, place=4 * K):
    """I/Os that crowd a small device: most touch, overlap or nearly touch others. Priorities and marks are mixed."""
    rng = stream(seed, "story")
    tick, story = 0, []
    for _ in range(n):
        tick += int(rng.choice([0, 0, 1, 7, 40]))
        kind = int(rng.random() < 0.6)
        offset, n_bytes = int(rng.integers(n_places)) * place, int(rng.choice([1, 2, 2, 8, 16, 32])) * place
        marks = int(rng.choice([0, 0, 0, 0, 0, 0, 0, 0, SCRUB, DONT_AGGREGATE]))
        if kind == WRITE and rng.random() < p_padding:
            marks, n_bytes = marks | PADDING, place
        burst = 0 if rng.random() < 0.6 else int(rng.integers(4))
        story.append((burst, kind, offset, n_bytes, tick, int(rng.choice([0, 0, 1, 4, 6, 10])), marks))
    return story


def padded_writes(seed, n, place=K):
    """Writes side by side, in no order, half of them padding, with a hole now and then; few complete meanwhile."""
    rng = stream(seed, "padded")
    where = [int(at) * place for at in rng.permutation(n) if rng.random() < 0.95]
    return [(int(rng.random() < 0.05), WRITE, at, place, 0, int(rng.choice([0, 4])), PADDING * int(rng.random() < 0.5))
            for at in where]

"""What happens next: the calendar of a simulation, as a tournament.

Every source of events (a disk, a thread, a timer) has at most one event ahead of it, at a time of its own. The sources stand
at the leaves of a binary tree in one array. Every node above holds the earlier one of its two, so that the root says what
happens next. A change is carried upwards along one path, as far as it changes anything:

                 10 2                      times: 30 at source 0, 20 at 1, 10 at 2, never at 3
            20 1       10 2
         30 0  20 1  10 2  never 3         `next_source` reads the root; `set_time` plays one match a level

Equal times go to the source with the lower number: events have a total order, (time, source), and ties are never luck.
That pair is one number, the time shifted by the bits of a source. So a match is one comparison and no guess for the
processor.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel

NEVER = np.iinfo(np.int64).max


class Calendar(NamedTuple):
    """The times of `2^shift` sources, those in use first."""

    time: np.ndarray  # ns of the source's next event, or NEVER
    first: np.ndarray  # per node: time << shift | source. 1 is the root; the children of i are 2i and 2i + 1; the sources
    #   are the last half
    shift: int  # times from 2^(63 - shift) ns on are never: with 2^15 sources three days


@kernel
def set_time(calendar, source, time):
    """Let the next event of `source` be at `time`."""
    calendar.time[source] = time
    first, node = calendar.first, len(calendar.time) + source
    earlier = min(time, NEVER >> calendar.shift) << calendar.shift | source
    while first[node] != earlier and node > 0:
        first[node] = earlier
        earlier = min(earlier, first[node ^ 1])
        node >>= 1


@kernel
def settle(calendar, source):
    """After the event of `source`, or of nobody (-1). It was ahead of all, and its time has been struck out, alone. Most get
    another one in their own event, and then one walk upwards is enough. If it has none, here is the walk."""
    if source >= 0 and calendar.time[source] == NEVER:
        set_time(calendar, source, NEVER)


@kernel
def next_source(calendar):
    """The source whose event is next."""
    return calendar.first[1] & (len(calendar.time) - 1)


def new_calendar(n_sources):
    """Nothing ahead, for sources 0 .. n_sources - 1."""
    shift = max(1, (n_sources - 1).bit_length())
    n, first = 1 << shift, np.full(2 << shift, NEVER)
    first[n:] = NEVER - (n - 1) + np.arange(n)
    for node in range(n - 1, 0, -1):
        first[node] = first[2 * node]
    return Calendar(np.full(n, NEVER), first, shift)

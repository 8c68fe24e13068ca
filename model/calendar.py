"""What happens next: the calendar of a simulation, as a tournament.

Every source of events (a disk, a thread, a timer) has at most one event ahead of it, at a time of its own. The sources
stand at the leaves of a binary tree in one array; every node above names the one of its two sources whose time is
earlier, so that the root names what happens next, and a change is carried upwards
along one path, as far as it changes anything:

                 2                      times: 30 at source 0, 20 at 1, 10 at 2, never at 3
            1         2
         0     1   2     3              `next_source` reads the root; `set_time` plays one match a level

Equal times go to the source with the lower number: events have a total order, (time, source), and ties are never luck.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel

NEVER = np.iinfo(np.int64).max


class Calendar(NamedTuple):
    """The times of `2^k` sources, those in use first."""

    time: np.ndarray  # ns of the source's next event, or NEVER
    winner: np.ndarray  # node 1 is the root; the children of node i are 2i and 2i + 1; the sources are the last half


@kernel
def set_time(calendar, source, time):
    """Let the next event of `source` be at `time`."""
    calendar.time[source] = time
    node = (len(calendar.time) + source) >> 1
    while node > 0:
        left, right = calendar.winner[2 * node], calendar.winner[2 * node + 1]
        winner = right if calendar.time[right] < calendar.time[left] else left
        if winner == calendar.winner[node] and winner != source:
            return  # as before, and at the same time: nothing changes further up
        calendar.winner[node] = winner
        node >>= 1


@kernel
def settle(calendar, source):
    """After the event of `source`, or of nobody (-1). It was ahead of all, and its time has been struck out, alone: most get
    another one in their own event, and then one walk upwards is enough. If it has none, here is the walk."""
    if source >= 0 and calendar.time[source] == NEVER:
        set_time(calendar, source, NEVER)


@kernel
def next_source(calendar):
    return calendar.winner[1]


def new_calendar(n_sources):
    """Nothing ahead, for sources 0 .. n_sources - 1."""
    n = 1 << max(1, (n_sources - 1).bit_length())
    calendar = Calendar(np.full(n, NEVER), np.zeros(2 * n, np.int64))
    calendar.winner[n:] = np.arange(n)
    for node in range(n - 1, 0, -1):
        calendar.winner[node] = calendar.winner[2 * node]
    return calendar

"""Processors that a database shares with the threads of its file system: no work is lost, none waits while one is idle."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.calendar import Calendar, new_calendar
from model.database_machine import AT_WORK, CPUS, ROUND_NS, is_back, release
from model.file_calls import Calls, new_calls
from model.queues import new_queues

N = 4


class Settings(NamedTuple):
    n_cpus: int
    handoff_ns: int = 0


class Machine(NamedTuple):
    s: Settings
    calendar: Calendar
    queue: np.ndarray
    after: np.ndarray
    busy: np.ndarray
    service_ns: np.ndarray
    calls: Calls


def machine(n_cpus=1, busy=0):
    return Machine(Settings(n_cpus), new_calendar(N), new_queues(1), np.zeros(N, np.int64), np.array([busy]),
                   np.zeros(N, np.int64), new_calls(N))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(0, 20 * ROUND_NS), st.lists(st.integers(1, ROUND_NS), min_size=1, max_size=30))
def test_where_no_processor_is_idle_all_that_is_owed_is_done_before_what_processes_need(owed, calls):
    """One processor, one process: its time is that of its calls and what the threads took, a round at most at a time."""
    m, now, taken = machine(), 0, []
    m.calls.owed[0] = owed
    for needed in calls:
        m.calls.cpu_ns[0] = needed
        m.calls.owed[1] = now           # nothing was idle since the last event
        assert not is_back(m, now, 0)
        end = int(m.calendar.time[0])
        taken.append(end - now - needed)
        assert m.calls.cpu_ns[0] == AT_WORK
        assert is_back(m, end, 0)
        now = end
    assert max(taken) <= ROUND_NS
    assert sum(taken) + m.calls.owed[0] == owed
    assert sum(taken) == min(owed, sum(min(ROUND_NS, max(0, owed - i * ROUND_NS)) for i in range(len(calls))))


@pytest.mark.parametrize(("n_cpus", "busy", "left"), [(1, 1, 5_000_000), (2, 1, 4_000_000), (8, 1, 0), (8, 8, 5_000_000)])
def test_idle_processors_do_it_first(n_cpus, busy, left):
    """In a millisecond each of them does a millisecond of it."""
    m = machine(n_cpus, busy)
    m.calls.owed[0] = 5_000_000
    assert is_back(m, 1_000_000, 1)      # a process that needs nothing pays nothing
    assert m.calls.owed.tolist() == [left, 1_000_000]


def test_who_comes_back_to_an_idle_machine_does_not_wait_for_what_has_been_done():
    m = machine(4)
    m.calls.owed[0], m.calls.cpu_ns[2] = 3_000_000, 100
    assert not is_back(m, 1_000_000, 2)
    assert m.calendar.time[2] == 1_000_100
    release(m, 1_000_100, CPUS)
    assert m.busy[CPUS] == 0

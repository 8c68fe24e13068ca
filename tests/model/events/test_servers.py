"""Processors that a database shares with the threads of its file system: no work is lost, and no
process waits while one is idle."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.calendar import Calendar, new_calendar
from model.events.queues import new_queues
from model.events.servers import AT_WORK, CPUS, ROUND_NS, is_back, release, seize
from model.filesystems.calls import Calls, new_calls

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
    return Machine(
        s=Settings(n_cpus), calendar=new_calendar(N), queue=new_queues(2), after=np.zeros(N, np.int64),
        busy=np.array([busy, 0]), service_ns=np.zeros(N, np.int64), calls=new_calls(N))


def ask_for_processor(m, now, needed, of_call):
    """Process 2 comes back, and a processor is wanted for its call or for what comes next."""
    m.calls.cpu_ns[2] = needed if of_call else 0
    if is_back(m, now, 2):
        seize(m, now, CPUS, m.s.n_cpus, 2, needed)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(0, 20 * ROUND_NS), st.lists(st.integers(1, ROUND_NS), min_size=1, max_size=30))
def test_where_no_processor_is_idle_all_that_is_owed_is_done_before_what_processes_need(owed, calls):
    """One processor, which another process has until this one waits for it: its time is that of its calls and what the
    threads took, a round at most at a time."""
    m, now, taken = machine(), 0, []
    m.calls.owed[0] = owed
    for needed in calls:
        m.calls.cpu_ns[0], m.busy[CPUS] = needed, 1
        m.calls.owed[1] = now           # nothing was idle since the last event
        assert not is_back(m, now, 0)
        release(m, now, CPUS)
        end = int(m.calendar.time[0])
        taken.append(end - now - needed)
        assert m.calls.cpu_ns[0] == AT_WORK
        assert is_back(m, end, 0)
        now = end
    assert max(taken) <= ROUND_NS
    assert sum(taken) + m.calls.owed[0] == owed
    assert sum(taken) == min(owed, sum(min(ROUND_NS, max(0, owed - i * ROUND_NS)) for i in range(len(calls))))


@pytest.mark.parametrize("of_call", [True, False])
@pytest.mark.parametrize(("busy", "left"), [(4, 3_000_000), (7, 4_500_000)])
def test_nobody_waits_for_threads_while_a_processor_is_idle(busy, left, of_call):
    """Half a millisecond after 5 ms of work came, for a call and for what the database itself computes."""
    m, now, needed = machine(8, busy), 1_500_000, 100
    m.calls.owed[:] = 5_000_000, 1_000_000
    ask_for_processor(m, now, needed, of_call)
    assert m.calendar.time[2] == now + needed
    assert m.calls.owed.tolist() == [left, now]


@pytest.mark.parametrize("of_call", [True, False])
def test_who_waits_for_a_processor_waits_for_threads_too_whatever_it_is_for(of_call):
    m, now, needed = machine(8, 8), 1_500_000, 100
    m.calls.owed[:] = 5_000_000, 1_000_000
    ask_for_processor(m, now, needed, of_call)
    release(m, now, CPUS)
    assert m.calendar.time[2] == now + needed + ROUND_NS
    assert m.calls.owed.tolist() == [5_000_000 - ROUND_NS, now]


def test_only_processors_are_shared():
    m = machine(8, 8)
    m.calls.owed[0] = 5_000_000
    seize(m, 0, 1, 0, 2, 100)
    release(m, 0, 1)
    assert m.calendar.time[2] == 100
    assert m.calls.owed[0] == 5_000_000


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

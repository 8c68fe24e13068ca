"""The loop of a database and its store: when it ends, and how."""

from types import SimpleNamespace

import numpy as np
import pytest

from model.events.calendar import NEVER, new_calendar, set_time
from model.simulations import database_server
from model.simulations.database_server import DONE, LONGEST_NS, OUT_OF_DRAWS, STUCK


class Database(SimpleNamespace):
    """One process that commits once whenever its time comes, `steps` times, each 10 ns after the other."""

    def __init__(self, n_transactions, steps, n_drawn=0, every_ns=10):
        super().__init__(
            calendar=new_calendar(1), counts=np.zeros(1, np.int64), n_drawn=np.array([n_drawn]), draws=np.zeros(5),
            calls=None, s=SimpleNamespace(n_transactions=n_transactions), left=steps, every_ns=every_ns)
        set_time(self.calendar, 0, every_ns)

    def step(self, now, p):
        self.counts[0] += 1
        self.left -= 1
        if self.left:
            set_time(self.calendar, p, now + self.every_ns)


@pytest.fixture(autouse=True)
def _no_processors(monkeypatch):
    """Nothing is to be done by a processor for a call: that is `tests/model/filesystems/test_zfs_files.py`'s."""
    monkeypatch.setattr(database_server, "is_back", lambda *a: True)


def ended(database, until=NEVER, store_at=NEVER):
    """How; the store does nothing, but may say that it will, again and again."""
    loop = getattr(database_server._loop, "py_func", database_server._loop)
    store = SimpleNamespace(at=store_at)

    def event(store, calendar, now):
        store.at = now + LONGEST_NS // 4

    return loop(database, store, until, lambda m, now, p: m.step(now, p), lambda *a: None, lambda store: store.at, event)


@pytest.mark.parametrize(("database", "until", "store_at", "how"), [
    (Database(3, 9), NEVER, NEVER, DONE),
    (Database(9, 99), 35, NEVER, DONE),
    (Database(9, 99, n_drawn=5), NEVER, NEVER, OUT_OF_DRAWS),
    (Database(9, 3), NEVER, NEVER, STUCK),
    (Database(9, 3), 10**6, NEVER, STUCK),
    (Database(9, 3), NEVER, 20, STUCK),
    (Database(9, 3), LONGEST_NS, 20, DONE),
    (Database(3, 3, every_ns=LONGEST_NS - 1), NEVER, NEVER, DONE)])
def test_a_run_ends_when_all_is_done_at_its_time_or_when_nobody_can_go_on(database, until, store_at, how):
    """Stuck is who waits for what never comes, whether or not the store has timers that go on."""
    assert ended(database, until, store_at) == how
    assert database.counts[0] == {DONE: min(database.s.n_transactions, (until - 1) // 10 if until < 100 else 3),
                                  OUT_OF_DRAWS: 0, STUCK: 3}[how]

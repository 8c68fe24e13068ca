"""What several threads ask for is made once."""
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from study.memo import ByKey


def test_who_asks_meanwhile_waits_for_who_makes_it():
    once, others_ask, made = ByKey(), threading.Event(), []

    def make():
        others_ask.wait(10)
        made.append(1)
        return object()

    def ask(number):
        if number == 3:
            others_ask.set()
        return once.get("key", make)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert made == [1]
    assert len(set(map(id, answers))) == 1


def test_other_keys_do_not_wait():
    once, other_is_made = ByKey(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(once.get, "slow", lambda: other_is_made.wait(10))
        pool.submit(once.get, "quick", other_is_made.set)
        assert slow.result()


def test_what_does_not_suit_or_failed_is_made_again():
    once = ByKey()
    assert once.get("a", lambda: 1) == once.get("a", lambda: 2) == 1
    assert once.get("a", lambda: 3, lambda value: value > 2) == 3
    assert once.get("a", lambda: 4) == 3
    with pytest.raises(ZeroDivisionError):
        once.get("d", lambda: 1 // 0)
    assert once.get("d", lambda: 7) == 7
    assert once.n_made == 3

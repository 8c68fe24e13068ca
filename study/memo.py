"""What several threads ask for is made once: whoever asks first makes it, and the others wait for that.

    made = Once()
    made.get(key, lambda: ...)

What is kept belongs to nobody: who changes it takes a copy.
"""
import threading
from collections.abc import Callable, Hashable
from typing import Any

NOTHING = object()


class Once:
    """By key."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.n_made = 0
        self._found: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Any], suits: Callable[[Any], bool] = lambda found: True) -> Any:
        """What was made for this key, if it suits; else it is made (again). An exception of `make` is not kept."""
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            found = self._found.get(key, NOTHING)
            is_new = found is NOTHING or not suits(found)
            if is_new:
                found = make()
            with self._guard:
                self.n_made += is_new
                self._found[key] = found
            return found

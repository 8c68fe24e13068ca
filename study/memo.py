"""What was made is not made again in the same process: two memories, by how they tell what is the same.

    made = ByKey()
    made.get(key, make)                                 make(), once for each key, whatever thread asks
    by_values_read(machine, values, simulate)           simulate(values), once for all values it reads alike

`by_values_read` sees which of the values a run depends on: they note what they are asked for. Two draws that differ in the
interlace of UFS alone are one run on ZFS. What is asked for, and not there, counts too.

What is kept belongs to nobody: a caller that changes it takes a copy.
"""
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_keys, dict_values

_ABSENT = object()


# --- by key -------------------------------------------------------------------------------------------------------------

class ByKey:
    """What several threads ask for by one key is made once: the first of them makes it, the others wait for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.n_made = 0
        self._made: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Any], suits: Callable[[Any], bool] = lambda made: True) -> Any:
        """What was made for this key, if it suits; else it is made (again). An exception of `make` is not kept."""
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            made = self._made.get(key, _ABSENT)
            is_new = made is _ABSENT or not suits(made)
            if is_new:
                made = make()
            with self._guard:
                self.n_made += is_new
                self._made[key] = made
            return made


# --- by the values read -------------------------------------------------------------------------------------------------

class _Seen(NamedTuple):
    asked: dict         # name -> value, or _ABSENT
    outcome: Any


MAX_MACHINES = 4096      # that are remembered, the last ones: more than any notebook runs
_RUNS: dict[tuple[tuple, bool], list[_Seen]] = {}


class _Noted(dict[str, Any]):
    """Values that note who was asked for; who goes through them all has asked for all."""

    def __init__(self, values: dict):
        super().__init__(values)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: Any) -> bool:
        self.names.add(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.names.update(super().keys())
        return super().__iter__()

    def keys(self) -> "dict_keys[str, Any]":
        self.names.update(super().keys())
        return super().keys()

    def items(self) -> "dict_items[str, Any]":
        self.names.update(super().keys())
        return super().items()

    def values(self) -> "dict_values[str, Any]":
        self.names.update(super().keys())
        return super().values()

    def __or__(self, other: dict) -> dict:
        return dict(self.items()) | other

    def __ror__(self, other: dict) -> dict:
        return other | dict(self.items())

    def __eq__(self, other: object) -> bool:
        return dict(self.items()) == other

    __hash__ = None

    def __len__(self) -> int:
        self.names.update(super().keys())
        return super().__len__()

    def __bool__(self) -> bool:
        """Whether there are any is part of the key of a run, so who asks that alone has asked for none."""
        return super().__len__() > 0

    def __reversed__(self) -> Iterator[str]:
        self.names.update(super().keys())
        return super().__reversed__()

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def copy(self) -> dict:
        return dict(self.items())

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("values of a run are not changed; take a copy")

    __setitem__ = __delitem__ = __ior__ = pop = popitem = setdefault = update = clear = _refuse


def by_values_read(machine: tuple, values: dict, simulate: Callable[[dict], Any]) -> Any:
    """`simulate(values)`, unless `machine`, which says all the rest, was run with the same of all that it asked for."""
    runs = _RUNS.setdefault((machine, bool(values)), [])
    for seen in runs:
        if all(values.get(name, _ABSENT) == value for name, value in seen.asked.items()):
            return seen.outcome
    noted = _Noted(values)
    outcome = simulate(noted)
    runs.append(_Seen({name: values.get(name, _ABSENT) for name in noted.names}, outcome))
    while len(_RUNS) > MAX_MACHINES:
        _RUNS.pop(next(iter(_RUNS)), None)
    return outcome


def forget() -> None:
    """All that `by_values_read` remembers."""
    _RUNS.clear()

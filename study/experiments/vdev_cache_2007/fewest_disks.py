"""The fewest disks that hold the files of a test, so that a slider offers no fewer.

    fewest_disks.held(seqread_2007.check, settings)     the settings, or ValueError, one sentence, as `check` has it

A slider asks this of each of its numbers, and `check` lays out files. More disks always hold what fewer hold, so that a few
layouts find the fewest. They are not laid out again for what is no matter of room.
"""
from collections.abc import Callable
from typing import Any

DISKS = "n_leaves"
NO_MATTER_OF_ROOM = {DISKS, "line_kib", "cache_mib", "max_pending", "ncq", "window", "sorts", "segments", "reads_ahead"}
MOST = 2**14        # disks of a pool

_known: dict[tuple, int] = {}


def held(check: Callable, values: dict[str, Any]) -> dict[str, Any]:
    """The values. A ValueError of `check` if the files do not fit on so many disks."""
    key = check, *sorted((name, value) for name, value in values.items() if name not in NO_MATTER_OF_ROOM)
    if key not in _known:
        _known[key] = _fewest(check, values)
    if values[DISKS] < _known[key]:
        check(**values)
    return values


def _fewest(check: Callable, values: dict[str, Any]) -> int:
    """By doubling, then by halves; MOST + 1 if none hold them."""
    too_few, enough = 0, 1
    while not _holds(check, values, enough):
        if enough == MOST:
            return MOST + 1
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if _holds(check, values, middle) else (middle, enough)
    return enough


def _holds(check: Callable, values: dict[str, Any], n_disks: int) -> bool:
    try:
        check(**values | {DISKS: n_disks})
    except ValueError:
        return False
    return True

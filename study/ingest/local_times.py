"""Times of reports of sysstat's tools: ISO 8601, or as the locale of the machine writes them.

The locale C writes 11/26/26 21:32:08, and en_US 11/26/2026 09:32:08 PM, both with the month first. Many others begin with
the day. Where no day beyond 12 tells which, a time of theirs is not known.
"""

import re
from datetime import UTC, datetime

from study.ingest import text

ISO = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[+-]\d{2}:?\d{2}|Z)?")
TIME_OF_DAY = re.compile(r".*\d{1,2}(?::|[^\W\d_])\d{2}(?::|[^\W\d_])\d{2}.*")  # in any language
MAX_SHOWN = 60  # characters of a time
MONTH_FIRST = ("%m/%d/%y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p")  # of the locales C and en_US
SWAPPED = ("%d/%m/%y %H:%M:%S", "%d/%m/%Y %I:%M:%S %p")
OTHERS = ("%d.%m.%Y %H:%M:%S", "%d.%m.%y %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S")  # none can be another
EITHER = ("%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S")


def is_time(line: str) -> bool:
    """Whether a line is a time, though perhaps none that `moment` knows."""
    return len(line) <= MAX_SHOWN and bool(ISO.fullmatch(line) or TIME_OF_DAY.fullmatch(line))


def moment(shown: str) -> tuple[float | None, bool]:
    """Seconds since 1970, as in UTC where it has no zone, and whether it has one. None if it is not known."""
    if ISO.fullmatch(shown):
        seen = text.epoch(shown)
        return seen if seen else (None, False)
    for forms in (MONTH_FIRST, OTHERS):
        if moments := _moments(shown, forms):
            return moments[0], False
    of_either = _moments(shown, EITHER)
    return of_either[0] if len(of_either) == 1 else None, False


def is_month_first_by_habit(shown: str) -> bool:
    """Whether the day might stand first, and only the habit of C and en_US says that it does not."""
    return bool(_moments(shown, MONTH_FIRST)) and len(_moments(shown, (*MONTH_FIRST, *SWAPPED))) > 1


def _moments(shown: str, forms: tuple[str, ...]) -> list[float]:
    """The different times that these forms make of it, s since 1970 as if it were UTC."""
    made: list[float] = []
    for form in forms:
        try:
            made.append(datetime.strptime(" ".join(shown.split()), form).replace(tzinfo=UTC).timestamp())
        except ValueError:
            continue
    return list(dict.fromkeys(made))

"""The one kind of error that is the user's to mend."""
import difflib
import errno
import re
from collections.abc import Iterable, Mapping
from datetime import date
from datetime import time as clock_time
from decimal import Decimal
from typing import Any

NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}

SHOWN = (str, int, float, Decimal, date, clock_time)       # values that a sentence has room for
ALIKE = 0.75        # from 0 to 1, of a word and the one that may have been meant


class UserError(Exception):
    """One sentence: what is wrong, its value, the bound, what to do. The command line prints it and exits with 2."""

# What pydantic says of a value, and how we say it. The first that fits counts.
PLAINLY = [(re.compile(pattern), plain) for pattern, plain in (
    (r"Input should be greater than or equal to (\S+)", r"must be \1 or more"),
    (r"Input should be greater than (\S+)", r"must be more than \1"),
    (r"Input should be less than or equal to (\S+)", r"must be \1 or less"),
    (r"Input should be less than (\S+)", r"must be less than \1"),
    (r"Input should be a valid integer.*", "must be a whole number"),
    (r"Input should be a (valid|finite) (number|decimal).*", "must be a number, and finite"),
    (r"Input should be a valid boolean.*", "must be true or false"),
    (r"Input should be a valid string.*", "must be text, in quotes"),
    (r"Input should be a valid (list|tuple|array).*", "must be a list"),
    (r"Input should be a valid (dictionary|mapping|table).*", "must be a section with names and values of its own"),
    (r"Input should be ('.*'|\d.*)", r"must be \1"),
    (r"Field required", "is missing; give it"),
    (r"Extra inputs are not permitted", "is not known here; leave it out or mend its name"))]


def plainly(complaint: str) -> str:
    """A complaint of pydantic's as the end of a sentence that begins with the name of the value."""
    return next((pattern.sub(plain, complaint) for pattern, plain in PLAINLY if pattern.fullmatch(complaint)), complaint)


def of_value(entry: str, complaint: Mapping[str, Any]) -> str:
    """One of pydantic's complaints as a sentence: entry, value, what is allowed. `entry` "" is the whole that was read."""
    value = f" is {_shown(complaint['input'])}"[:80] if isinstance(complaint["input"], SHOWN) else ""
    message = complaint["msg"].removeprefix("Value error, ")
    plain = plainly(message)
    if plain == message:
        return f"{entry}{value}: {message}" if entry else message
    return f"{entry}{f'{value}, but it' if value and plain.startswith('must') else ''} {plain}"


def _shown(value: object) -> str:
    """The value as its file has it."""
    return str(value) if isinstance(value, date | clock_time) else repr(value)


def meant(word: object, known: Iterable[str], otherwise: str) -> str:
    """The end of a sentence about a word that is not known: the known one that is most like it, or else `otherwise`."""
    near = difflib.get_close_matches(str(word), list(known), n=1, cutoff=ALIKE)
    return f"did you mean '{near[0]}'?" if near else otherwise


def of_the_system(error: OSError) -> UserError:
    """An error of the file system as one sentence."""
    name = error.filename2 or error.filename      # of two, the second is what the user named
    where = f" at {name}" if name else ""
    if error.errno in NO_SPACE:
        return UserError(f"no space left{where} ({error.strerror}); free some and run the same command again: "
                         "finished runs are kept and not repeated")
    if error.errno in NOT_ALLOWED:
        return UserError(f"cannot read or write{where} ({error.strerror}); change that, or choose another place "
                         "(STUDY_RUNS names one for runs and their store)")
    if name and isinstance(error, FileNotFoundError):
        return UserError(f"{name} is not there; check the path")
    if name and isinstance(error, IsADirectoryError):
        return UserError(f"{name} is a folder; name a file")
    if name and isinstance(error, FileExistsError | NotADirectoryError):
        return UserError(f"{name} is a file, but a folder is wanted there; name another place")
    return UserError(f"{error.strerror or error}{where}; mend it and run the same command again")

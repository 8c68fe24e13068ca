"""Sentences of the simulator with the names and units that the parameters of a notebook have.

    in_own_names("file_bytes is 21474836480, but …; choose 4096", ["file_gib"])     "file_gib is 20, but …; choose 4 KiB"

A size keeps all its digits: what has no few of them in a larger unit stays in B. A number before a noun is a count.

The simulator counts in bytes, and a notebook in GiB, MiB or KiB. Its parameter `file_gib` is the simulator's `file_bytes`.
Who reads the notebook sees the first name only.
"""
import re
from collections.abc import Collection

FACTORS = {"gib": 2**30, "mib": 2**20, "kib": 2**10}
PREFIXES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
LEAST = 512                 # B, of what a sentence about sizes has as a size without its unit
OF_BYTES = r"\b(\d{4,}) B\b"
AGAIN = r"(?: (?:to|or|and) \d+)*(?: (?:or more|or less|at least|at most))?"
FOLLOWS = rf"(?: B\b|(?={AGAIN}(?: B\b|[;,:)]|\.?$|\. )))"      # a size, and no noun
BARE = rf"(?<! of )(?<![\d^.])\b(\d{{3,}})\b{FOLLOWS}"


def in_own_names(sentence: str, parameters: Collection[str]) -> str:
    """The sentence for a notebook that has these parameters."""
    for name in parameters:
        stem, _, unit = name.rpartition("_")
        of_model, factor = f"{stem}_bytes", FACTORS.get(unit)
        if factor is None or of_model in parameters:
            continue
        about = re.match(rf"((?:.*[:;] )?){of_model}( of [a-z ]+)? is (\d+)\b", sentence)
        if about:
            rest = re.sub(BARE, _size, sentence[about.end():])
            sentence = f"{about[1]}{name}{about[2] or ''} is {_in_unit(int(about[3]), factor)}{rest}"
        sentence = re.sub(rf"\b{of_model}\b", name, sentence)
    return re.sub(OF_BYTES, lambda size: in_words(int(size[1])), sentence)


def _size(match: re.Match[str]) -> str:
    """What BARE matches in words, unless it is too small for a size or another parameter's value."""
    is_other = re.search(r"\b(?!\w*_bytes\b)\w+_\w+ is $", match.string[:match.start()])
    return match[0] if int(match[1]) < LEAST or is_other else in_words(int(match[1]))


def _in_unit(n_bytes: int, factor: int) -> str:
    """The number with the fewest digits, from 6 on, that is so many bytes in whole ones."""
    numbers = (f"{n_bytes / factor:.{n_digits}g}" for n_digits in range(6, 18))
    return next(number for number in numbers if n_bytes in (int(float(number) * factor), round(float(number) * factor)))


def in_words(n_bytes: int) -> str:
    """A number of bytes, exactly, in the largest unit of which it has 1 or more and 6 digits at most; else in B."""
    for factor, unit in PREFIXES:
        number = f"{n_bytes / factor:.6g}"
        if n_bytes >= factor and float(number) * factor == n_bytes:
            return f"{number} {unit}"
    return f"{n_bytes} B"

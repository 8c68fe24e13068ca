"""Sentences of the simulator with the names and units that the parameters of a notebook have.

    in_own_names("file_bytes is 21474836480, but …; choose 4096", ["file_gib"])     "file_gib is 20, but …; choose 4 KiB"

The simulator counts in bytes, and a notebook in GiB, MiB or KiB. Its parameter `file_gib` is the simulator's `file_bytes`.
Who reads the notebook sees the first name only.
"""
import re
from collections.abc import Collection

FACTORS = {"gib": 2**30, "mib": 2**20, "kib": 2**10}
PREFIXES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
LEAST = 512                 # B, of what a sentence about sizes has as a size without its unit
OF_BYTES = r"\b(\d{4,}) B\b"
BARE = r"(?<! of )(?<![\d^.])\b(\d{3,})\b(?: B\b)?(?! [KMGT]iB|[.^]\d)"


def in_own_names(sentence: str, parameters: Collection[str]) -> str:
    """The sentence for a notebook that has these parameters."""
    for name in parameters:
        stem, _, unit = name.rpartition("_")
        of_model, factor = f"{stem}_bytes", FACTORS.get(unit)
        if factor is None or of_model in parameters:
            continue
        about = re.match(rf"((?:.*[:;] )?){of_model}( of [a-z ]+)? is (\d+)\b", sentence)
        if about:
            rest = re.sub(BARE, lambda size: in_words(int(size[1])) if int(size[1]) >= LEAST else size[0],
                          sentence[about.end():])
            sentence = f"{about[1]}{name}{about[2] or ''} is {int(about[3]) / factor:.6g}{rest}"
        sentence = re.sub(rf"\b{of_model}\b", name, sentence)
    return re.sub(OF_BYTES, lambda size: in_words(int(size[1])), sentence)


def in_words(n_bytes: int) -> str:
    """A number of bytes in the largest unit of which it has 1 or more."""
    factor, unit = next((factor, unit) for factor, unit in PREFIXES if n_bytes >= factor or factor == 1)
    return f"{n_bytes / factor:.4g} {unit}"

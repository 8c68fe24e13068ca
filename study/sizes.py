"""Sizes as they are written: 4096, 8K, 8KB, 8KiB, 1.5T. K, M, G, T, P and E are powers of 1024 in each of these forms, as
zdb, zpool and zfs have them."""
import re
from decimal import Decimal

from study.errors import UserError

UNITS = {unit: 1024**power for power, unit in enumerate(("", "K", "M", "G", "T", "P", "E"))}
SIZE = re.compile(r"(\d{1,19}(?:\.\d{1,19})?) ?(?:([KMGTPE])I?)?B?")


def size_of(text: str, quantity: str) -> int:
    """Bytes. `quantity`: what the text is of, for the UserError."""
    match = SIZE.fullmatch(text.strip().upper())
    if not match:
        raise UserError(f"the {quantity} is '{text}', which is no size; write it like 8K or 8KiB, both 8192 bytes")
    return round(Decimal(match[1]) * UNITS[match[2] or ""])

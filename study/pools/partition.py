"""A partition, and what readers of partition tables share: `partitions` says which readers there are."""
from collections.abc import Iterator
from typing import NamedTuple

USUAL_SECTOR = 512
SECTORS = (512, 1024, 2048, 4096)
TRY = "give what `sfdisk --json DISK`, `parted -m DISK unit s print` or `fdisk -l DISK` prints"
IN_SECTORS = "print it with `parted -m DISK unit s print`"


class Partition(NamedTuple):
    """`start_bytes`: from the beginning of its disk. `is_assumed`: the text does not tell the size of sectors."""
    name: str
    start_bytes: int
    sector_bytes: int           # the unit of its table
    is_assumed: bool = False


def lines_of(text: str) -> Iterator[str]:
    """Lines of a table, with one space between words."""
    for line in text.splitlines():
        yield " ".join(line.split())


def sector_by_gpt(first_lba: int) -> int | None:
    """B of a sector, from the first that a GPT leaves to partitions: before it lie 2 sectors and 16 KiB of entries."""
    return next((sector for sector in SECTORS if first_lba == 2 + 2**14 // sector), None)


def changed_row(line: str) -> str:
    """What is wrong with a row that cannot be read."""
    return f"the line '{line[:60]}' is cut off or changed; {TRY}"


def sector_problem(n_bytes: int, name: str) -> str | None:
    """What is wrong with sectors of so many bytes on the disk of that name; None if nothing is."""
    return None if n_bytes in SECTORS else (f"sectors of {name} have {n_bytes} B, but they have {SECTORS[0]} to "
                                            f"{SECTORS[-1]}, a power of two; mend that line")


def numbered(device: str, number: str) -> str:
    """The name of a partition: sda1, nvme0n1p1."""
    return f"{device}{'p' * device[-1:].isdigit()}{number}"

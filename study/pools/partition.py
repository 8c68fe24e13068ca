"""A partition, and what readers of partition tables share: `partitions` says which readers there are."""
from typing import NamedTuple

USUAL_SECTOR = 512
SECTORS = (512, 1024, 2048, 4096)
TRY = "give what `sfdisk --json DISK`, `parted -m DISK unit s print` or `fdisk -l DISK` prints"
IN_SECTORS = "print it with `parted -m DISK unit s print`"


class Partition(NamedTuple):
    """`start_bytes`: from the beginning of its disk."""
    name: str
    start_bytes: int
    sector_bytes: int           # the unit of its table


def sector_problem(n_bytes: int, name: str) -> str | None:
    """What is wrong with sectors of so many bytes on the disk of that name; None if nothing is."""
    return None if n_bytes in SECTORS else (f"sectors of {name} have {n_bytes} B, but they have {SECTORS[0]} to "
                                            f"{SECTORS[-1]}, a power of two; mend that line")


def numbered(device: str, number: str) -> str:
    """The name of a partition: sda1, nvme0n1p1."""
    return f"{device}{'p' * device[-1:].isdigit()}{number}"

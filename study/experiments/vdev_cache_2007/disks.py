"""What both tests of 2007 assume of a disk: which one it is, and what lies in front of the files."""
from model.devices.data_sheet import SheetParams

OF_2007 = "of 2007"             # the disk as in the priors, and not one of data/hardware
HALF_FULL = 0.5                 # of a disk lies in front of the files, if the pool is not new


def first_byte(disk: SheetParams, pool: str) -> int:
    """Of each disk, where the files begin."""
    return int(HALF_FULL * disk.disk_bytes) if pool == "half full" else 0

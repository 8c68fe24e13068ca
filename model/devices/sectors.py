"""The sector: blocks of disks, and the smallest block of ZFS (SPA_MINBLOCKSIZE)."""

SECTOR_SHIFT = 9  # log2 of the B of a sector
SECTOR_BYTES = 1 << SECTOR_SHIFT

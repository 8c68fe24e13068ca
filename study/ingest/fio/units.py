"""What all outputs of fio share: directions, units, and the bins of its histograms."""

DIRECTIONS = ("read", "write", "trim")
PHANTOM = 2**32 - 1  # group of the job that group_reporting leaves
KIB = 1024
BITS = 6  # each power of two has 2**BITS bins in clat histograms: FIO_IO_U_PLAT_BITS

"""What all outputs of fio share: directions, units, the bins of its histograms, and names of jobs that are equal."""

DIRECTIONS = ("read", "write", "trim")
PHANTOM = 2**32 - 1  # group of the job that group_reporting leaves
KIB = 1024
TOGETHER = "reads and writes of {} are reported together (unified_rw_reporting), which is not read"
OF_CLIENTS = "{} is of fio --client, which joins several hosts; record each host by itself"
BITS = 6  # each power of two has 2**BITS bins in clat histograms: FIO_IO_U_PLAT_BITS


def numbered(name: str, names: list[str]) -> str:
    """A name that is none of `names`, with a number behind it where need be."""
    made, n = name, 2
    while made in names:
        made, n = f"{name}-{n}", n + 1
    return made

"""Columns of the tables of volumes under UFS: `model.filesystems.ufs.volumes`."""

# Columns of Volumes.stripe, a row for each volume.
FIRST = 0  # index of its first unit
MEMBERS = 1  # count of its units
INTERLACE = 2  # B

# Columns of Volumes.io, a row for each I/O.
UNIT = 0  # index of its unit
STRIPE = 1  # index of its volume
FILE = 2  # index of the file of an asynchronous write, else NONE
PROCESS = 3  # index of the process that waits for it, or NONE
EPOCH = 4  # FILE_EPOCH of its file when it began
PAGE = 5  # index of the first page of the page cache that it writes, or 0
SEQUENCE = 6  # count of I/Os that began before

# Columns of Volumes.root, a row for each unit.
RUN = 0  # index of the first I/O of the run that is being served, or NONE
NEXT_RUN = 1  # index of the next run

# Elements of Volumes.n.
N_FREE = 0  # count of numbers of I/Os that nobody uses
N_BEGUN = 1  # count of I/Os begun
N_TO_FEED = 2  # count of units to feed

# Rows of a volume in Volumes.per_second. COUNTS has their names in order.
READS = 0  # count of reads that are done
READ_BYTES = 1  # B of these
WRITES = 2  # count of writes that are done
WRITE_BYTES = 3  # B of these

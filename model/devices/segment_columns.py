"""The columns of `DiskState.buffer` (`model.devices.disk_mechanics`): what a segment of a disk's buffer holds."""

# Columns of DiskState.buffer: its second index. A *run* is the blocks at the end that are to be written.
FIRST = 0  # number of the first block
LAST = 1  # number of the block after the last
USED = 2  # CLOCK of the last use, or -1
WRITTEN = 3  # 1: the host wrote its blocks
UNWRITTEN = 4  # count of blocks of the run
NEWEST = 5  # count of those of them that came last
READY = 6  # ns, when the arm could begin with these
GATHERED = 7  # ns, when they have come over the bus
LAST_PIECE = 8  # N_PIECES when the run came, or was last written from
RUN_BLOCK = 9  # number of a block at which the run began, or -1
RUN_CYLINDER = 10  # index of its cylinder
RUN_HEAD = 11  # index of its head
RUN_ANGLE = 12  # ns of a revolution from the index
RUN_ZONE = 13  # index of its zone
RUN_PLACE = 14  # index: place in that zone
N_COLUMNS = 16  # count; the last one means nothing

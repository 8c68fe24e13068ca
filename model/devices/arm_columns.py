"""The columns of `DiskState.units` (`model.devices.disk_mechanics`): arm and spindle of a disk, and what they are at."""

# Columns of DiskState.units, a row for each disk. Blocks and segments go by number, -1 for none.
AT_CYLINDER = 0  # index of the cylinder of the arm
AT_HEAD = 1  # index of the head in use
PHASE = 2  # ns by which the spindle is past the index at time 0
FREE = 3  # ns, when the arm is free
WROTE = 4  # 1: the last command was a write
EXPECTED = 5  # block after the last read
CLOCK = 6  # count of uses of segments so far
AHEAD_SEGMENT = 7  # segment that is read ahead into
AHEAD_BLOCK = 8  # block that is read next
AHEAD_LIMIT = 9  # block at which that stops
AHEAD_TIME = 10  # ns, when the head was at AHEAD_BLOCK
STOP_CYLINDER = 11  # index of the cylinder of an arm that is stopped now
STOP_HEAD = 12  # index of its head
STOP_TIME = 13  # ns, when it is free
SERVED = 14  # how the last request was served: FROM_AHEAD to TO_PLATTER
IDLE = 15  # ns, when the last read was done
TAKEN = 16  # count of segments whose room runs take
PIECE_SEGMENT = 17  # segment of the piece that is being written
PIECE_BLOCKS = 18  # count of its blocks
PIECE_END = 19  # ns, until when
N_PIECES = 20  # count of pieces begun
N_COLUMNS = 21  # count

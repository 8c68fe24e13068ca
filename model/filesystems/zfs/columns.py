"""Columns of the tables of a ZFS under a database: `model.filesystems.zfs.state`."""

# Columns of Zfs.of_file, a row for each file.
RING_BYTES = 0  # B at most; what lies behind is at the front again
PAGE = 1  # B of a page of the database
PSIZE = 2  # B of a record on disk
INTENT_LOG = 3  # index of its intent log
OF_RECORD = 4  # ns of a record in a group, till the next one
SYNC_CPU = 5  # ns of a record in a group, of all processors
OBJECT = 6  # index of the first file of its object
BEGIN = 7  # its first record, which is not 0 if it is a range of an object
N_OF_FILE = 8

# Columns of Places.vdevs, a row for each vdev. The first four are the fields of VdevParams.
KIND = 0  # code of model.zfs.vdev.raid
N_CHILDREN = 1  # count
N_PARITY = 2  # count
ASHIFT = 3  # log2 of B
FIRST_LEAF = 4  # index of a leaf
GROUP = 5  # DATA, LOG or CACHE
TOUCHED_IN = 6  # number of the last group that was open when it gave space

# Columns of Zfs.process: its call, and how far it is. JOINED_BEFORE to ABOVE_OTHER: see read_ahead.py.
OPERATION = 0  # code of model.filesystems.calls
FILE = 1  # the store's number of the file
AT = 2  # B: where in the file it is
END = 3  # B: where it ends
LEVEL = 4  # of the block that it looks for next; below 0: none
STAGE = 5  # LOOKS, READING, COMMITS or IN_COMMIT
HAS_RECORD = 6  # 1: it has had the record of its piece
HAS_SLEPT = 7  # 1: it was put to sleep before it could write
BEGAN = 8  # ns: when the call began
HAS_WAITED = 9  # 1: a read had to wait for a block
JOINED_BEFORE = 10  # index of the process that joined before in waiting for the same block, or NOBODY
IS_SHOWN = 11  # 1: zfetch has seen the record
ROW = 12  # index of the row of Zfs.fetches that it is at
N_FETCHES = 13  # count of such rows
FETCHED = 14  # count of records that it has had read of that row
ABOVE_OTHER = 15  # 1 + the record to be read ahead above which it reads
TX_BEGAN = 16  # ns: when its transaction began
N_WRITTEN = 17  # count of records written so far
N_ASKED = 18  # B of the call
N_PROCESS = 19

# Elements of Zfs.sync.
SYNC_STAGE = 0  # FILES_STAGE to DONE_STAGE
MOS_PASS = 1  # count of passes over the MOS
IS_STALLED = 2  # 1: the sync thread waits until there are I/Os again
IN_FLIGHT = 3  # count of I/Os in use
TIMER_IS_OVER = 4  # 1: the time of the open group is over
IS_PUSHED = 5  # 1: somebody asks for the next group
LOG_CALLED = 6  # 1 + index of the intent log that was called, or 0
TIMED_TXG = 7  # number of the group that the timer of 2007 will end
N_SYNC = 8

# Columns of Zfs.wanted.
KIND_WANTED = 0  # BLOCK, VDEV_FLUSH or LABEL
WHERE = 1  # of a BLOCK its place; of a VDEV_FLUSH the vdev; of a LABEL leaf << LEAF_SHIFT | offset
LENGTH = 2  # B
OWNER = 3  # the task that waits, or FOR_TXG
PRIORITY = 4  # code, its priority in the vdev queue
ENTRY = 5  # index of the entry of the transaction group, or NIL

# Columns of Zfs.rows, a row for each thing that an intent log wants done. From KIND_OF_ROW to OF_TXG they are those of
# Zil.outbox.
LOG_OF_ROW = 0  # index of the intent log
KIND_OF_ROW = 1  # LOG_BLOCK, FILE_BLOCK or FLUSH
BYTES_OF_ROW = 2  # B
TARGET_OF_ROW = 3  # of a LOG_BLOCK its slot; of a FILE_BLOCK 1 + index of the file; of a FLUSH the vdev
WHICH_OF_ROW = 4  # of a LOG_BLOCK the slot of the next one; of a FILE_BLOCK the block
OF_TXG = 5  # of a FILE_BLOCK: the group of its entry
READY_AT = 6  # ns: when a processor is through with it
# Elements of Zfs.row_ends.
N_PUT = 0  # count of rows put into the ring
N_TAKEN = 1  # count of those taken out
READY = 2  # ns until which threads of the logs are at work
# Columns of Zfs.row_of, a row for each task.
LOG_OF_TASK = 0  # index of the intent log
SLOT_OF_TASK = 1  # index of the slot of the log block that it writes, or NO_SLOT

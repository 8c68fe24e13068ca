"""The columns of the tables of the intent log (`model.zfs.zil.log.Zil`)."""

# Columns of Zil.waiting.
TASK = 0  # index of who waits
OF_FILE = 1  # file that it waits for; 0: for all
UP_TO = 2  # number of the sequence that it waits for
N_WAITING_COLUMNS = 3  # count
# Columns of Zil.entries.
SEQUENCE = 0  # number in its log, from 1
TXG = 1  # number of its transaction group
FILE = 2  # index of the file; 0: of none
WAY = 3  # INDIRECT, COPIED, NEED_COPY or OTHER
DATA = 4  # B
BLOCK = 5  # number of the block of the file
BLOCK_BYTES = 6  # B of that block
IS_SYNC = 7  # 1: of a synchronous write
COVERED = 8  # pass in which its block was written, or 0
FOLLOWING = 9  # the next entry of the list, or of those not used; or NIL
N_ENTRY_COLUMNS = 10  # count

# Columns of Zil.logs.
NEWEST = 0  # number of the newest sequence
COMMITTED = 1  # number of the sequence up to which all is safe
WILL_BE = 2  # what COMMITTED will be after this pass
LISTED = 3  # B waiting
NOW_USED = 4  # B of this commit
BEFORE_USED = 5  # B of the last commit
PHASE = 6  # IDLE, CREATING, WRITING or FLUSHING
N_PENDING = 7  # count of I/Os pending
WRITER = 8  # task, or NOBODY
WRITER_FILE = 9  # file that it writes for; 0: for all
WRITER_UP_TO = 10  # number of the sequence up to which it writes
N_WAITING = 11  # count of tasks waiting
FIRST = 12  # first entry, or NIL
LAST = 13  # last entry, or NIL
OLDEST_BLOCK = 14  # slot of the oldest block of the chain
N_BLOCKS = 15  # count of blocks of the chain
SYNCED = 16  # number of the newest synced transaction group
ROTOR = 17  # index of Zil.choices: the next place
PASS = 18  # count of passes so far
IS_OPEN = 19  # 1: the block in hand is begun
IS_FULL = 20  # 1: the chain once had no room, after which nothing is right
SKIPPED = 21  # entry up to which none is of the file SKIPPED_FOR, or NIL
SKIPPED_FOR = 22  # index of the file that was written for last
N_LOG_COLUMNS = 23  # count

# Columns of Zil.chain.
BYTES = 0  # B of the block
USED = 1  # B of entries in it
DEVICE = 2  # MAIN or SLOG
MAX_TXG = 3  # number of the newest transaction group of its entries
BORN = 4  # number of the transaction group of its allocation
IS_WRITTEN = 5  # 1: it is on disk
PLACE = 6  # the caller's; -1: not given yet
N_CHAIN_COLUMNS = 7  # count

# Columns of Zil.outbox.
TO_DO = 0  # LOG_BLOCK, FILE_BLOCK, FLUSH or CREATE: see model.zfs.zil.commit
TO_DO_BYTES = 1  # B of the block that is to be written, else 0
TO_DO_TARGET = 2  # slot of the block in the chain; of a FILE_BLOCK: file; of a FLUSH: vdev
TO_DO_WHICH = 3  # of a LOG_BLOCK: slot of the next block; of a FILE_BLOCK: number of the block of the file; else 0
TO_DO_TXG = 4  # of a FILE_BLOCK: transaction group of its entry
N_OUTBOX_COLUMNS = 5  # count

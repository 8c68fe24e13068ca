"""Columns of the tables of PostgreSQL: `model.databases.postgres.state`."""

# Elements of the state of the checkpoint that at_work.py has under way.
AT_FRAME = 0  # index of the frame it has come to
SINCE = 1  # count of transactions since it began
N_CLEANED = 2  # count of pages written

# Elements of Buffers.clock.
HAND = 0  # index of the frame last swept
PASSES = 1  # count of turns
N_USED = 2  # count of frames ever used
N_TAKEN = 3  # count of frames taken since the cleaner came

# Columns of Machine.tail, a row for each relation.
ROWS = 0  # count of rows on its last page
PAGE = 1  # index of its last page
ON_DISK = 2  # index of the first page that is not on disk

# Elements of Machine.cleaner, the background writer.
SMOOTHED_TAKEN = 0  # count of frames taken between its rounds, smoothed
DENSITY = 1  # count of frames passed for each that can be used again, smoothed
NEXT = 2  # index of the frame it last came to
NEXT_PASS = 3  # count of its turns
LAST_HAND = 4  # HAND at its last round
LAST_PASS = 5  # PASSES then
HAS_COME = 6  # 1: there was a round
TO_SCAN = 7  # count of frames it may pass in this round
N_SCANNED = 8  # count of frames it has passed
REUSABLE = 9  # count of frames ahead of the clock that can be used again
WANTED_REUSABLE = 10  # how many it wants
N_WRITTEN = 11  # count of pages written in this round
WERE_REUSABLE = 12  # REUSABLE when the round began

# Elements of Machine.checkpoint.
BEGAN_AT = 0  # ns: when the last one began
BEGAN_LSN = 1  # B of the log: where it did
TO_WRITE = 2  # count of buffers marked
N_DONE = 3  # count of these: written by the checkpointer
PLACE = 4  # index of the frame last looked at, or of the page if they are sorted
N_PASSED = 5  # count of frames looked at
IS_BUSY = 6  # 1: and not napping
FILE = 7  # index of the next file to be synced

# Columns of Database.statements, a row for each statement of the transaction.
ACTION = 0  # NOTHING to INSERT
RELATION = 1  # index of the relation
CPU_NS = 2  # ns

# Columns of Database.relations, a row for each relation.
N_ROWS = 0  # count
ROWS_PER_PAGE = 1  # count
FIRST_PAGE = 2  # index of its first page
N_PAGES = 3  # count
LAST_PAGE = 4  # index of the last page that it can grow to
FREE_SLOTS = 5  # count of slots for new versions on a page at the start
PRUNE_BELOW = 6  # count of free slots: with no more, a page is pruned
FIRST_LEAF = 7  # index of the first page of its index, or -1
N_LEAVES = 8  # count of these
FIRST_LOCK = 9  # index of the lock of its first row, or -1
HOT_BYTES = 10  # B of log: an update on the page
MOVE_BYTES = 11  # B of log: an update that moves to another page
CLEAN_BYTES = 12  # B of log: pruning
INSERT_BYTES = 13  # B of log: an insert
IMAGE_BYTES = 14  # B of log: the image of a page
N_RELATION = 15

# Columns of Machine.process, a row for each process.
PHASE = 0  # code of what is next: of phases.py
THEN = 1  # code of what is next after a flush
LSN = 2  # B of the log: up to where it is to be flushed
LEFT = 3  # B of records still to be copied
STATEMENT = 4  # index, of the transaction
STEP = 5  # how many of the statement's pages it has got
FRAME = 6  # index of the frame it does I/O for
WANTED = 7  # index of the page it waits for somebody else to read, or NOBODY
LOG_BYTES = 8  # B of records of this statement
IS_WRITER = 9  # 1: the transaction has logged something
BEGAN = 10  # ns: when the transaction began
N_TOUCHED = 11  # count of pages of this statement
CPU_FACTOR = 12  # of the transaction's CPU times, 2^20ths
N_PROCESS = 13

# Rows of Machine.queue, beside CPUS.
CLIENTS = 1  # index: for a thread of the client program
WAL_INSERT = 2  # for the lock under which records are copied
WAL_WRITE_LOCK = 3  # index: for the lock under which the log is written
N_QUEUES = 4

# Elements of Machine.wal: places, in B of records.
INSERTED = 0  # B: up to where records have been copied
WRITTEN = 1  # B: up to where they are written
STABLE = 2  # B: up to where they are stable
TARGET = 3  # B: up to where who holds the write lock writes
CALL_END = 4  # B: up to where its present call does
ASYNCHRONOUS = 5  # B: the last asynchronous commit
REDO = 6  # B: where the last checkpoint began
IS_REQUESTED = 7  # 1: the log asks for a checkpoint
N_SEGMENTS = 8  # index of the first segment that does not exist
N_RECYCLED = 9  # count of segments, from the first on, that are used again
REDO_BEFORE = 10  # B: REDO of the checkpoint before

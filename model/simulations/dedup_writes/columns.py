"""Columns of the tables of `model.simulations.dedup_writes`."""

# Columns of Machine.threads: who looks entries up, and last of all the sync thread.
STEP = 0  # of the lookup, the next one
LEAF = 1  # the entry's
FOUND = 2  # NEW, AGAIN or SECOND
WAITS_FOR = 3  # the block that it reads, or NOBODY
OTHER_LEAF = 4  # of the object that an entry of SECOND moves to
N_THREAD_COLUMNS = 5

# What the table has of a block that is written: nothing; an entry among duplicates; one among uniques, which moves.
NEW, AGAIN, SECOND = range(3)

# Columns of Machine.files.
FROM_CORE, FROM_DISK, ENDED = range(3)  # blocks of a file that were in core; those that were read; ns when the last had come
N_FILE_COLUMNS = 3

# Elements of Machine.group.
PHASE = 0  # of the sync: IDLE, LOOKUPS, TABLE, WRITING
SYNCING, OPEN = 1, 2  # numbers of groups
N_SYNCING, N_QUIESCED, N_OPEN = 3, 4, 5  # blocks; N_QUIESCED is -1 where no group waits to be synced
NEXT_BLOCK, N_UNDER_WAY = 6, 7  # of the group: the next block to be looked up; lookups under way
NEXT_TOUCHED, N_TOUCHED = 8, 9  # entries that the sync thread has to write
N_DIRTY, N_PENDING = 10, 11  # blocks of the table that the group has to write; I/Os that it waits for
CURSOR_LEAF = 12  # the disk that is written to
ON_LEAF = 13  # B that it has been given since its turn began
DRAWN = 14  # random numbers used
IS_WAITING = 15  # the writer waits for the next group
DUE = 16  # ns when the call of the writer began
N_FEEDING = 17  # writes of the cache device's round
NEXT_WRITTEN = 18  # of the dirty blocks
IS_PUSHED = 19  # a group is wanted, for the first block of the intent log
COMMITS = 20  # the call has written, and waits for the intent log
LOG_SLOT = 21  # and the one behind: log blocks under way; a pass of one call has two at most
LOG_AT = 23  # B, where the next one goes on the log device
READS_FILE, READS_BLOCK, READ_COMES = 24, 25, 26  # of the reader: file, block of it, whether that is being read
N_GROUP = 27

# Elements of Machine.tally.
COUNTS = ("calls", "blocks", "data_bytes", "groups", "lookups", "touched", "hits", "disk_reads", "l2_reads",
          "table_writes", "io_writes", "dirtied", "log_blocks", "file_hits", "file_reads", "moved")
(CALLS, BLOCKS, DATA_BYTES, GROUPS, LOOKUPS, TOUCHED, HITS, DISK_READS, L2_READS, TABLE_WRITES, IO_WRITES, DIRTIED,
 LOG_BLOCKS, FILE_HITS, FILE_READS, MOVED) = range(len(COUNTS))

"""Columns of the tables of `model.simulations.dedup_writes`."""

# Columns of Machine.threads: who looks entries up, and last of all the sync thread.
STEP = 0  # code of the lookup, the next one
LEAF = 1  # index of the entry's
FOUND = 2  # code: NEW, AGAIN or SECOND
WAITS_FOR = 3  # index of the block that it reads, or NOBODY
OTHER_LEAF = 4  # index, of the object that an entry of SECOND moves to
N_THREAD_COLUMNS = 5

# What the table has of a block that is written: nothing; an entry among duplicates; one among uniques, which moves.
NEW, AGAIN, SECOND = range(3)  # codes

# Columns of Machine.files.
FROM_CORE, FROM_DISK, ENDED = range(3)  # count of its blocks that were in core; of those read; ns when the last had come
N_FILE_COLUMNS = 3

# Elements of Machine.group.
PHASE = 0  # code, of the sync: IDLE, LOOKUPS, TABLE, WRITING
SYNCING, OPEN = 1, 2  # number of the group
N_SYNCING, N_QUIESCED, N_OPEN = 3, 4, 5  # count of blocks; N_QUIESCED is -1 where no group waits to be synced
NEXT_BLOCK, N_UNDER_WAY = 6, 7  # index of the next block to be looked up; count of lookups under way
NEXT_TOUCHED, N_TOUCHED = 8, 9  # index of the next entry that the sync thread writes; their count
N_DIRTY, N_PENDING = 10, 11  # count of blocks of the table to be written; of I/Os that are waited for
CURSOR_LEAF = 12  # index of the disk that is written to
ON_LEAF = 13  # B that it has been given since its turn began
DRAWN = 14  # count of random numbers used
IS_WAITING = 15  # 1: the writer waits for the next group
DUE = 16  # ns when the call of the writer began
N_FEEDING = 17  # count of writes of the cache device's round
NEXT_WRITTEN = 18  # index, of the dirty blocks
IS_PUSHED = 19  # 1: a group is wanted, for the first block of the intent log
COMMITS = 20  # 1: the call has written, and waits for the intent log
LOG_SLOT = 21  # index, and the one behind: log blocks under way; a pass of one call has two at most
LOG_AT = 23  # B, where the next one goes on the log device
READS_FILE, READS_BLOCK, READ_COMES = 24, 25, 26  # of the reader: index of the file, of its block; 1: it is being read
N_GROUP = 27

# Elements of Machine.tally.
COUNTS = ("calls", "blocks", "data_bytes", "groups", "lookups", "touched", "hits", "disk_reads", "l2_reads",
          "table_writes", "io_writes", "dirtied", "log_blocks", "file_hits", "file_reads", "moved")
(CALLS, BLOCKS, DATA_BYTES, GROUPS, LOOKUPS, TOUCHED, HITS, DISK_READS, L2_READS, TABLE_WRITES, IO_WRITES, DIRTIED,
 LOG_BLOCKS, FILE_HITS, FILE_READS, MOVED) = range(len(COUNTS))  # counts, but for B of DATA_BYTES

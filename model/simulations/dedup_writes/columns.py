"""Columns of the tables of `model.simulations.dedup_writes`."""

# Columns of Machine.threads: who looks entries up, and last of all the sync thread.
STEP, LEAF, FOUND, WAITS_FOR = range(4)  # next step; the entry's leaf; is it a duplicate; the block that it reads, or NOBODY
N_THREAD_COLUMNS = 4

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
N_GROUP = 19

# Elements of Machine.tally.
COUNTS = ("calls", "blocks", "data_bytes", "groups", "lookups", "touched", "hits", "disk_reads", "l2_reads",
          "table_writes", "io_writes", "dirtied")
CALLS, BLOCKS, DATA_BYTES, GROUPS, LOOKUPS, TOUCHED, HITS, DISK_READS, L2_READS, TABLE_WRITES, IO_WRITES, DIRTIED = range(12)

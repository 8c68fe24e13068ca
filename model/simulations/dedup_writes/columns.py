"""Columns of the tables of `model.simulations.dedup_writes`."""

# Columns of Machine.threads: who looks entries up, and last of all the sync thread.
STEP = 0  # code of the lookup, the next one
LEAF = 1  # index of the entry's
FOUND = 2  # code: NEW, AGAIN or SECOND
WAITS_FOR = 3  # index of the block that it reads, or NOBODY
OTHER_LEAF = 4  # index, of the object that an entry of SECOND moves to
N_THREAD_COLUMNS = 5

# What the table has of a block that is written. An entry among uniques moves.
(NEW,  # code: the table has nothing of it
 AGAIN,  # code: an entry among duplicates
 SECOND,  # code: an entry among uniques
 ) = range(3)

# Columns of Machine.files.
(FROM_CORE,  # count of its blocks that were in core
 FROM_DISK,  # count of its blocks that were read from a disk
 ENDED,  # ns: when the last of its blocks had come
 ) = range(3)
N_FILE_COLUMNS = 3

# Elements of Machine.group.
PHASE = 0  # code, of the sync: IDLE, LOOKUPS, TABLE, WRITING
(SYNCING,  # number of the group that is synced, or that was synced last
 OPEN,  # number of the open group
 ) = 1, 2
(N_SYNCING,  # count of blocks of the group that is synced
 N_QUIESCED,  # count of blocks of the group that waits to be synced, or -1 where none does
 N_OPEN,  # count of blocks of the open group
 ) = 3, 4, 5
(NEXT_BLOCK,  # index, in the group, of the next block to be looked up
 N_UNDER_WAY,  # count of lookups under way
 ) = 6, 7
(NEXT_TOUCHED,  # index, in Machine.touched, of the next entry that the sync thread changes
 N_TOUCHED,  # count of entries in Machine.touched
 ) = 8, 9
(N_DIRTY,  # count of blocks of the table that the group has to write
 N_PENDING,  # count of the group's writes that disks have yet to do
 ) = 10, 11
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
(READS_FILE,  # index of the file that the reader is at
 READS_BLOCK,  # index, in that file, of the block that the reader wants next
 READ_COMES,  # 1: that block is being read
 ) = 24, 25, 26
N_GROUP = 27

# Elements of Machine.tally.
COUNTS = ("calls", "blocks", "data_bytes", "groups", "lookups", "touched", "hits", "disk_reads", "l2_reads",
          "table_writes", "io_writes", "dirtied", "log_blocks", "file_hits", "file_reads", "moved")
(CALLS,  # count of calls that have returned, or whose time to return is set
 BLOCKS,  # count of blocks that lookup threads have dealt with
 DATA_BYTES,  # B of data that groups have written
 GROUPS,  # count of groups synced
 LOOKUPS,  # count of blocks looked up in the table
 TOUCHED,  # count of entries that the sync thread has changed
 HITS,  # count of blocks of the table that were wanted, and in core
 DISK_READS,  # count of blocks of the table read from disks
 L2_READS,  # count of blocks read from the cache device
 TABLE_WRITES,  # count of writes of blocks of the table: three copies of each
 IO_WRITES,  # count of writes of groups: of data, and of the table with its copies
 DIRTIED,  # count of blocks of the table that groups have written, without copies
 LOG_BLOCKS,  # count of blocks of the intent log that were sent
 FILE_HITS,  # count of blocks of files that were wanted, and in core
 FILE_READS,  # count of blocks of files read from disks
 MOVED,  # count of blocks looked up whose entry moves to the other object
 ) = range(len(COUNTS))

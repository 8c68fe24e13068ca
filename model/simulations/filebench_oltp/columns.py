"""Columns of the tables of the OLTP run's machine. Imported as `oltp`."""

# Elements of Tally.counts, and their names.
READS = 0  # count of reads begun
WRITES = 1  # count of writes of database writers begun
LOG_WRITES = 2  # count of writes of the log writer begun
READS_DONE = 3  # count of reads completed
WRITES_DONE = 4  # count of writes of database writers completed
LOG_WRITES_DONE = 5  # count of writes of the log writer completed
READ_HITS = 6  # reads of records in core
DATA_READS = 7  # records asked of the pool
METADATA_READS = 8  # indirect blocks asked of the pool
IOS = 9  # count of I/Os handed to the queues
IOS_DONE = 10  # count of I/Os completed
TXGS = 11  # count of transaction groups written
RECORDS_WRITTEN = 12  # records of transaction groups written
INDIRECT_WRITTEN = 13  # indirect blocks of transaction groups written, counted without copies
LONGEST_SYNC_NS = 14  # ns, of one transaction group
READ_INTERRUPTS = 15  # commands of reads that disks have served
WRITE_INTERRUPTS = 16  # likewise, of writes
COUNTS = ("reads", "writes", "log_writes", "reads_done", "writes_done", "log_writes_done", "read_hits", "data_reads",
          "metadata_reads", "ios", "ios_done", "txgs", "records_written", "indirect_written", "longest_sync_ns",
          "read_interrupts", "write_interrupts")

# Rows of Tally.operations: the operations of FileBench, as its transcripts name them.
READ = 0  # index of that of a shadow
HOG = 1  # index of that of a shadow
POST_LOG = 2  # index of that of a shadow
POST_WRITERS = 3  # index of that of a shadow, to all of them
WRITE = 4  # index of that of a database writer
WRITER_HOG = 5  # index of that of a database writer
BLOCK = 6  # index of that of a database writer
AIO_WAIT = 7  # index of that of a database writer
LOG_WRITE = 8  # index of that of the log writer
LOG_BLOCK = 9  # index of that of the log writer
LOG_AIO_WAIT = 10  # index of that of the log writer
OPERATIONS = ("shadowread", "shadowhog", "shadow-post-lg", "shadow-post-dbwr", "dbwrite-a", "dbwr-hog", "dbwr-block",
              "dbwr-aiowait", "lg-write", "lg-block", "lg-aiowait")

# Columns of Tally.operations.
N_RETURNED = 0  # count of operations that have returned
RESPONSE_NS = 1  # ns: from begin to return, all together
CPU_NS = 2  # ns: of its own thread, all together
N_OF_OPERATION = 3

# Columns of Tasks.rows.
FILE = 0  # index of the file
RECORD = 1  # index of the record in the file; of a log write, the next one to be dirtied
N_RECORDS = 2  # count: 1, or the records of a log write that are yet to be dirtied
LEVEL = 3  # level of the block that the task looks for: 0 for a record
WRITER = 4  # index of the writer, or NOBODY for a read
BEGAN = 5  # ns: when the operation began
JOINED = 6  # the last of the tasks that wait for the block this task reads, or NOBODY
JOINED_BEFORE = 7  # the task that came to wait before this one, or NOBODY
N_ISSUED = 8  # reads of blocks that it has sent to the pool
N_COLUMNS = 9

# What a shadow is at; but for the first, when it has a processor.
BEGINS = 0  # code: a read begins, and waits for blocks
RETURNS = 1  # code: its read returns
COMPUTES = 2  # code: its hog, and the post to the log writer
POSTS = 3  # code: posts or sleeps, as a taker has no room
HAS_POSTED = 4  # code: to all

# What a writer is at when it has a processor, or sleeps.
HANDS_OVER = 0  # code: writes to the library
HOGS = 1  # code: computes
BLOCKS = 2  # code: makes room, and looks for posts
IS_WOKEN = 3  # code: by the last post that it needs
REAPS = 4  # code: writes that are completed
IS_WOKEN_TO_REAP = 5  # code: likewise, by the last one that it waits for

# Rows of Tally.per_second.
READS_IN = 0  # count of reads completed in that second
WRITES_IN = 1  # count of writes of database writers completed in it
LOG_WRITES_IN = 2  # count of writes of the log writer completed in it
N_IN = 3

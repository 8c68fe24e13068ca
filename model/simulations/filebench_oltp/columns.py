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
COUNTS = ("reads", "writes", "log_writes", "reads_done", "writes_done", "log_writes_done", "read_hits", "data_reads",
          "metadata_reads", "ios", "ios_done", "txgs", "records_written", "indirect_written", "longest_sync_ns")

# Columns of Tasks.rows.
FILE = 0  # index of the file
RECORD = 1  # index of the record in the file; of a log write, the next one to be dirtied
N_RECORDS = 2  # count: 1, or the records of a log write that are yet to be dirtied
LEVEL = 3  # level of the block that the task looks for: 0 for a record
WRITER = 4  # index of the writer, or NOBODY for a read
BEGAN = 5  # ns: when the operation began
JOINED = 6  # the last of the tasks that wait for the block this task reads, or NOBODY
JOINED_BEFORE = 7  # the task that came to wait before this one, or NOBODY
N_COLUMNS = 8

# Rows of Tally.per_second.
READS_IN = 0  # count of reads completed in that second
WRITES_IN = 1  # count of writes of database writers completed in it
LOG_WRITES_IN = 2  # count of writes of the log writer completed in it
N_IN = 3

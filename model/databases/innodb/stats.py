"""What InnoDB counts: `model.databases.innodb.state`."""

# What is counted, in all and per second: rows of Machine.counts and Machine.per_second. COUNTS has their names in order.
COUNTS = ("commits", "deadlocks", "lock_waits", "page_waits", "accesses", "reads", "pages_made", "list_writes", "lru_writes",
          "area_calls", "area_pages", "fsyncs", "log_bytes", "wal_calls", "wal_bytes", "flushes", "checkpoints",
          "log_stalls", "frame_waits")
COMMITS = 0  # transactions committed
DEADLOCKS = 1  # transactions given up for a deadlock
LOCK_WAITS = 2  # waits for a row
PAGE_WAITS = 3  # waits for a page that somebody else reads or writes
ACCESSES = 4  # uses of a page
READS = 5  # pages read
PAGES_MADE = 6  # pages that come in without being read
LIST_WRITES = 7  # pages written from the list of dirty ones
LRU_WRITES = 8  # pages written from the LRU list
AREA_CALLS = 9  # writes to the double-write area
AREA_WRITES = 10  # pages of these
FSYNCS = 11  # syncs of a file
LOGGED = 12  # B of redo logged
WAL_CALLS = 13  # calls that write a log
WAL_BYTES = 14  # B of these
FLUSHES = 15  # times that a log was made stable
CHECKPOINTS = 16  # checkpoints made
LOG_STALLS = 17  # waits for room in the log
FRAME_WAITS = 18  # waits for a frame

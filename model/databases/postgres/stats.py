"""What PostgreSQL counts: `model.databases.postgres.state`."""

# What is counted, in all and per second: rows of Machine.counts and Machine.per_second. COUNTS has their names in order.
COUNTS = ("commits", "hot_updates", "moved_updates", "images", "log_bytes", "wal_calls", "wal_bytes", "flushes", "reads",
          "checkpoint_writes", "cleaner_writes", "backend_writes", "extensions", "fsyncs", "checkpoints", "buffer_full",
          "dirtied", "checkpoint_naps")
COMMITS = 0  # transactions committed
HOT = 1  # updates that stay on their page
MOVED = 2  # updates that move to another page
IMAGES = 3  # images of pages logged
LOGGED = 4  # B of log copied
WAL_CALLS = 5  # calls that write the log
WAL_BYTES = 6  # B of these
FLUSHES = 7  # times that the log was made stable
READS = 8  # pages read
CHECKPOINT_WRITES = 9  # pages written by the checkpointer
CLEANER_WRITES = 10  # pages written by the background writer
BACKEND_WRITES = 11  # pages written by backends
EXTENSIONS = 12  # pages that tables became longer by
FSYNCS = 13  # syncs of a file
CHECKPOINTS = 14  # checkpoints done
BUFFER_FULL = 15  # times that the buffers of the log were full
DIRTIED = 16  # clean pages that became dirty
CHECKPOINT_NAPS = 17  # naps of the checkpointer

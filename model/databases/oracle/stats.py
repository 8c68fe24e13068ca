"""What Oracle counts: `model.databases.oracle.state`."""

# What is counted, in all and per second: rows of Machine.counts and Machine.per_second. COUNTS has their names in order.
# A wait may have several looks in vain.
COUNTS = ("commits", "gets", "reads", "free_waits", "busy_waits", "block_writes", "log_bytes", "wal_calls", "wal_bytes",
          "flushes", "checkpoints", "log_full")
COMMITS = 0  # transactions committed
GETS = 1  # blocks got
READS = 2  # blocks read
FREE_WAITS = 3  # looks in vain for a free buffer
BUSY_WAITS = 4  # looks in vain at a block that somebody else reads or writes
BLOCK_WRITES = 5  # blocks written
LOGGED = 6  # B of redo made
WAL_CALLS = 7  # calls that write the log
WAL_BYTES = 8  # B of these
FLUSHES = 9  # times that redo got on disk
CHECKPOINTS = 10  # checkpoints done
LOG_FULL = 11  # looks in vain for room in the log

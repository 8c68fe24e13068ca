"""What a process of PostgreSQL does next: its PHASE."""

# A client's backend. TRIP and COMPUTE are over when their event comes.
TRIP, COMPUTE, LOCK, PREPARE, ACCESS, STATEMENT_DONE, COMMIT, COMMITTED = range(8)

# A page that is not in shared buffers.
EVICT, VICTIM_WRITE, VICTIM_WRITTEN, LOADED = range(8, 12)

# Whoever inserts log, or wants it stable. One before FILL_HELD, and FLUSH_HELD, it asks for the write lock.
INSERT, COPY_BEGIN, COPY, FILL, FILL_HELD, FILL_WRITTEN = range(12, 18)
FLUSH, FLUSH_HELD, FLUSH_WRITE, FLUSH_WRITTEN, FLUSHED = range(18, 23)

# The WAL writer.
WAL_ROUND, WAL_ROUND_DONE = range(23, 25)

# The checkpointer.
REST, MARK, SCAN, PAGE_WRITE, PAGE_WRITTEN, SYNC, RECORDED, CONTROL_WRITE, CHECKPOINT_DONE = range(25, 34)

# The background writer.
CLEAN, CLEAN_SCAN, CLEAN_WRITE, CLEAN_WRITTEN = range(34, 38)

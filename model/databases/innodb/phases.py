"""What a process of InnoDB does next: its PHASE."""

# A client's connection. WIRE and COMPUTE are over when their event comes.
WIRE, COMPUTE, SLOT, LOCK, PREPARE_PAGES, ACCESS, LOADED, STATEMENT_DONE = range(8)
COMMIT, PREPARED, COMMITTED = range(8, 11)
GROUP_LEADS, GROUP_WRITES, GROUP_WRITTEN, GROUP_SYNCS, GROUP_SYNCED, IN_GROUP = range(11, 17)

# Whoever wants room in the log: buffer, dirty pages, checkpoint.
FREE_CHECK = 17

# Whoever wants the log written or stable. LOG_HELD: nobody else writes.
LOG_WANTED, LOG_HELD, LOG_WRITTEN, LOG_SYNCED = range(18, 22)

# The master thread.
SECOND, ROOM_OF_SECOND, DIRTY_PAGES, END_OF_SECOND, TENTH_SECOND, OLD_PAGES, MAKE_CHECKPOINT, END_OF_TEN = range(22, 30)

# Who flushes a batch of dirty pages.
GATHER, AREA_WRITE, AREA_WRITE_SECOND, AREA_SYNC, AREA_STABLE, PAGES_WRITTEN, CHUNK_DONE = range(30, 37)

# A write thread; the maker of a checkpoint.
PAGE_WRITTEN = 37
CHECKPOINT_PAGES, CHECKPOINT_LOG, CHECKPOINT_WRITE, CHECKPOINT_SYNC, CHECKPOINT_DONE = range(38, 43)

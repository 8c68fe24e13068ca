"""Columns of the tables of the order entry's machine. Imported as `order` in the model, and as `order_columns` elsewhere."""

# Columns of Machine.users.
DOING = 0  # what the user does: THINKING, QUEUED, RUNNING, READING, WITHOUT_BUFFER or COMMITTING
SINCE = 1  # ns: when that began
BEGAN = 2  # ns: when the transaction began
READS_LEFT = 3  # count of reads that the transaction has yet to begin
TO_DIRTY = 4  # count of blocks that the transaction changes
CHUNK_NS = 5  # ns of CPU before each read and behind the last
N_BEGUN = 6  # count of transactions begun
N_READ = 7  # count of reads begun: index into Machine.read_record
N_DIRTIED = 8  # count of changes: index into Machine.dirty_record
READ_BEGAN = 9  # ns: when the read began
THEN = 10  # 1 + the record that is to be read once the block above it is there, or 0
N_USER_COLUMNS = 11

# Elements of Machine.tally, and their names. Those with _NS are sums of times, those with _BYTES of bytes, others count.
TRANSACTIONS = 0  # count of transactions committed
RESPONSE_NS = 1  # ns from the begin of a transaction to its commit
READS = 2  # count of reads that users have completed
CACHED = 3  # count of reads that the appliance answered from memory
READ_NS = 4  # ns that users waited for reads
DIRTYINGS = 5  # blocks changed
WRITES = 6  # blocks that database writers have written
WRITE_NS = 7  # ns from the issue of a block until its writer heard of it
LOG_WRITES = 8  # count of writes of redo
LOG_BYTES = 9  # B of redo written
LOG_NS = 10  # ns that writes of redo took
COMMITS = 11  # count of commits of the intent logs of the shares
INDIRECT = 12  # indirect blocks that got a place, counted without copies
REDO_RECORDS = 13  # records of the redo logs that got a place
TXGS = 14  # count of transaction groups written
SYNC_NS = 15  # ns that syncs of transaction groups took
IOS_READ = 16  # count of I/Os: reads completed
IOS_READ_NS = 17  # ns from the arrival of a read at its queue to its end
IOS_WRITTEN = 18  # count of I/Os: writes completed
IOS_WRITTEN_NS = 19  # ns from the arrival of a write at its queue to its end
UNITS_READ = 20  # units that disks have read
UNITS_READ_BYTES = 21  # B of them
UNITS_WRITTEN = 22  # units that disks have written
UNITS_WRITTEN_BYTES = 23  # B of them
BLOCKS_COMMITTED = 24  # blocks that commits of the shares took
UNITS_COMMITTED = 25  # units with a write of a commit among their members
STALLS = 26  # times that blocks waited for space maps
STALL_NS = 27  # ns that they waited
PLACED = 28  # blocks that got a place, counted with copies
TALLY = ("transactions", "response_ns", "reads", "cached", "read_ns", "dirtyings", "writes", "write_ns", "log_writes",
         "log_bytes", "log_ns", "commits", "indirect", "redo_records", "txgs", "sync_ns", "ios_read", "ios_read_ns",
         "ios_written", "ios_written_ns", "units_read", "units_read_bytes", "units_written", "units_written_bytes",
         "blocks_committed", "units_committed", "stalls", "stall_ns", "placed")

# Columns of Machine.writers.
TO_ISSUE = 0  # count of blocks of the batch that are yet to be issued
UNDER_WAY = 1  # count of blocks of the batch under way
N_WRITER_COLUMNS = 2

# Columns of Machine.pending.
PENDING_RECORD = 0  # index of the record
WRITER = 1  # index of the database writer that waits for it
ISSUED = 2  # ns: when the writer issued it
N_PENDING_COLUMNS = 3

# Columns of Machine.wanted.
KIND = 0  # RECORD, LOG_BLOCK, OTHER_DATA, INDIRECT_BLOCK, REDO_RECORD or SYNCED_RECORD
WHICH = 1  # index of the record, of the share whose log block it is, or of the indirect block; 0 for others
N_BYTES = 2  # B of the block
TASK = 3  # the task of the pool that waits until the block is written
N_WRITTEN = 4  # B of the block that are written
N_WANTED_COLUMNS = 5

# Elements of Machine.counts.
N_RUNNING = 0  # count of users on CPUs
N_HELD = 1  # count of dirty buffers, those being written among them
REDO_WAITING = 2  # B of redo that the log writer has not taken yet
REDO_AT = 3  # B of redo written in all
LOG_GROUP = 4  # count of users whose commit the log writer has under way
GROUP_BYTES = 5  # B of that write
LOG_BEGAN = 6  # ns: when that write began
LOADED = 7  # count of blocks of space maps that were waited for so far
ROOM_WANTED = 8  # 1: somebody waits for room in a group
N_COUNTS = 9

# Columns of Machine.shares.
STAGE = 0  # what the intent log does: IDLE, WRITING or FLUSHING
STARTED = 1  # count of blocks that commits have taken so far
FINISHED = 2  # count of blocks whose commits are over
LOG_VDEV = 3  # index of the vdev of the last log block
STALLED_UNTIL = 4  # ns: until when the commit waits for space maps
N_PUT = 5  # count of blocks that have come to the intent log so far
IN_HAND = 6  # B of the log block in hand
USED = 7  # B of it that hold entries
N_SHARE_COLUMNS = 8

# Elements of Machine.txg.
OPEN = 0  # number of the open group
SYNCING = 1  # number of the group being synced, or 0
SYNC_BEGAN = 2  # ns: when the last sync began
CURSOR = 3  # count of indirect blocks, then redo records, of the group being synced that were wanted so far
REDO_PLACE = 4  # index of the record of the redo logs that is written next
ENDED = 5  # number of a group that has just been written, whose freed space comes back, or 0
BELOW = 6  # index of the next dirty record below the indirect block at the cursor, or -1
QUIESCED = 7  # number of the quiesced group, or 0
N_TXG_ELEMENTS = 8

# Elements of Ageing.at.
RECORDS_DONE = 0  # count of records rewritten
OTHERS_DONE = 1  # count of blocks of other data written
N_AT = 2

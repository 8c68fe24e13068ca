"""What a ZFS under a database counts: `model.filesystems.zfs.state`."""

# What is counted, in all and per second: rows of Tally.counts and Tally.per_second. COUNTS has their names in order.
COUNTS = ("calls", "calls_done", "reads", "read_hits", "joined", "data_reads", "metadata_reads", "l2_reads", "read_first",
          "pieces", "commits", "log_blocks", "log_bytes", "file_blocks", "file_block_bytes", "flushes", "txgs",
          "records_written", "record_bytes", "records_written_early", "indirect_written", "indirect_bytes",
          "pool_blocks", "pool_bytes", "waits", "sleeps", "sync_ns", "ios", "ios_done", "device_flushes", "read_ns",
          "commit_ns", "read_ahead", "cpu_ns", "sync_cpu_ns")
CALLS = 0  # calls begun
CALLS_DONE = 1  # calls that have returned
READS = 2  # calls that read
READ_HITS = 3  # reads that never waited
SHARED = 4  # waits for a block that somebody else reads
DATA_READS = 5  # records read from the pool
METADATA_READS = 6  # indirect blocks read from the pool
L2_READS = 7  # blocks read from cache devices
READ_FIRST = 8  # of DATA_READS, those for a call that writes
PIECES = 9  # pieces of calls that write
COMMITTED = 10  # commits begun
LOG_BLOCKS = 11  # log blocks written
LOG_BYTES = 12  # B of these
FILE_BLOCKS = 13  # records that the intent log had written
FILE_BLOCK_BYTES = 14  # B of these
FLUSHES = 15  # flushes of a vdev
TXGS = 16  # transaction groups written
RECORDS = 17  # records of groups, written by the group or before
RECORD_BYTES = 18  # B on disk of the other RECORDS
EARLY = 19  # of RECORDS, those that the intent log had written
INDIRECT = 20  # indirect blocks written
INDIRECT_WRITTEN_BYTES = 21  # B of these
POOL_BLOCKS = 22  # blocks of the MOS and what is above the files
POOL_BYTES = 23  # B of these
WAITS = 24  # waits of a writer for the next group
SLEEPS = 25  # sleeps of a writer
SYNC_NS = 26  # ns from the beginning of a group's writing to its end
IOS = 27  # I/Os that went to vdev queues
IOS_DONE = 28  # I/Os that are done
DEVICE_FLUSHES = 29  # flushes of a device
READ_NS = 30  # ns of calls that read, from call to return
COMMIT_NS = 31  # ns of calls that commit, from call to return
AHEAD = 32  # records read ahead
CPU_NS = 33  # ns of processors for calls
SYNC_CPU_NS = 34  # ns of processors for groups

# Units that devices served, for each group of vdevs: rows of Tally.devices. DEVICE_COUNTS has their names in order.
DEVICE_READS = 0  # count
DEVICE_READ_BYTES = 1  # B
DEVICE_WRITES = 2  # count
DEVICE_WRITTEN_BYTES = 3  # B

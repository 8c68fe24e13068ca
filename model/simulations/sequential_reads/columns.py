"""Columns of the tables of the sequential readers' machine. Imported as `reader`."""

# Columns of Machine.threads.
STAGE = 0  # what the thread does next: HOLD, FETCH, AWAIT, COPY or FINISH
OFFSET = 1  # B in the file, of the read under way
RECORD = 2  # index in the file of the next record of the read to be looked at
ROW = 3  # index of the row of Machine.fetches that is being fetched
N_ROWS = 4  # count of rows of Machine.fetches
FETCHED = 5  # count of records of that row that are done with
N_MISSING = 6  # count of records of the read that are being read
WAITS_FOR = 7  # index of the indirect block that the thread waits for, or NOBODY
ACTIVITY = 8  # what the thread is doing: COPYING, ISSUING, WAITING or STALLED
SINCE = 9  # ns: when that activity began
BEGAN = 10  # ns: when the read began
N_WRAPS = 11  # count of times that the thread has come to the end of its file
N_COLUMNS = 12

# Elements of Tally.counts, and their names.
READS_DONE = 0  # count of reads completed
RECORDS_CAME = 1  # records that have come from the disks or the vdev cache
INDIRECT_CAME = 2  # indirect blocks that have come from the disks or the vdev cache
RECORDS_USED = 3  # records that were FRESH when a reader had them
IOS = 4  # count of I/Os handed to the queues
IOS_DONE = 5  # count of I/Os completed
EVICTED = 6  # records evicted from core
BYTES_DONE = 7  # B of the I/Os completed
COUNTS = ("reads_done", "records_came", "indirect_came", "records_used", "ios", "ios_done", "evicted", "bytes_done")

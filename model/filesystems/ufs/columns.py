"""Columns of the tables of UFS: `model.filesystems.ufs.state`."""

# Columns of Ufs.task, a row for each process.
TODO = 0  # what comes when all that is awaited is done: RETURN to JOURNAL
AT = 1  # B: where in the file a write goes on that goes block by block
LEFT = 2  # B of such a write that are left
AWAITED = 3  # count of I/Os
FILE_OF_TASK = 4  # index of the file

# Columns of Ufs.file, a row for each file; number 0 is the log, table file f is number f + 1, the last is pg_control.
BASE = 0  # B: where it begins on its volume, groups left out
N_BYTES = 1  # B
STRIPE = 2  # index of its volume
FIRST_PAGE = 3  # index of its first page in the page cache
RUN_AT = 4  # B: where what is put off begins
RUN_BYTES = 5  # B that are put off
UNDER_WAY = 6  # count of asynchronous I/Os
UNDER_WAY_BYTES = 7  # B of these
FILE_EPOCH = 8  # count of fsyncs begun
SYNCER = 9  # index of the process that is in fsync, or NONE
SYNC_LEFT = 10  # count of I/Os that it waits for
GREW = 11  # 1: longer since the last fsync
IS_THROTTLED = 12  # 1: writers wait
N_FILE = 13

# Elements of Ufs.n.
N_REQUESTS = 0  # count of requests
N_READY = 1  # count of processes that can go on
N_STALLED = 2  # count of processes whose call has to wait
N_LOOKS = 3  # count of seconds of fsflush

# Columns of Ufs.request, a row for each request.
OF_FILE = 0  # index of the file
PLACE = 1  # B in the file; of OF_JOURNAL on its volume
LENGTH = 2  # B
KIND = 3  # READ or WRITE of model.devices.command_queue
WAITER = 4  # index of the process that asks
REQUEST_PAGE = 5  # index of the first page of the page cache that an asynchronous write takes, 0 for others, or OF_JOURNAL

"""Columns of the tables of InnoDB: `model.databases.innodb.state`."""

# Elements of Machine.limits: ages, B of log.
FLUSH_AGE = 0  # B: of the oldest change: older ones are flushed
WAIT_AGE = 1  # B: of the oldest change: flushing is waited for
CHECKPOINT_AGE = 2  # B: of the last checkpoint: one is made
MARGIN = 3  # B: of the last checkpoint: that is waited for
CAPACITY = 4  # B: of the log files

# Rows of Machine.history, an element for each second that is remembered.
REDO = 0  # B of redo made in it
PAGES = 1  # count of pages written in it: for the page cleaner from the list of dirty ones, for the master from the LRU list

# Columns of Machine.process, a row for each process.
PHASE = 0  # code of what is next: of phases.py
THEN = 1  # what is next after a wait for the log; of the master: 1 if its next round begins without sleep
STATEMENT = 2  # index, of the transaction
STEP = 3  # how many of the statement's pages it has got
N_TOUCHED = 4  # of how many
LSN = 5  # B of the log: up to where it must be written
MUST_BE_STABLE = 6  # 1: up to LSN it must be stable; 0: written is enough
WANTED = 7  # index of the page it waits for somebody else to read or write, or NOBODY
BEGAN = 8  # ns: when its transaction, or the master's round, began
CPU_FACTOR = 9  # of the transaction's CPU times, 2^20ths
HAS_CHANGED = 10  # 1: the transaction has changed something
HAS_SLOT = 11  # 1: its statement has one of the slots of innodb_thread_concurrency
N_HELD = 12  # count of rows that it has locked
ROW = 13  # index of the row it waits for, or NOBODY
TICKET = 14  # of its wait for the row: the lower comes first
N_WAITERS = 15  # count of processes that wait for its rows
UNDO_PAGE = 16  # index of the client's page of undo, or NOBODY
UNDO_USED = 17  # B of it
FRAME = 18  # of a write thread: index of the frame it writes, or 0
AGENT = 19  # of a write thread: LIST or LRU
ROOM_THEN = 20  # code of what is next when there is room in the log
SYNCS = 21  # N_WRITTEN when its present sync began
LEADER = 22  # index of the process whose group it commits with, or NOBODY
N_PROCESS = 23

# Who writes pages and checkpoints: processes behind the master, and rows of Machine.batch and Machine.chunk.
LIST = 1  # flushes from the list of dirty pages
LRU = 2  # flushes from the end of the LRU list
CHECKPOINT = 3  # index of who makes checkpoints
OF_CHECKPOINT = 0  # its row of Machine.batch

# Rows of Machine.queue, beside CPUS.
AGENT_QUEUE = 0  # with LIST, LRU or CHECKPOINT added: for the end of what that does
LOG_QUEUE = 4  # index: for who writes the log
AREA = 5  # index: for the double-write area
SLOTS = 6  # index: for one of innodb_thread_concurrency
BINLOG = 7  # index: for the binary log, or its flush stage
BINLOG_SYNC = 8  # index: for its sync stage
N_QUEUES = 9

# Elements of Machine.log: places, in B of the log files, and what the master remembers.
MADE = 0  # B: up to where records have been made
WRITTEN = 1  # B: up to where they are written
STABLE = 2  # B: up to where they are stable
TARGET = 4  # B: up to where who holds the log writes
CALL_END = 5  # B: up to where the present call does
CHECKPOINT_AT = 6  # B: the last checkpoint
NEXT_CHECKPOINT = 7  # B: the one being made
AT_LAST_SECOND = 8  # B: MADE at the master's last second
SECONDS = 9  # count of seconds that have passed
REMEMBERED_AT = 10  # ns: when the last of them was remembered
BINLOG_END = 11  # B of the binary log
N_GROUPS = 12  # count of groups that have been written to it

# Columns of Machine.batch, a row for LIST and one for LRU. In OF_CHECKPOINT there is RUNS only.
RUNS = 0  # 1: one is under way
LEFT = 1  # count of pages that it may still take
LIMIT = 2  # B of the log: it takes changes before this
N_CHUNK = 3  # count of pages that are flushed together
NEXT = 4  # index of the next of these to be written
N_DONE = 5  # count of those that have been written
IS_WRITING = 6  # 1: the write threads are at it
HAS_FOUND = 7  # 1: it has found a page

# Elements of Machine.pool.
N_USED = 0  # count of frames ever used
N_DIRTY = 1  # count of dirty pages
OLD_HEAD = 2  # index of the newest of the old frames, or 0
N_OLD = 3  # count of old frames
N_REPLACED = 4  # count of pages that have been given up, ever
N_WANTING = 5  # count of processes that wait for a page
N_WRITTEN = 6  # count of pages that have been written, ever
N_STABLE = 7  # of N_WRITTEN: by a sync that has returned
LAST_WRITES = 8  # count of pages written, at the master's last second
IOS_BEFORE = 9  # count of I/Os, when the master's last ten seconds ended
HIGH_ENTRIES = 10  # count of entries of the index on k with k > 0
NEXT_UNDO = 11  # index of the last page of undo that was given out
NEXT_TICKET = 12  # number of the last ticket that was given out
TURN = 13  # count of the master's rounds since its last checkpoint
LAST_REPLACED = 14  # N_REPLACED when the page cleaner last looked at the end of the list

# Columns of Oltp.statements, a row for each statement of a transaction.
KIND = 0  # NOTHING to INSERT
ID = 1  # index of the first of its ids, of those drawn for the transaction
N_ROWS = 2  # count of ids from there on
CPU_NS = 3  # ns

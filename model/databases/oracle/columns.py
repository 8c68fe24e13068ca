"""Columns of the tables of Oracle: `model.databases.oracle.state`."""

# Columns of Machine.process, a row for each process.
PHASE = 0  # code of what is next: of phases.py
STEP = 1  # how many of the transaction's blocks it has got
BEGAN = 2  # ns: when the transaction began
REDO = 3  # B: up to where its redo must be on disk
FRAME = 4  # index of the buffer that it writes
N_PROCESS = 5

# Rows of Machine.queue, beside CPUS.
FREE = 1  # index: for a free buffer
BUSY_BLOCK = 2  # for a block that somebody else reads or writes
COMMIT = 3  # index: for the log writer
N_QUEUES = 4

# Elements of Machine.log: B of redo, counted from the beginning.
MADE = 0  # B: up to where redo has been made
WRITTEN = 1  # B: up to where it is on disk
TARGET = 2  # B: up to where the log writer writes
CALL_END = 3  # B: up to where its present call does
IS_WRITING = 4  # 1: a write of the log is under way

# Columns of Machine.writers, a row for each database writer.
N_OUT = 0  # count of writes under way

# Elements of Machine.pool.
N_USED = 0  # count of buffers ever used
N_DIRTY = 1  # count of dirty buffers
N_LISTED = 2  # count of buffers on the write list

# Columns of Machine.draws and Machine.under_way.
N_GETS = 0  # count of blocks that the transaction wants
N_CHANGED = 1  # how many of them it changes
FIRST_BLOCK = 2  # index of the first block; from this column on, the others

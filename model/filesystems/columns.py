"""Columns of the calls of a database: `model.filesystems.calls`."""

# Columns of Calls.row, a row for each process.
OPERATION = 0  # READ to WRITE_THROUGH
FILE = 1  # index of the file; of a call of the log 0
OFFSET = 2  # B in the file, or in the log
N_BYTES = 3  # B

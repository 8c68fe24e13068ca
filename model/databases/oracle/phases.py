"""What a process of Oracle does next: its PHASE."""

# Of a user: its first part of CPU time is over; blocks; the one read has come; the second part is over; it has committed.
THINK, COMPUTE, BLOCKS, READ_DONE, COMPUTED, COMMITTED = range(6)

# Of the log writer and of a write: the call has returned.
LOG_DONE, WRITE_DONE = range(6, 8)

"""Rows and elements of the overheads of a disk (`model.devices.disk_mechanics.Disk`): kinds of commands."""

# Rows of Disk.command_ns; its columns are values of WROTE.
READ_HIT = 0  # a read whose first block is in the buffer
READ_MISS = 1  # ns: another read
WRITE_BUFFERED = 2  # ns: a write, if the disk buffers writes
WRITE_THROUGH = 3  # ns: a write, if it does not
N_KINDS = 4  # count

# Elements of Disk.done_ns.
READ_DONE = 0  # ns to report a read
WRITE_DONE = 1  # ns to report a write

"""Columns of the table of requests of `model.simulations.block_requests`. Imported as `request`."""

OPERATION = 0  # READ, WRITE or WRITE_THROUGH of model.filesystems.calls
OFFSET = 1  # B in the file
N_BYTES = 2  # B
BEGAN = 3  # ns
ENDED = 4  # ns, or NEVER
N_COLUMNS = 5

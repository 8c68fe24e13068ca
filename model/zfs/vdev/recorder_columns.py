"""What a recorder of a leaf keeps (`model.zfs.vdev.leaves.Recorder`)."""

# Elements of Recorder.n.
OPERATIONS = 0  # count of rows of Recorder.rows
COMMANDS = 1  # count of rows of Recorder.commands
N_TABLES = 2  # count

# Columns of both tables.
OFFSET = 2  # B
BYTES = 3  # B

# Columns of Recorder.rows alone: operations of the vdev cache.
TICK = 0  # tick in which it came
KIND = 1  # READ, WRITE or COMPLETION
IS_METADATA = 4  # 1: of metadata
OUTCOME = 5  # of a READ: see model.zfs.vdev.cache; of a COMPLETION: 1 if its line was thrown away
N_OPERATION_COLUMNS = 6  # count

# Columns of Recorder.commands alone: commands of the disk.
BEGAN = 0  # ns
ENDS = 1  # ns
AT_DRIVE = 4  # count of commands that the drive and its driver have, this one among them
AT_QUEUE = 5  # count of I/Os waiting in the vdev queue
N_COMMAND_COLUMNS = 6  # count

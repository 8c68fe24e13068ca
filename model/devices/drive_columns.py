"""The columns of the tables of commands at disks (`model.devices.command_queue.Drives`)."""

# Columns of Drives.units, a row for each disk.
N_COMMANDS = 0  # count of commands in the drive, the one being served among them
N_WAITING = 1  # count of commands in the driver
BUSY_SINCE = 2  # ns, when the drive began to serve without a pause
BUSY_NS = 3  # ns in which some command was being served, up to the last pause
SERVICE_NS = 4  # ns: sum of the service times of what has been served, or is
N_SERVED = 5  # count of commands served
SERVED_BYTES = 6  # B of what has been served, or is
BARRIER = 7  # index in the driver's list of the place behind the last flush, or 0
N_COLUMNS = 8  # count

# Columns of Drives.first, a row for each command.
ITS_CYLINDER = 0  # index of the cylinder of its first sector, or UNKNOWN
ITS_HEAD = 1  # index of the head of that sector
ITS_ANGLE = 2  # ns of a revolution from the index to that sector
PASSED = 3  # count of later commands by which it has been passed over
N_FIRST_COLUMNS = 4  # count

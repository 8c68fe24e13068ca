"""The columns of the state of a queue with classes (`model.zfs.vdev.queue_classes`)."""

# Columns of the state of a leaf.
LAST_CLASS = 0  # class of the unit sent last; rule 2
LAST_END = 1  # B: where it ended; rule 4
ARRIVED = 2  # count of I/Os so far
OTHERS = 3  # count of those on the device that are no scrub's; rule 7
CREDIT = 4  # count of I/Os that a scrub has left, or has done since; rule 7
N_STATE = 5  # count

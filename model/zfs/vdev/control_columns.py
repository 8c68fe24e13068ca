"""The columns of `VdevQueue.control` (`model.zfs.vdev.queue_proposals`)."""

# Columns of VdevQueue.control; rule 8.
PLACES = 0  # count of units on the device at most
N_DONE = 1  # count of units completed in this window
AREA_NS = 2  # ns: integral of the units on the device over this window
COUNTED_AT = 3  # ns, up to when
LACKED = 4  # 1: at a completion in this window I/Os waited and all places were taken
N_COLUMNS = 5  # count

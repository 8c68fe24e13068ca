"""The columns of `SsdState.units` (`model.devices.ssd`): controller and write cache of a device."""

# Columns of SsdState.units, a row for each device.
CONTROLLER = 0  # ns, when the controller is free
DRAINED = 1  # ns, when the cache will be empty
SINCE = 2  # ns, when that was last reckoned
CACHED = 3  # B in the cache then
LAST_END = 4  # B: where the last write ended, or -1
N_COLUMNS = 5  # count

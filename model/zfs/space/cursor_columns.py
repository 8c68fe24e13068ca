"""The cursors of a map (`model.zfs.space.pickers`): B, or units of the fast engine, at which to go on."""

# First and dynamic fit have a cursor for each alignment, new dynamic fit for each magnitude: numbers of powers of two.
N_CURSORS = 64  # count; spec 2.8

# Cursors of cursor dynamic fit.
IN_EXTENT = 0  # index: place in the extent
EXTENT_END = 1  # index: end of the extent

# The cursor of the earlier version of new dynamic fit.
ONLY = 0  # index of its one element

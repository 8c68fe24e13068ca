"""The elements of the state of the write throttle (`model.zfs.txg.throttle`)."""

# Elements of the state.
LIMIT = 0  # B, inflated, of a group at most; OpenZFS: of the pool
RATE = 1  # B/s, inflated: average of the groups before
SYNC_BEGAN = 2  # ns when the last sync began
DIRTY = 3  # B, inflated: of group t at DIRTY + t mod 4
LAST_AWAKE = 7  # ns when the last one who was delayed goes on
N_STATE = 8  # count

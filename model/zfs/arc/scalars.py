"""The elements of `Arc.scalars` (`model.zfs.arc.lists`)."""

# Elements of Arc.scalars.
P = 0  # B wanted of anonymous blocks and MRU: arc_p
META = 1  # B of metadata in core
N_NODES = 2  # count of nodes taken so far
FREE = 3  # the node given back last, or NIL
L2_HEADERS = 4  # B of headers that there are for what is on cache devices
HAS_EVICTED = 5  # 1 once anything has been evicted
N_SCALARS = 6  # count

"""The columns of `Arc.nodes` (`model.zfs.arc.lists`): what a header says."""

# Columns of Arc.nodes.
KEY = 0  # index of Arc.node_of: whose header it is
OLDER = 1  # the next older node on the list
NEWER = 2  # the next newer node on the list; of a node not in use: the next such node
STATE = 3  # ANONYMOUS, MRU, ...
IS_METADATA = 4  # 0 or 1
N_BYTES = 5  # B of the block in core
HOLDS = 6  # count of those who hold it
TICK = 7  # tick of the last access
MARKS = 8  # bits: INDIRECT, PREFETCHED, L2_CACHEABLE
ABOVE = 9  # node of the indirect block that this one holds, or NIL
READER = 10  # the user's own: who reads it from disk
DIRTIED = 11  # the user's own: the last transaction group that it is dirty in
IN_L2 = 12  # 1 + its slot of the cache devices' (model.zfs.arc.l2arc), or NIL
N_COLUMNS = 16  # count; the last ones mean nothing: so a node is one line of a processor's cache

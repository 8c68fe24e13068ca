"""The maps of a metaslab, whichever engine keeps them: the one place where the two engines meet.

*Exact* (`model.zfs.space.exact_engine`): segments of any size in trees of the right shape. *Fast*
(`model.zfs.space.fast_engine`): blocks of one size, for pools that were made with `blocks`. Which one it is is settled when
a kernel is compiled; the other one is not compiled at all.

A metaslab's own map, of what is free, has the number of the metaslab. The maps of txgs have the numbers that
`model.zfs.metaslab.state` gives them, and the log is that of the metaslab. What the fast engine does otherwise has no effect
on where blocks go. It keeps the free map of a metaslab that is not loaded as it would be if it were. It keeps the maps of
txgs without order, and of the log only the length.
"""

from model.jit import either
from model.zfs.space import exact_engine as exact
from model.zfs.space import fast_engine as fast

# ---- the map of what is free in metaslab m ----

pick = either("blocks", exact.pick, fast.pick)  # (pool, m, n_bytes): offset, or NOWHERE. Moves a cursor, takes nothing
take = either("blocks", exact.take, fast.take)  # (pool, m, start, end): what was free is allocated
give = either("blocks", exact.give, fast.give)  # (pool, m, start, end): what was allocated is free
largest = either("blocks", exact.largest, fast.largest)  # (pool, m): B of the longest free segment
is_fragmented = either("blocks", exact.is_fragmented, fast.is_fragmented)  # (pool, m): as the picker sees it
n_free_segments = either("blocks", exact.n_free_segments, fast.n_free_segments)  # (pool, m)
load = either("blocks", exact.load, fast.load)  # (pool, m): make it of what the log says. Cursors begin at 0
unload = either("blocks", exact.unload, fast.unload)  # (pool, m): forget it and the cursors
look_ahead = either("blocks", exact.look_ahead, fast.look_ahead)  # (pool, source, m): a map of a txg will be emptied into it
give_all = either("blocks", exact.give_all, fast.give_all)  # (pool, source, m, loaded): empty a map of a txg into it; if it
# is not loaded, the log has it
withhold = either("blocks", exact.withhold, fast.withhold)  # (pool, source, m): take all that is in another map out of it

# ---- the maps of txgs ----

space = either("blocks", exact.space, fast.space)  # (pool, txg_map): B in the map
put = either("blocks", exact.put, fast.put)  # (pool, txg_map, start, end): add a segment. OVERLAP if any of it is there
unput = either("blocks", exact.unput, fast.unput)  # (pool, txg_map, start, end): take it out again
move = either("blocks", exact.move, fast.move)  # (pool, source, target): empty one into another

# ---- the log of metaslab m ----

append = either("blocks", exact.append, fast.append)  # (pool, m, allocs): empty a map into it, as allocations. Its B
append_frees = either("blocks", exact.append_frees, fast.append_frees)  # (pool, m, frees, freed): empty a map into it, as
# frees, and into the map `freed`. Its B
start_over = either("blocks", exact.start_over, fast.start_over)  # (pool, m, allocs, frees, freed, defers, later): condense

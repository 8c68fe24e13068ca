"""The columns of `Trees.key` (`model.zfs.space.avl`) of a space map: of a segment."""

# Columns of the key in the tree of offsets.
START = 0  # B
END = 1  # B

# Columns of the key in the tree of sizes.
LENGTH = 0  # B
LOWEST = 1  # B: where the segment starts

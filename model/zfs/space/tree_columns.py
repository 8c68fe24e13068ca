"""The columns of `Trees.link` (`model.zfs.space.avl`); LEFT and RIGHT are also names of sides."""

# Columns of Trees.link; 0 to 3 are the keys seen as int32.
LEFT = 4  # node, or NIL
RIGHT = 5  # node, or NIL
PARENT = 6  # node, or NIL
BALANCE = 7  # count of levels that the right side has more than the left one

"""What stands in a column where there is nothing; no process is `model.events.queues.NOBODY`, no time
`model.events.calendar.NEVER`."""

NIL = 0  # the number of no node, entry, frame or I/O: row 0 of such a table is never used
NONE = -1  # the index of nothing
NOWHERE = -1  # in place of an offset or of a block's place

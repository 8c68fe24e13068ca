"""The columns of a table of queues (`model.events.queues`): their ends."""

# Columns of a table of queues.
FIRST = 0  # process that is served next, or NOBODY
LAST = 1  # index of the process that came last; means nothing if there is no first

"""Time: the calendar of events, the clock's units, random streams by name, and servers with queues of processes."""

"""Time: the calendar of events, the clock's units, random streams by name, servers with queues of processes, rings and
time-weighted counts."""

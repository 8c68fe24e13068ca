"""InnoDB under sysbench: clients, locks, buffer pool, redo log, page cleaner. `step` runs one event."""

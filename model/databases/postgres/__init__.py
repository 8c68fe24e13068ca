"""PostgreSQL under pgbench: clients, shared buffers, write-ahead log, checkpoints. `step` runs one event."""

"""PostgreSQL's checkpoints on UFS and ZFS (2008)."""

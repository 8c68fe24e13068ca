"""The ARC, ZFS's cache in memory, and the L2ARC, its second level on cache devices."""

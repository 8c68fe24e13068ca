"""The new rules of allocation (2010): order entry, Exchange, free space, and I/O size against throughput."""

"""What a transaction group did to the table, counted; see `model.zfs.dedup.table`."""
COUNTS = ("new", "second", "again", "absent", "last", "back", "dirtied", "probes")
NEW, SECOND, AGAIN, ABSENT, LAST, BACK, DIRTIED, PROBES = range(len(COUNTS))  # counts

"""What a transaction group did to the table, counted; see `model.zfs.dedup.table`."""
COUNTS = ("new", "second", "again", "absent", "last", "back", "dirtied", "probes")
(NEW,  # count of blocks written that the table did not have
 SECOND,  # count of blocks written of which there was one
 AGAIN,  # count of blocks written of which there were two or more
 ABSENT,  # count of blocks freed that are not in the table
 LAST,  # count of blocks freed to which nothing points any more
 BACK,  # count of blocks freed of which one is left
 DIRTIED,  # count of leaves that the group has to write
 PROBES,  # count of lookups in an object
 ) = range(len(COUNTS))

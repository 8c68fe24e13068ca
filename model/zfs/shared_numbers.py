"""Numbers of ZFS that several of its mechanisms share."""

FIRST_TXG = 4  # number of the first transaction group of a pool: TXG_INITIAL
TXG_SIZE = 4  # count of transaction groups that are told apart, by their number modulo this
POINTER_SHIFT = 7  # log2 of the pointers of 128 B in an indirect block of 16 KiB; spec 5.1
COPIES = 2  # count of an indirect block's: dmu_get_replication_level; spec 2.12, 5.4

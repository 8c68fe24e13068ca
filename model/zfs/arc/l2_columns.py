"""The columns of the tables of cache devices (`model.zfs.arc.l2arc.L2arc`)."""

# Columns of L2arc.devices. An ordinal numbers copies; the ring takes it modulo its length.
HAND = 0  # B: where the next copy goes
START = 1  # B: where copies begin
END = 2  # B: where they end
OLDEST = 3  # number: ordinal of the oldest copy
ROUND = 4  # number: ordinal of the first copy of the last round
NEXT = 5  # number: ordinal of the next copy
WRITING = 6  # count of writes of the round that are not done
N_DEVICE_COLUMNS = 7  # count

# Elements of L2arc.round.
DEVICE = 0  # index of the device of the round under way, or the last one
BEGAN = 1  # ns when it began
TARGET = 2  # B that it may write
WROTE = 3  # B that it wrote
NEXT_AT = 4  # ns when the next round begins: see `next_feed`
N_ROUND = 5  # count

# Elements of L2arc.counts.
ROUNDS = 0  # count of rounds
FED = 1  # count of copies written
FED_BYTES = 2  # B of them
OVERWRITTEN = 3  # count of copies that the hand went over
HITS = 4  # count of reads answered by a device
BUSY = 5  # count of reads that a device would have answered if nothing were being written to it

# Columns of L2arc.outbox.
TO_DEVICE = 0  # index of the device
TO_ADDRESS = 1  # B from its beginning
TO_WRITE = 2  # B
N_OUTBOX_COLUMNS = 3  # count

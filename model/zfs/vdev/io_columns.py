"""The columns of `VdevQueue.own` (`model.zfs.vdev.queue`): whose an I/O is."""

ENTRY = 3  # column of VdevQueue.own of whoever writes transaction groups; those before it are the first three per I/O below

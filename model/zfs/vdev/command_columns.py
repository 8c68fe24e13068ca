"""Columns of a recording of the commands that a disk serves: `model.zfs.vdev.leaves.Recorder.commands`. Imported as
`command`."""

BEGAN = 0  # ns: when the disk began to serve the command
ENDS = 1  # ns: when it is served
OFFSET = 2  # B from the start of the disk
N_BYTES = 3  # B
N_HELD = 4  # count of commands that the drive and its driver have, this one among them
N_WAITING = 5  # count of I/Os that wait in the vdev queue
N_COLUMNS = 6

RECORDED = 1  # element of Recorder.n: count of commands recorded

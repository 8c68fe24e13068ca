"""Places on a vdev: what a number that names one consists of, and what of a leaf holds no data."""

from model.zfs.vdev.raid import VdevParams

LEAF_SHIFT = 48  # a place is vdev << 48 | B of the vdev, 4 MiB in front among them; of a single disk: B of the device
OFFSET_MASK = (1 << LEAF_SHIFT) - 1
FRONT_BYTES = 2**22  # B, labels and boot area in front; spec 2.1
BACK_BYTES = 2**19  # B, two labels of 256 KiB at the end; spec 2.1
SINGLE_DISK = VdevParams()

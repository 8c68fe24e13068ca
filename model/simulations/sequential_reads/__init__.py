"""Sequential readers on ZFS (2007), with the vdev cache and without. `run` has the loop."""

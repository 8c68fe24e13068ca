"""FileBench's `oltp` on ZFS (2007): readers, writers and a log on striped disks. `run` has the loop."""

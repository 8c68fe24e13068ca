"""Files of ZFS: records and the indirect blocks above them, where they lie, what of them is dirty, what is read ahead."""

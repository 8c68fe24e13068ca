"""The vdev cache (2007): FileBench's `oltp` and sequential readers, before and after the change."""

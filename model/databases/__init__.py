"""Databases, which know of storage only what `model.filesystems.calls` says."""

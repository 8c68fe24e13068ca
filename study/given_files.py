"""Files that a user names are read whole, so that one without an end, or far too large, is refused before.

    given_files.refuse_endless(path, given_files.TEXT)      a drive, a device, a file of more than 16 MiB
"""
import os
import stat
from pathlib import Path

from study.errors import UserError

TEXT = 2**24        # B: scenarios and parameters are some KiB
PRINTED = 2**30     # B: what zdb prints of 100 000 metaslabs is some 100 MiB


def refuse_endless(path: Path, max_bytes: int) -> None:
    """UserError for a device, or a file of more than `max_bytes` B. A pipe passes; so does what is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return
    is_device = stat.S_ISBLK(status.st_mode) or (stat.S_ISCHR(status.st_mode) and not os.path.samefile(path, os.devnull))
    if is_device:
        raise UserError(f"{path} is a device, which is not read; give a file")
    if status.st_size > max_bytes:
        raise UserError(f"{path} has {status.st_size} bytes, but what is read here has {max_bytes} at most; check the path")

"""Which compiled code is removed: that of sources long gone.

Code of a module lies in `<module>/<digest>` (`model.jit.compiled_code`). Three things are removed, if unused for a day.

1. Digests of a module, but for the present one and the two that were used last. A user may go back to another branch.
2. Folders of modules that are no longer in the project.
3. Digests that stand beside the modules, as in an older layout.

Other processes may use a folder, or remove it at the same time. So a folder is renamed first, and deleted under its new
name. A process that still wants the code does not find it, and compiles it again. A process that dies in between leaves a
folder under such a name, and the next removal beside it takes that too.
"""

import contextlib
import os
import re
import shutil
import tempfile

KEPT_FOLDERS = 2  # digests of a module beside the present one
KEPT_SECONDS = 86400  # code that was used in the last day is never removed
DIGEST = re.compile("[0-9a-f]{20}")
REMOVED = ".removed-"  # how the new names begin


def remove_old_digests(present):
    """Remove what is old of the module whose present folder this is."""
    others = [path for path in present.parent.iterdir() if DIGEST.fullmatch(path.name) and path != present]
    now = _touched(present)
    _remove_unused(_by_last_use(others)[KEPT_FOLDERS:], now)


def remove_gone_modules(folder, is_there):
    """Remove the code below `folder` of modules that are gone: `is_there` is false for their names."""
    gone = [path for path in folder.iterdir() if not is_there(path.name) and _is_ours(path)]
    now = _touched(folder)
    _remove_unused(_by_last_use(gone), now)


def remove(folder):
    """Remove a folder, for others in one step."""
    with contextlib.suppress(OSError):  # somebody else has removed it
        os.replace(folder, tempfile.mkdtemp(prefix=REMOVED, dir=folder.parent))
    for left in folder.parent.glob(f"{REMOVED}*"):
        shutil.rmtree(left, ignore_errors=True)


def _touched(folder):
    """Note that a folder is used; the time, by the clock of its file system."""
    os.utime(folder)
    return folder.stat().st_mtime


def _is_ours(path):
    """Whether we made a folder: its name is a digest, or that of a module, and then digests are all that it holds."""
    if not path.is_dir() or not path.name.startswith(("model.", "study.")):
        return path.is_dir() and bool(DIGEST.fullmatch(path.name))
    below = [entry.name for entry in path.iterdir() if not entry.name.startswith(REMOVED)]
    return all(map(DIGEST.fullmatch, below))


def _by_last_use(folders):
    """(time of the last use, folder) of each that is still there, the one used last first."""
    times = []
    for folder in folders:
        with contextlib.suppress(OSError):
            times.append((max(path.stat().st_mtime for path in (folder, *folder.iterdir())), folder))
    return sorted(times, reverse=True)


def _remove_unused(times, now):
    for used, folder in times:
        if now - used > KEPT_SECONDS:
            remove(folder)

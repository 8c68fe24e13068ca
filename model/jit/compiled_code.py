"""Where compiled code is kept.

Numba notices that the file of a function was edited. It does not notice an edit of a function called in another file. So
the code of a kernel lies in `.cache/numba/<module>/<digest>`. The digest is of all sources in reach of its module
(`model.jit.sources`) and of the settings that change compiled code. A comment compiles nothing anew, and a change compiles
only what can see it. Old code is removed (`model.jit.old_code`). Where the project cannot be written, the code lies in a
folder of the user's own in the system's temporary folder. `NUMBA_CACHE_DIR`, if set, replaces `.cache/numba`.

**Parallel processes** share the folder: Numba writes each file under another name and renames it. Of two that want the same
function one compiles it (`model.jit.compile_lock`). That holds as long as a kernel that is called from Python always gets
the same types. These are arrays of int64 that may be written to, plain Python ints and floats.
"""
import contextlib
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from model.jit import old_code, sources


def code_digest(*modules):
    """Digest of all that can change the compiled code of these modules: sources in their reach, and settings of Numba."""
    settings = numba.__version__, numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUGINFO_DEFAULT
    return hashlib.sha256(f"{settings} {sources.digest_once(*modules)}".encode()).hexdigest()[:20]


def temporary_folder():
    """A folder in the temporary folder that nobody else can write to: compiled code that is loaded is trusted."""
    mine = Path(tempfile.gettempdir()) / f"zfs-database-study-{os.getuid() if hasattr(os, 'getuid') else 'numba'}"
    try:
        mine.mkdir(mode=0o700, exist_ok=True)
        status = mine.lstat()
        if os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o022 and not mine.is_symlink()):
            return mine
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="zfs-database-study-"))


def usable(folder):
    """Whether files can be created in `folder`, which is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def cache_folder():
    """The folder for compiled code, of whatever sources; it exists and can be written."""
    preferred = Path(numba.config.CACHE_DIR or sources.ROOT / ".cache" / "numba").absolute()
    for parent in (preferred, temporary_folder):
        folder = parent if isinstance(parent, Path) else parent()
        if usable(folder):
            return folder
    raise OSError(f"no folder for compiled code: neither {preferred} nor {folder} can be written; "
                  "set NUMBA_CACHE_DIR to one that can")


CACHE_FOLDER = cache_folder()
with contextlib.suppress(OSError):  # another process may be tidying up too
    old_code.remove_gone_modules(CACHE_FOLDER, sources.path_of)


@cache
def folder_of(module):
    """The folder for compiled code of the kernels of `module` of the model; "others": of who calls any of them."""
    folder = CACHE_FOLDER / module / code_digest("model" if module == "others" else module)
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        old_code.remove_old_digests(folder)
    return folder


class Locator(_CacheLocator):
    """Where compiled code of one kernel lies. Its folder says of which sources it is, so it needs neither a stamp nor a line
    number, which comments shift."""

    def __init__(self, py_func):
        self._path = str(folder_of(py_func.__module__))

    def get_cache_path(self):
        return self._path

    def get_source_stamp(self):
        return ""

    def get_disambiguator(self):
        return "of"

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func)


class _CachedKernel(CompileResultCacheImpl):
    _locator_classes = (Locator,)


class KernelCache(FunctionCache):
    """Compiled code of one kernel, kept on disk."""

    _impl_class = _CachedKernel


numba.config.CACHE_DIR = str(folder_of("others"))  # of functions that users compile by Numba itself

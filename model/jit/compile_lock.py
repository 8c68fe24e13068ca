"""Of several processes that want the same kernel, one compiles it, and the others wait and take it from the folder.

Else two notebooks that begin together both compile what they share, for a minute of a processor each.
"""

import contextlib
import fcntl
import gc
import hashlib


@contextlib.contextmanager
def turn(folder, name, signature):
    """The only one, among processes and threads, to compile the function `name` for arguments of these types. The system
    lets go of the lock when who holds it dies. Where a file system has no locks, nobody waits."""
    which = hashlib.sha256(f"{name} {signature}".encode()).hexdigest()[:20]
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            file = held.enter_context(open(folder / f"{which}.lock", "w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def without_collecting():
    """Meanwhile Python does not look for garbage. The compiler makes millions of objects and keeps nearly all of them until
    it is done. So each look at them is in vain, which took 7 % of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def one_compiles(dispatcher, folder):
    """Let `dispatcher`, of Numba, ask for its turn before it looks into the folder."""
    compiles, name = dispatcher.compile, f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}"

    def compiled(signature):
        with turn(folder, name, signature), without_collecting():
            return compiles(signature)

    dispatcher.compile = compiled

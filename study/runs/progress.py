"""How far a long computation is: told to whoever listens, or shown below the cell of a notebook that waits for it.

    with progress.telling(tell):        tell(done, of), as parts are done: what the terminal counts
        …

Where nobody listens, a notebook that a person runs shows a bar and the count, until all is done. A batch shows neither.
"""
import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle

from study.runs import record

Tell = Callable[[int, int], None]
_LISTENER: ContextVar[Tell | None] = ContextVar("listener", default=None)


@contextlib.contextmanager
def telling(tell: Tell) -> Iterator[None]:
    """Within, a long computation of this thread calls `tell(done, of)`: first with 0, and then after each of its parts."""
    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listener() -> Tell:
    """Whom to tell. Parts that threads compute for another computation are not counted apart."""
    if tell := _LISTENER.get():
        return tell
    shell = get_ipython()
    in_notebook = hasattr(shell, "kernel") and record.folder() is None
    return below_the_cell() if in_notebook and threading.current_thread() is threading.main_thread() else silent


def silent(done: int, of: int) -> None:
    """Tell nobody."""


def below_the_cell() -> Tell:
    """A bar and the count in a notebook; it is gone when all is done."""
    handle = DisplayHandle()
    show = {True: handle.display, False: handle.update}

    def tell(done: int, of: int) -> None:
        words = f"{done} of {of} runs" if done < of else ""
        bar = f'<progress value="{done}" max="{of}"></progress> <small>{words}</small>' if words else ""
        show[done == 0]({"text/html": bar, "text/plain": words}, raw=True)
    return tell

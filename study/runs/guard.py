"""A batch kernel, started in the place of `ipykernel_launcher`, below its keeper.

It refuses to open data files which its notebook has not declared. Of a notebook of the user's own it notes which files are
read and which folders are listed (see inputs.py). It sees what Python opens; files that DuckDB or Arrow open by name in
their own code pass unseen, so read data through `study`. Its output, and that of processes it forks, goes over Unix
sockets: no port is opened.
"""
import os
import runpy
import sys
import threading
from pathlib import Path
from typing import Any

from study.project import DATA, refuse_undeclared
from study.runs import inputs, keeper, secrets

LEFT = "exit() ends this run: the cells after it are left out"
LISTING = ("os.listdir", "os.scandir")     # also what glob, walk and pathlib do
_busy = threading.local()
_noted: set[tuple[str, bool]] = set()
_run_of_own: list[Path] = []        # the run's folder and the notebook's, of a notebook of the user's own


def watch(event: str, arguments: tuple) -> None:
    """An audit hook: raises UserError when an undeclared file below `data/` is about to be opened."""
    if event not in ("open", "sqlite3.connect", *LISTING) or getattr(_busy, "noting", False):
        return
    if event in LISTING and (not _run_of_own or _imports()):
        return
    path = _path(arguments[0])
    if path is None:
        return
    if path.startswith(f"{DATA}{os.sep}") and event not in LISTING:
        refuse_undeclared(os.path.relpath(path, DATA).replace(os.sep, "/"))
    elif _run_of_own:
        flags = arguments[2] if event == "open" else 0
        if (seen := (path, event in LISTING or bool(flags & inputs.WRITES))) not in _noted:
            _noted.add(seen)
            _busy.noting = True
            try:
                if event in LISTING:
                    inputs.note_listing(path, *_run_of_own)
                else:
                    inputs.note(path, flags, *_run_of_own)
            finally:
                _busy.noting = False


def _imports() -> bool:
    """Whether a folder is listed to find a module or a package in it: whoever calls `watch` is of importlib."""
    file = sys._getframe(2).f_code.co_filename
    return file.startswith("<frozen importlib") or f"{os.sep}importlib{os.sep}" in file


def _path(name: Any) -> str | None:
    """The absolute path of what is opened; None of a file that is open already, or of no file."""
    try:
        return os.path.abspath(os.fsdecode("." if name is None else name))
    except (TypeError, ValueError):
        return None


def without_port(sockets: Path) -> None:
    """What forked processes print comes to the kernel over a Unix socket, not over a port of the machine."""
    import zmq
    from ipykernel.iostream import IOPubThread
    from zmq.eventloop.zmqstream import ZMQStream
    address = f"ipc://{sockets}/children"

    def listen(thread: Any) -> None:
        thread._pipe_uuid = os.urandom(16)
        socket = thread.socket.context.socket(zmq.PULL)
        socket.linger = 0
        socket.bind(address)
        thread._pipe_in = ZMQStream(socket, thread.io_loop)
        thread._pipe_in.on_recv(thread._handle_pipe_msg)

    def speak(thread: Any) -> tuple:
        context = zmq.Context()     # a new one after a fork
        socket = context.socket(zmq.PUSH)
        socket.linger = 3000
        socket.connect(address)
        return context, socket

    for name, function in (("_setup_pipe_in", listen), ("_setup_pipe_out", speak)):
        setattr(IOPubThread, name, function)


def exit_raises() -> None:
    """`exit()` and `quit()` end a cell as `sys.exit()` does. IPython's own stop the kernel a tenth of a second later, and
    speed would decide which cells still run. With no code of an error they say that the run is left."""
    from IPython.core.autocall import ExitAutocall, ZMQExitAutocall

    def leave(_: ExitAutocall, code: Any = None, **__: Any) -> None:
        if not code:
            print(LEFT, file=sys.stderr)
        raise SystemExit(*([] if code is None else [code]))

    ExitAutocall.__call__ = ZMQExitAutocall.__call__ = leave    # type: ignore[assignment]


def main() -> None:
    """Starts the kernel: limits and secrets first, then a watch on what it opens."""
    sockets = Path(sys.argv[sys.argv.index("-f") + 1]).parent
    keeper.keep(sockets, int(os.environ.pop("STUDY_MEMORY", "0")) or None)
    secrets.take(sockets)
    without_port(sockets)
    exit_raises()
    if folder := os.environ.get("STUDY_OWN"):
        _run_of_own.extend((Path(os.environ["STUDY_RUN"]), Path(folder)))
    sys.addaudithook(watch)
    runpy.run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

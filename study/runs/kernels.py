"""One kernel for one run: its own sockets, a defined environment, a memory limit, and the truth about how it ended.

Kernels talk over Unix sockets in a folder of their own. Over TCP jupyter_client chooses free ports before the kernel
binds them, and another process can take them in between. The process that is started is the kernel's keeper
(keeper.py), which leaves nothing behind.
"""
import asyncio
import contextlib
import contextvars
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import traitlets
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from jupyter_core.utils import ensure_event_loop
from nbformat import NotebookNode
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, NotebookExecutionManager, papermill_engines

from study.project import CACHE
from study.runs import keeper, secrets

# Of the user's environment, what programs need to find their way. Whatever else it holds stays out.
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LD_LIBRARY_PATH", "NUMBA_CACHE_DIR", "STUDY_RUNS",
        "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
LONGEST_SOCKET_FOLDER = 80    # Unix sockets allow paths of about 108 characters

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_alive: set["Kernel"] = set()
_lock = threading.Lock()


class Kernel(AsyncKernelManager):
    """A kernel manager that remembers the process it started; `process.returncode` outlives the kernel."""
    process: subprocess.Popen | None = None
    cpu_seconds: float | None = None    # of the kernel and all that it started, once they have ended
    environment = traitlets.Any()
    folder = traitlets.Any()
    log_file = traitlets.Any()

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        """This very Python, whatever kernels the user has installed; no history database to fight over."""
        return [sys.executable, "-m", "study.runs.guard", "-f", self.connection_file,
                "--HistoryManager.enabled=False", *(extra_arguments or [])]

    async def _async_launch_kernel(self, kernel_cmd: list[str], **options: object) -> None:
        options |= {"env": self.environment, "cwd": str(self.folder), "stdout": self.log_file, "stderr": self.log_file}
        await super()._async_launch_kernel(kernel_cmd, **options)
        assert isinstance(self.provisioner, LocalProvisioner)
        self.process = self.provisioner.process

    async def _async_kill_kernel(self, restart: bool = False) -> None:
        self.kill()     # by its keeper, which jupyter_client would kill together with the kernel
        await super()._async_kill_kernel(restart)

    def ended_by(self) -> str | None:
        """How the process came to its end, when nobody asked it to: 'signal SIGKILL' or 'exit code 3'."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self.process.wait(timeout=5) if self.process else None
            if code is not None:
                return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return None

    def ask_to_end(self) -> None:
        """Tell the keeper, and do not wait."""
        if self.process:
            with contextlib.suppress(OSError):
                self.process.terminate()

    def kill(self) -> None:
        """The kernel and all that it started."""
        self.ask_to_end()
        if self.process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=5)
                return
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=5)


class Client(PapermillNotebookClient):
    """papermill's client, which hears no secret: what comes from the kernel goes through `hide` first."""
    hide = traitlets.Any()

    def process_message(self, message: dict[str, Any], *arguments: Any, **options: Any) -> dict[str, Any] | None:
        return super().process_message(dict(message, content=self.hide(message["content"])), *arguments, **options)


class Engine(NBClientEngine):
    """papermill's engine with a kernel of ours; `on_cell` is called with the index of each cell that starts. `source` is the
    path that the executed notebook names as its origin."""

    @classmethod
    def execute_managed_notebook(cls, notebook: NotebookExecutionManager, kernel_name: str, *, kernel: Kernel,
                                 cell_seconds: int, on_cell: Callable[[int], None], source: str,
                                 hide: Callable[[Any], Any], **_: object) -> NotebookNode:
        notebook.nb.metadata.papermill["input_path"] = source
        client = Client(
            notebook, hide=hide, km=kernel, kernel_name=kernel_name, timeout=cell_seconds, startup_timeout=120,
            shutdown_kernel="immediate", on_cell_start=lambda cell, cell_index: on_cell(cell_index))
        client.owns_km = True       # so that it closes the channels and the kernel when it is done
        return client.execute()


papermill_engines.register("study", Engine)
logging.getLogger("papermill").setLevel(logging.ERROR)


@contextlib.contextmanager
def kernel(folder: Path, environment: dict[str, str], log: Path, memory_bytes: int | None,
           hide: Mapping[str, str] | None = None) -> Iterator[Kernel]:
    """A kernel, not yet started, for a notebook in `folder`; it is gone afterwards, whatever happens. It gets the secrets
    `hide`."""
    sockets = Path(tempfile.mkdtemp(prefix="study-"))
    if len(str(sockets)) > LONGEST_SOCKET_FOLDER:
        sockets.rmdir()
        sockets = Path(tempfile.mkdtemp(prefix="study-", dir="/tmp"))
    if hide:
        secrets.give(sockets, hide)
    with open(log, "wb") as log_file:
        new = Kernel(transport="ipc", connection_file=str(sockets / "k.json"), folder=folder, log_file=log_file,
                     environment=environment | {"STUDY_MEMORY": str(memory_bytes or 0)})
        with _lock:
            _alive.add(new)
        try:
            yield new
        finally:
            new.kill()
            with _lock:
                _alive.discard(new)
            new.cpu_seconds = _cpu_seconds(sockets)
            shutil.rmtree(sockets, ignore_errors=True)


def _cpu_seconds(sockets: Path) -> float | None:
    """What the keeper counted. None if it was killed."""
    try:
        return round(float((sockets / keeper.CPU_SECONDS).read_text()), 3)
    except (OSError, ValueError):
        return None


def in_own_loop(function: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
    """Call a function that runs coroutines by `jupyter_core.run_sync`, in an event loop of its own. That is closed
    afterwards, with what a killed kernel leaves half done in it."""
    def call() -> Result:
        loop = ensure_event_loop()
        try:
            return function(*arguments, **options)
        finally:
            pending = asyncio.all_tasks(loop)
            for task in pending:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
            loop.close()
            asyncio.set_event_loop(None)
    return contextvars.Context().run(call)


def kill_all() -> None:
    """End every kernel of this process at once."""
    with _lock:
        kernels = list(_alive)
    for kernel in kernels:
        kernel.ask_to_end()
    for kernel in kernels:
        kernel.kill()


def defined_environment(**more: str) -> dict[str, str]:
    """The environment of a batch kernel. Of the user's it has `KEPT`. Threads, hashes, time zone and language are
    fixed. A run's identity does not cover the values in `KEPT`."""
    private = CACHE / "batch"
    return dict(
        {name: os.environ[name] for name in KEPT if name in os.environ},
        TZ="UTC", LANG="C.UTF-8", LC_ALL="C.UTF-8", PYTHONUTF8="1", PYTHONHASHSEED="0", OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1",
        IPYTHONDIR=str(private / "ipython"), MPLCONFIGDIR=str(private / "matplotlib"), MPLBACKEND="agg",
        JUPYTER_CONFIG_DIR=str(private / "jupyter"), PYTHONNOUSERSITE="1", PYDEVD_DISABLE_FILE_VALIDATION="1",
        SOURCE_DATE_EPOCH="0", **more)

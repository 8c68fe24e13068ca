"""The keeper of a kernel: a process between the runner and the kernel, so that nothing which a run has started outlives it.

    runner ── keeper ── kernel ── whatever the notebook starts

The keeper adopts what is left of the kernel's children, also of those that went into a session of their own (see prctl(2),
PR_SET_CHILD_SUBREAPER). It ends all of them when the kernel has ended, when it gets SIGTERM, and when the runner is gone,
killed or not. Then it ends as the kernel did, so that the runner sees the truth.
"""
import contextlib
import ctypes
import os
import resource
import shutil
import signal
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
HEARD = {signal.SIGCHLD, signal.SIGTERM}
LOOKS_EVERY_S = 0.5     # whether the runner is still there
CPU_SECONDS = "cpu_seconds"     # a file beside the sockets


def keep(sockets: Path, memory_bytes: int | None) -> None:
    """Fork. Returns in the kernel alone; the keeper stays here and ends with it. Without a runner it removes `sockets`."""
    keeper, runner = os.getpid(), int(os.environ.get("JPY_PARENT_PID") or os.getppid())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    kernel = os.fork()
    if kernel:
        _stay(kernel, runner, sockets)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)
    os.environ["JPY_PARENT_PID"] = str(keeper)      # whose end the kernel looks out for as well
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _stay(kernel: int, runner: int, sockets: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)        # is for the kernel
    status = _wait(kernel, runner)
    _end_all()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with contextlib.suppress(OSError):
        (sockets / CPU_SECONDS).write_text(f"{used.ru_utime + used.ru_stime}")
    if os.getppid() != runner:
        shutil.rmtree(sockets, ignore_errors=True)
    _end_as(status)


def _wait(kernel: int, runner: int) -> int | None:
    """The kernel's status, as waitpid(2) gives it. None if it is to be ended."""
    while True:
        heard = signal.sigtimedwait(HEARD, LOOKS_EVERY_S)
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == kernel:
                return ended[1]
        if os.getppid() != runner or (heard and heard.si_signo == signal.SIGTERM):
            return None


def _killed(process: int) -> bool:
    """Whether it is gone, or will be."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def _end_all() -> None:
    """What is below this process. When a child ends, its own children become ours. Those of another user stay."""
    while True:
        children = _children()
        if children and not any([_killed(child) for child in children]):
            return
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """See proc(5), `stat`: the second field behind the name is the parent."""
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text(errors="replace").rpartition(")")[2].split()[1]) == os.getpid():
                children.append(int(stat.parent.name))
    return children


def _end_as(status: int | None) -> None:
    """End in the same way, by the same signal or with the same code."""
    if status is not None and not os.WIFSIGNALED(status):
        os._exit(os.WEXITSTATUS(status))
    number = signal.SIGTERM if status is None else os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):      # SIGKILL has no handler
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(1)


def _prctl(option: int, value: int) -> None:
    """Where the system has none (it is Linux's), what the kernel leaves behind is not adopted."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)

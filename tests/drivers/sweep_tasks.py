"""Tasks for workers of a sweep, small enough to be counted: see tests/study/sweeps/test_sweep.py."""
import os
import signal
import time
from pathlib import Path

from study.sweeps.tasks import Row


def square(point, number, seconds=0.0):
    time.sleep(seconds)
    return Row(point, "ok", None, seconds, {"square": number ** 2 / 3})


def kills_its_worker_once(point, number, folder):
    """The first call of all ends the process of its worker."""
    try:
        (Path(folder) / "killed").touch(exist_ok=False)
    except FileExistsError:
        return square(point, number)
    os.kill(os.getpid(), signal.SIGKILL)


def kills_its_worker(point, number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(point, number)


def fails_for_two(point, number):
    return Row(point, "failed", "it is two", 0.0, {}) if number == 2 else square(point, number)

"""From the start of Python to the first result of a replay, with nothing compiled and with everything compiled.

Each time is that of a new process; the first has an empty folder for compiled code, the others find it filled.
"""

import itertools
import json
import os
import subprocess
import sys
import time

SCRIPT = """
import json, time
times = {"started": time.time()}
from model.zfs.vdev import cache_replay
times["imported model"] = time.time()
from study.project import DATA
from study.replays.vdev_cache import replay_vdev_cache
times["imported study.replays.vdev_cache"] = time.time()
path = DATA / "traces" / "vdev_cache" / "mixw_L2.parquet"
assert replay_vdev_cache(path).differences == 0
times["first replay"] = time.time()
assert replay_vdev_cache(path).differences == 0
times["second replay"] = time.time()
print(json.dumps(times))
"""
STEPS = ("started", "imported model", "imported study.replays.vdev_cache", "first replay", "second replay")


def steps_of_a_process(folder):
    """Milliseconds of each step of a new process."""
    begin = time.time()
    done = subprocess.run([sys.executable, "-c", SCRIPT], env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
                          capture_output=True, text=True, check=True)
    times = [begin, *(json.loads(done.stdout)[step] for step in STEPS)]
    return [(later - earlier) * 1000 for earlier, later in itertools.pairwise(times)]


def bench_cold_start(tmp_path, report):
    processes = [steps_of_a_process(tmp_path / "compiled") for _ in range(4)]
    cold, warm = processes[0], [sorted(step)[1] for step in zip(*processes[1:], strict=True)]
    table = "Cold start: from nothing to the first replay of 20 000 rows"
    for name, times in (("nothing compiled", cold), ("compiled before (median of 3)", warm)):
        for step, milliseconds in zip(STEPS, times, strict=True):
            report(table, "ms", f"{name}: {step}", milliseconds)
        report(table, "ms", f"{name}: all up to the first replay", sum(times[:-1]), base=times is warm)
    report(table, "ms", "of it compiling", cold[3] - warm[3])

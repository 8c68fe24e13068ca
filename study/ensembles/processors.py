"""Many runs at once: a thread for each processor."""
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from study.runs import progress


def on_all_processors(function: Callable, calls: list[tuple]) -> list:
    """What `function` returns for each of `calls`, in their order. It should spend its time in kernels. How many are done is
    told by `study.runs.progress`."""
    tell, results = progress.listener(), []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        tell(0, len(calls))
        for result in pool.map(lambda call: function(*call), calls):
            results.append(result)
            tell(len(results), len(calls))
    return results

"""Draws of the sequential readers of 2007, shared out to one worker process and to two: what two are worth.

Workers are started, and kernels loaded, outside of the time that counts.
"""

import io
import time

from rich.console import Console

from study.runs import catalogue, parameters
from study.sweeps.cluster import Workers
from study.sweeps.sweep import carry_out
from study.sweeps.waves import of_draws

N = 60
OF_ENSEMBLE = ("draws", "seeds", "seed")        # parameters that a draw does not depend on
TARGET = 0.9        # of the time of one worker, divided by two


def seconds_of(n_workers, folder, monkeypatch):
    """Of N draws, by so many workers that have made a draw each before."""
    monkeypatch.setenv("STUDY_RUNS", str(folder))
    path = catalogue.find("02")
    listed = catalogue.entry(path)
    values = parameters.resolve(path, listed.parameters, {})
    experiment = path.stem, listed.experiment, {name: values[name] for name in values if name not in OF_ENSEMBLE}
    with Workers(n_workers, None) as workers:
        carry_out(of_draws(*experiment, 4 * n_workers, 2), workers, Console(file=io.StringIO()))
        start = time.perf_counter()
        made = carry_out(of_draws(*experiment, N, 1), workers, Console(file=io.StringIO()))
        assert len(made.rows) == N
        assert not made.failed
        return time.perf_counter() - start


def bench_two_workers(tmp_path, monkeypatch, report):
    times = {n: seconds_of(n, tmp_path / str(n), monkeypatch) for n in (1, 2)}
    efficiency = times[1] / (2 * times[2])
    for n, seconds in times.items():
        report("draws of notebook 02", "ms a draw", f"{n} worker processes", seconds / N * 1e3, base=n == 1,
               note=f"{N * 60 / seconds:.0f} draws a minute")
    report("draws of notebook 02", "ms a draw", "two, over half of one: efficiency (%)", 100 * efficiency)
    assert efficiency > TARGET

"""What the pictures of June 2008 say, as numbers of a run over time. How each is read off a curve was fixed before any
run was compared with a published number. What was changed later says so:

    write.bandwidth     mean over the *phase of writes*: while writes of half a minute are above the middle of their range
    write.phase         how long that lasts, for each time between checkpoints, with straight lines between points. (Changed
                        after scores had been seen: a share of few points could not meet the baseline to 1 %)
    write.rate          writes a second, mean of all the run but its first checkpoint interval
    write.burst         the mean checkpoint: how long writes per second stay above the middle between peak and background
    write.bandwidth_peak    the mean checkpoint: most in ten seconds
    write.fall          the mean checkpoint: seconds from when bandwidth is last above 90 % until it is first below 10 %.
                        Both are of the way from its peak to the least that follows
    write.fall_line, write.fall_step    how much of its variance from the peak to the next checkpoint a straight line down
                        explains, and one step down. line_over_step: above 1 the fall is rather a line, which a straight
                        fall is that takes half of that time or more
    read.bandwidth      mean of the run; @t: mean of two minutes about second t, at the start of the first minute
    throughput.stable_from  when throughput of a minute is within a tenth of that of the last ten minutes, and stays there.
                            (Changed after a first run: there a throughput that never settled counted as settled late)
    log.write_bandwidth@t   most in ten seconds within a hundred seconds from t on
"""
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

LAST_S = 600            # s at the end of a run that say what its throughput has settled to
SETTLED_S = 600         # throughput is the mean from here on
OVER_TIME, BY_GROUP = ("tpm", "by_checkpointer", "pages_mb", "log_mb"), ("read_mb", "written_mb", "writes")   # of a Run
ONCE = ("name", "step_s", "mean_ms", "busy")


class Run(NamedTuple):
    """A test over time: a value for each `step_s` real seconds."""
    name: str
    step_s: int
    tpm: np.ndarray
    read_mb: dict           # group of devices -> MB/s
    written_mb: dict
    writes: dict            # group -> writes a second
    counts: dict
    mean_ms: float
    busy: float             # share of all processors' time that statements take, without files and log
    by_checkpointer: np.ndarray     # pages a second
    pages_mb: np.ndarray            # what the database writes of its pages, MB/s
    log_mb: np.ndarray              # and of its log

    @property
    def t(self) -> np.ndarray:
        """The middle of each step [s]."""
        return (np.arange(len(self.tpm)) + 0.5) * self.step_s


def rows(run: Run) -> list[dict[str, Any]]:
    """A run to be kept: a row for each step. What a run has once stands in the first."""
    over_time = {name: getattr(run, name) for name in OVER_TIME}
    over_time |= {f"{name}/{group}": values for name in BY_GROUP for group, values in getattr(run, name).items()}
    once = {name: getattr(run, name) for name in ONCE} | {f"counts/{name}": count for name, count in run.counts.items()}
    first, *others = pd.DataFrame(over_time).to_dict("records")
    return [once | first, *others]


def of_rows(steps: list[dict[str, Any]]) -> Run:
    """The run of which these are the `rows`."""
    whole = steps[0] | {name: np.array([step[name] for step in steps]) for name in steps[0]
                        if name.partition("/")[0] in OVER_TIME + BY_GROUP}
    parts: dict[str, Any] = {of: {name.removeprefix(f"{of}/"): value for name, value in whole.items()
                                  if name.startswith(f"{of}/")} for of in (*BY_GROUP, "counts")}
    return Run(**{name: whole[name] for name in ONCE + OVER_TIME}, **parts)


def smooth(values: np.ndarray, window_s: float, step_s: float) -> np.ndarray:
    """Means of `window_s` about each place; at the ends of what there is."""
    n = max(1, round(window_s / step_s))
    sums = np.concatenate(([0.0], np.cumsum(values)))
    places = np.arange(len(values))
    low, high = np.maximum(0, places - n // 2), np.minimum(len(values), places - n // 2 + n)
    return (sums[high] - sums[low]) / (high - low)


def _middle(written: np.ndarray) -> float:
    """The phase of writes is what is above."""
    return float(np.quantile(written, (0.05, 0.95)).mean())


def share_above(values: np.ndarray, level: float) -> float:
    """Of the time between the first and the last value, with straight lines between them."""
    low, high = np.minimum(values[:-1], values[1:]), np.maximum(values[:-1], values[1:])
    rise = np.where(high > low, high - low, 1)
    return float(np.clip(np.where(high > low, (high - level) / rise, low > level), 0, 1).mean())


def writes(run: Run, timeout_s: int, group: str = "data") -> dict[str, float]:
    """Bandwidth of writes [MB/s], how long they last in a checkpoint [s], and their rate [1/s], after a first timeout."""
    later = run.t >= timeout_s
    written = smooth(run.written_mb[group], 30, run.step_s)[later]
    middle = _middle(written)
    above = written > middle
    return {"write.bandwidth": float(run.written_mb[group][later][above].mean()) if above.any() else float(written.mean()),
            "write.phase": share_above(written, middle) * timeout_s, "write.rate": float(run.writes[group][later].mean())}


def folded(values: np.ndarray, step_s: int, period_s: int) -> np.ndarray:
    """The mean checkpoint interval, the first one left out. It has `period_s // step_s` means, by the time since a
    checkpoint began, whether or not the period is a whole number of steps."""
    n = period_s // step_s
    t = (np.arange(len(values)) + 0.5) * step_s
    later = t >= period_s
    place = (t[later] % period_s * n / period_s).astype(int)
    return np.bincount(place, values[later], n) / np.maximum(1, np.bincount(place, minlength=n))


def burst(run: Run, period_s: int, group: str = "data") -> dict[str, float]:
    """How long the writes of a period burst [s], how high their bandwidth is [MB/s], and how it falls."""
    rate = folded(smooth(run.writes[group], 10, run.step_s), run.step_s, period_s)
    written = folded(smooth(run.written_mb[group], 10, run.step_s), run.step_s, period_s)
    background = float(np.median(rate[len(rate) // 2:]))
    return {"write.burst": float((rate > (rate.max() + background) / 2).mean() * period_s),
            "write.bandwidth_peak": float(written.max())} | fall(written, period_s / len(written))


def fall(written: np.ndarray, step_s: float) -> dict[str, float]:
    """Of the bandwidth of a mean checkpoint, a mean for each `step_s`."""
    after = written[written.argmax():]
    low, high = after.min(), after.max()
    begin = np.flatnonzero(after > low + 0.9 * (high - low)).max(initial=0)
    end = begin + np.flatnonzero(after[begin:] <= low + 0.1 * (high - low)).min(initial=len(after))
    line, step = explained_by_line(after), explained_by_step(after)
    return {"write.fall": float((end - begin) * step_s), "write.fall_line": line, "write.fall_step": step,
            "write.fall_line_over_step": line / step if step else 0.0}


def fall_by_part(run: Run, period_s: int, group: str = "data") -> dict[str, float]:
    """From the peak of the mean checkpoint to the last tenth of its interval. By how much falls (MB/s) what disks write, and
    what the database writes of pages and of log? To what part of itself falls the mean size of a write (write_size)?"""
    mean = {name: folded(smooth(values, 10, run.step_s), run.step_s, period_s) for name, values in (
        ("disks", run.written_mb[group]), ("pages", run.pages_mb), ("log", run.log_mb), ("writes", run.writes[group]))}
    peak, last = mean["disks"].argmax(), -max(1, len(mean["disks"]) // 10)
    fell = {name: float(mean[name][peak] - mean[name][last:].mean()) for name in ("disks", "pages", "log")}
    size = mean["disks"] / mean["writes"]
    return fell | {"write_size": float(size[last:].mean() / size[peak])}


def explained_by_line(values: np.ndarray) -> float:
    """Share of the variance that the straight line of least squares explains; 0 if it does not fall."""
    if np.ptp(values) == 0:
        return 0.0
    correlation = np.corrcoef(np.arange(len(values)), values)[0, 1]
    return float(min(correlation, 0.0) ** 2)


def explained_by_step(values: np.ndarray) -> float:
    """Share of the variance that one step down explains, wherever that is most; 0 if there is none."""
    if np.ptp(values) == 0:
        return 0.0
    n, left = len(values), np.arange(1, len(values))
    before = np.cumsum(values)[:-1] / left
    step = before - (values.sum() - before * left) / (n - left)
    return float((left * (n - left) * np.maximum(step, 0) ** 2).max() / n**2 / values.var())


def reads_at(run: Run, t: float, group: str = "data") -> float:
    """KB/s."""
    near = np.abs(run.t - t) <= max(60, run.step_s / 2)     # small machines: the nearest that there is
    return float(1000 * run.read_mb[group][near].mean())


def log_peak(run: Run, t: float, group: str) -> float:
    """MB/s."""
    here = (run.t >= t) & (run.t < t + 100)
    return float(smooth(run.written_mb[group], 10, run.step_s)[here].max())


def throughput(run: Run) -> float:
    """TPM."""
    return float(run.tpm[run.t >= SETTLED_S].mean())


def stable_from(run: Run) -> float:
    """Second; the end of the run if throughput has not settled before the last ten minutes, or if the server hangs then."""
    end = run.t[-1] + run.step_s / 2
    level = run.tpm[run.t >= end - LAST_S].mean()
    off = np.flatnonzero(np.abs(smooth(run.tpm, 60, run.step_s) - level) > 0.1 * level)
    last = float(run.t[off[-1]]) if len(off) else 0.0
    return last if level > 0 and last < end - LAST_S else float(end)


def of(run: Run, period_s: int) -> dict[str, float]:
    """All numbers of a run, named as the published ones are."""
    group = "data"
    numbers = {"database.throughput": throughput(run), "throughput.stable_from": stable_from(run),
               "read.bandwidth": float(run.read_mb[group][run.t >= SETTLED_S].mean()), **writes(run, period_s, group),
               **burst(run, period_s, group)}
    numbers |= {"read.bandwidth@0": reads_at(run, 0) / 1000}
    numbers |= {f"read.bandwidth@{t}": reads_at(run, t) for t in (1500, 2500) if run.t[-1] > t}
    log = next((name for name in run.written_mb if name == "log"), None)
    return numbers | ({"log.write_bandwidth@1800": log_peak(run, 1800, log)} if log and run.t[-1] > 1800 else {})

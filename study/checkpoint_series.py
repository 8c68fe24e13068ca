"""What the pictures of June 2008 say, as numbers of a run over time (`study.checkpoints_2008.Run`). How each is read off a
curve was fixed before any run was compared with a published number, but for what says that it was changed:

    write.bandwidth     mean over the *phase of writes*: while writes of half a minute are above the middle of their range
    write.phase         how long that lasts, for each time between checkpoints, with straight lines between points
                        (changed after scores had been seen: a share of few points could not meet the baseline to 1 %)
    write.rate          writes a second, mean of all the run but its first checkpoint interval
    write.burst         the mean checkpoint: how long writes per second stay above the middle between peak and background
    write.bandwidth_peak    the mean checkpoint: most in ten seconds
    read.bandwidth      mean of the run; @t: mean of two minutes about second t
    throughput.stable_from  when throughput of a minute is within a tenth of that of the last ten minutes, and stays there
                        (changed after a first run, where a throughput that never settled counted as settled late)
    log.write_bandwidth@t   most in ten seconds within a hundred seconds from t on
"""
import numpy as np

SETTLED_S = 600         # throughput is the mean from here on


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


def writes(run, timeout_s: int, group: str = "data") -> dict[str, float]:
    later = run.t >= timeout_s
    written = smooth(run.written_mb[group], 30, run.step_s)[later]
    middle = _middle(written)
    above = written > middle
    return {"write.bandwidth": float(run.written_mb[group][later][above].mean()) if above.any() else float(written.mean()),
            "write.phase": share_above(written, middle) * timeout_s, "write.rate": float(run.writes[group][later].mean())}


def folded(values: np.ndarray, step_s: int, period_s: int) -> np.ndarray:
    """The mean checkpoint interval, the first one left out."""
    n = period_s // step_s
    whole = len(values) // n
    return values[n:whole * n].reshape(whole - 1, n).mean(axis=0)


def burst(run, period_s: int, group: str = "data") -> dict[str, float]:
    rate = folded(smooth(run.writes[group], 10, run.step_s), run.step_s, period_s)
    written = folded(smooth(run.written_mb[group], 10, run.step_s), run.step_s, period_s)
    background = float(np.median(rate[len(rate) // 2:]))
    return {"write.burst": float((rate > (rate.max() + background) / 2).sum() * run.step_s),
            "write.bandwidth_peak": float(written.max())}


def reads_at(run, t: float, group: str = "data") -> float:
    """KB/s."""
    near = np.abs(run.t - t) <= 60
    return float(1000 * run.read_mb[group][near].mean())


def log_peak(run, t: float, group: str) -> float:
    """MB/s."""
    here = (run.t >= t) & (run.t < t + 100)
    return float(smooth(run.written_mb[group], 10, run.step_s)[here].max())


def throughput(run) -> float:
    """TPM."""
    return float(run.tpm[run.t >= SETTLED_S].mean())


def stable_from(run) -> float:
    """Second; the end of the run if throughput has not settled before the last ten minutes."""
    end = run.t[-1] + run.step_s / 2
    level = run.tpm[run.t >= end - 600].mean()
    off = np.flatnonzero(np.abs(smooth(run.tpm, 60, run.step_s) / level - 1) > 0.1)
    last = float(run.t[off[-1]]) if len(off) else 0.0
    return last if last < end - 600 else float(end)


def of(run, period_s: int) -> dict[str, float]:
    """All numbers of a run, named as the published ones are."""
    group = "data"
    found = {"database.throughput": throughput(run), "throughput.stable_from": stable_from(run),
             "read.bandwidth": float(run.read_mb[group][run.t >= SETTLED_S].mean()), **writes(run, period_s, group),
             **burst(run, period_s, group)}
    found |= {f"read.bandwidth@{t}": reads_at(run, t) for t in (1500, 2500) if run.t[-1] > t}
    log = next((name for name in run.written_mb if name == "log"), None)
    return found | ({"log.write_bandwidth@1800": log_peak(run, 1800, log)} if log and run.t[-1] > 1800 else {})

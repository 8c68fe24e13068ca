"""The interval of a claim as `paper/results.json` has it, for readers in whose folder its notebook has not been run.

A notebook records the intervals of what it is about as numbers of its own, an effect in per cent. Of claims beside that
it records none: those come with a run. Nothing is computed from what stands here.
"""
from collections.abc import Callable, Mapping
from typing import NamedTuple

Committed = tuple[float, float | None, float]    # 5, 50 (None where it is not recorded) and 95 %
KINDS = ("unfitted", "fitted", "left")


def _itself(value: float) -> float:
    return value


def _by_gain(percent: float) -> float:
    """After over before."""
    return 1 + percent / 100


def _by_loss(percent: float) -> float:
    """After over before."""
    return 1 - percent / 100


class Recorded(NamedTuple):
    """The names of an interval's numbers, but for their ends, and how they become the claim's unit."""
    unfitted: str
    fitted: str | None = None
    of: Callable[[float], float] = _itself
    left: str | None = None         # of draws at full size, which give the grade where they are there


N_FULL_SIZE = "04_oltp_gain/full-size.draws"

RECORDED = {
    "oltp-gain": Recorded("01_vdev_cache_oltp/unfitted.gain-", "01_vdev_cache_oltp/fitted.gain-", _by_gain),
    "seqread-loss": Recorded("02_vdev_cache_seqread/unfitted.loss-", "02_vdev_cache_seqread/fitted.loss-", _by_loss),
    "aggregation-bad": Recorded("03_first_fit_best_fit/unfitted.aggregation.bad_high-"),
    "aggregation-good": Recorded("03_first_fit_best_fit/unfitted.aggregation.good-"),
    **dict.fromkeys(("lutz-gain", "roch-gain"), Recorded(
        "04_oltp_gain/all.gain-", left="04_oltp_gain/full-size.gain-")),
    **dict.fromkeys(("lutz-variability", "roch-variability"), Recorded(
        "04_oltp_gain/all.reduction-", left="04_oltp_gain/full-size.reduction-")),
    "aggregation-joint": Recorded("04_oltp_gain/all.joint-", left="04_oltp_gain/full-size.joint-"),
    "lutz-cycle": Recorded("04_oltp_gain/all.cycle-skewness-"),
    "lutz-r2": Recorded("05_io_size_correlation/draws.io_size-r2-", left="04_oltp_gain/full-size.r-squared-"),
    "exchange-gain": Recorded("06_exchange/part.all-"),
    "pg-bytes": Recorded("09_postgres_checkpoints/unfitted.zfs-over-ufs.bytes-"),
    "alignment-loss": Recorded("14_lun_alignment/unfitted.slowdown-"),
    **{f"speed-{name}": Recorded(f"15_storage_tiers/{name}.response-")
       for name in ("capacity-hdd", "performance-hdd", "ssd-read")},
    **{f"pgbench-{rung}": Recorded(f"07_pgbench_ladder/pgbench.step-{rung}.") for rung in range(2, 7)},
    **{f"sysbench-{kind}-{rung}": Recorded(f"08_sysbench_ladders/sysbench-{kind}.step-{rung}.")
       for kind in ("rw", "ro") for rung in range(2, 6)}}


def of(claim: str, numbers: Mapping[str, float]) -> dict[str, Committed | None]:
    """`unfitted`, `fitted` and `left` of a claim, in the unit of its target; None for what `numbers` do not have. `left` is
    that of draws at full size."""
    recorded = RECORDED.get(claim)
    if recorded is None:
        return dict.fromkeys(KINDS)
    return {kind: _interval(numbers, getattr(recorded, kind), recorded.of) for kind in KINDS}


def n_left(claim: str, numbers: Mapping[str, float]) -> int | None:
    """How many draws at full size grade a claim; None where others do."""
    return None if of(claim, numbers)["left"] is None else int(numbers[N_FULL_SIZE])


def _interval(numbers: Mapping[str, float], start: str | None, unit: Callable[[float], float]) -> Committed | None:
    low, middle, high = (numbers.get(f"{start}{end}") for end in ("low", "middle", "high"))
    if low is None or high is None:
        return None
    ends = sorted((unit(low), unit(high)))
    return ends[0], None if middle is None else unit(middle), ends[1]

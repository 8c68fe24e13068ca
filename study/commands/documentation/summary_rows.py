"""Of each notebook a row for each claim or question, in words, from `paper/results.json`."""
from collections.abc import Callable

from study.commands.documentation.committed_results import Results, committed

Row = tuple[str, str, str, str]     # claim or question, published, simulated, grade
DASH = "–"                          # where nothing was published, or nothing is graded
TRIALS = ("blind", "second", "third", "fourth")
REPLAYS = ("replay", "alloc", "july", "vdevs", "queue", "raidz")
TIERS = ("capacity-hdd", "performance-hdd", "ssd-write", "ssd-read")


def summary() -> dict[str, list[Row]]:
    """{notebook: its rows}."""
    n = committed()
    return {notebook: rows(n) for notebook, rows in NOTEBOOKS.items()}


def _claims(n: Results) -> list[Row]:
    differing, checked = n("00_claims/claims.differing"), n("00_claims/claims.checked_by_own_figures")
    return [("Do the documents agree with their own figures?", DASH,
             f"{differing} of {checked} checkable claims differ", DASH)]


def _vdev_cache_oltp(n: Results) -> list[Row]:
    name = "01_vdev_cache_oltp"
    return [("2007: gain, only metadata fills the cache", f"over 20 % (figures: {n('00_claims/oltp-gain.shown')} %)",
             f"{n.span(f'{name}/unfitted.gain')} %; fitted {n.span(f'{name}/fitted.gain')} %; {_matched(n, name)}",
             n.grade("oltp-gain"))]


def _vdev_cache_seqread(n: Results) -> list[Row]:
    name = "02_vdev_cache_seqread"
    return [("2007: loss of sequential readers", f"25 % (figures: {n('00_claims/seqread-loss.shown')} %)",
             f"{n.span(f'{name}/unfitted.loss')} %; {_matched(n, name)}", n.grade("seqread-loss"))]


def _matched(n: Results, notebook: str) -> str:
    """The effect in the draws that show what was printed before the change, at the tightest tolerance that leaves enough."""
    tightest = n(f"{notebook}/matched.tightest")
    lowest, highest = (n(f"{notebook}/matched.within-{tightest}-percent-{end}") for end in ("lowest", "highest"))
    return f"{lowest} to {highest} % in draws within {tightest} % of what was printed before"


def _first_fit_best_fit(n: Results) -> list[Row]:
    good, bad = (f"03_first_fit_best_fit/unfitted.aggregation.{kind}" for kind in ("good", "bad_high"))
    return [("2010: blocks in a bad write", "1 or 2", n.span(bad, ".1f"), n.grade("aggregation-bad")),
            ("2010: blocks in a good write", "8 or more", f"{n(f'{good}-low', '.1f')} to {n(f'{good}-high')}",
             n.grade("aggregation-good"))]


def _oltp_gain(n: Results) -> list[Row]:
    name = "04_oltp_gain"
    gain, reduction = (n.order_entry(f"{name}/all.{kind}", kind, unit=" %") for kind in ("gain", "reduction"))
    return [("2010: gain of order entry by new rules", "up to 50 %",
             f"{gain}; best guess, 128 times smaller: {n(f'{name}/series.gain')} %", n.grade("lutz-gain")),
            ("2010: less variability of its test runs", "up to 70 %",
             f"{reduction}; best guess, 128 times smaller: {n(f'{name}/series.reduction')} %", n.grade("lutz-variability")),
            ("2010: old rules fall slowly, return at once", "several test runs (our reading: a skewness of 1.155 or more)",
             f"128 times smaller, skewness of changes: {n.span(f'{name}/all.cycle-skewness', '.2f')}",
             n.grade("lutz-cycle"))]


def _io_size_correlation(n: Results) -> list[Row]:
    name = "05_io_size_correlation"
    r_squared = n.order_entry(f"{name}/draws.io_size-r2", "r-squared", ".2f")
    return [("2010: R² of I/O size and throughput", "0.83",
             f"{r_squared}; best guess, 128 times smaller: {n(f'{name}/one.r2', '.2f')}", n.grade("lutz-r2"))]


def _exchange(n: Results) -> list[Row]:
    return [("2010: gain of Exchange by the same rules", "200 %",
             f"{n.span('06_exchange/part.all')} %; best guess {n('06_exchange/gain')} %", n.grade("exchange-gain"))]


def _pgbench_ladder(n: Results) -> list[Row]:
    return [("2009: five steps speed up pgbench", "72 to 5003 TPS", _in_order(n, "07_pgbench_ladder/pgbench"),
             n.grades("pgbench-"))]


def _sysbench_ladders(n: Results) -> list[Row]:
    name = "08_sysbench_ladders/sysbench"
    return [("2009: four steps speed up sysbench", "425 to 1809 TPS", _in_order(n, f"{name}-rw"), n.grades("sysbench-rw-")),
            ("2009: the same, read-only", "786 to 3065 TPS", _in_order(n, f"{name}-ro"), n.grades("sysbench-ro-"))]


def _in_order(n: Results, ladder: str) -> str:
    """How many readings of a ladder climb as published, in every draw; how many published rates the nearest one gives."""
    rungs = sum(name.startswith(f"{ladder}.nearest.rung-") for name in n.numbers)
    return (f"{n(f'{ladder}.in-order')} of {n(f'{ladder}.readings')} readings keep the published order; the nearest gives "
            f"{n(f'{ladder}.nearest.met')} of {rungs} rates within a quarter")


def _postgres_checkpoints(n: Results) -> list[Row]:
    name = "09_postgres_checkpoints"
    ratio = n.ratio(name + "/{}.write.bandwidth", "zfs-nine-disks-128k", "ufs-nine-disks")

    def rate(unfitted: str, best_guess: str) -> str:
        low, high = (n.thousands(f"{name}/unfitted.{unfitted}.database.throughput-{end}") for end in ("low", "high"))
        return f"{low} to {high} TPM; best guess {n.thousands(f'{name}/{best_guess}.database.throughput')}"

    return [("2008: bytes written by ZFS (128K by mistake) over those by UFS",
             f"up to 5 times (figures: {n('00_claims/pg-bytes.shown', '.1f')})",
             f"{n.span(f'{name}/unfitted.zfs-over-ufs.bytes', '.1f')} times; best guess {ratio}", n.grade("pg-bytes")),
            ("2008: rate with the intent log", "50 000 TPM", rate("zfs-300s-15", "zfs-300s-15"), n.grade("pg-throughput")),
            ("2008: rate without it", "90 000 TPM", rate("zfs-no-zil", "zfs-no-zil-15"), n.grade("pg-no-zil"))]


def _your_ladder(n: Results) -> list[Row]:
    first, last = n("10_your_ladder/ladder.first"), n("10_your_ladder/ladder.last")
    return [("Which step gives most on your machine?", DASH, f"default: {first} to {last} TPS with safe steps", DASH)]


def _your_runs(n: Results) -> list[Row]:
    name = "11_your_runs"
    return [("What do your own runs say?", DASH,
             f"{n(f'{name}/runs.looked-at')} shipped runs; {n(f'{name}/checks.agree')} of {n(f'{name}/checks.made')} totals "
             "as the tools printed them", DASH)]


def _measured_ladder(_: Results) -> list[Row]:
    return [("Does the model predict a ladder that was measured on a machine at hand?", DASH,
             "what was measured enters no result; the notebook shows it", DASH)]


def _dedup(n: Results) -> list[Row]:
    return [("2010: gain of 8K blocks over 128K, of dedup", "up to 10 times",
             f"{n.span('13_dedup/gain', '.1f')} times; best guess {n('13_dedup/gain.best-guess', '.1f')}",
             n.grade("dedup-ratio")),
            ("2010: an entry of the dedup table in memory", "about 200 bytes", f"{n.span('13_dedup/post.ddt-entry')} bytes",
             n.grade("ddt-entry"))]


def _lun_alignment(n: Results) -> list[Row]:
    slowdown = "14_lun_alignment/unfitted.slowdown"
    return [("2010: a misaligned LUN is slower", "2 to 4 times",
             f"{n.span(slowdown, '.1f')} times; best guess {n(f'{slowdown}-best-guess', '.1f')}", n.grade("alignment-loss"))]


def _storage_tiers(n: Results) -> list[Row]:
    return [("2009: latency of a large disk, a fast one, an SSD that writes, one that reads", "12 000; 7000; 300; 45 µs",
             "; ".join(n.span(f"15_storage_tiers/{tier}.response") for tier in TIERS) + " µs", n.grades("speed-"))]


def _model_vs_zfs(n: Results) -> list[Row]:
    name = "90_model_vs_zfs"
    differences = sum(n.numbers[f"{name}/{replay}.differences"] for replay in REPLAYS)
    estimated, from_sheets = (n(f"{name}/disk.{constants}-median", ".1f") for constants in ("estimated", "data-sheet"))
    return [("Does the model decide as ZFS did?", DASH,
             f"{differences} differences in {n(f'{name}/replay.rows')} cache decisions, "
             f"{n.numbers[f'{name}/alloc.allocations'] / 1e6:.0f} million blocks", "not exact" if differences else "exact"),
            ("How far is its disk from measured drives?", DASH,
             f"median demerit {estimated} % (constants estimated on first halves); {from_sheets} % from data sheets alone",
             DASH)]


def _published_setups(n: Results) -> list[Row]:
    name = "91_published_setups"
    within, cells = (sum(n.numbers[f"{name}/{trial}.{count}"] for trial in TRIALS) for count in ("within", "cells"))
    off = ", ".join(n(f"{name}/{trial}.off", ".1f") for trial in TRIALS)
    return [("How far off are four blind trials?", f"{cells} rates",
             f"{within} in their intervals; median error factors {off}", DASH)]


NOTEBOOKS: dict[str, Callable[[Results], list[Row]]] = {
    "00_claims": _claims,
    "01_vdev_cache_oltp": _vdev_cache_oltp,
    "02_vdev_cache_seqread": _vdev_cache_seqread,
    "03_first_fit_best_fit": _first_fit_best_fit,
    "04_oltp_gain": _oltp_gain,
    "05_io_size_correlation": _io_size_correlation,
    "06_exchange": _exchange,
    "07_pgbench_ladder": _pgbench_ladder,
    "08_sysbench_ladders": _sysbench_ladders,
    "09_postgres_checkpoints": _postgres_checkpoints,
    "10_your_ladder": _your_ladder,
    "11_your_runs": _your_runs,
    "12_measured_ladder": _measured_ladder,
    "13_dedup": _dedup,
    "14_lun_alignment": _lun_alignment,
    "15_storage_tiers": _storage_tiers,
    "90_model_vs_zfs": _model_vs_zfs,
    "91_published_setups": _published_setups,
}

"""The model beside the real code, on the recordings: writes data/real_code_speed.toml.

    nice .venv/bin/python benchmarks/real_code.py TRACES

TRACES is a folder of whole recordings (`docs/traces.md`). What the real code took stands in the notes of the recordings: C,
gcc -O2, without assertions, minimum of six runs on a shared machine of two x86-64 cores. It was not run again here: an
order of magnitude. The model's time is of a processor, compiled, the minimum of RUNS runs, all in one go; other processes
shared the machine, and the load says how many.
"""

import os
import sys
from pathlib import Path

from study.project import DATA, write_atomically
from study.replays import pool, space_map, vdev_cache
from study.replays.alloc_trace import AllocReplay
from study.replays.recorded_vdevs import vdevs_of

RUNS = 6
VARIANTS = ("103_ff", "117_df", "141_df", "141_ndf")
REWRITES = {50: (730, 1600, 1390, 1990), 72: (750, 510, 1190, 1870), 90: (550, 525, 890, 1120)}  # % full: ns, by variant
POOL = (610, 720, 470, 880)  # of l2_A, likewise
CACHE = {"user8k": 19, "meta_L1": 357, "mix_L2": 159, "mixw_L2": 349}  # ns an operation
SIDE_BY_SIDE = {"exact": (1.2, 1.8), "fast": (10, 26), "vdev_cache": (3, 12)}  # times as fast as C: see `beside`
TO = DATA / "real_code_speed.toml"


def per_pair(replay: AllocReplay) -> float:
    """ns of an allocation and a free: twice those of a row."""
    return 2e9 * replay.seconds / replay.rows


def of_allocator(folder: Path, engine: str, trace: str, variant: str) -> float:
    path = folder / "alloc" / f"{trace}__ops.parquet"
    if trace.startswith("l2"):
        return per_pair(pool.replay_pool(path, variant, vdevs_of(path, variant), engine=engine))
    return per_pair(space_map.replay_map(path, variant, engine=engine))


def of_cache(folder: Path, trace: str) -> float:
    replay = vdev_cache.replay_vdev_cache(folder / "vdev_cache" / f"{trace}.parquet")
    return 1e9 * replay.seconds / replay.rows


def best(measure, *arguments) -> int:
    return round(min(measure(*arguments) for _ in range(RUNS)))


def rows(folder: Path):
    """(section, trace, variant, ns of the real code, ns of the exact engine or the cache, ns of the fast engine or None)"""
    traces = {f"rand4k_occ{full}": real for full, real in REWRITES.items()} | {"l2_A": POOL}
    for trace, real in traces.items():
        for variant, ns in zip(VARIANTS, real, strict=True):
            yield ("allocator", trace, variant, ns, best(of_allocator, folder, "exact", trace, variant),
                   best(of_allocator, folder, "fast", trace, variant))
    for trace, ns in CACHE.items():
        yield "vdev_cache", trace, None, ns, best(of_cache, folder, trace), None


def beside() -> list[str]:
    """What those who recorded the real code measured, who ran it and an earlier state of the model in one run."""
    return ["[side_by_side]  # by those who recorded: C and an earlier state of the model in one run; times as fast",
            *(f"{name} = {list(times)}" for name, times in SIDE_BY_SIDE.items()), ""]


def main(folder: Path) -> None:
    before, text = os.getloadavg()[0], []
    for section, trace, variant, real, exact, fast in rows(folder):
        text += [f"[[{section}]]", f'trace = "{trace}"', *([f'variant = "{variant}"'] if variant else []),
                 f"real_ns = {real}", f"model_ns = {exact}", *([f"fast_ns = {fast}"] if fast else []), ""]
        print(*text[-7:], flush=True)
    head = ["# Written by benchmarks/real_code.py, which says what was measured. ns of an allocation and a free, or of an",
            "# operation of the cache.", f"runs = {RUNS}", f"processors = {os.cpu_count()}",
            f"load_before = {before:.1f}  # processes that wanted one of these; above 2 some waited",
            f"load_after = {os.getloadavg()[0]:.1f}", ""]
    write_atomically(TO, "\n".join([*head, *text, *beside()]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

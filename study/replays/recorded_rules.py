"""The other committed recordings, replayed for a notebook: which rules of which build are held against real code."""
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from study.project import DATA, data_files
from study.replays import recorded_pools, verify
from study.replays.alloc_trace import AllocReplay
from study.replays.trace_file import Comparison
from study.replays.vdev_cache import Replay
from study.replays.verify import Kind, Result, differences_of, rows_of


class Recorded(NamedTuple):
    """The replays of a folder."""

    july: list[Replay]  # the vdev cache before and after change 6437054
    vdevs: list[AllocReplay]  # pools of several vdevs
    queue: list[Comparison]
    raidz: list[Comparison]


def committed() -> Recorded:
    """Every recording that the tables of the vdev cache and of pools of one vdev leave out. Raises UserError."""
    return Recorded(july=_replays("vdev_cache_2007", Replay), vdevs=_replays("alloc_vdevs", AllocReplay),
                    queue=_replays("vdev_queue", Comparison), raidz=_replays("raidz", Comparison))


def _replays(folder: str, kind: type[Kind]) -> list[Kind]:
    data_files(f"traces/{folder}/*")
    return verify.readable(DATA / "traces" / folder, kind)


def metrics(recorded: Recorded) -> dict[str, int]:
    """Rows and differences of each."""
    counts = {}
    for name, replays in recorded._asdict().items():
        counts[f"{name}.rows"] = rows_of(replays)
        counts[f"{name}.differences"] = sum(map(differences_of, replays))
    return counts | {"vdevs.states": recorded_pools.states_compared(recorded.vdevs)}


def table(recorded: Recorded) -> pd.DataFrame:
    """A row for each rule: whose code recorded it, rows, differences."""
    before, after = ([replay for replay in recorded.july if replay.era == era] for era in ("onnv_69", "onnv_70"))
    rules: tuple[tuple[str, str, Sequence[Result]], ...] = (
        ("vdev cache: every small read fills", "onnv_69", before),
        ("vdev cache: only metadata fills; what is metadata", "onnv_70", after),
        ("vdev queue: what goes next, how many, in what company", "onnv_69, b103, b117, b141", recorded.queue),
        ("several vdevs: turns, bias, copies, hints, failures", "b103, b117, b141", recorded.vdevs),
        ("RAID-Z: size of a block; I/Os of its disks", "b141", recorded.raidz),
    )
    return pd.DataFrame([{"rule": rule, "real code of": build, "rows": rows_of(replays),
                          "differences": sum(map(differences_of, replays))} for rule, build, replays in rules])

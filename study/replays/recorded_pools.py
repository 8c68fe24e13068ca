"""The committed recordings of the allocator, replayed for a notebook: blocks, and the states of pools."""
import numpy as np
import pandas as pd

from model.zfs.eras import era
from study.project import DATA, data_files
from study.replays import verify
from study.replays.alloc_trace import AllocReplay, Trace, read_trace, scenario_of
from study.replays.pool import ERA_OF, drive
from study.replays.pool_rows import rows_of
from study.replays.pool_states import after_txgs, read_txgs, txgs_beside
from study.replays.recorded_vdevs import vdevs_of

FOLDER = DATA / "traces" / "alloc"
BUILDS = {"103_ff": "b103: first fit", "117_df": "b117: dynamic fit, 30 %", "141_df": "dynamic fit, 4 %",
          "141_ndf": "b141: new dynamic fit"}


def committed() -> list[AllocReplay]:
    """Every recorded trace of the allocator under each variant. Raises UserError if one cannot be read."""
    data_files("traces/alloc/*")
    return verify.readable(FOLDER, AllocReplay)


def table(replays: list[AllocReplay]) -> pd.DataFrame:
    """A row for each replay."""
    return pd.DataFrame([{"trace": scenario_of(replay.path), "variant": replay.variant, "allocations": replay.allocations,
                          "refused": replay.summary["refused"], "went elsewhere": replay.differences,
                          "states that differ": len(replay.others)} for replay in replays])


def states_compared(replays: list[AllocReplay]) -> int:
    """States of pools after a transaction group that agree."""
    texts = [name.split() for replay in replays for name in replay.summary if name.startswith("differences after")]
    return sum(int(words[2]) for words in texts)


def heaviest(scenario: str) -> pd.DataFrame:
    """The heaviest metaslab after each transaction group (build, txg, recorded, modelled), from the first frees on."""
    path = FOLDER / f"{scenario}__ops.parquet"
    trace = read_trace(path)
    first = trace.arg[np.flatnonzero(trace.op == 2)].searchsorted(_first_txg_with_frees(trace))
    states = []
    for variant, build in BUILDS.items():
        beside = txgs_beside(path, variant)
        assert beside is not None
        recorded = read_txgs(beside)
        vdevs = vdevs_of(path, variant)
        driven = drive(era(ERA_OF[variant]).metaslab, rows_of(trace), vdevs)
        heaviest = pd.DataFrame({"build": build, "txg": recorded["txg"], "recorded": recorded["ms0"],
                                 "modelled": after_txgs(driven.decided, vdevs)["ms0"]})
        states.append(heaviest[first:])
    return pd.concat(states).astype({name: int for name in ("txg", "recorded", "modelled")})


def _first_txg_with_frees(trace: Trace) -> int:
    ends = np.flatnonzero(trace.op == 2)
    return trace.arg[ends[np.searchsorted(ends, np.flatnonzero(trace.op == 1)[0])]]

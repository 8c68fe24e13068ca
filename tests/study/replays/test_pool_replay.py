"""Recorded pools through the model: every block, the state after every transaction group, and traces that are wrong."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model.zfs.eras import era
from model.zfs.metaslab.state import FAILURE, FRAGMENTED
from model.zfs.space.pickers import VARIANTS
from study.errors import UserError
from study.project import DATA
from study.replays.alloc_trace import read_places, read_trace
from study.replays.pool import ERA_OF, _unfit_for_fast, drive, replay_pool, replays_of
from study.replays.pool_rows import rows_of
from study.replays.pool_states import after_txgs, compare_txgs, read_txgs, weights_hash
from study.replays.recorded_vdevs import alike, vdevs_in

TRACES = DATA / "traces" / "alloc"
MS, N = 64 * 2**20, 200  # of the recorded pools
POOL = alike(N, MS)
SMALL = alike(2, 2**17)
TYPES = {"op": "int8", "size512": "int16", "arg": "int32", "d": "int8"}


def trace_of(scenario):
    return TRACES / f"{scenario}__ops.parquet"


def states_of(scenario, variant):
    return TRACES / f"{scenario}_{variant}_txg.csv"


def ops(path, rows):
    """A trace of (op, size512, arg[, d])."""
    columns = dict(zip(TYPES, np.array(rows).T, strict=False))
    file = path / "made__ops.parquet"
    pq.write_table(pa.table({name: pa.array(values).cast(TYPES[name]) for name, values in columns.items()}), file)
    return file


@pytest.mark.parametrize("scenario", ["l2_C", "l2_D"])
def test_every_block_and_every_state_is_as_recorded(scenario):
    replays = list(replays_of(trace_of(scenario)))
    assert [(replay.differences, replay.others, replay.differs) for replay in replays] == [(0, (), False)] * 4
    assert [replay.variant for replay in replays] == list(VARIANTS)
    assert all(replay.allocations > 60_000 and replay.summary["refused"] == 0 for replay in replays)
    assert {text: n for text, n in replays[0].summary.items() if text.startswith("differences")} == {
        f"differences after {323 if scenario == 'l2_C' else 12} transaction groups": 0}


DEFECTS = {  # what is done otherwise: (scenario, variant)
    "no weight for the outer ones": ({"lba_weight": 0}, "l2_C", "141_ndf"),
    "no bonus": ({"bonus_multiplier": 1}, "l2_D", "117_df"),
    "the bonus as described": ({"bonus_multiplier": 3, "bonus_divisor": 2}, "l2_C", "141_ndf"),
    "the bonus of 2009 in 2010": ({"bonus_multiplier": 2}, "l2_C", "141_ndf"),
    "frees are withheld in 2008": ({"defer_txgs": 2}, "l2_C", "103_ff"),
    "frees are not withheld in 2010": ({"defer_txgs": 0}, "l2_C", "141_df"),
    "primary until it fails": ({"primary_until": FAILURE}, "l2_C", "141_df"),
    "primary until it is fragmented": ({"primary_until": FRAGMENTED}, "l2_C", "117_df"),
    "copies half as far apart": ({"ditto_shift": 4}, "l2_D", "103_ff"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_the_recordings_notice(name):
    changed, scenario, variant = DEFECTS[name]
    trace = read_trace(trace_of(scenario))
    rules = era(ERA_OF[variant]).metaslab
    assert rules._replace(**changed) != rules
    decided = drive(rules._replace(**changed), rows_of(trace), POOL).decided
    recorded = read_places(TRACES / f"{scenario}__{variant}__off.parquet", len(decided.offset)).off512
    assert (decided.offset // 512 != recorded).any()
    assert compare_txgs(read_txgs(states_of(scenario, variant)), after_txgs(decided, POOL))


def test_another_variants_states_differ_and_are_named():
    replay = replay_pool(trace_of("l2_D"), "117_df", POOL, expect_txg=states_of("l2_D", "141_ndf"))
    assert replay.differs
    assert replay.differences is None
    assert any(text.startswith("n_loaded differs after ") for text in replay.others)
    short = replay_pool(trace_of("l2_D"), "117_df", POOL, expect_txg=states_of("l2_C", "117_df"))
    assert short.others == ("the recording has 323 transaction groups and the trace closes 12",)


def test_the_hash_is_that_of_the_recordings():
    """200 empty metaslabs of 64 MiB; the value is the one in the description of the format."""
    weights = np.array([[2 * MS - m * MS // N for m in range(N)]], np.uint64)
    assert [f"{value:016x}" for value in weights_hash(weights)] == ["32bb0a0aaf497857"]


def test_the_size_of_a_pool_is_in_its_first_state():
    states = read_txgs(states_of("l2_D", "141_df"))
    assert vdevs_in(states) == POOL
    assert vdevs_in(states[1:].reset_index(drop=True)) is None
    for n in (2, 3, 7, 150, 199, 1000):
        states.loc[0, ["w0", "w1"]] = str(2 * MS), str(2 * MS - MS // n)
        assert vdevs_in(states) == alike(n, MS)


def test_a_pool_fills_up_and_rows_after_the_last_txg_count(tmp_path):
    """Two metaslabs of 128 KiB are 64 blocks of 4 KiB; what is freed in txg 4 can be given by txg 5 (7 from 2010 on)."""
    rows = [(0, 8, -1)] * 66 + [(1, 8, 3), (2, 0, 4), (0, 8, -1), (2, 0, 5), (2, 0, 6), (0, 8, -1), (0, 8, -1)]
    for variant, where in (("103_ff", [24, -1, -1]), ("141_df", [-1, 24, -1])):
        replay_pool(ops(tmp_path, rows), variant, SMALL, to=tmp_path / "out.parquet")
        offsets = read_places(tmp_path / "out.parquet", 69).off512
        assert sorted(offsets[:64]) == list(range(0, 512, 8))
        assert offsets[64:].tolist() == [-1, -1, *where]


def test_a_pool_that_is_too_small_for_its_trace_says_so():
    """In one metaslab the first blocks to be freed find room, those behind the 64 MiB none."""
    with pytest.raises(UserError, match="was never made; give the pool more than 1 metaslabs of 67108864 B"):
        replay_pool(trace_of("l2_C"), "117_df", alike(1, MS))


WRONG = {
    "a txg that was closed already": ([(2, 0, 4), (2, 0, 4)], "row 1 closes txg 4, but the next one is 5"),
    "a txg left out": ([(2, 0, 4), (0, 8, -1), (2, 0, 6)], "row 2 closes txg 6, but the next one is 5"),
    "a txg before the first": ([(2, 0, 0)], "row 0 closes txg 0, but the next one is 1"),
    "a map": ([(4, 9, 2048)], r"row 0 begins a new map \(op 4\), but a pool has those of its metaslabs"),
    "a copy alone": ([(0, 8, -1, 1)], "row 0 is copy 1 of a block, but the row before is not copy 0 of the same size"),
    "a copy of another size": ([(0, 8, -1, 0), (0, 9, -1, 1)], "row 1 is copy 1 of a block, but"),
    "a copy too many": ([(0, 8, -1, 0), (0, 8, -1, 1), (0, 8, -1, 2), (0, 8, -1, 3)], "row 3 is copy 3 .* 0 to 2"),
    "a block that was refused": ([(0, 500, -1), (0, 500, -1), (1, 500, 1)], "row 2 frees allocation 1, which found no"),
    "more than the block": ([(2, 0, 4), *50 * [(0, 8, -1)], (2, 0, 5), (1, 16, 0), (1, 8, 1), (2, 0, 6)],
                            "row 52 frees 8192 B of allocation 0, which is of 4096 B; free all of a block at once"),
    "nothing of the block": ([(0, 8, -1), (1, 0, 0)], "row 1 frees 0 B of allocation 0, which is of 4096 B"),
    "half of the block": ([(0, 8, -1), (1, 4, 0)], "row 1 frees 2048 B of allocation 0, which is of 4096 B"),
    "a block that never was": ([(0, 8, -1), (1, 8, 1)], "row 1 frees allocation 1, but there was none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_trace_that_cannot_be_is_one_sentence(tmp_path, name):
    rows, says = WRONG[name]
    with pytest.raises(UserError, match=says):
        replay_pool(ops(tmp_path, rows), "141_df", SMALL)


@pytest.mark.parametrize(("metaslabs", "size", "says"), [
    (0, MS, r"the pool has 0 metaslabs of 67108864 B, but the model takes 1 to 65536 and 2\^53 B in all; give 1 or more"),
    (2**16, 2**50, r"but the model takes 1 to 65536 and 2\^53 B in all"),
    (N, 60 * 2**20, "metaslab size is 62914560 B, but it must be a power of two"),
    (4, 3 * 2**17, "metaslab size is 393216 B, but it must be a power of two"),
    (N, 2**16, "metaslab size is 65536 B, but it must be a power of two of at least 131072"),
])
def test_a_pool_that_cannot_be_is_one_sentence(metaslabs, size, says):
    with pytest.raises(UserError, match=says):
        alike(metaslabs, size)


@pytest.mark.parametrize(("metaslabs", "size", "says"), [
    (2, 2**40, "have 268435456 blocks of 4096 B in each, but the fast engine takes at most 134217728; choose exact or auto"),
    (2**10, 2**36, "have 17179869184 blocks of 4096 B in all, but the fast engine takes at most 4294967296; choose exact"),
])
def test_a_pool_too_large_for_the_fast_engine_is_told_the_bound_that_it_breaks(metaslabs, size, says):
    with pytest.raises(UserError, match=says):
        replay_pool(trace_of("l2_D"), "141_df", alike(metaslabs, size), engine="fast")


@pytest.mark.parametrize(("n_bytes", "size", "most"), [(2**18, 2**26, 2**17), (2**17, 2**17, None), (2**18, 2**17, 2**17)])
def test_blocks_too_large_for_the_fast_engine_are_told_as_such(n_bytes, size, most):
    says = _unfit_for_fast(alike(4, size), n_bytes)
    assert says == ((most and f"have blocks of {n_bytes} B, but the fast engine takes at most {most} B here") or "")


def test_states_that_cannot_be_read_are_one_sentence(tmp_path):
    table = tmp_path / "states.csv"
    table.write_text("txg,synced_alloc\n4,0\n")
    for path, says in ((table, "has no column n_loaded, loaded_free_segs, fnv64_weights"),
                       (tmp_path / "none.csv", "cannot read the recorded states")):
        with pytest.raises(UserError, match=says):
            replay_pool(trace_of("l2_D"), "141_df", POOL, expect_txg=path)


def test_without_its_states_beside_it_a_folder_of_traces_does_not_say_how_large_the_pool_was(tmp_path):
    for name in ("l2_D__ops.parquet", "l2_D__141_df__off.parquet"):
        (tmp_path / name).symlink_to(TRACES / name)
    with pytest.raises(UserError, match=r"neither a line for 141_df in pools.jsonl beside it, nor does a l2_D_141_df"):
        list(replays_of(tmp_path / "l2_D__ops.parquet"))

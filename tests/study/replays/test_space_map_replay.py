"""Recorded traces of the allocator through the model: every block, and every way in which a trace can be wrong."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import one_sentence

from defects.alloc import DEFECTS
from model.events.streams import stream
from model.zfs.space.pickers import VARIANTS
from study.errors import UserError
from study.project import DATA
from study.replays.alloc_trace import read_places, read_trace, recorded_with
from study.replays.space_map import replay_map, replays_of
from study.replays.trace_file import Difference
from support.processes import interpreted

TRACES = DATA / "traces" / "alloc"
ONE_MAP = sorted(path for scenario in ("edge", "mix2", "rand4k") for path in TRACES.glob(f"{scenario}*__ops.parquet"))
MIX = "mix2_occ92__141_df"
TYPES = {"op": "int8", "size512": "int16", "arg": "int32"}


def off_of(name):
    return TRACES / f"{name}__off.parquet"


def offsets_in(path, n):
    return read_places(path, n).off512


def saved(path, columns, types=TYPES):
    pq.write_table(pa.table({name: pa.array(values).cast(types[name]) for name, values in columns.items()}), path)
    return path


def ops(path, rows):
    """A trace of (op, size512, arg)."""
    return saved(path / "made__ops.parquet", dict(zip(TYPES, np.array(rows).T, strict=True)))


@pytest.fixture
def columns():
    """The first 6000 rows of a recorded trace, to be spoiled."""
    trace = read_trace(TRACES / f"{MIX}__ops.parquet")
    return {name: getattr(trace, name)[:6000].copy() for name in TYPES}


# ---- recorded decisions ----


def test_every_block_goes_where_it_is_recorded():
    replays = [replay for path in ONE_MAP for replay in replays_of(path)]
    assert [(replay.differences, replay.first, replay.differs) for replay in replays] == [(0, None, False)] * 12
    assert sorted(replay.variant for replay in replays) == sorted([*VARIANTS] * 3)
    assert {replay.allocations > 20_000 for replay in replays} == {True}


def test_refusals_are_counted_as_recorded():
    for path in ONE_MAP[:8]:
        (variant, offsets), = recorded_with(path)
        recorded = pq.read_table(offsets)["off512"].to_numpy()
        assert replay_map(path, variant).summary["refused"] == (recorded == -1).sum()


@pytest.mark.slow
def test_each_defect_sends_a_recorded_block_elsewhere():
    noticed = json.loads(interpreted("defects.alloc"))
    assert [name for name in DEFECTS if noticed[name] is None] == ["none"]


# ---- differences ----


def test_the_first_difference_is_named(tmp_path):
    offsets = pq.read_table(off_of(MIX))["off512"].to_numpy().copy()
    spoiled = {100: offsets[100] + 1, 4000: -1}
    for block, value in spoiled.items():
        offsets[block] = value
    pq.write_table(pa.table({"off512": offsets}), tmp_path / "off.parquet")
    replay = replay_map(TRACES / f"{MIX}__ops.parquet", "141_df", tmp_path / "off.parquet")
    row = int(np.flatnonzero(read_trace(replay.path).op == 0)[100])
    assert (replay.differences, replay.first) == (2, Difference(row, "off512", offsets[100], offsets[100] - 1))


def test_rules_of_another_build_differ():
    trace = TRACES / "rand4k_occ90__ops.parquet"
    for variant, other in (("117_df", "141_df"), ("141_df", "103_ff"), ("103_ff", "141_ndf")):
        assert replay_map(trace, variant, off_of(f"rand4k_occ90__{other}")).differs


def test_what_is_written_is_what_was_recorded(tmp_path):
    to = tmp_path / "out.parquet"
    replay = replay_map(TRACES / f"{MIX}__ops.parquet", "141_df", to=to)
    assert (replay.differences, replay.differs) == (None, False)
    assert pq.read_table(to).schema.equals(pq.read_table(off_of(MIX)).schema)
    assert (offsets_in(to, replay.allocations) == offsets_in(off_of(MIX), replay.allocations)).all()


def test_any_type_of_whole_number_will_do(tmp_path, columns):
    paths = [saved(tmp_path / f"{kind}.parquet", columns, dict.fromkeys(TYPES, kind)) for kind in ("int64", "float64")]
    offs = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, to in zip(paths, offs, strict=True):
        replay_map(path, "141_ndf", to=to)
    assert pq.read_table(offs[0]).equals(pq.read_table(offs[1]))


# ---- other maps ----


@pytest.mark.parametrize("variant", VARIANTS)
def test_maps_of_any_size_follow_each_other(tmp_path, variant):
    """A new map forgets everything; the same stream has the same offsets in it. Maps may be of terabytes, units of 4 KiB."""
    sizes = (8 * (1 + (stream(1, "sizes").random(300) * 30).astype(int))).tolist()
    stream_rows = [(0, size, -1) for size in sizes]
    rows = [(4, 9, 2**31 - 1), *stream_rows, (3, 1, -1), (4, 12, 2**31 - 8), *stream_rows,
            *((1, size, 300 + block) for block, size in enumerate(sizes)), (2, 0, -1), (4, 9, 2400), *stream_rows[:9]]
    to = tmp_path / "off.parquet"
    replay = replay_map(ops(tmp_path, rows), variant, to=to)
    offsets = offsets_in(to, replay.allocations)
    assert (offsets[:300] == offsets[300:600]).all()
    assert replay.summary["refused"] == (offsets == -1).sum()
    assert ((offsets[600:] + sizes[:9])[offsets[600:] >= 0] <= 2400).all()


def test_what_is_larger_than_the_map_finds_no_space(tmp_path):
    to = tmp_path / "off.parquet"
    replay = replay_map(ops(tmp_path, [(4, 9, 100), (0, 101, -1), (0, 100, -1), (0, 1, -1)]), "117_df", to=to)
    assert offsets_in(to, 3).tolist() == [-1, 0, -1]
    assert replay.summary["refused"] == 2


# ---- traces that are no traces: one sentence each ----


def complaint(*arguments, **named):
    with pytest.raises(UserError) as error:
        replay_map(*arguments, **named)
    message = str(error.value)
    assert "\n" not in message
    assert any(words in message for words in ("; ", ", so ", ". ")), "says what to do"
    return message


GOOD = [(4, 9, 800), (0, 8, -1), (0, 8, -1), (1, 8, 0), (2, 0, -1)]


@pytest.mark.parametrize(("rows", "message"), [
    ([*GOOD, (1, 8, 0)], "row 5 frees allocation 0 a second time"),
    ([*GOOD, (1, 16, 1)], "row 5 frees 8192 B of allocation 1, which is of 4096 B; free all of a block at once: size512 8"),
    ([*GOOD, (1, 0, 1)], "row 5 frees 0 B of allocation 1, which is of 4096 B"),
    ([*GOOD, (1, 4, 1)], "row 5 frees 2048 B of allocation 1, which is of 4096 B"),
    ([*GOOD, (1, 8, 2)], "row 5 frees allocation 2, but there was none of that number before it"),
    ([*GOOD, (1, 8, -1)], "row 5 frees allocation -1, but there was none"),
    ([GOOD[0], GOOD[3], *GOOD[1:3]], "row 1 frees allocation 0, but there was none of that number before it"),
    ([*GOOD, GOOD[0], (1, 8, 1)], "row 6 frees allocation 1, which was made in a map before the present one"),
    ([*GOOD, (0, 900, -1), (1, 900, 2)], "row 6 frees allocation 2, which found no space and was never made"),
    ([*GOOD, (0, 0, -1)], "row 5 allocates 0 sectors"),
    ([*GOOD, (0, -8, -1)], "row 5 allocates -8 sectors"),
    ([*GOOD, (6, 0, -1)], "row 5 has op 6, but it must be from 0 to 5"),
    ([*GOOD, (5, 0, 1)], "row 5 adds vdev 1 (op 5), but one map has no vdevs; give --pools for a trace of a pool"),
    ([*GOOD, (-1, 0, -1)], "row 5 has op -1"),
    ([(4, 9, 0), *GOOD], "row 0 begins a map of 0 sectors"),
    ([(4, 8, 800), *GOOD], "row 0 begins a map of units of 2^8 B"),
    ([(4, 12, 800), (0, 8, -1), (0, 7, -1)], "row 2 has a size of 7 sectors, which is no multiple of the map's unit of 8"),
    ([(4, 12, 801), (0, 8, -1)], "row 0 has a size of 801 sectors"),
    (GOOD[1:], "has no new map (op 4) before its first allocation"),
])
def test_what_cannot_be_is_named(tmp_path, rows, message):
    path = ops(tmp_path, rows)
    assert f"{path}" in complaint(path, "141_df")
    assert message in complaint(path, "141_df")


def test_a_free_of_what_only_the_recording_placed_is_a_difference_and_no_complaint(tmp_path):
    path = ops(tmp_path, [(4, 9, 8), (0, 8, -1), (0, 8, -1), (1, 8, 1)])
    pq.write_table(pa.table({"off512": [0, 64]}), tmp_path / "off.parquet")
    assert replay_map(path, "103_ff", tmp_path / "off.parquet").first == Difference(2, "off512", 64, -1)


def test_operations_and_offsets_may_be_csv_of_any_order(tmp_path):
    trace, off = (pd.read_parquet(TRACES / f"{MIX}__{part}.parquet") for part in ("ops", "off"))
    trace.assign(note="x")[["arg", "note", "op", "size512"]].to_csv(tmp_path / "ops.csv.gz", index=False)
    off.astype("int64").to_csv(tmp_path / "off.csv", index=False)
    replay = replay_map(tmp_path / "ops.csv.gz", "141_df", tmp_path / "off.csv")
    assert (replay.differences, replay.allocations) == (0, len(off))


def test_missing_columns_and_offsets_of_another_trace_are_named(tmp_path, columns):
    narrow = saved(tmp_path / "narrow.parquet", {name: columns[name] for name in ("op", "arg")})
    assert "has no column size512 (it has op, arg)" in complaint(narrow, "117_df")
    trace = TRACES / f"{MIX}__ops.parquet"
    assert "has no column off512" in complaint(trace, "141_df", trace)
    assert "has 29194 offsets, but the trace has 20691 allocations" in complaint(trace, "141_df", off_of("edge__141_df"))
    text = tmp_path / "text.parquet"
    text.write_text("op,size512,arg\n")
    assert "cannot be read as a Parquet file" in complaint(text, "117_df")


@pytest.mark.parametrize(("named", "message"), [
    ({"variant": "121_df"}, "variant is '121_df', but the recorded ones are 103_ff, 117_df, 141_df, 141_ndf"),
    ({"variant": "117_df", "engine": "quick"}, "engine is 'quick', but there are exact, fast, auto"),
])
def test_bad_parameters_are_one_sentence(named, message):
    assert message in complaint(TRACES / f"{MIX}__ops.parquet", **named)


# ---- the command line ----


def test_the_command_says_what_it_found(study, tmp_path):
    trace, off = TRACES / f"{MIX}__ops.parquet", off_of(MIX)
    done = study("replay", "alloc", trace, "--variant", "141_df", "--expect", off, "--out", tmp_path / "out.parquet")
    assert (done.returncode, "0 differences in 20691 allocations of 24000 rows" in done.stdout) == (0, True)
    assert (offsets_in(tmp_path / "out.parquet", 20691) == offsets_in(off, 20691)).all()
    done = study("replay", "alloc", trace, "--variant", "103_ff", "--expect", off)
    assert (done.returncode, "; the first in row " in done.stdout) == (1, True)
    assert "variant is 'ff'" in one_sentence(study("replay", "alloc", trace, "--variant", "ff"))
    done = study("replay", "alloc", trace, "--variant", "141_df", "--expect-txg", off)
    assert "--expect-txg is of a pool and --metaslabs is missing" in one_sentence(done)
    done = study("replay", "alloc", trace, "--variant", "141_df", "--metaslab-size", "1MiB")
    assert "--metaslab-size is of a pool and --metaslabs is missing" in one_sentence(done)


def test_verify_takes_traces_of_the_allocator_with_their_offsets(study, tmp_path):
    for file in TRACES.glob("edge__*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    done = study("verify", tmp_path)
    assert (done.returncode, "of 4 traces; 0 traces could not be read" in done.stdout) == (0, True)
    off = tmp_path / "edge__103_ff__off.parquet"
    offsets = pq.read_table(off)["off512"].to_numpy().copy()
    offsets[7] += 8
    pq.write_table(pa.table({"off512": offsets}), off)
    pq.write_table(pa.table({"off512": offsets[1:]}), tmp_path / "edge__117_df__off.parquet")
    done = study("verify", tmp_path)
    assert (done.returncode, "1 difference in" in done.stdout, "1 trace could not" in done.stdout) == (1, True, True)


@pytest.mark.parametrize("over", ["trace", "offsets", "link"])
def test_what_is_read_is_never_written_over(study, tmp_path, over):
    trace, offsets, link = (tmp_path / name for name in ("ops.parquet", "off.parquet", "link.parquet"))
    trace.write_bytes((TRACES / f"{MIX}__ops.parquet").read_bytes())
    offsets.write_bytes(off_of(MIX).read_bytes())
    link.symlink_to(trace)
    before = trace.read_bytes(), offsets.read_bytes()
    to = {"trace": trace, "offsets": offsets, "link": link}[over]
    done = study("replay", "alloc", trace, "--variant", "141_df", "--expect", offsets, "--out", to)
    assert "is read and would be written over" in one_sentence(done)
    assert (trace.read_bytes(), offsets.read_bytes()) == before

"""Recorded traces through the model: every decision, and every way in which a trace can be wrong."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model.events.streams import stream
from model.zfs.vdev.cache import VdevCacheParams
from study.errors import UserError
from study.project import DATA
from study.replays.trace_file import Difference
from study.replays.vdev_cache import COLUMNS, Replay, read_stats, read_vdev_cache_trace, replay_vdev_cache
from study.replays.verify import Unreadable, readable, verify
from twins.vdev_cache import TwinOfVdevCache, random_requests, record

TRACES = DATA / "traces" / "vdev_cache"
STATS = [json.loads(line) for line in (TRACES / "stats.jsonl").read_text().splitlines()]
META = TRACES / "meta_L1.parquet"
MIXW = TRACES / "mixw_L2.parquet"
TYPES = {"tick": "int32", "op": "int8", "nocache": "int8", "size512": "int16", "off512": "int32", "res": "int8",
         "fill512": "int32", "evict512": "int32"}


def saved(path, columns):
    """A trace of `columns` as a Parquet file of the types that the recorded ones have."""
    pq.write_table(pa.table({name: pa.array(values).cast(TYPES[name]) if name in TYPES else pa.array(values)
                             for name, values in columns.items()}), path)
    return path


@pytest.fixture
def columns():
    """The first 2000 rows of a recorded trace with fills of 1 tick, to be spoiled."""
    return {name: values[:2000].copy() for name, values in read_vdev_cache_trace(META).items()}


# ---- recorded decisions ----


def test_every_recorded_decision_is_the_models_with_either_completions():
    replays = readable(TRACES, Replay)
    assert [(r.path.stem, r.completions) for r in replays] == [
        (name, completions) for name in sorted(entry["trace"] for entry in STATS)
        for completions in ("recorded", "own")]
    assert [(r.differences, r.first) for r in replays] == [(0, None)] * 12
    assert sum(r.rows for r in replays) == 2 * sum(entry["rows"] for entry in STATS) == 2 * 96000


@pytest.mark.parametrize("entry", STATS, ids=lambda entry: entry["trace"])
def test_counters_are_those_of_the_recorded_code(entry):
    replay = replay_vdev_cache(TRACES / f"{entry['trace']}.parquet", entry["size"], entry["max"], entry["L"])
    assert [replay.counters[name] for name in ("hits", "misses", "delegations")] == [
        entry[name] for name in ("hits", "misses", "delegations")]
    assert list(replay.outcomes.values()) == [*entry["by_res"], 0]


# ---- traces of the same format that the real code has not written for us: the twin has ----

SCENARIOS = {
    "unflagged": (VdevCacheParams(), 1, {"flagged": False}),
    "size0": (VdevCacheParams(cache_bytes=0), 0, {"p_data": 0.0, "p_write": 0.0}),
    "small_L20": (VdevCacheParams(cache_bytes=2**20), 20, {"n_lines": 60, "per_tick": 20}),
    "one_line_L3": (VdevCacheParams(cache_bytes=1), 3, {"n_lines": 4}),
    "slowtick_L0": (VdevCacheParams(), 0, {"per_tick": 50, "p_write": 0.0}),
    "gaps_L4": (VdevCacheParams(cache_bytes=2**19), 4, {"per_tick": 0.7, "n_lines": 20}),
    "fasttick_L1": (VdevCacheParams(), 1, {"per_tick": 1}),
    "max1_L1": (VdevCacheParams(max_read_bytes=1), 1, {}),
    "max8k_writes_L2": (VdevCacheParams(max_read_bytes=8192), 2, {"p_write": 0.6, "n_lines": 30}),
    "never_done": (VdevCacheParams(cache_bytes=2**20), 10**6, {"n_lines": 100}),
}


def made_up(path, name, n=3000):
    params, fill_ticks, kinds = SCENARIOS[name]
    rows = list(record(TwinOfVdevCache(params), random_requests(stream(9, name), n, **kinds), fill_ticks))
    trace = dict(zip(COLUMNS, np.array([row[:8] for row in rows]).T, strict=True))
    saved(path / f"{name}.parquet", trace)
    return {"trace": name, "L": fill_ticks, "size": params.cache_bytes, "max": params.max_read_bytes}, trace


@pytest.mark.parametrize("name", SCENARIOS)
def test_other_traces_of_the_format_replay_too(name, tmp_path):
    entry, trace = made_up(tmp_path, name)
    (tmp_path / "stats.jsonl").write_text(f"{json.dumps(entry)}\n\n{json.dumps({'trace': 'elsewhere'})}\n")
    replays = readable(tmp_path, Replay)
    assert [(r.completions, r.differences, r.rows) for r in replays] == [
        ("recorded", 0, len(trace["tick"])), ("own", 0, len(trace["tick"]))]
    assert replays[0].outcomes == replays[1].outcomes


def test_the_scenarios_reach_every_outcome(tmp_path):
    outcomes = set()
    for name in SCENARIOS:
        _, trace = made_up(tmp_path, name)
        outcomes |= {(op, res) for op, res in zip(trace["op"].tolist(), trace["res"].tolist(), strict=True)}
    assert outcomes == {(0, res) for res in range(8)} | {(1, 0), (2, 0), (2, 1)}


@pytest.mark.parametrize("name", ["small_L20", "slowtick_L0", "max8k_writes_L2"])
def test_without_completions_the_model_makes_its_own(name, tmp_path):
    entry, trace = made_up(tmp_path, name)
    path = saved(tmp_path / "bare.parquet", {key: values[trace["op"] != 2] for key, values in trace.items()})
    replay = replay_vdev_cache(path, entry["size"], entry["max"], entry["L"])
    assert (replay.differences, replay.rows) == (0, (trace["op"] != 2).sum())
    assert replay_vdev_cache(path, entry["size"], entry["max"], entry["L"] + 1).differences > 0


def test_other_types_of_the_same_values_do(tmp_path, columns):
    for kind in ("int64", "uint64", "float64"):
        plain = {name: pa.array(np.maximum(values, 0) if kind == "uint64" else values).cast(kind)
                 for name, values in columns.items()}
        plain |= {name: columns[name] for name in ("fill512", "evict512")} | {"nocache": columns["nocache"] == 1}
        pq.write_table(pa.table({**plain, "note": ["x"] * 2000}), tmp_path / f"{kind}.parquet")
        assert replay_vdev_cache(tmp_path / f"{kind}.parquet").differences == 0


# ---- decisions that differ are found ----


@pytest.mark.parametrize("name", ["res", "fill512", "evict512"])
@pytest.mark.parametrize("op", [0, 2])
def test_one_altered_decision_is_one_difference(tmp_path, columns, name, op):
    row = int(np.flatnonzero(columns["op"] == op)[300])
    was = int(columns[name][row])
    columns[name][row] = was + 1
    path = saved(tmp_path / "altered.parquet", columns)
    for fill_ticks in (None, 1):
        replay = replay_vdev_cache(path, fill_ticks=fill_ticks)
        assert (replay.differences, replay.first) == (1, Difference(row, name, was + 1, was))


@pytest.mark.parametrize(("parameters", "column"), [
    ({"cache_bytes": 10 * 2**20 - 1}, "evict512"), ({"max_read_bytes": 16383}, "res"), ({"cache_bytes": 0}, "res")])
def test_other_parameters_than_those_recorded_differ(parameters, column):
    replay = replay_vdev_cache(META, **parameters)
    assert replay.differences > 100
    assert replay.first.column == column


@pytest.mark.parametrize("fill_ticks", [0, 2])
def test_another_fill_time_than_the_recorded_differs(fill_ticks):
    replay = replay_vdev_cache(META, fill_ticks=fill_ticks)
    assert replay.differences > 100
    assert replay.first.column in ("op", "off512")


def swap(columns, row, other):
    for values in columns.values():
        values[[row, other]] = values[[other, row]]


def test_a_completion_in_another_place_is_found_when_the_model_makes_its_own(tmp_path, columns):
    """A completion and the read behind it, of another line and of the same tick, change places."""
    after = np.flatnonzero((columns["op"][:-1] == 2) & (columns["op"][1:] == 0) & (columns["res"][1:] == 5))
    row = int(after[20])
    swap(columns, row, row + 1)
    path = saved(tmp_path / "late.parquet", columns)
    assert replay_vdev_cache(path).differences == 0  # taken as recorded nothing is wrong: the read straddles
    replay = replay_vdev_cache(path, fill_ticks=1)
    assert replay.first == Difference(row, "op", 0, 2)
    assert replay.differences == 2


def test_completions_in_another_order_are_found_when_the_model_makes_its_own(tmp_path, columns):
    row = int(np.flatnonzero((columns["op"][:-1] == 2) & (columns["op"][1:] == 2))[10])
    first, second = (int(value) for value in columns["off512"][row:row + 2])
    swap(columns, row, row + 1)
    replay = replay_vdev_cache(saved(tmp_path / "order.parquet", columns), fill_ticks=1)
    assert (replay.first, replay.differences) == (Difference(row, "off512", second, first), 2)


def test_a_fill_that_the_model_did_not_issue_is_a_difference_once_they_disagree(tmp_path, columns):
    """The first read is made to look too large for the cache; its completion then completes nothing."""
    columns["size512"][0] = 33
    replay = replay_vdev_cache(saved(tmp_path / "apart.parquet", columns))
    assert replay.first == Difference(0, "res", 1, 4)


# ---- traces that are no traces: one sentence each ----


def complaint(path, **parameters):
    with pytest.raises(UserError) as error:
        replay_vdev_cache(path, **parameters)
    message = str(error.value)
    assert "\n" not in message
    assert any(words in message for words in ("; ", ", so ", ". ")), "says what to do"
    return message


@pytest.mark.parametrize(("name", "row", "value"), [
    ("op", 7, 3), ("op", 7, -1), ("nocache", 5, 2), ("tick", 0, -1), ("size512", 9, 0), ("size512", 9, -4),
    ("off512", 11, -1)])
def test_a_value_out_of_bounds_is_named(tmp_path, columns, name, row, value):
    columns["op"][row] = 0
    columns[name][row] = value
    path = saved(tmp_path / "bad.parquet", columns)
    assert f"{path}: row {row} has {value} in column {name}, but it must be from" in complaint(path)


def test_time_that_goes_back_is_named(tmp_path, columns):
    row = int(np.flatnonzero(np.diff(columns["tick"]))[50]) + 1
    columns["tick"][row] = now = columns["tick"][row - 1] - 1
    path = saved(tmp_path / "back.parquet", columns)
    assert f"{path}: row {row} has tick {now} after tick {now + 1}, but ticks never go back" in complaint(path)


def test_a_completion_of_nothing_is_named(tmp_path, columns):
    row = int(np.flatnonzero(columns["op"] == 2)[40])
    columns["off512"][row] += 128 * 12345
    path = saved(tmp_path / "stray.parquet", columns)
    assert re.search(f"row {row} completes the fill of the line at off512 .*, but no such fill", complaint(path))


def test_a_trace_without_its_beginning_is_refused(tmp_path, columns):
    path = saved(tmp_path / "end.parquet", {name: values[4:] for name, values in columns.items()})
    assert "row 0 completes the fill" in complaint(path)


@pytest.mark.parametrize("missing", [("res",), ("res", "fill512", "evict512"), ("tick",)])
def test_missing_columns_are_named(tmp_path, columns, missing):
    path = saved(tmp_path / "narrow.parquet", {k: v for k, v in columns.items() if k not in missing})
    assert f"has no column {', '.join(missing)} " in complaint(path)


@pytest.mark.parametrize(("values", "message"), [
    ([None] + [1] * 1999, "row 0 has no value in column tick"),
    (["1"] * 1999 + ["x"], "row 1999 has x in column tick, but must hold a whole number of at most 2^53"),
    ([1.0] * 3 + [1.5] + [2.0] * 1996, "row 3 has 1.5 in column tick"),
    ([1.0] * 3 + [float("nan")] + [2.0] * 1996, "row 3 has no value in column tick"),
    ([1.0] * 3 + [float("inf")] + [2.0] * 1996, "row 3 has inf in column tick"),
    ([1] * 1999 + [2**60], f"row 1999 has {2**60} in column tick"),
    (np.full(2000, 2**64 - 1, np.uint64), f"row 0 has {2**64 - 1} in column tick"),
    ([[1]] * 2000, "row 0 has [1] in column tick"),
])
def test_values_that_are_no_whole_numbers_are_named(tmp_path, columns, values, message):
    pq.write_table(pa.table({**columns, "tick": values}), tmp_path / "odd.parquet")
    assert message in complaint(tmp_path / "odd.parquet")


@pytest.mark.parametrize("save", [
    lambda table, path: table[table.columns[::-1]].to_parquet(path),
    lambda table, path: table.assign(host="a", spare=np.nan).to_parquet(path),
    lambda table, path: table.astype("int64").to_parquet(path, compression="zstd"),
    lambda table, path: table.astype({name: "uint64" for name in ("tick", "op", "size512", "off512")}).to_parquet(path),
    lambda table, path: table.astype(float).astype({"nocache": bool}).to_parquet(path, compression="gzip"),
    lambda table, path: table.astype(str).to_parquet(path),
    lambda table, path: table.to_csv(path.with_suffix(".csv"), index=False),
    lambda table, path: table.to_csv(path.with_suffix(".csv"), sep=",", index_label="row", lineterminator=",\r\n"),
    lambda table, path: table[table.columns[::-1]].to_csv(path.with_suffix(".csv.gz"), index=False),
    lambda table, path: table.to_parquet(path.with_suffix("")),
    lambda table, path: table.set_index("tick").to_parquet(path),
])
def test_other_types_orders_and_files_say_the_same(tmp_path, columns, save):
    save(pd.DataFrame(columns), tmp_path / "trace.parquet")
    path, = tmp_path.iterdir()
    read = read_vdev_cache_trace(path)
    assert all((read[name] == values).all() and read[name].dtype == np.int64 for name, values in columns.items())


def test_a_csv_that_is_no_trace_is_named(tmp_path, columns):
    path = tmp_path / "trace.csv"
    pd.DataFrame(columns).astype({"tick": object}).to_csv(path, index=False)
    lines = path.read_text().splitlines()
    for spoilt, message in (
            ([*lines[:3], lines[3].replace(",", ",x", 1)], "trace.csv: row 2 has x"),
            ([*lines[:3], lines[3][:-4]], "trace.csv: row 2 has no value in column evict512"),
            (lines[:1], "trace.csv has 0 rows"),
            ([line.replace(",", "|") for line in lines], "trace.csv has no column tick, op"),
            ([lines[0], *(line + ",1" for line in lines[1:])],
             "more values than its header has names); give a Parquet file or a CSV")):
        path.write_text("\n".join(spoilt))
        assert message in complaint(path)
    path.write_bytes(META.read_bytes()[5:])
    assert "cannot read the trace " in complaint(path)


def test_two_columns_of_one_name_are_named(tmp_path, columns):
    names = [*columns, "tick"]
    pq.write_table(pa.table([*columns.values(), columns["op"]], names=names), tmp_path / "twice.parquet")
    assert "has several columns of the name tick; leave one of them" in complaint(tmp_path / "twice.parquet")
    pd.DataFrame(columns).assign(**{"tick.1": 0}).rename(columns={"tick.1": "tick"}).to_csv(tmp_path / "t.csv", index=False)
    assert "has several columns of the name tick; leave one of them" in complaint(tmp_path / "t.csv")


def test_files_that_cannot_be_read_are_named(tmp_path, columns):
    whole = META.read_bytes()
    (tmp_path / "truncated.parquet").write_bytes(whole[:-1000])
    (tmp_path / "damaged.parquet").write_bytes(whole[:5000] + bytes(2000) + whole[7000:])
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "text.parquet").write_text("tick,op\n1,0\n")
    (tmp_path / "folder.parquet").mkdir()
    for name in ("truncated", "damaged", "empty", "text"):
        assert f"{name}.parquet cannot be read as a Parquet file (" in complaint(tmp_path / f"{name}.parquet")
    assert "folder.parquet is a folder; name the file" in complaint(tmp_path / "folder.parquet")
    assert "absent.parquet is not there; name the file" in complaint(tmp_path / "absent.parquet")
    none = saved(tmp_path / "none.parquet", {name: values[:0] for name, values in columns.items()})
    assert "has 0 rows" in complaint(none)


@pytest.mark.parametrize(("parameters", "message"), [
    ({"cache_bytes": -1}, "size of the vdev cache is -1, but it must be a whole number from 0 to "),
    ({"max_read_bytes": -1}, "max of the vdev cache is -1, "),
    ({"fill_ticks": -1}, "a fill takes -1 ticks, but it can take 0 to 2^53"),
    ({"fill_ticks": -2}, "a fill takes -2 ticks"),
])
def test_bad_parameters_are_one_sentence(parameters, message):
    assert message in complaint(META, **parameters)


# ---- folders ----


def test_traces_of_unknown_parameters_are_replayed_once_under_the_defaults(tmp_path):
    shutil.copy(MIXW, tmp_path)
    assert [(r.completions, r.differences) for r in readable(tmp_path, Replay)] == [("recorded", 0)]


@pytest.mark.parametrize("line", ["{", "[]", '{"L": 1}', '{"trace": "a", "L": "soon"}', '{"trace": "a", "L": null}'])
def test_a_bad_line_of_stats_is_named(tmp_path, line):
    shutil.copy(MIXW, tmp_path)
    (tmp_path / "stats.jsonl").write_text(f'{{"trace": "b"}}\n{line}\n')
    unreadable, = (result for result in verify(tmp_path) if isinstance(result, Unreadable))
    assert "stats.jsonl: line 2 does not describe a trace" in unreadable.reason


def test_a_folder_without_traces_is_an_error(tmp_path):
    with pytest.raises(UserError, match="holds no recorded trace"):
        list(verify(tmp_path))


# ---- the rule of what fills ----

CUTS_2007 = DATA / "traces" / "vdev_cache_2007"


@pytest.mark.parametrize("trace", sorted(path.stem for path in CUTS_2007.glob("*.parquet")))
def test_the_fill_rule_of_another_build_shows_in_every_cut_of_july_2007(trace):
    recorded = read_stats(CUTS_2007 / "stats.jsonl")[trace]
    differ = {build: replay_vdev_cache(CUTS_2007 / f"{trace}.parquet", **recorded.sizes, era=build).differences
              for build in ("onnv_69", "onnv_70", "b103")}
    assert {build for build, n in differ.items() if n == 0} == {recorded.era}

"""Recorded queues through the model and its twin: every decision, what each rule decides, traces that are wrong."""

import itertools
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import one_sentence

from model.devices.sectors import SECTOR_BYTES
from model.zfs.eras import era
from model.zfs.vdev.queue_replay import ARRIVAL, COMPLETION, DROP, ISSUE
from study.errors import UserError
from study.project import DATA
from study.replays.trace_file import Comparison, Difference
from study.replays.vdev_queue import _marks, read_queue_trace, replay_queue
from study.replays.verify import readable
from support.not_shown import not_shown
from twins.queue import DEFECTS, TwinOfVdevQueue

TRACES = DATA / "traces" / "vdev_queue"
BUILDS = {"onnv69": "onnv_69", "b103": "b103", "b117": "b117", "b141": "b141"}
NEVER_BUILT = DEFECTS[DEFECTS.index("reserved places are for all"):]
# The recording of b141 shows these from row 27 134 on.
SHOW_LATE = ("reads join writes", "gaps do not count for the length of a unit")
# In none of 60 000 I/Os of a build does it come to these; `docs/traces.md` lists them.
NOT_SHOWN = tuple(defect for defect in DEFECTS if defect in not_shown("vdev queue"))
LATE = DATA / "traces" / "vdev_queue_late" / "b141_queue_mid.parquet"
B141 = TRACES / "b141_queue_mid.parquet"


class Row(NamedTuple):
    op: int
    tick: int
    kind: int
    offset: int
    size: int
    priority: int
    io: int
    n: int
    unit: int
    marks: int


def trace_of(build):
    return TRACES / f"{build}_queue_mid.parquet"


def saved(path, columns):
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def columns():
    """The first rows of a recorded trace, to be spoiled."""
    whole = read_queue_trace(B141)
    end = int(np.flatnonzero(whole["op"] == ARRIVAL)[600])
    return {name: values[:end].copy() for name, values in whole.items()}


# ---- recorded decisions ----


def test_every_recorded_decision_is_the_models():
    replays = readable(TRACES, Comparison)
    assert [(replay.differences, replay.first) for replay in replays] == [(0, None)] * 4
    assert sum(replay.rows for replay in replays) > 20_000
    assert {replay.decisions.rpartition(" ")[2] for replay in replays} == set(BUILDS.values())


@pytest.mark.parametrize(("build", "other"), [("onnv69", "b117"), ("b117", "b103"), ("b141", "b117")])
def test_rules_of_another_build_differ(build, other):
    replay = replay_queue(trace_of(build), other)
    assert (replay.differences, "is not compared" in replay.note) == (1, True)
    assert replay.first.row < replay.rows


def events_of(columns):
    """(row, what happens, what was decided then): rows as tuples."""
    names = ("op", "tick", "kind", "off512", "size512", "priority", "io", "n", "unit")
    rows = zip(*(columns[name].tolist() for name in names), _marks(columns["flags"]).tolist(), strict=True)
    rows = [Row(*row) for row in rows]
    starts = [at for at, row in enumerate(rows) if row.op <= COMPLETION]
    for start, end in itertools.pairwise([*starts, len(rows)]):
        yield start, rows[start], rows[start + 1:end]


def first_difference(columns, params, defect=None):
    """The row of the first event in which the twin decides otherwise, or None."""
    twin, names = TwinOfVdevQueue(params, defect), {}
    for at, event, decided in events_of(columns):
        n_dropped = len(twin.dropped)
        if event.op == ARRIVAL:
            unit = twin.arrive(twin.io(event.io, event.kind, event.offset * SECTOR_BYTES, event.size * SECTOR_BYTES,
                                       event.tick, event.priority, event.marks))
            units = [unit] if unit else []
        else:
            units = twin.complete(names[event.unit])
        issued = [row for row in decided if row.op == ISSUE]
        recorded = [(row.kind, row.offset * SECTOR_BYTES, row.size * SECTOR_BYTES, row.io, row.n) for row in issued]
        replayed = [(unit[0].kind, unit[0].offset, unit[-1].end - unit[0].offset, unit[0].name, len(unit)) for unit in units]
        if replayed != recorded or twin.dropped[n_dropped:] != [row.io for row in decided if row.op == DROP]:
            return at
        names |= {row.unit: row.n for row in issued}
    return None


RECORDED = {build: (read_queue_trace(trace_of(build)), era(name).queue) for build, name in BUILDS.items()}


@pytest.mark.parametrize("build", BUILDS)
def test_the_twin_decides_as_the_recorded_code(build):
    assert first_difference(*RECORDED[build]) is None


@pytest.mark.slow
@pytest.mark.parametrize("defect", [defect for defect in DEFECTS if defect not in (*NEVER_BUILT, *SHOW_LATE, *NOT_SHOWN)])
def test_a_defect_of_each_rule_shows_in_a_recorded_trace(defect):
    assert any(first_difference(*recorded, defect) is not None for recorded in RECORDED.values())


def test_defects_that_show_late_show_in_the_longer_cut():
    replay = replay_queue(LATE)
    assert (replay.differences, replay.first) == (0, None)
    columns = read_queue_trace(LATE)
    assert [first_difference(columns, era("b141").queue, defect) for defect in SHOW_LATE] == [27134, 29904]


@pytest.mark.slow
def test_what_no_recording_tells_is_listed():
    """`test_a_defect_of_the_rule_shows_against_the_kernels` tells every defect of the twin, these included."""
    assert not_shown("vdev queue") == set(NOT_SHOWN)
    assert {defect for defect in NOT_SHOWN for recorded in RECORDED.values()
            if first_difference(*recorded, defect) is not None} == set()


# ---- decisions that differ are named ----


@pytest.mark.parametrize("name", ["kind", "off512", "size512", "io", "n"])
def test_an_altered_decision_is_named(tmp_path, columns, name):
    row = int(np.flatnonzero(columns["op"] == ISSUE)[150])
    was = int(columns[name][row])
    columns[name][row] = now = 1 - was if name == "kind" else was + 1
    replay = replay_queue(saved(tmp_path / "b141_queue_altered.parquet", columns))
    shown = {"io": was + 1}.get(name, now)
    assert (replay.differences, replay.first) == (1, Difference(row, name, shown, was))


def without(columns, row):
    return {name: np.delete(values, row) for name, values in columns.items()}


def test_a_decision_that_is_missing_is_named(tmp_path, columns):
    """Of a unit that never completes within the rows."""
    completed = columns["unit"][columns["op"] == COMPLETION]
    row = int(next(row for row in np.flatnonzero(columns["op"] == ISSUE) if columns["unit"][row] not in completed))
    replay = replay_queue(saved(tmp_path / "b141_queue_x.parquet", without(columns, row)))
    assert replay.first == Difference(row, "op", int(columns["op"][row + 1]), ISSUE)


def test_a_decision_too_many_is_named(tmp_path, columns):
    row = int(np.flatnonzero(columns["op"] == ISSUE)[150]) + 1
    more = {name: np.insert(values, row, values[row - 1]) for name, values in columns.items()}
    more["unit"][row] = 10**6
    replay = replay_queue(saved(tmp_path / "b141_queue_x.parquet", more))
    assert replay.first == Difference(row, "op", ISSUE, -1)


def test_ios_and_units_may_have_any_numbers(tmp_path, columns):
    for name in ("io", "unit"):
        numbered = columns[name] >= 0
        columns[name][numbered] = 10**9 - 7 * columns[name][numbered]
    assert replay_queue(saved(tmp_path / "b141_queue_x.parquet", columns)).differences == 0


# ---- traces that are no traces ----


def complaint(path, *arguments):
    with pytest.raises(UserError) as error:
        replay_queue(path, *arguments)
    message = str(error.value)
    assert "\n" not in message
    assert any(words in message for words in ("; ", ", so ", ". ")), "says what to do"
    return message


@pytest.mark.parametrize(("name", "op", "value", "says"), [
    ("op", ARRIVAL, 4, "has 4 in column op, but it must be from 0 to 3"),
    ("kind", ARRIVAL, 2, "has 2 in column kind"), ("size512", ARRIVAL, 0, "has 0 in column size512"),
    ("priority", ARRIVAL, -1, "has -1 in column priority"),
    ("flags", ARRIVAL, 64, "has flags 64, but the known ones are 1, 2"),
    ("io", ARRIVAL, 0, "has the number 0 of an earlier row in column io; give each a number of its own"),
    ("unit", ISSUE, 0, "has the number 0 of an earlier row in column unit"),
    ("unit", COMPLETION, 10**6, "completes unit 1000000, which was not issued before it; keep every row"),
    ("n", ISSUE, 0, "has 0 in column n"),
])
def test_a_value_that_cannot_be_is_named(tmp_path, columns, name, op, value, says):
    row = int(np.flatnonzero(columns["op"] == op)[5])
    columns[name][row] = value
    assert f"row {row} {says}" in complaint(saved(tmp_path / "b141_queue_x.parquet", columns))


def test_a_trace_without_its_beginning_or_out_of_order_is_named(tmp_path, columns):
    path = tmp_path / "b141_queue_x.parquet"
    later = {name: values[1:] for name, values in columns.items()}
    assert "row 0 is a decision (op 2) before anything arrived" in complaint(saved(path, later))
    columns["tick"][7] = 0
    assert "row 7 has tick 0 after tick 1, but ticks never go back" in complaint(saved(path, columns))
    assert "has no column unit (it has " in complaint(saved(path, {k: v for k, v in columns.items() if k != "unit"}))


def test_a_file_without_a_build_in_its_name_needs_an_era(study, tmp_path, columns):
    path = saved(tmp_path / "mine.parquet", columns)
    assert "has no known build in front of _queue in its name" in complaint(path)
    assert "era is 'b999'" in complaint(path, "b999")
    done = study("replay", "queue", path, "--era", "b141")
    assert (done.returncode, "0 differences in" in done.stdout) == (0, True)
    assert study("replay", "queue", path, "--era", "b117").returncode == 1
    assert "give --era" in one_sentence(study("replay", "queue", path))

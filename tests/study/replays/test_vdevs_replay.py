"""Recorded pools of several vdevs through the model: every block and state, what each rule decides, vdevs that come later,
and traces that are wrong."""

import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import one_sentence

from defects.pools import DEFECTS, DIFFERENCE, NOTHING
from model.zfs.eras import era
from model.zfs.metaslab.new_pool import metaslab_shift
from model.zfs.metaslab.state import LOG, NORMAL, TopVdev
from model.zfs.vdev.raid import MIRROR, RAIDZ, SINGLE
from study.errors import UserError
from study.project import DATA
from study.replays.alloc_trace import AMBIGUOUS, AllocReplay, read_places, read_trace, recorded_with
from study.replays.pool import ERA_OF, drive, replay_pool, replays_of
from study.replays.pool_rows import rows_of
from study.replays.pool_states import after_txgs
from study.replays.recorded_vdevs import read_pools, vdevs_of
from study.replays.verify import readable
from support.processes import interpreted

TRACES = DATA / "traces" / "alloc_vdevs"
OPERATIONS = sorted(TRACES.glob("*__ops.parquet"))
VDEV = {"asize": 2**20, "ms_shift": 17, "ms_count": 8, "ashift": 9, "children": 0, "parity": 0, "log": 0}
COLUMNS = ("op", "size512", "arg", "d", "hint", "avoid", "log", "ahead")
USUAL = (0, 8, -1, 0, -1, 0, 0, 0)


def row(op, size, arg=-1, **asked):
    return dict(zip(COLUMNS, USUAL, strict=True)) | {"op": op, "size512": size, "arg": arg} | asked


def saved(folder, rows, vdevs, variant="103_ff"):
    """A trace and its pools.jsonl."""
    path = folder / f"mvX__{variant}__ops.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    line = {"trace": "mvX", "variant": variant, "vdevs": [VDEV | vdev for vdev in vdevs]}
    (folder / "pools.jsonl").write_text(json.dumps(line) + "\n")
    return path


def placed(folder, rows, vdevs, variant="103_ff"):
    """(vdev, sector) of each allocation."""
    path = saved(folder, rows, vdevs, variant)
    to = folder / "out.parquet"
    replay_pool(path, variant, vdevs_of(path, variant), to=to)
    places = read_places(to, sum(row["op"] == 0 for row in rows), len(vdevs))
    return list(zip(places.vdev.tolist(), places.off512.tolist(), strict=True))


# ---- recorded decisions ----


def test_every_block_and_every_state_is_as_recorded():
    replays = readable(TRACES, AllocReplay)
    assert len(replays) == sum(len(recorded_with(path)) for path in OPERATIONS) == 14
    assert [(replay.differences, replay.others) for replay in replays] == [(0, ())] * len(replays)
    assert {replay.variant for replay in replays} == {"103_ff", "117_df", "141_df", "141_ndf"}
    assert sum(replay.allocations for replay in replays) > 50_000
    assert sum(replay.summary["refused"] for replay in replays) > 100
    assert all(any(text.startswith("differences after ") for text in replay.summary) for replay in replays)


@pytest.mark.parametrize("path", OPERATIONS, ids=lambda path: path.stem)
def test_the_fast_engine_differs_only_where_it_says_so_and_auto_never(path):
    for fast, auto in zip(replays_of(path, "fast"), replays_of(path, "auto"), strict=True):
        assert not auto.differs
        assert not fast.differs or fast.summary[AMBIGUOUS] > 0
        assert auto.engine == ("exact" if fast.summary[AMBIGUOUS] else "fast")


def test_the_cuts_have_what_the_rules_are_about():
    traces = {path: read_trace(path) for path in OPERATIONS}
    assert {name for trace in traces.values() for name in trace.asked} == {"d", "hint", "avoid", "ahead"}
    kinds = {(top.vdev.kind, top.vdev.n_parity) for tops in read_pools(TRACES / "pools.jsonl").values() for top in tops}
    assert kinds == {(SINGLE, 0), (RAIDZ, 1), (RAIDZ, 2)}


@pytest.mark.slow
def test_each_defect_shows_in_a_recorded_pool():
    """As a difference from what was recorded: in none the model itself says that something cannot be."""
    shows = {name: how for name, (how, _) in json.loads(interpreted("defects.pools")).items()}
    assert shows == {name: DIFFERENCE for name in DEFECTS} | {"none": NOTHING}


def test_altered_places_and_states_are_named(tmp_path):
    for file in [*TRACES.glob("mv2open*"), TRACES / "pools.jsonl"]:
        shutil.copy(file, tmp_path)
    path = tmp_path / "mv2open__117_df__ops.parquet"
    offsets = pd.read_parquet(tmp_path / "mv2open__117_df__off.parquet")
    was = int(offsets.loc[40, "vdev"])
    offsets.loc[40, "vdev"] = 1 - was
    offsets.to_parquet(tmp_path / "mv2open__117_df__off.parquet")
    states = pd.read_csv(tmp_path / "mv2open_117_df_txg.csv", dtype=str)
    states.loc[3, ["rotor", "bias1"]] = "7", "99"
    states.to_csv(tmp_path / "mv2open_117_df_txg.csv", index=False)
    replay, = replays_of(path)
    assert (replay.differences, *replay.first[1:]) == (1, "vdev", 1 - was, was)
    assert [text.partition(" ")[0] for text in replay.others] == ["rotor", "bias1"]


# ---- pools that were not recorded ----


def test_log_blocks_go_to_log_vdevs_and_data_never(tmp_path):
    rows = [row(2, 0, 4)] + [row(0, 8, log=number % 2) for number in range(40)]
    vdevs = [vdev for vdev, _ in placed(tmp_path, rows, [{}, {"log": 1}])]
    assert vdevs == [number % 2 for number in range(40)]
    full = [row(0, 256, log=1) for _ in range(9)]
    assert placed(tmp_path, full, [{}, {"log": 1}])[-1] == (-1, -1)


def test_a_vdev_that_is_added_gives_blocks_from_the_next_txg_on(tmp_path):
    blocks = [row(0, 256) for _ in range(6)]
    rows = [*blocks, row(2, 0, 4), row(5, 0, 1), *blocks, row(2, 0, 5), *blocks]
    for variant in ("103_ff", "117_df", "141_df", "141_ndf"):
        vdevs = [vdev for vdev, _ in placed(tmp_path, rows, [{"asize": 2**22, "ms_count": 32}, {}], variant)]
        assert set(vdevs[:12]) == {0}
        assert set(vdevs[12:]) == {0, 1}


def later_vdevs(first_txg):
    """Rows of six transaction groups; vdev 2 is added in the first one, vdev 1 in the third."""
    blocks, rows = [row(0, 256) for _ in range(6)], []
    for txg in range(6):
        rows += [row(5, 0, {0: 2, 2: 1}[txg])] if txg in (0, 2) else []
        rows += [*blocks, row(1, 256, 6 * txg), row(2, 0, first_txg + txg)]
    return rows


def recorded(folder, rows, variant):
    """A recording of a pool of three vdevs as the model decides it."""
    path = saved(folder, rows, [{"asize": 2**22, "ms_count": 32}, {}, {}], variant)
    vdevs = vdevs_of(path, variant)
    replay_pool(path, variant, vdevs, to=folder / f"mvX__{variant}__off.parquet")
    driven = drive(era(ERA_OF[variant]).metaslab, rows_of(read_trace(path), len(vdevs)), vdevs)
    after_txgs(driven.decided, vdevs).to_csv(folder / f"mvX_{variant}_txg.csv", index=False)
    return path


def test_a_vdev_that_is_added_in_the_txg_of_creation_gives_blocks_at_once(tmp_path):
    for variant in ("103_ff", "117_df", "141_df", "141_ndf"):
        path = recorded(tmp_path, later_vdevs(4), variant)
        states = pd.read_csv(tmp_path / f"mvX_{variant}_txg.csv")
        assert (states.alloc2[0] > 0, states.alloc1[2], states.alloc1[3] > 0) == (True, 0, True)
        assert [replay.differs for replay in replays_of(path)] == [False]


def test_what_was_recorded_does_not_decide_when_an_added_vdev_has_room(study, tmp_path):
    """Any answer may be wrong, also those that agree with each other: of a pool whose vdev had room at once."""
    path, states = recorded(tmp_path, later_vdevs(4), "141_df"), tmp_path / "mvX_141_df_txg.csv"
    assert study("verify", tmp_path).returncode == 0
    table = pd.read_csv(states, dtype=str)
    for name in table.columns[1:]:
        altered = table.copy()
        altered.loc[2, name] = "4096" if altered.loc[2, name] == "0" else "0"
        altered.to_csv(states, index=False)
        assert [text.partition(" ")[0] for replay in replays_of(path) for text in replay.others] == [name]
    table["txg"] = (table["txg"].astype(int) + 2).astype(str)
    table.to_csv(states, index=False)
    saved(tmp_path, later_vdevs(6), [{"asize": 2**22, "ms_count": 32}, {}, {}], "141_df")
    done = study("verify", tmp_path)
    assert (done.returncode, "differences in 36 allocations" in done.stdout) == (1, True)


def test_states_of_a_vdev_that_is_not_there_yet_are_not_compared(tmp_path):
    """And its metaslabs are not in the hash of weights: that is as of a pool without it."""
    alone = [row(0, 8), row(2, 0, 4)]
    path = saved(tmp_path, [*alone, row(5, 0, 1), row(2, 0, 5)], [{}, {}])
    table = pd.DataFrame({"txg": ["4", "5"], "synced_alloc": "4096", "n_loaded": "1", "loaded_free_segs": "1",
                          "fnv64_weights": "?", "rotor": ["0", "1"], "alloc1": ["not there", "0"]})
    table.to_csv(tmp_path / "states.csv", index=False)
    replay = replay_pool(path, "103_ff", vdevs_of(path, "103_ff"), expect_txg=tmp_path / "states.csv")
    assert [text.partition(" ")[0] for text in replay.others] == ["fnv64_weights"]
    value = replay.others[0].rpartition(" in the recording and ")[2].split()[0]
    shorter = saved(tmp_path, alone, [{}])
    table[:1].to_csv(tmp_path / "states.csv", index=False)
    replay = replay_pool(shorter, "103_ff", vdevs_of(shorter, "103_ff"), expect_txg=tmp_path / "states.csv")
    assert replay.others[0].rpartition(" in the recording and ")[2].split()[0] == value


def test_copies_hints_and_mirrors_are_read(tmp_path):
    """A hint is followed copy by copy, and avoided by going one vdev further."""
    three = [{}, {}, {}]
    rows = [row(0, 8), row(0, 8, d=1), row(0, 8, hint=0), row(0, 8, d=1, hint=0), row(0, 8, hint=0, avoid=1)]
    vdevs = [vdev for vdev, _ in placed(tmp_path, rows, three)]
    assert vdevs[2:4] == vdevs[:2]
    assert vdevs[4] == (vdevs[0] + 1) % 3
    path = saved(tmp_path, rows, [{"children": 2}, {"children": 5, "parity": 1, "ashift": 12}, {"log": 1}])
    kinds = [(top.vdev.kind, top.vdev.ashift, top.metaslab_class) for top in vdevs_of(path, "103_ff")]
    assert kinds == [(MIRROR, 9, NORMAL), (RAIDZ, 12, NORMAL), (SINGLE, 9, LOG)]


# ---- what cannot be: one sentence each ----

WRONG = {
    "a vdev that there is not": ([row(2, 0, 4), row(5, 0, 2)], "row 1 adds vdev 2, but those of the pool are 0 to 1; mend"),
    "a vdev twice": ([row(5, 0, 1), row(5, 0, 1)], "row 1 adds vdev 1 a second time; add each once"),
    "nothing but later vdevs": ([row(5, 0, 0), row(5, 0, 1)], "all 2 vdevs of the pool are for the log or come later"),
    "a hint to itself": ([row(0, 8, hint=0)], "row 0 has a hint that is no earlier block of as many copies; name"),
    "a hint to a copy": ([row(0, 8), row(0, 8, d=1), row(0, 8, hint=1)], "row 2 has a hint that is no earlier block"),
    "a hint to fewer copies": ([row(0, 8), row(0, 8, hint=0), row(0, 8, d=1, hint=0)], "row 1 has a hint that is no"),
    "too far ahead": ([row(0, 8, ahead=3)], "row 0 has 3 in column ahead, but it must be from 0 to 2"),
    "a class of its own": ([row(0, 8, log=2)], "row 0 has 2 in column log, but it must be from 0 to 1"),
    "freed before its time": ([row(0, 8, ahead=1), row(1, 8, 0)], "row 1 frees allocation 0, which belongs to a later txg"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_trace_that_cannot_be_is_one_sentence(tmp_path, name):
    rows, says = WRONG[name]
    with pytest.raises(UserError, match=says):
        placed(tmp_path, rows, [{}, {}])


@pytest.mark.parametrize(("vdev", "says"), [
    ({"asize": 0}, "asize is 0, but must be from 1 to"), ({"ms_shift": 16}, "ms_shift is 16, but must be from 17 to 50"),
    ({"ms_count": 7}, "ms_count is 7, but 1048576 B have 8 metaslabs"), ({"ashift": 8}, "ashift is 8, but must be from 9"),
    ({"children": 1, "parity": 1}, "n_children of a vdev of kind raidz1 is 1"), ({"log": 2}, "log is 2, but must be from 0"),
    ({"asize": "1M"}, "asize is '1M', but must be a whole number"), ({"parity": 4}, "parity is 4, but must be from 0 to 3"),
])
def test_a_vdev_that_cannot_be_is_one_sentence(tmp_path, vdev, says):
    saved(tmp_path, [row(0, 8)], [vdev])
    with pytest.raises(UserError, match=f"line 1 does not describe a pool .*{says}") as error:
        read_pools(tmp_path / "pools.jsonl")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("line", ["{", "[]", '{"trace": "a"}', '{"trace": "a", "variant": "b", "vdevs": []}',
                                  '{"trace": "a", "variant": "b", "vdevs": [1]}'])
def test_a_line_that_cannot_be_is_one_sentence(tmp_path, line):
    (tmp_path / "pools.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(UserError, match="line 2 does not describe a pool"):
        read_pools(tmp_path / "pools.jsonl")


def test_offsets_of_several_vdevs_need_the_vdev(tmp_path):
    path = saved(tmp_path, [row(0, 8)], [{}, {}])
    pq.write_table(pa.table({"off512": [0]}), tmp_path / "off.parquet")
    with pytest.raises(UserError, match="has no column vdev"):
        replay_pool(path, "103_ff", (TopVdev(asize=2**20, ms_shift=17),) * 2, tmp_path / "off.parquet")


# ---- the command line ----


def test_the_command_takes_the_pool_from_its_file(study, tmp_path):
    ops, off = TRACES / "mv2open__141_df__ops.parquet", TRACES / "mv2open__141_df__off.parquet"
    command = ("replay", "alloc", ops, "--variant", "141_df", "--expect", off)
    done = study(*command, "--expect-txg", TRACES / "mv2open_141_df_txg.csv")
    assert (done.returncode, "0 differences in 1500 allocations" in done.stdout) == (0, True)
    assert "0 differences after 6 transaction groups" in done.stdout
    (tmp_path / "pools.jsonl").write_text("")
    done = study(*command, "--pools", tmp_path / "pools.jsonl")
    assert "has no line for trace mv2open and variant 141_df" in one_sentence(done)
    done = study(*command, "--pools", tmp_path / "none.jsonl")
    assert "none.jsonl is not there; name the file" in one_sentence(done)
    shutil.copy(ops, tmp_path)
    alone = study("replay", "alloc", tmp_path / ops.name, "--variant", "141_df")
    assert "give --pools, or --metaslabs and --metaslab-size" in one_sentence(alone)


def test_verify_says_of_each_file_what_was_compared(study, tmp_path):
    for file in TRACES.glob("mv2open*141_df*"):
        shutil.copy(file, tmp_path)
    shutil.copy(TRACES / "pools.jsonl", tmp_path)
    (tmp_path / "notes.txt").write_text("by hand")
    (tmp_path / "mv9__103_ff__off.parquet").write_bytes(b"")
    done = study("verify", tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for file in tmp_path.iterdir():
        if file.name != "runs":
            assert sum(str(file) in line for line in lines) == 1
    assert "no operations (*__ops) stand beside it" in done.stdout
    (tmp_path / "pools.jsonl").write_text("{")
    done = study("verify", tmp_path)
    assert (done.returncode, "line 1 does not describe a pool" in done.stdout) == (2, True)


def test_metaslabs_are_as_large_as_the_rule_says_where_zfs_chose():
    """In the other scenarios whoever recorded them did."""
    chosen = [top for (trace, _), tops in read_pools(TRACES / "pools.jsonl").items() for top in tops
              if trace in ("mv2uneq", "mv2ditto", "mv2raidz")]
    assert {top.ms_shift for top in chosen} == {20, 21, 22}
    assert all(top.ms_shift == metaslab_shift(top.asize) for top in chosen)


def test_states_are_of_every_vdev_and_every_group():
    for (trace, variant), tops in read_pools(TRACES / "pools.jsonl").items():
        states = pd.read_csv(TRACES / f"{trace}_{variant}_txg.csv")
        assert {f"{name}{vdev}" for name in ("alloc", "bias") for vdev in range(len(tops))} <= set(states)
        assert (np.diff(states.txg) == 1).all()

"""A folder of recordings: how a file may be stored, what is said of each, and what is refused."""

import gzip
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from study.errors import UserError
from study.project import DATA
from study.replays.alloc_trace import AllocReplay, read_places
from study.replays.pool import replay_pool
from study.replays.recorded_vdevs import vdevs_of
from study.replays.trace_file import Comparison
from study.replays.vdev_cache import Replay
from study.replays.verify import NotCompared, Unreadable, differences_of, sentence, verify

TRACES = DATA / "traces"
CACHE, QUEUE = TRACES / "vdev_cache" / "meta_L1.parquet", TRACES / "vdev_queue" / "onnv69_queue_mid.parquet"
IOS, SIZES = TRACES / "raidz" / "raidz_ios_141.parquet", TRACES / "raidz" / "raidz_asize.csv"
POOL = ("mv2uneq__ops", "mv2uneq__103_ff__off", "mv2uneq_103_ff_txg")
VDEVS = TRACES / "alloc_vdevs"
FEW = 600  # rows of a trace


def table_of(path, rows=None):
    table = pd.read_csv(path, dtype=str) if path.suffix == ".csv" else pd.read_parquet(path)
    return table[:rows]


def few(path):
    """The beginning of a trace, whose blocks and decisions are whole."""
    table = table_of(path)
    if path == QUEUE:
        return table[:int(np.flatnonzero(table["op"] <= 1)[FEW])]
    if path == IOS:
        return table[:int(np.flatnonzero(table["i"] == 0)[FEW])]
    return table[:FEW]


# ---- how a trace may be stored ----


def shuffled(table):
    return table[table.columns[::-1]]


def with_more(table):
    return table.assign(note="by hand", seen=1.5)


def windows(text):
    return b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")


def open_ended(text):
    return text.rstrip(b"\n")


FORMS = {
    "columns in another order": (".parquet", shuffled, None),
    "more columns": (".parquet", with_more, None),
    "wider numbers": (".parquet", lambda table: table.astype({n: "int64" for n in table.select_dtypes("integer")}), None),
    "a CSV": (".csv", shuffled, None),
    "a CSV of Windows": (".csv", with_more, windows),
    "no end of the last line": (".csv", None, open_ended),
    "a CSV by semicolons": (".csv", None, lambda text: text.replace(b",", b";")),
    "a CSV by tabs": (".tsv", None, lambda text: text.replace(b",", b"\t")),
    "compressed": (".csv.gz", None, gzip.compress),
}


def stored(folder, stem, table, form):
    ending, reform, recode = FORMS[form]
    table = table if reform is None else reform(table)
    to = folder / f"{stem}{ending}"
    if ending == ".parquet":
        table.to_parquet(to)
    else:
        text = table.to_csv(index=False).encode()
        to.write_bytes(text if recode is None else recode(text))
    return to


@pytest.fixture
def recordings(tmp_path):
    """Puts a beginning of each kind of recording into a folder, in a form."""
    def put(form):
        for path in (CACHE, QUEUE, IOS, SIZES):
            stored(tmp_path, path.stem, few(path), form)
        for stem in POOL:
            path = next(VDEVS.glob(f"{stem}.*"))
            stored(tmp_path, stem, table_of(path), form)
        for file in (VDEVS / "pools.jsonl", CACHE.with_name("stats.jsonl")):
            (tmp_path / file.name).write_bytes(windows(file.read_bytes()) if "Windows" in form else file.read_bytes())
        return tmp_path
    return put


@pytest.mark.parametrize("form", FORMS)
def test_a_recording_is_replayed_in_whatever_form(recordings, form):
    results = list(verify(recordings(form)))
    assert not [result for result in results if isinstance(result, Unreadable)]
    replays = [result for result in results if isinstance(result, Replay | AllocReplay | Comparison)]
    assert sorted({replay.path.name.partition(".")[0] for replay in replays}) == sorted(
        [CACHE.stem, QUEUE.stem, IOS.stem, SIZES.stem, POOL[0]])
    assert {differences_of(replay) for replay in replays} == {0}
    assert [replay.completions for replay in replays if isinstance(replay, Replay)] == ["recorded", "own"]


def test_what_differs_differs_in_a_compressed_csv_too(tmp_path):
    table = few(CACHE)
    table.loc[table.index[7], "evict512"] += 128
    stored(tmp_path, CACHE.stem, table, "compressed")
    replay, = (result for result in verify(tmp_path) if isinstance(result, Replay))
    assert (replay.differences, replay.first.row, replay.first.column) == (1, 7, "evict512")


@pytest.mark.parametrize("n_vdevs", [1, 4, 11, 40])
def test_a_pool_may_have_any_number_of_vdevs(tmp_path, n_vdevs):
    """Of one aliquot each: blocks of 128 KiB go round in the order of a fresh pool, which begins with its last vdev."""
    vdev = {"asize": 2**22, "ms_shift": 17, "ms_count": 32, "ashift": 9, "children": 0, "parity": 0, "log": 0}
    line = {"trace": "mvX", "variant": "103_ff", "vdevs": [vdev] * n_vdevs}
    (tmp_path / "pools.jsonl").write_text(json.dumps(line))
    n, operations = 4 * n_vdevs, tmp_path / "mvX__103_ff__ops.parquet"
    pd.DataFrame({"op": [0] * n, "size512": 256, "arg": -1}).to_parquet(operations)
    offsets = tmp_path / "mvX__103_ff__off.parquet"
    replay_pool(operations, "103_ff", vdevs_of(operations, "103_ff"), to=offsets)
    places = read_places(offsets, n, n_vdevs)
    if n_vdevs > 1:
        assert places.vdev.tolist() == ((n_vdevs - 1 + np.arange(n) // 4) % n_vdevs).tolist()
    replay, = (result for result in verify(tmp_path) if isinstance(result, AllocReplay))
    assert (replay.differences, replay.columns) == (0, ("off512", "vdev") if n_vdevs > 1 else ("off512",))


# ---- what is said of each file ----


def test_each_line_says_which_columns_were_compared(recordings):
    lines = {result.path.name: sentence(result) for result in reversed(list(verify(recordings("more columns"))))}
    for name, columns in {CACHE.name: "off512, res, fill512, evict512", QUEUE.name: "op, kind, off512, size512, io, n, unit",
                          IOS.name: "i, child, coff512, csize512, optional"}.items():
        assert f" rows by {columns} (" in lines[name].replace("off512, op, res", "off512, res")
    assert " allocations of 1003 rows by off512, vdev (" in lines["mv2uneq__ops.parquet"]
    assert "; compared after each transaction group: txg, synced_alloc, " in lines["mv2uneq__ops.parquet"]
    for stem in POOL[1:]:
        assert "belongs to mv2uneq__ops.parquet, whose line says what was compared" in lines[f"{stem}.parquet"]


# ---- what cannot be read ----


def lacking(path, *names):
    return few(path).drop(columns=list(names))


def test_every_trace_that_cannot_be_read_is_named_in_a_sentence(study, tmp_path):
    """All of them in one go, and each of those that lack a column with all of its missing ones."""
    shutil.copy(CACHE, tmp_path)
    lacking(CACHE, "res", "tick").to_parquet(tmp_path / "cache.parquet")
    lacking(QUEUE, "priority").to_csv(tmp_path / "b117_queue_x.csv", index=False)
    lacking(IOS, "child").to_parquet(tmp_path / "raidz_ios_141.parquet")
    table_of(SIZES).drop(columns="kind").to_csv(tmp_path / "raidz_asize.csv.gz", index=False)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"tick,op\n" * 999)[:-20])
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "binary.csv").write_bytes(bytes(range(128, 256)))
    few(CACHE)[:0].to_csv(tmp_path / "head.csv", index=False)
    (tmp_path / "traces.tar.gz").write_bytes(b"")
    pd.DataFrame({"op": [0], "size512": [8], "arg": [-1]}).to_csv(tmp_path / "alloc.csv", index=False)
    pd.DataFrame({"off512": [0]}).to_parquet(tmp_path / "offsets.parquet")
    shutil.copy(VDEVS / "mv2uneq__ops.parquet", tmp_path)
    shutil.copy(VDEVS / "mv2uneq__103_ff__off.parquet", tmp_path / "mv2uneq__150_new__off.parquet")
    says = {
        "cache.parquet": "has no column tick, res (it has ", "b117_queue_x.csv": "has no column priority (it has ",
        "raidz_ios_141.parquet": "has no column child (it has ", "raidz_asize.csv.gz": "has no column kind (it has ",
        "cut.csv.gz": "compressed, and cut off or damaged", "empty.csv": "(it is empty)",
        "empty.parquet": "cannot be read as a Parquet file", "binary.csv": "(it is not text)",
        "head.csv": "has 0 rows, but a trace has at least one", "traces.tar.gz": "is packed and can hold recordings",
        "alloc.csv": "its name does not end with __ops", "offsets.parquet": "its name does not end with __off",
        "mv2uneq__150_new__off.parquet": "is of variant '150_new', but the recorded ones are"}
    done = study("verify", tmp_path)
    assert (done.returncode, f"{len(says)} traces could not be read" in done.stdout) == (2, True)
    for name, refusal in says.items():
        line, = (line for line in done.stdout.splitlines() if str(tmp_path / name) in line)
        assert refusal in line
        assert any(words in line for words in ("; ", ", so ", ". ")), "says what to do"


def test_what_is_plainly_no_recording_is_named_and_not_counted(study, tmp_path):
    shutil.copy(CACHE, tmp_path)
    (tmp_path / "README.md").write_text("# Recordings\n")
    shutil.copy(TRACES / "alloc" / "contiguity.csv", tmp_path)
    (tmp_path / "stats.jsonl").write_text("")
    done = study("verify", tmp_path)
    assert (done.returncode, "of 1 trace; 0 traces could not be read" in done.stdout) == (0, True)
    assert "README.md: neither a Parquet file nor a CSV, so no recording" in done.stdout
    assert "contiguity.csv: a table of scenario, variant, " in done.stdout
    assert "stats.jsonl: says under which parameters" in done.stdout


def said_of(folder):
    return [sentence(result) for result in verify(folder) if isinstance(result, NotCompared)]


def test_what_is_missing_of_a_pool_is_said(tmp_path):
    operations, offsets, states = (f"{name}.parquet" if "__" in name else f"{name}.csv" for name in POOL)
    for name in (operations, offsets, "pools.jsonl"):
        shutil.copy(VDEVS / name, tmp_path)
    assert any(f"{operations}: no states" in line and "only blocks were compared" in line for line in said_of(tmp_path))
    begin = pd.read_parquet(VDEVS / operations)[:900]
    begin.to_parquet(tmp_path / operations)
    pd.read_parquet(VDEVS / offsets)[:(begin["op"] == 0).sum()].to_parquet(tmp_path / offsets)
    assert any("has 900 rows, but pools.jsonl says 1003" in line for line in said_of(tmp_path))
    shutil.copy(VDEVS / states, tmp_path)
    (tmp_path / offsets).unlink()
    shutil.copy(CACHE, tmp_path)
    missing = f"{states}: belongs to {operations}, of which no offsets of 103_ff are here"
    assert any(missing in line for line in said_of(tmp_path))


def test_what_is_missing_of_a_trace_of_the_cache_is_said(tmp_path):
    pd.read_parquet(CACHE)[:FEW].to_parquet(tmp_path / CACHE.name)
    assert any("stats.jsonl beside it does not name it" in line for line in said_of(tmp_path))
    shutil.copy(CACHE.parent / "stats.jsonl", tmp_path)
    assert any("reads, but stats.jsonl says 13609: what is missing was not compared" in line for line in said_of(tmp_path))


def test_folders_that_are_links_are_gone_through_and_links_to_nothing_named(tmp_path):
    (tmp_path / "raidz").symlink_to(IOS.parent)
    (tmp_path / "gone.parquet").symlink_to(tmp_path / "nowhere.parquet")
    results = list(verify(tmp_path))
    assert [result.path.name for result in results if isinstance(result, Unreadable)] == ["gone.parquet"]
    assert {result.path.name for result in results if isinstance(result, Comparison)} == {IOS.name, SIZES.name}


def test_a_parquet_file_is_known_by_what_it_holds(tmp_path):
    shutil.copy(CACHE, tmp_path / "meta_L1.recording")
    shutil.copy(CACHE.with_name("stats.jsonl"), tmp_path)
    assert {type(result) for result in verify(tmp_path)} == {Replay, NotCompared}


def test_nulls_are_named(tmp_path):
    table = pa.Table.from_pandas(few(CACHE))
    column = table["off512"].to_pylist()
    column[3] = None
    at = table.schema.get_field_index("off512")
    pq.write_table(table.set_column(at, "off512", pa.array(column)), tmp_path / "meta.parquet")
    result, = verify(tmp_path)
    assert "row 3 has no value in column off512" in sentence(result)


def test_links_that_lead_back_up_are_no_end_of_folders(tmp_path):
    """Two such links in a folder would be walked along every path of 40 of them."""
    (tmp_path / "below").mkdir()
    for name in ("a", "b", "below/c"):
        (tmp_path / name).symlink_to(tmp_path)
    (tmp_path / "below" / "file").touch()
    with pytest.raises(UserError, match="holds no recorded trace"):
        list(verify(tmp_path))

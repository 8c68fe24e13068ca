"""The command line: what it prints, what it exits with, and one sentence for every mistake."""
import json
import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import one_sentence

from study.project import DATA

TRACE = DATA / "traces" / "vdev_cache" / "meta_L1.parquet"


@pytest.fixture
def trace(tmp_path):
    """A copy of a recorded trace with one thing changed: trace(lambda frame: ...) -> path."""
    def make(change):
        path = tmp_path / "changed.parquet"
        change(pd.read_parquet(TRACE)).to_parquet(path)
        return path
    return make


def test_a_trace_that_agrees_exits_with_0(study):
    done = study("replay", "vdev-cache", TRACE)
    assert (done.returncode, "0 differences in" in done.stdout) == (0, True)


def test_one_altered_decision_exits_with_1_and_is_named(study, trace):
    def alter(frame):
        frame.loc[1000, "evict512"] += 128
        return frame
    done = study("replay", "vdev-cache", trace(alter))
    assert done.returncode == 1
    assert "1 differences in" in done.stdout
    assert "row 1000: evict512 is" in done.stdout


def test_the_wrong_tunable_exits_with_1(study):
    assert study("replay", "vdev-cache", TRACE, "--max", 1).returncode == 1


def _backwards(frame):
    frame.loc[500, "tick"] = 0
    return frame


@pytest.mark.parametrize(("change", "said"), [
    (lambda frame: frame.drop(columns="res"), "no column res"),
    (_backwards, "ticks never go back"),
    (lambda frame: frame.assign(op=frame.op + 5), "column op"),
    (lambda frame: frame.drop(index=frame.index), "0 rows"),
])
def test_a_trace_that_is_none_is_one_sentence(study, trace, change, said):
    assert said in one_sentence(study("replay", "vdev-cache", trace(change)))


def test_a_truncated_trace_is_one_sentence(study, tmp_path):
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(TRACE.read_bytes()[:-1000])
    assert "truncated" in one_sentence(study("replay", "vdev-cache", cut))
    assert "cannot be read" in one_sentence(study("replay", "vdev-cache", tmp_path / "nowhere.parquet"))


@pytest.mark.parametrize("words", [["--size", -1], ["--fill-ticks", -5], ["--max", -1]])
def test_an_impossible_cache_is_one_sentence(study, words):
    one_sentence(study("replay", "vdev-cache", TRACE, *words))


def test_verify_replays_a_folder_and_finds_what_differs(study, tmp_path):
    for name in ("stats.jsonl", "meta_L1.parquet", "mix_max1.parquet"):
        shutil.copy(TRACE.parent / name, tmp_path)
    done = study("verify", tmp_path)
    assert (done.returncode, done.stdout.count("0 differences in")) == (0, 5)
    frame = pq.read_table(tmp_path / "mix_max1.parquet").to_pandas()
    frame.loc[7, "res"] = 0
    frame.to_parquet(tmp_path / "mix_max1.parquet")
    assert study("verify", tmp_path).returncode == 1
    one_sentence(study("verify", tmp_path / "nowhere"))


def test_verify_goes_on_after_a_trace_that_cannot_be_read(study, tmp_path):
    for name in ("meta_L1.parquet", "user8k.parquet"):
        shutil.copy(TRACE.parent / name, tmp_path)
    (tmp_path / "meta_L1.parquet").write_bytes(b"PAR1 cut off")
    done = study("verify", tmp_path)
    assert (done.returncode, "of 1 traces; 1 traces could not be read" in done.stdout) == (1, True)


def test_params_prints_the_schema(study):
    printed = study("params", "90").stdout
    for word in ("line_kib", "KiB", "8, 16, 32, 64, 128", "64", "zfs_vdev_cache_bshift", "0 to 2147483647"):
        assert word in printed


@pytest.mark.parametrize("words", [
    ["run", "nowhere"], ["run", "nowhere.ipynb"], ["params", "9x"], ["run", "90", "-p", "line_kib=65"],
    ["run", "90", "-p", "line_kb=64"], ["diff", "a", "b"], ["trace", "nothing"], ["query", "SELECT 1", "--format", "xml"],
    ["query", "SELECT 1", "--format", "parquet"], ["export", "--format", "gif"], ["export", "--width", "wall"],
])
def test_every_mistake_is_one_sentence(study, words):
    one_sentence(study(*words))


def test_query_formats(study, tmp_path):
    sql = "SELECT value FROM metrics WHERE run_id = 'kustarz-2007/oltp-with-fix' AND name = 'summary.rate'"
    (value,), = json.loads(study("query", sql, "--format", "json").stdout)[0].values(),
    assert study("query", sql, "--format", "csv").stdout == f"value\n{value}\n"
    assert study("query", sql, "--format", "parquet", "--to", tmp_path / "a.parquet").returncode == 0
    assert pd.read_parquet(tmp_path / "a.parquet").value.tolist() == [value]
    assert str(value) in study("query", sql).stdout

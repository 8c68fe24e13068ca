"""The command line: what it prints, what it exits with, and one sentence for every mistake."""
import json
import re
import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import one_sentence

from model.zfs.eras import ERAS, era
from study.commands import main as cli
from study.commands.pool import ERAS as ERAS_OF_HELP
from study.pools import aged_pools
from study.project import DATA, runs_folder
from study.replays import verify

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
    assert "1 difference in" in done.stdout
    assert "row 1000: evict512 is" in done.stdout


def test_the_wrong_tunable_exits_with_1(study):
    assert study("replay", "vdev-cache", TRACE, "--max", 1).returncode == 1


def _backwards(frame):
    frame.loc[500, "tick"] = 0
    return frame


@pytest.mark.parametrize(("change", "message"), [
    (lambda frame: frame.drop(columns="res"), "no column res"),
    (_backwards, "ticks never go back"),
    (lambda frame: frame.assign(op=frame.op + 5), "column op"),
    (lambda frame: frame.drop(index=frame.index), "0 rows"),
])
def test_a_trace_that_is_none_is_one_sentence(study, trace, change, message):
    assert message in one_sentence(study("replay", "vdev-cache", trace(change)))


def test_a_truncated_trace_is_one_sentence(study, tmp_path):
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(TRACE.read_bytes()[:-1000])
    assert "truncated" in one_sentence(study("replay", "vdev-cache", cut))
    assert "nowhere.parquet is not there" in one_sentence(study("replay", "vdev-cache", tmp_path / "nowhere.parquet"))
    assert "is a folder" in one_sentence(study("replay", "alloc", tmp_path, "--variant", "103_ff"))


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
    assert (done.returncode, "of 1 trace; 1 trace could not be read" in done.stdout) == (2, True)


def test_verify_takes_the_projects_traces_from_any_folder(study, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(verify, "verify", lambda folder: seen.append(folder) or [])
    monkeypatch.chdir(tmp_path)
    assert study("verify").returncode == 0
    assert seen == [DATA / "traces"]


def test_params_prints_the_schema(study):
    printed = study("params", "90").stdout
    for word in ("line_kib", "KiB", "8, 16, 32, 64, 128", "64", "zfs_vdev_cache_bshift", "0 to 2147483647"):
        assert word in printed


@pytest.mark.parametrize("words", [
    ["run", "nowhere"], ["run", "nowhere.ipynb"],
    ["run", "01", "-p", "n_leaves=0"], ["run", "01", "-p", "n_leaves=1", "-p", "file_gib=20", "-p", "disk=savvio-10k1"],
    ["run", "02", "-p", "n_streams=16", "-p", "file_gib=64", "-p", "n_leaves=1"],
    ["run", "02", "-p", "n_streams=16", "-p", "n_leaves=1"],
    ["params", "9x"], ["run", "90", "-p", "line_kib=65"],
    ["run", "90", "-p", "line_kb=64"], ["diff", "a", "b"], ["trace", "nothing"], ["query", "SELECT 1", "--format", "xml"],
    ["query", "SELECT 1", "--format", "parquet"], ["export", "--format", "gif"], ["export", "--width", "wall"],
    ["run"], ["run", "90", "--draw", "2"], ["run", "90", "--workers", "0"], ["run", "9*"], ["preditc"], ["predict"],
    ["pool", "nowhere.txt"], ["pool", "--fill", "half"], ["dedup", "nowhere.txt"], ["dedup", "README.md"],
    ["pool", "--fill", "0.5", "--fragmentation", "40", "--disk", "1e30"],
    ["age", "--turnovers", "inf"], ["age", "--used-pct", "101"], ["claims", "90"], ["claims", "nothing-like-it"],
])
def test_every_mistake_is_one_sentence(study, words):
    one_sentence(study(*words))


@pytest.mark.parametrize("words", [
    ["predict", "read", "--out", "read"], ["replay", "disk", "read", "--disk", "other", "--out", "read"],
    ["replay", "disk", "other", "--disk", "read", "--out", "read"]])
def test_a_file_that_is_read_is_never_written_over(study, tmp_path, words):
    read_path, other_path = tmp_path / "read", tmp_path / "other"
    for file in (read_path, other_path):
        file.write_bytes((DATA / "scenarios" / "nvme-mirror.toml").read_bytes())
    before = read_path.read_bytes()
    done = study(*({"read": read_path, "other": other_path}.get(word, word) for word in words))
    assert "is read and would be written over" in one_sentence(done)
    assert read_path.read_bytes() == before


def test_query_formats(study, tmp_path):
    sql = "SELECT value FROM metrics WHERE run_id = 'kustarz-2007/oltp-with-fix' AND name = 'summary.rate'"
    (value,), = json.loads(study("query", sql, "--format", "json").stdout)[0].values(),
    assert study("query", sql, "--format", "csv").stdout == f"value\n{value}\n"
    assert study("query", sql, "--format", "parquet", "--to", tmp_path / "a.parquet").returncode == 0
    assert pd.read_parquet(tmp_path / "a.parquet").value.tolist() == [value]
    assert str(value) in study("query", sql).stdout


@pytest.mark.parametrize(("words", "message"), [
    (["run"], "missing argument 'notebooks' (Names, numbers or paths of notebooks); see: study run --help"),
    (["replay", "disk", "a.csv"], "missing option '--disk' (JSON description of the drive: data/examples/drive.json is"),
    (["replay", "alloc", "a.csv"], "missing option '--variant' (Rules of which build: 103_ff, 117_df, 141_df, 141_ndf)"),
    (["params", "90", "--draw"], "no such option: --draw"),
    (["preditc"], "did you mean 'predict'?"),
    (["params", "9"], "names 2 notebooks, 90_model_vs_zfs and 91_published_setups; take one"),
    (["params", "README.md"], "README.md is no .ipynb file; give one, such as jupytext --to ipynb makes"),
    (["params", "mine"], "'mine' names no notebook; there are 00_claims"),
    (["query", "SELECT 1", "--format", "csv", "--to", "/proc/mine.csv"], "/proc/mine.csv cannot be made"),
    (["age", "--used-pct", "101"], "'--used-pct' is '101', but it must be 100 or less"),
    (["age", "--used-pct", "half"], "'--used-pct' is 'half', but it must be a number, and finite"),
    (["replay", "vdev-cache", "a.parquet", "--size", "10M"], "'--size' is '10M', but it must be a whole number"),
    (["run", "90", "--memory-gb", "nan"], "'--memory-gb' is 'nan', but it must be 0.5 or more"),
])
def test_a_word_that_lacks_or_is_not_known_is_named(study, words, message):
    assert message in one_sentence(study(*words))


PARAMETERS = {"broken.yaml": (b"line_kib: [1, 2", "is not YAML (line"), "binary.yaml": (b"\xff\xfe\x00", "is not YAML"),
              "number.yaml": (b"3: 4", "has no parameter '3'"), "empty.yaml": (b"# nothing", "holds no parameter"),
              "list.yaml": (b"- a", "holds a list"),
              "deep.yaml": (b"line_kib: {a: 1}", "which is not a whole number")}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_file_that_is_none_is_one_sentence(study, tmp_path, runs, name):
    content, message = PARAMETERS[name]
    (tmp_path / name).write_bytes(content)
    assert message in one_sentence(study("run", "90", "--params", tmp_path / name))
    assert not list(runs.glob("*/*"))


POOL = '[pool.data]\nsheet = "nvme-p4500"\n'
SCENARIOS = {
    "": "pool is missing", "[host": "is not TOML", POOL + "[host]\ncpus = -1": "host.cpus is -1, but it must be 1 or more",
    POOL + "[host]\ncpus = nan": "host.cpus is nan, but it must be a number",
    POOL + "[host]\ncpus = 1\ncpus = 2": "a name stands once: cpus = 2",
    POOL + "[host]\ncpus = 010": "begins with no zero: cpus",
    POOL + "[host]\ncpus = 2019-01-01": "host.cpus is 2019-01-01, but it must be a",
    POOL + '[host]\ncpus = "many"': "cpus is 'many', which is text; give a number, without quotes and unit",
    POOL + '[files]\nprimarycache = "none"': "primarycache is 'none'; nearest is metadata, as none is not simulated",
    "pool = true": "pool is true, but it must be a section",
    "files = true\n" + POOL: "files is true, but it must be a section",
    POOL + "[database]\nkind = 'postgres'\nconf = true": "conf is true, but it must be a section",
    '[pool.dta]\nsheet = "nvme-p4500"': "pool.dta is nothing that a scenario has; did you mean 'data'?",
    '[files]\nkind = "ufs"\nera = "b111"\n' + POOL: "files.era is nothing that a section of this kind has; leave it out",
    '[pool.data]\nsheet = "nvme-p450"': "no sheet 'nvme-p450' in data/hardware; did you mean 'nvme-p4500'?",
    "host = 3\n" + POOL: "host is 3, but it must be a section",
    POOL + '[files]\nkind = "hfs"': "choose 'zfs', 'zvol', 'ufs'",
}


@pytest.mark.parametrize("content", SCENARIOS)
def test_a_scenario_that_cannot_be_is_one_sentence_of_ours(study, tmp_path, content):
    path = tmp_path / "mine.toml"
    path.write_text(content)
    message = one_sentence(study("predict", path))
    assert SCENARIOS[content] in message
    assert "Input should" not in message
    one_sentence(study("advise", "--hardware", path))


def test_devices_to_spare_are_a_list(study, tmp_path):
    path = tmp_path / "mine.toml"
    for spare, message in (("3", "spare is 3, but it must be a list"), ("[3]", "spare.1 is 3, but it must be a section"),
                           ('[{sheet = "x25-e"}, {}]', "mine.toml: spare.2.sheet is missing; give it"),
                           ('[{sheet = "x25-e", count = -1}]', "mine.toml: spare.1: count is -1, but"),
                           ('[{sheet = "x25-e", size = 1}]', "spare.1.size is nothing that a scenario has")):
        path.write_text(f"spare = {spare}\n{POOL}")
        assert message in one_sentence(study("advise", "--hardware", path))


def test_what_is_asked_of_dedup_and_of_a_lun_is_checked_before_anything_is_simulated(study, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f"[dedup]\nduplicates = 2\ndata_gib = 1\n[lun]\nstart_sectors = -1\n{POOL}")
    message = one_sentence(study("advise", "--hardware", path))
    assert "dedup.duplicates is 2" in message
    assert "lun.start_sectors is -1" in message


def test_what_cannot_be_read_or_written_is_refused_before_anything_is_simulated(study, tmp_path):
    assert "is a folder; name a file" in one_sentence(study("predict", tmp_path))
    there = tmp_path / "there.json"
    there.write_text("mine")
    for words in (("predict", DATA / "scenarios" / "nvme-mirror.toml", "--out"), ("query", "SELECT 1 AS a", "--to"),
                  ("replay", "alloc", TRACE, "--variant", "103_ff", "--out")):
        assert "is a folder; name a file" in one_sentence(study(*words, tmp_path))
        assert "is a file, but a folder is wanted there" in one_sentence(study(*words, there / "a.csv"))
    assert (there.read_text(), list(tmp_path.iterdir())) == ("mine", [there])


def test_folders_are_made_for_what_is_written_and_not_before(study, tmp_path):
    far = tmp_path / "a" / "b" / "c.csv"
    one_sentence(study("query", "SELECT nothing", "--to", far))
    assert not (tmp_path / "a").exists()
    assert study("query", "SELECT 1 AS a", "--to", far, "--format", "csv").returncode == 0
    assert far.read_text() == "a\n1\n"


def test_a_scenario_may_begin_with_the_mark_that_editors_of_windows_write(study, tmp_path):
    text = (DATA / "scenarios" / "nvme-mirror.toml").read_text(encoding="utf-8").replace("\n", "\r\n")
    (tmp_path / "mine.toml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert study("predict", tmp_path / "mine.toml", "--dry-run").returncode == 0


def test_a_scenario_that_is_no_text_is_called_that(study, tmp_path):
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe\x00")
    assert "mine.toml is no UTF-8 text" in one_sentence(study("predict", tmp_path / "mine.toml"))


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "COPY (SELECT 1) TO 'out.csv'", "DELETE FROM runs", "/* none */", ""])
def test_a_query_is_one_question(study, tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    assert "give one" in one_sentence(study("query", sql))
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("sql", [
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}'", "COPY (PIVOT runs ON name) TO '{file}'",
    "SELECT * FROM read_text('{there}')", "EXPLAIN ANALYZE COPY (SELECT 1) TO '{runs}/store.duckdb.wal'",
    "COPY (PIVOT runs ON name) TO '{runs}/store.duckdb'"])
def test_a_query_touches_no_file_but_the_store(study, tmp_path, sql):
    there = tmp_path / "there"
    there.write_text("mine")
    assert study("query", "SELECT 1").returncode == 0
    files = sorted(runs_folder().rglob("*"))
    assert "the query fails (Permission Error" in one_sentence(study("query", sql.format(
        file=tmp_path / "out.csv", there=there, runs=runs_folder())))
    assert (sorted(runs_folder().rglob("*")), (tmp_path / "out.csv").exists()) == (files, False)
    assert study("query", "SELECT count(*) FROM runs").returncode == 0


@pytest.mark.parametrize("sql", [
    "PRAGMA table_info('runs')", "EXPLAIN SELECT * FROM runs", "PIVOT runs ON origin", "SHOW TABLES"])
def test_a_question_may_be_put_in_other_words_than_select(study, sql):
    assert study("query", sql).returncode == 0


def test_values_are_printed_as_they_are(study):
    assert "[bold]postgres:x:1" in study("query", "SELECT '[bold]postgres:x:1' AS a").stdout


@pytest.mark.parametrize(("words", "message"), [
    (["--used-pct", "100"], "a group writes anew before it frees"), (["--records", "9999999999999"], "take fewer records"),
    (["--vdevs", "1000000"], "can be numbered"), (["--era", "b9"], "choose one of these"),
    (["--writes-per-txg", "1000000000000"], "choose at most so many"),
    (["--used-pct", "1"], "the records alone take 3.4 %")])
def test_a_pool_that_cannot_be_aged_is_refused_before_anything_is_compiled(study, monkeypatch, words, message):
    monkeypatch.setattr(aged_pools, "_compile", lambda recipe: pytest.fail("compiles"))
    assert message in one_sentence(study("age", *words))


def test_help_names_every_era_and_says_by_which_rules_they_choose():
    assert list(ERAS) == ERAS_OF_HELP.split(", ")
    rules = {name: next(known for known in ("b103", "b117", "b141_df", "b141")
                        if era(name).metaslab == era(known).metaslab._replace(gang=era(name).metaslab.gang))
             for name in ERAS}
    assert {name for name in rules if rules[name] == "b103"} == set(list(ERAS)[:list(ERAS).index("b111") + 1])
    assert {name for name in rules if rules[name] == "b141_df"} == {"b141_df", *(name for name in ERAS if "openzfs" in name)}


# --- how it looks ---------------------------------------------------------------------------------------------------------

def test_sheets_are_whole_in_80_columns(study, monkeypatch):
    monkeypatch.setattr(cli.out, "width", 80)
    lines = study("hardware").stdout.splitlines()
    names = {path.stem for path in (DATA / "hardware").glob("*.toml")}
    assert {line.split()[0] for line in lines if not line.startswith(" ")} == names
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 4 * len(names)
    values = study("hardware", "savvio-10k2").stdout
    assert "…" not in values
    assert max(len(line) for line in values.splitlines()[1:]) <= 80


@pytest.mark.slow
def test_nothing_is_cut_off_in_a_narrow_terminal(study, monkeypatch):
    monkeypatch.setattr(cli.out, "width", 60)
    for words in (["params", "90"], ["query", "SELECT 'x' || repeat('y', 200) AS a, 'z' AS b"], ["claims", "oltp"]):
        assert "…" not in study(*words).stdout
    assert study("query", f"SELECT '{'y' * 200}' AS a").stdout.count("y") == 200


@pytest.mark.parametrize("message", ["Unable to allocate 64. GiB for an array", ""])
def test_too_little_memory_is_one_sentence(study, monkeypatch, message):
    def no_memory(*words, **named):
        raise MemoryError(message)

    monkeypatch.setattr(cli, "app", no_memory)
    assert "takes more memory than there is; ask for something smaller" in one_sentence(study("age"))


@pytest.mark.parametrize("words", [
    *(("advise", "--today", option, value) for option, value in (("--hardware", "x.toml"), ("--database", "innodb"),
                                                                 ("--draws", 5))),
    *(("reproduce", "--draws", 5, option, *dry) for option in ("--accept", "--whole") for dry in ((), ("--dry-run",)))])
def test_an_option_that_would_be_passed_over_is_refused(study, words):
    assert re.search("leave (one of the two|--whole) out", one_sentence(study(*words)))

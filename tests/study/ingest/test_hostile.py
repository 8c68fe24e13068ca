"""No file makes an importer crash, hang, take the memory or keep a part in silence."""

import contextlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from study.errors import UserError
from study.ingest import given_runs, imports, mapped_csv, text
from study.ingest.reading import Damaged
from study.project import ROOT
from support import processes, zpool_text
from support.hostile import changed_anywhere
from support.imported_runs import FIXTURES

ROWS = {"tank": list(range(1, 32)), "  mirror": list(range(2, 33)), "    sda": [0] * 31}
SAMPLES = {
    "run.txt": (FIXTURES / "pgbench/plain/run.txt").read_bytes(),
    "retries.txt": (FIXTURES / "pgbench/retries/run.txt").read_bytes(),
    "pgbench_log.1": next((FIXTURES / "pgbench/plain").glob("pgbench_log.*[0-9]")).read_bytes()[:1500],
    "pgbench_log.2": next((FIXTURES / "pgbench/aggregate").glob("pgbench_log.*[0-9]")).read_bytes(),
    "oltp.txt": (FIXTURES / "sysbench/oltp.txt").read_bytes()[-3000:],
    "rate.txt": (FIXTURES / "sysbench/rate.txt").read_bytes(),
    "one.json": (FIXTURES / "fio/one/one.json").read_bytes(),
    "leading.json": (FIXTURES / "fio/leading.json").read_bytes(),
    "terse.txt": (FIXTURES / "fio/terse.txt").read_bytes(),
    "rr_bw.1.log": (FIXTURES / "fio/one/rr_bw.1.log").read_bytes(),
    "rr_clat_hist.1.log": (FIXTURES / "fio/one/rr_clat_hist.1.log").read_bytes(),
    "zpool.txt": zpool_text.table("2.2", "lq", [ROWS, ROWS], [1795221912, 1795221913]).encode(),
    "bare.txt": zpool_text.table("0.8", "", [{"tank": [1] * 6}] * 3, [1795221912, 1795221913, 1795221914], True).encode(),
    "waits.txt": zpool_text.waits("2.2", "tank", [("1ns", [1] * 11), ("3ns", [2] * 11)]).encode(),
    "iostat.txt": (FIXTURES / "iostat/local_time.txt").read_bytes(),
    "iostat.json": (FIXTURES / "iostat/whole.json").read_bytes(),
    "cut.json": (FIXTURES / "iostat/cut.json").read_bytes(),
    "filebench.txt": (
        b"Filebench Version 1.5\n1.0: Running...\n3.0: Per-Operation Breakdown\n"
        b"append 33144ops 16539ops/s 32.2mb/s 0.001ms/op [0.000ms - 8.035ms]\n"
        b"3.0: IO Summary: 33144 ops 16572.0 ops/s 0/16539 rd/wr 32.2mb/s 0.019ms/op\n3.1: Run took 2 seconds...\n"
    ),
    "b.raw.csv": (
        b"Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),Worker Id (start "
        b"number),Phase Id (index in config file)\n1,Read,1795222830.549264,1418,0,1\n1,Read,1795222831.5,1418,0,1\n"
    ),
    "b.samples.csv": b"Time (seconds),Requests,Throughput (requests/second),Minimum Latency (microseconds)\n0,40,40.0,157\n",
    "b.summary.json": (
        json.dumps(
            {
                "Benchmark Type": "ycsb",
                "Final State": "EXIT",
                "Throughput (requests/second)": 1.0,
                "Latency Distribution": {"95th Percentile Latency (microseconds)": 7},
            }
        ).encode()
    ),
}
MAPPED = mapped_csv.Mapping.model_validate(
    {"kind": "series", "series": "s", "time": {"column": "t", "unit": "s"}, "columns": {"a": {"name": "a", "unit": "1"}}}
)


def read(content, name, mapping=None):
    """The readings of a file, as far as an import reads before it keeps, or the UserError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        run, options = given_runs.Given("x", [(path, name)], []), imports.Options(mapping=mapping)
        scratch = Path(folder) / "scratch"
        scratch.mkdir()
        try:
            of_tools = {mapped_csv: [imports.Source(path, name, "")]} if mapping else imports.recognised(run)[0]
            readings = [imports._read(module, sources, scratch, options) for module, sources in of_tools.items()]
            for reading in readings:
                for series in reading.series:
                    series.table()
            return readings
        except UserError as error:
            return error


def objections(outcome):
    return (
        [str(outcome)]
        if isinstance(outcome, UserError)
        else [line for reading in outcome for line in imports._objections(reading)]
    )


def numbers(readings):
    return [repr((series.name, *series.times, *series.values)) for reading in readings for series in reading.series]


QUICK = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
EVERY = pytest.mark.parametrize("name", SAMPLES)


@EVERY
def test_every_sample_is_read(name):
    outcome = read(SAMPLES[name], name)
    assert not isinstance(outcome, UserError), outcome
    assert sum(reading.rows for reading in outcome) > 0


@EVERY
@QUICK
@given(st.data())
def test_what_is_changed_anywhere_is_read_or_refused(name, data):
    read(changed_anywhere(data, SAMPLES[name]), name)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.binary(max_size=400),
    st.sampled_from(["x.txt", "pgbench_log.1", "rr_bw.1.log", "rr_clat_hist.1.log", "a.params.json"]),
)
@example(b"", "pgbench_log.1")
@example(b"\xff\xfe", "x.txt")
def test_arbitrary_bytes_are_refused_in_a_sentence(content, name):
    outcome = read(content, name)
    assert "\n" not in str(outcome)
    assert (
        isinstance(outcome, UserError)
        or objections(outcome)
        or sum(reading.rows for reading in outcome) == 0
        or (name.endswith(".log"))
    )


def _end_of_totals(name):
    """Up to where a cut must be noticed: before it the end of what the tool always prints is missing."""
    content = SAMPLES[name]
    last = {
        "oltp.txt": b"execution time",
        "rate.txt": b"execution time",
        "filebench.txt": b"Run took",
        "run.txt": b"tps = ",
        "retries.txt": b"tps = ",
    }
    if name in last:
        return content.rindex(last[name]) if name != "retries.txt" else content.index(b"tps = ")
    return len(content.rstrip()) - 1


NOTICED = ["run.txt", "oltp.txt", "rate.txt", "one.json", "iostat.json", "filebench.txt", "b.summary.json"]


@pytest.mark.parametrize("name", NOTICED)
@QUICK
@given(st.data())
def test_a_cut_before_the_end_of_the_totals_is_noticed(name, data):
    """Where nothing is left that the tool would know again, that is said too."""
    at = data.draw(st.integers(0, _end_of_totals(name)))
    outcome = read(SAMPLES[name][:at], name)
    if name == "run.txt" and not isinstance(outcome, UserError) and b"actually processed" not in SAMPLES[name][:at]:
        assert any("summary" in sentence for reading in outcome for sentence in reading.missing)
    else:
        assert objections(outcome), SAMPLES[name][:at][-80:]


WITHOUT_TOTALS = ["pgbench_log.2", "rr_bw.1.log", "zpool.txt", "bare.txt", "waits.txt", "iostat.txt", "b.samples.csv"]


@pytest.mark.parametrize(
    ("name", "how_often"), [*((name, 20) for name in WITHOUT_TOTALS), ("pgbench_log.1", 5), ("b.raw.csv", 5)]
)
def test_a_cut_within_a_line_is_noticed(name, how_often):
    content = SAMPLES[name]

    @settings(QUICK, max_examples=how_often)
    @given(st.integers(1, len(content) - 1).filter(lambda at: content[at - 1 : at] != b"\n"))
    def holds(at):
        assert objections(read(content[:at], name))

    holds()


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "pgbench_log.1"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.encode("utf-16"),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
    ],
    ids=["crlf", "utf-16", "mark"],
)
def test_other_ends_of_lines_and_encodings_change_no_number(name, change):
    before, after = read(SAMPLES[name], name), read(change(SAMPLES[name].decode()), name)
    assert not isinstance(after, UserError), after
    assert numbers(after) == numbers(before)
    assert [reading.totals for reading in after] == [reading.totals for reading in before]


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n").encode(), lambda text: text.encode("utf-16")])
def test_other_ends_of_lines_change_no_transaction(change):
    sample = SAMPLES["pgbench_log.1"][: SAMPLES["pgbench_log.1"].rindex(b"\n") + 1]
    [before], [after] = read(sample, "pgbench_log.1"), read(change(sample.decode()), "pgbench_log.1")
    assert (after.rows, after.totals, after.n_refused) == (before.rows, before.totals, 0)


def test_a_damaged_line_of_a_log_is_named():
    lines = SAMPLES["pgbench_log.1"].decode().splitlines(keepends=True)[:20]
    lines[6] = "0 5 12 0 nonsense 3 4\n"
    [reading] = read("".join(lines).encode(), "pgbench_log.1")
    assert [(refused.file, refused.line) for refused in reading.refused] == [("pgbench_log.1", 7)]
    assert reading.rows == 19


@pytest.mark.parametrize(
    "line",
    [
        "0 5 12 0 1795228000 3 4 5 6\n",
        "0 5 12 0 1795228000\n",
        "0 5 bad 0 1795228000 3 4\n",
        "\0\n",
        "é\n",
        "0 5 12 0 1795228000 1000001 4\n",
        "-1 5 12 0 1795228000 3 4\n",
    ],
)
def test_no_line_of_a_log_is_lost_in_silence(line):
    rows = SAMPLES["pgbench_log.1"].decode().splitlines(keepends=True)[:20]
    outcome = read("".join([*rows[:9], line, *rows[9:]]).encode(), "pgbench_log.1")
    assert isinstance(outcome, UserError) or outcome[0].n_refused == 1


@pytest.mark.slow
@given(st.lists(st.lists(st.text(max_size=8), min_size=2, max_size=2), max_size=6))
@QUICK
def test_a_csv_of_anything_is_read_or_refused(rows):
    read(("t,a\n" + "\n".join(",".join(row) for row in rows)).encode("utf-8", "replace"), "x.csv", MAPPED)


# --- size, names, links -----------------------------------------------------------------------------------------------

GIANT = """
import re, resource, sys
from pathlib import Path
from study.errors import UserError
from study.ingest import given_runs, imports
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
for name in sys.argv[2:]:
    [run] = given_runs.given([Path(name)])
    try:
        [(module, sources)] = imports.recognised(run)[0].items()
        reading = imports._read(module, sources, Path(sys.argv[1]), imports.Options())
        print(*imports._objections(reading))
    except UserError as error:
        print(error)
print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])    # ru_maxrss counts the parent's
"""


def test_a_line_of_a_gigabyte_is_refused_without_reading_it(tmp_path):
    """Behind a beginning that is taken for each tool's; the files have holes, so they take no disk."""
    for name, content in SAMPLES.items():
        with (tmp_path / name).open("wb") as file:
            file.write(content[: content.find(b"\n", len(content) // 2) + 1] or content)
            file.truncate(2**30)
    done = processes.run(
        [sys.executable, "-c", GIANT, tmp_path, *(tmp_path / name for name in SAMPLES)], seconds=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *printed, peak_kib = done.stdout.splitlines()
    assert len(printed) == len(SAMPLES)
    assert all(printed)
    assert int(peak_kib) < 2**20


@pytest.mark.parametrize(
    "line",
    [
        b"-" * 60_000 + b"x\n",
        b"[ 1s ] thds: " + b"a" * 60_000 + b"\n",
        b"1.0: " * 12_000 + b"\n",
        b"progress: " + b"1" * 60_000 + b"\n",
        b"x " * 30_000 + b"\n",
    ],
)
def test_a_long_line_takes_no_long_time(line, runs, tmp_path):
    """Each importer reads it; a pattern that tries every pair of places would take minutes."""
    for name in ("oltp.txt", "zpool.txt", "filebench.txt", "run.txt", "iostat.txt"):
        content = SAMPLES[name]
        middle = content.index(b"\n", len(content) // 2) + 1
        with contextlib.suppress(Damaged):
            read(content[:middle] + line + content[middle:], name)


NAMES = ["with space.txt", "quote'; DROP TABLE runs; --.txt", "stars*[x]?.txt", "ünï.txt", 'double"quote.txt', "-dash.txt"]


@pytest.mark.parametrize("name", NAMES)
def test_names_and_labels_of_any_kind_stay_text(bring, runs, name):
    sample = SAMPLES["pgbench_log.1"][: SAMPLES["pgbench_log.1"].rindex(b"\n") + 1]
    run = bring(name, sample, label="'); DELETE FROM runs; --")
    assert run.sql("SELECT label FROM runs WHERE run_id = $1") == [("'); DELETE FROM runs; --",)]
    assert run.sql("SELECT count(*) FROM transactions WHERE run_id = $1") == [(sample.count(b"\n"),)]


def test_links_in_a_folder_are_not_followed(bring, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(FIXTURES / "sysbench/cpu.txt", folder)
    (folder / "up").symlink_to("..")
    (folder / "other.txt").symlink_to(FIXTURES / "sysbench/oltp.txt")
    (folder / "loop").symlink_to(folder)
    run = bring(folder)
    assert run.report.passed_over == ["other.txt: a link or no plain file"]
    assert run.tool["tool"] == "sysbench"


@pytest.mark.parametrize("what", ["/dev/zero", "/dev/stdin"])
def test_devices_are_refused(what):
    with pytest.raises(UserError):
        given_runs.given([Path(what)])


def test_text_is_read_by_lines_of_bounded_length(tmp_path):
    (tmp_path / "x").write_text("a" * (text.MAX_LINE + 1))
    with pytest.raises(Damaged, match=f"more than {text.MAX_LINE} characters"):
        list(text.lines(tmp_path / "x"))

"""Each format is read to what it says, by another path: by hand, by `awk`-like splitting, by the tool's own totals."""
import bz2
import gzip
import re
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from study.errors import UserError
from study.project import DATA
from study.traces.read import read, ready
from study.traces.requests import READ, TRIM, WRITE, blocks, rows_of, spooled

FIXTURES = Path(__file__).parent / "fixtures"


def listed(trace):
    return [tuple(row) for row in trace.requests.tolist()]


def test_fio_version_3_has_times_in_us():
    trace = read(FIXTURES / "fio_v3.iolog")
    lines = [line.split() for line in (FIXTURES / "fio_v3.iolog").read_text().splitlines()[1:]]
    wanted = [(int(time), {"read": READ, "write": WRITE}[action], int(place), int(n))
              for time, _, action, place, n in (line for line in lines if len(line) == 5)]
    assert listed(trace) == [((time - wanted[0][0]) * 1000, place, n, 0, kind) for time, kind, place, n in wanted]
    assert (trace.format.name, trace.devices) == ("an iolog of fio, version 3", ["data.bin"])
    assert np.diff(trace.requests["time_ns"]).min() > 20_000_000 - 50_000      # thinktime=20000


def test_fio_version_2_has_waits():
    trace = read(FIXTURES / "fio_v2.iolog")
    assert trace.devices == ["/tmp/tr/f1", "/tmp/tr/f2"]
    assert listed(trace) == [(0, 0, 8192, 0, READ), (20_000_000, 8192, 4096, 1, WRITE), (20_000_000, 0, 8192, 0, READ),
                             (70_000_000, 16384, 4096, 0, TRIM), (70_000_000, 8192, 4096, 1, READ)]
    assert trace.format.resolution == "its waits"


def test_fio_version_2_without_waits_has_no_times(tmp_path):
    path = tmp_path / "log"
    path.write_text(re.sub(r".* wait .*\n", "", (FIXTURES / "fio_v2.iolog").read_text()))
    assert read(path).format.resolution == ""
    assert ready(path, None, [], 100).requests["time_ns"].tolist() == [0, 10**7, 2 * 10**7, 3 * 10**7, 4 * 10**7]


@pytest.mark.parametrize(("event", "letter"), [("Q", "Queued"), ("D", "Dispatches"), ("C", "Completed")])
def test_blkparse_is_read_to_the_totals_that_it_prints_itself(event, letter):
    """Its totals count a flush and a discard as writes."""
    path = FIXTURES / "blkparse.txt"
    total = path.read_text().rpartition("Total (hand):")[2]
    trace = read(path, event)
    for kind, name, others in ((READ, "Reads? ", ""), (WRITE, "Writes? ", "FW|D")):
        printed = int(re.search(rf"(?<!PC ){name}{letter}:\s+(\d+)", total)[1])
        lines = re.findall(rf"^ .* {event} +(?:{others}) .*$", path.read_text(), re.M) if others else []
        assert (trace.requests["kind"] == kind).sum() == printed - len(lines)
    assert trace.devices == ["8,16"]


def test_blkparse_of_several_devices_wants_to_be_told_which(tmp_path):
    text = (FIXTURES / "blkparse.txt").read_text()
    path = tmp_path / "two.txt"
    path.write_text(text.replace("  8,16   1", "  8,17   1"))
    with pytest.raises(UserError, match=r"of 2 devices \(8,16, 8,17\)"):
        ready(path, None, [], None)
    parts = [ready(path, None, [name], None) for name in ("8,16", "8,17")]
    assert sum(len(part.requests) for part in parts) == len(read(FIXTURES / "blkparse.txt").requests)
    with pytest.raises(UserError, match=r"no device sda, but 8,16, 8,17"):
        ready(path, None, ["sda"], None)


@pytest.mark.parametrize(("change", "says"), [
    (lambda text: text, None), (lambda text: text.partition("CPU0")[0], "summary is missing"),
    (lambda text: re.sub(r"(?m)^.* D .*\n", "", text, count=3), "307 events were read, but blkparse counted 310"),
    (lambda text: text.replace("Skips: 0", "Skips: 1,002"), "lost events 1002 times")])
def test_what_blkparse_counted_is_held_against_what_was_read(tmp_path, change, says):
    path = tmp_path / "trace.txt"
    path.write_text(change((FIXTURES / "blkparse.txt").read_text()))
    notes = read(path).notes
    assert [says in note for note in notes] == [True] if says else notes == ()


@pytest.mark.parametrize("name", ["fio_v2.iolog", "fio_v3.iolog"])
def test_a_job_of_fio_that_does_not_end_is_noticed(tmp_path, name):
    lines = (FIXTURES / name).read_text().splitlines(True)
    assert not any("no close" in note for note in read(FIXTURES / name).notes)
    path = tmp_path / name
    path.write_text("".join(lines[:-1]))
    closed_last = lines[-1].split()[-2]
    assert f"no close of {closed_last}: fio was stopped, or the file is cut" in read(path).notes


@pytest.mark.parametrize(("after", "says"), [
    ("/f close\n/g open\n/g read 0 512\n/g close\n", None), ("/f close\n", "/g"), ("", "/f, /g"), ("/g open\n", "/f, /g"),
    ("/f close\n/g open\n/g close\n/f open\n", "/f")])
def test_each_file_of_an_iolog_without_a_close_is_named(tmp_path, after, says):
    """As many are closed as opened in the second, which is cut before the second file is opened."""
    path = tmp_path / "log"
    path.write_text("fio version 2 iolog\n/f add\n/g add\n/f open\n/f read 0 4096\n" + after)
    notes = [note for note in read(path).notes if "no close" in note]
    assert notes == ([f"no close of {says}: fio was stopped, or the file is cut"] if says else [])


def test_an_iolog_cannot_hold_any_number_of_files_open(tmp_path, monkeypatch):
    from study.traces import text_formats
    monkeypatch.setattr(text_formats, "MAX_FILES", 1)
    path = tmp_path / "log"
    path.write_text("fio version 2 iolog\n/f add\n/g add\n/f open\n/f read 0 4096\n")
    with pytest.raises(UserError, match="adds 2 files without closing them, but a job has 1 at most"):
        read(path)


def test_msr_says_that_it_has_no_mark_at_its_end():
    assert read(FIXTURES / "msr.csv").notes == ("nothing in the format tells whether lines are missing at its end",)


def test_blkparse_without_an_event_says_which_there_are(tmp_path):
    path = tmp_path / "only_completions.txt"
    path.write_text("".join(line for line in (FIXTURES / "blkparse.txt").read_text().splitlines(True) if " C " in line))
    with pytest.raises(UserError, match=r"no event Q with a place and a size, but C \(5\d\)"):
        read(path)


@pytest.mark.parametrize("change", [lambda text: text, lambda text: text.partition("\n")[2],
                                    lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_msr_is_read_with_a_header_or_without(tmp_path, change):
    path = tmp_path / "usr.csv"
    path.write_bytes(change((FIXTURES / "msr.csv").read_text()).encode())
    trace = read(path)
    assert trace.devices == ["usr_0", "usr_1"]
    assert listed(trace)[:3] == [(0, 7014609920, 24576, 0, READ), (1_332_052_600, 1317441536, 8192, 0, WRITE),
                                 (2_332_061_600, 2436440064, 4096, 1, READ)]
    assert len(trace.requests) == 5


def records(n, *changes, base=0):
    """oracleGeneral: object i mod 5, once a second; next requests count from `base`."""
    made = [[i, i % 5 + 2**63, 100, i + 5 + base if i + 5 < n else -1] for i in range(n)]
    for record, field, value in changes:
        made[record][field] = value
    return b"".join(struct.pack("<IQIq", *record) for record in made)


def test_oracle_general_is_read_by_its_name(tmp_path):
    path = tmp_path / "w.oracleGeneral.bin"
    path.write_bytes(records(12, (3, 2, 0)))
    trace = read(path)
    assert len(trace.requests) == 11
    assert trace.requests["place"].view(np.uint64).tolist() == [i % 5 + 2**63 for i in range(12) if i != 3]
    assert "1 record of objects of 0 bytes left out, as libCacheSim does" in trace.notes
    assert not any("longer" in note for note in trace.notes)


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("cut", [0, 1, 2, 10])
def test_the_beginning_of_an_oracle_general_is_said_to_be_one(tmp_path, base, cut):
    """Whether its writer counts from 0, or from 1 as libCacheSim's does."""
    path = tmp_path / "w.oracleGeneral"
    path.write_bytes(records(20, base=base)[:24 * (20 - cut)])
    wanted = f"it has {20 - cut} records, but an object is wanted again in record {min(20, 25 - cut)}, counted from 1"
    assert [wanted in note for note in read(path).notes if "longer" in note] == [True] * (cut > 0)


@pytest.mark.parametrize(("base", "n", "is_told"), [(1, 6, True), (0, 6, True), (1, 1, False), (0, 1, False)])
def test_one_object_in_a_row_tells_where_counting_begins(tmp_path, base, n, is_told):
    """The last record was wanted by the one before it, and is cut off. A single record does not tell."""
    path = tmp_path / "w.oracleGeneral"
    path.write_bytes(b"".join(struct.pack("<IQIq", i, 7, 100, i + 1 + base) for i in range(n)))
    notes = " ".join(read(path).notes)
    assert ("longer trace: it has 6 records" in notes) == is_told
    assert ("may be cut by a record" in notes) == (not is_told and base == 0)


@pytest.mark.parametrize(("content", "says"), [
    (records(5)[:-1], "ends within record 4, 23 of 24 bytes"), (records(5, (2, 3, 2)), "record 2 .* which is not later"),
    (records(5, (2, 2, 2**31)), "of 2147483648 bytes"), (records(5, (2, 0, 0)), "record 2 .* time never goes back"),
    (b"", "no requests"), (b"\0" * 24 * 3, "record 0 .* not later")])
def test_what_is_no_oracle_general_is_refused(tmp_path, content, says):
    path = tmp_path / "w.oracleGeneral.bin"
    path.write_bytes(content)
    with pytest.raises(UserError, match=says):
        read(path)


PACK = {"gz": gzip.compress, "bz2": bz2.compress, "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
        "lz4": lambda data: pa.compress(data, "lz4", asbytes=True)}


@pytest.mark.parametrize("ending", PACK)
def test_what_is_packed_is_the_same_and_what_is_cut_is_refused(tmp_path, ending):
    content = (FIXTURES / "blkparse.txt").read_bytes()
    packed = PACK[ending](content)
    path = tmp_path / f"trace.{ending}"
    path.write_bytes(packed)
    assert listed(read(path)) == listed(read(FIXTURES / "blkparse.txt"))
    for cut in (len(packed) - 3, len(packed) // 2):
        path.write_bytes(packed[:cut])
        with pytest.raises(UserError, match=r"cut off or damaged|no trace of a format"):
            read(path)


@pytest.mark.parametrize(("name", "n"), [("vdev_cache/meta_L1.parquet", 13609),
                                         ("vdev_queue/onnv69_queue_mid.parquet", None)])
def test_recordings_are_read(name, n):
    trace = read(DATA / "traces" / name)
    assert trace.format.recording
    assert len(trace.requests) == n or n is None


def test_a_recording_of_the_allocator_has_no_places():
    path = next((DATA / "traces" / "alloc").glob("*__ops.parquet"))
    with pytest.raises(UserError, match="study replay alloc"):
        read(path)


def test_a_fifo_is_read_once(tmp_path):
    import os
    import threading
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes((FIXTURES / "msr.csv").read_bytes()))
    writer.start()
    assert len(read(path).requests) == 5
    writer.join(60)


def test_a_request_is_all_the_blocks_that_it_touches():
    rows = rows_of(place=np.array([0, 4095, 8192, 100]), n_bytes=np.array([4096, 2, 12288, 1]),
                   device=np.array([0, 0, 1, 0]))
    (touched, keys), = blocks(spooled([rows]), 4096)
    assert (keys & (2**44 - 1)).tolist() == [0, 0, 1, 2, 3, 4, 0]
    assert (keys >> 44).tolist() == [0, 0, 0, 1, 1, 1, 0]
    assert touched["place"].tolist() == [0, 4095, 4095, 8192, 8192, 8192, 100]


def test_blocks_come_in_pieces_that_together_are_all(monkeypatch):
    from study.traces import requests
    monkeypatch.setattr(requests, "CHUNK", 4)
    rows = rows_of(place=np.arange(11) * 10_000, n_bytes=np.full(11, 9_000))
    mine = np.concatenate([keys for _, keys in blocks(rows, 4096)])
    wanted = [block for row in rows
              for block in range(row["place"] // 4096, (row["place"] + row["n_bytes"] - 1) // 4096 + 1)]
    assert mine.tolist() == wanted


def test_the_example_is_of_fio():
    assert len(read(DATA / "examples" / "requests.iolog").requests) == 600


@pytest.mark.parametrize(("line", "name"), [
    ("419,W,8792731648,16384,1577808144360767", "Alibaba"), ("1538323200,4920,8,1,1283", "Tencent"),
    ("0,20941264,8192,W,0.551706", "SPC"), ("Timestamp,Response,IOType,LUN,Offset,Size", "Systor"),
    ("0.000000 0 14611168 8 0", "DiskSim")])
def test_a_trace_of_another_format_is_called_by_its_name(tmp_path, line, name):
    (tmp_path / "trace.csv").write_text(f"{line}\n{line}\n")
    with pytest.raises(UserError, match=f"is a trace of {name}.*Write it as a CSV of MSR Cambridge. Its columns are"):
        read(tmp_path / "trace.csv")

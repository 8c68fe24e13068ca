"""No file makes a reader of traces crash, hang, take the memory or keep a part in silence."""
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from study.errors import UserError
from study.project import DATA, ROOT
from study.traces import pieces
from study.traces.read import read
from support.hostile import changed_anywhere

FIXTURES = Path(__file__).parent / "fixtures"
ORACLE = pa.decompress(FIXTURES.joinpath("small.oracleGeneral.bin.zst").read_bytes(), 24_000, "zstd", asbytes=True)
SAMPLES = {"v3.iolog": FIXTURES.joinpath("fio_v3.iolog").read_bytes(),
           "v2.iolog": FIXTURES.joinpath("fio_v2.iolog").read_bytes(),
           "blkparse.txt": FIXTURES.joinpath("blkparse.txt").read_bytes()[:6000].rpartition(b"\n")[0] + b"\n",
           "msr.csv": FIXTURES.joinpath("msr.csv").read_bytes(), "x.oracleGeneral.bin": ORACLE[:2400],
           "x.oracleGeneral.bin.zst": FIXTURES.joinpath("small.oracleGeneral.bin.zst").read_bytes(),
           "meta_L1.parquet": (DATA / "traces/vdev_cache/meta_L1.parquet").read_bytes()}
TEXTS = ("v3.iolog", "v2.iolog", "blkparse.txt", "msr.csv")


def outcome(content, name):
    """The trace, or the one sentence that says why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            return read(path)
        except UserError as error:
            message = str(error).replace(str(path), name)
            assert message.isprintable()       # so it is one line
            assert len(message) < 500
            return message


QUICK = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
EVERY = pytest.mark.parametrize("name", SAMPLES)
EVERY_TEXT = pytest.mark.parametrize("name", TEXTS)


@EVERY
def test_every_sample_is_read(name):
    assert len(outcome(SAMPLES[name], name).requests)


@EVERY
@QUICK
@given(st.data())
def test_what_is_changed_anywhere_is_read_or_refused(name, data):
    outcome(changed_anywhere(data, SAMPLES[name]), name)


@EVERY
@QUICK
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(name, content):
    outcome(content, name)


@EVERY_TEXT
@QUICK
@given(st.data())
def test_a_cut_within_a_line_is_noticed(name, data):
    content = SAMPLES[name]
    cut = data.draw(st.integers(1, len(content) - 1))
    message = outcome(content[:cut], name)
    if content[:cut].endswith(b"\n"):
        assert not isinstance(message, str) or "no requests" in message or "no event Q" in message
    else:
        assert isinstance(message, str)
        assert "cut off" in message or "no trace of" in message


@EVERY
@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_binary_that_is_cut_is_refused(name, share):
    if name in TEXTS:
        return
    message = outcome(SAMPLES[name][:int(share * len(SAMPLES[name])) // 24 * 24 + 5], name)
    assert isinstance(message, str)
    assert "cut off" in message or "truncated" in message


LINES = {"v3.iolog": "{time} data.bin read {place} {n}\n", "v2.iolog": "/tmp/tr/f1 read {place} {n}\n",
         "msr.csv": "{time},usr,0,Read,{place},{n},1\n",
         "blkparse.txt": "  8,16   0        2     {time}.000000000  4242  Q   R {place} + {n} [x]\n"}
LATER = {"v3.iolog": 10**6, "msr.csv": 128166372053033755, "blkparse.txt": 10, "v2.iolog": 0}


@EVERY_TEXT
@pytest.mark.parametrize(("place", "n", "is_good"), [
    (0, 512, True), (-1, 512, False), (-10**30, 512, False), (2**63, 512, False), (2**63 - 1, 512, False),
    (2**70, 512, False), (0, 2**40, False), (0, -5, False), (0, 0, False), (2**53 - 1, 10, False)])
def test_offsets_and_lengths_have_bounds(name, place, n, is_good):
    line = LINES[name].format(time=LATER[name], place=place, n=n)
    message = outcome(SAMPLES[name] + line.encode(), name)
    number = SAMPLES[name].count(b"\n") + 1
    assert is_good != isinstance(message, str)
    assert is_good or f"line {number} of {name}" in message


@pytest.mark.parametrize("name", ["v3.iolog", "msr.csv", "blkparse.txt"])
def test_time_that_goes_back_is_refused(name):
    times = {"v3.iolog": 1, "msr.csv": 128166372003061630, "blkparse.txt": 0}
    message = outcome(SAMPLES[name] + LINES[name].format(time=times[name], place=0, n=8).encode(), name)
    assert f"line {SAMPLES[name].count(bytes([10])) + 1} of {name} is" in message
    assert "time never goes back" in message


@EVERY_TEXT
def test_a_time_that_no_trace_has_is_refused(name):
    if name != "v2.iolog":
        for time in (-5, 2**62, 10**40):
            assert isinstance(outcome(SAMPLES[name] + LINES[name].format(time=time, place=0, n=8).encode(), name), str)


@EVERY_TEXT
def test_ends_of_lines_and_marks_of_other_systems_change_nothing(name):
    wanted = outcome(SAMPLES[name], name).requests.tolist()
    for content in (SAMPLES[name].replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + SAMPLES[name]):
        assert outcome(content, name).requests.tolist() == wanted


@EVERY_TEXT
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_letters_are_refused(name, encoding):
    message = outcome(SAMPLES[name].decode().encode(encoding), name)
    assert "UTF-16" in message or "no trace of" in message


@EVERY_TEXT
def test_pieces_together_are_the_whole(name, monkeypatch):
    wanted = outcome(SAMPLES[name], name).requests.tolist()
    for size in (1, 7, 100):
        monkeypatch.setattr(pieces, "PIECE", size)
        monkeypatch.setattr(pieces, "HEAD", 200)
        assert outcome(SAMPLES[name], name).requests.tolist() == wanted


BIG = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
from pathlib import Path
from study.errors import UserError
from study.traces.read import read
try:
    read(Path(sys.argv[1]))
except UserError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("begin", [b"", b"fio version 3 iolog\n", FIXTURES.joinpath("msr.csv").read_bytes()])
def test_a_line_of_four_gigabytes_is_refused_in_little_memory(tmp_path, begin):
    """A hole of a file: nothing of it is on disk."""
    path = tmp_path / "endless"
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(4 * 2**30)
    done = subprocess.run([sys.executable, "-c", BIG, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    assert "bytes, which no tool writes" in done.stdout or "no trace of a format" in done.stdout


@pytest.mark.parametrize("name", ["a b.csv", "a'b\".csv", "ü.csv", "$(x).csv", "-x.csv"])
def test_names_of_files_are_names(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(SAMPLES["msr.csv"])
    assert len(read(path).requests) == 5


@pytest.mark.parametrize(("path", "says"), [("/dev/zero", "is a device"), ("/", "is a folder"), ("/nowhere", "not there"),
                                            ("/dev/null", "no trace of a format")])
def test_what_is_no_file_is_refused(path, says):
    with pytest.raises(UserError, match=says):
        read(Path(path))


def test_packed_in_a_way_that_is_not_read(tmp_path):
    import lzma
    path = tmp_path / "trace.csv.xz"
    path.write_bytes(lzma.compress(SAMPLES["msr.csv"]))
    with pytest.raises(UserError, match="packed by xz"):
        read(path)

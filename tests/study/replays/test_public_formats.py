"""A disk trace in a public format is refused by the name of its format."""
import pytest

from study.errors import UserError
from study.replays import public_formats

MSR = "128166372003225918,srv,1,Write,7480918016,4096,244620\n"
BLKPARSE = "  8,16   0        1   0.000000000  5529  Q  WS 14611168 + 8 [kworker/1:1]\n"


@pytest.mark.parametrize(("text", "name", "service"), [
    ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n" + MSR, "MSR Cambridge", "of 100 ns"),
    (MSR, "MSR Cambridge", "of 100 ns"),
    ("fio version 3 iolog\n0 /dev/sdx add\n", "fio", None),
    (BLKPARSE, "blkparse", "C less that of D"),
    ("0 1 14611168 8 0\n48513 1 7557296 8 1\n", "MQSim", None),
    ("0.000000 0 14611168 8 0\n", "DiskSim", None),
    ("419,W,8792731648,16384,1577808144360767\n", "Alibaba's block storage", None),
    ("1538323200,4920,8,1,1283\n", "Tencent's block storage", None),
    ("0,20941264,8192,W,0.551706\n", "SPC", None),
    ("1455592511.010362000,0.000361000,W,4,25296896,4096\n", "Systor '17", "Response, in s")])
def test_a_public_format_is_named_with_what_a_replay_needs(tmp_path, text, name, service):
    path = tmp_path / "trace"
    path.write_text(text, newline="")
    with pytest.raises(UserError, match=f" of {name}( \\(UMass\\))?, which ") as error:
        public_formats.refuse(path)
    message = str(error.value)
    assert "\n" not in message
    assert public_formats.COLUMNS in message
    assert service in message if service else "has no service times" in message


@pytest.mark.parametrize("content", [b"op,block,count,service_us,gap_us\nR,1,1,1,1\n", b"", b"\n\n", b"\x1f\x8b\x00\xff",
                                     b"1,2,3,4,5\n"])
def test_anything_else_is_left_to_the_reader(tmp_path, content):
    path = tmp_path / "trace"
    path.write_bytes(content)
    public_formats.refuse(path)
    public_formats.refuse(tmp_path)
    public_formats.refuse(tmp_path / "missing")

"""Replay of a measured drive: a drive invented here stands in for a real one, with constants its description lacks."""
import copy
import json
import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from study.errors import UserError
from study.project import ROOT
from study.replays import disk_record
from study.replays.disk import ESTIMATED, demerit, per_request, read_trace, replay_disk, simulate
from study.replays.drive_file import DEFAULT_BUS_MS, data_sheet_disk, mean_seek_ns, read_seek_table, specified_disk
from study.tables import BY_ARROW

ELECTRONICS = {
    "Per-request overhead time": 0.0, "Bulk sector transfer time": 0.0, "Allow almost read hits": 0, "Never disconnect": 0,
    "Allow read hits on write data": 1, "Number of buffer segments": 3, "Maximum number of write segments": 3,
    "Segment size (in blks)": 128, "Use separate write segment": 0, "High (read) water mark": 0.0,
    "Enable caching in buffer": 1, "Buffer continuous read": 3, "Maximum read-ahead (blks)": 100,
    "Read-ahead over requested": 1, "Read-ahead on idle hit": 0, "Fast write level": 1, "Immediate buffer read": 0,
    "Immediate buffer write": 0, "Combine seq writes": 1, "Stop prefetch in sector": 1, "Read hit over. after read": 0.1,
    "Read hit over. after write": 0.2, "Read miss over. after read": 0.3, "Read miss over. after write": 0.4,
    "Write hit over. after read": 0.5, "Write hit over. after write": 0.6, "Write miss over. after read": 0.7,
    "Write miss over. after write": 0.8, "Read completion overhead": 0.01, "Write completion overhead": 0.02,
    "Data preparation overhead": 0.03, "First reselect overhead": 0.04, "Extra write disconnect": 0,
    "Minimum seek delay": 0.0}
ZONE = {"Offset of first block": 0.0, "Empty space at zone front": 0, "Skew for track switch": 14.0,
        "Skew for cylinder switch": 20.0, "Number of spares": 4, "defects": [7, 255], "slips": [3, 70]}
ZONES = [ZONE | {"First cylinder number": 0, "Last cylinder number": 199, "Blocks per track": 64},
         ZONE | {"First cylinder number": 200, "Last cylinder number": 399, "Blocks per track": 48, "defects": []}]
DRIVE = {"drive": ELECTRONICS, "mechanics": {
    "Number of data surfaces": 4, "Number of cylinders": 400,
    "Layout Model": {"LBN-to-PBN mapping scheme": 0, "Sparing scheme used": 2, "Rangesize for sparing": 1, "Zones": ZONES},
    "Mechanical Model": {"Seek type": "curve", "Single cylinder seek time": 1.0, "Average seek time": 6.0,
                         "Full strobe seek time": 12.0, "Add. write settling delay": 0.3, "Head switch time": 0.9,
                         "Rotation speed (in rpms)": 7200}}}


def changed(path, value):
    """The drive with one field changed, or taken out if the value is None; `path` is its names joined by /."""
    drive = copy.deepcopy(DRIVE)
    *above, name = path.split("/")
    part = drive
    for step in above:
        part = part[int(step) if step.isdigit() else step]
    if value is None:
        del part[name]
    else:
        part[name] = value
    return drive


def requests(n, seed=3):
    """Half reads, a third of them in sequence, small and large, with pauses: columns of a trace without service times."""
    rng = np.random.default_rng(seed)
    block, count = rng.integers(0, 80_000, n), rng.integers(1, 17, n)
    for i in range(1, n):
        if rng.random() < 0.4:
            block[i] = block[i - 1] + count[i - 1]
    op = np.where(rng.random(n) < 0.7, "R", "W")
    return pd.DataFrame({"op": op, "block": block, "count": count, "service_us": 1, "gap_us": rng.integers(5000, 60_000, n)})


@pytest.fixture
def measured(tmp_path):
    """(trace, drive) files of a "real" drive: the described one with constants of its own."""
    def measure(n=1600, gap_before=1, **truth):
        table = requests(n)
        table.to_csv(tmp_path / "trace.csv", index=False)
        (tmp_path / "drive.json").write_text(json.dumps(DRIVE))
        disk = specified_disk(DRIVE)
        took, _ = simulate(disk._replace(**truth), read_trace(tmp_path / "trace.csv"), gap_before)
        table.assign(service_us=took / 1000).to_csv(tmp_path / "trace.csv", index=False)
        return tmp_path / "trace.csv", tmp_path / "drive.json"
    return measure


def test_a_drive_that_is_as_described_is_replayed_exactly(measured):
    result = replay_disk(*measured(gap_before=0))
    assert result.scores["specified"].demerit == pytest.approx(0, abs=1e-9)
    assert result.scores["specified"].request_rms == pytest.approx(0, abs=1e-9)
    assert result.constants["gap_before"] == 0
    table = per_request(result, "specified")
    assert len(table) == 1600
    assert table["error_ms"].abs().max() < 1e-9


def test_hidden_constants_are_recovered_from_the_first_half(measured):
    truth = {"bus_ns": 150_000, "idle_hit_ns": 400_000, "ahead_after_sequence": 1}
    result = replay_disk(*measured(gap_before=1, **truth))
    assert result.constants["gap_before"] == 1
    assert result.constants["ahead_after_sequence"] == 1
    assert result.constants["bus_ns"] == pytest.approx(150_000, rel=0.02)
    assert result.scores["estimated"].demerit_second < 0.2 * result.scores["specified"].demerit_second
    assert result.scores["estimated"].request_rms < 0.5 * result.scores["specified"].request_rms


def test_the_second_half_has_no_say_in_the_estimate(measured):
    trace, drive = measured(bus_ns=150_000)
    before = replay_disk(trace, drive)
    table = pd.read_csv(trace)
    table.loc[len(table) // 2:, "service_us"] *= 3
    table.to_csv(trace, index=False)
    after = replay_disk(trace, drive)
    assert str(before.constants) == str(after.constants)
    assert (before.scores["estimated"].predicted_ms == after.scores["estimated"].predicted_ms).all()
    assert after.scores["estimated"].demerit_second > before.scores["estimated"].demerit_second + 0.1


def test_estimated_constants_keep_to_their_ranges(measured):
    result = replay_disk(*measured(bus_ns=900_000))
    for name, ((low, high), _, _) in ESTIMATED.items():
        assert np.all((low <= np.asarray(result.constants[name])) & (np.asarray(result.constants[name]) <= high)), name


def test_the_demerit_is_the_distance_of_two_distributions():
    rng = np.random.default_rng(1)
    times = rng.gamma(2, 5, 1000)
    assert demerit(rng.permutation(times), times) == 0
    assert demerit(times + 1, times) == pytest.approx(1 / times.mean())
    assert demerit(times * 1.1, times) == pytest.approx(0.1 * np.sqrt((times**2).mean()) / times.mean())


def test_measured_drives_were_replayed_by_this_code():
    recorded = tomllib.loads((ROOT / "data/disk_replays.toml").read_text())["code"]
    assert recorded == disk_record.code(), (
        "the code that replays disks has changed: run `study replay disk` over the five measured traces again, put what it "
        f"prints into data/disk_replays.toml, and code = {disk_record.code()!r}")


def test_the_digest_of_the_code_is_of_what_runs():
    bare = disk_record._bare
    source = 'def f(a):\n    """Doc."""\n    return a + 1\n'
    other = '# what\nimport os\nfrom x import (\n    y,\n)\n'
    other += '\ndef f(a):\n    """Other\n    doc."""\n    return a + 1    # why\n'
    assert bare(source) == bare(other) == "deff(a):returna+1"
    typed = source.replace("a)", "a: dict[str, 'int'] | None, *é: int) -> tuple[\n    int, ...]", 1)
    assert bare(typed) == bare(source.replace("a)", "a, *é)", 1))
    assert bare(source) != bare(source.replace("1", "2"))
    assert bare("class C:\n    a: int") != bare("class C:\n    a: str")
    assert "# no comment" not in bare("x = '# no comment'")
    assert bare("x = '# no comment'") == "x='#nocomment'"


def test_a_data_sheet_keeps_the_printed_numbers():
    specified = specified_disk(DRIVE)
    sheet = data_sheet_disk(specified)
    assert sheet.rev_ns == specified.rev_ns
    assert sheet.layout.n_blocks >= specified.layout.n_blocks
    assert sheet.layout.n_blocks == pytest.approx(specified.layout.n_blocks, rel=0.02)
    assert mean_seek_ns(sheet.seek_ns) == pytest.approx(mean_seek_ns(specified.seek_ns), rel=1e-4)
    assert sheet.seek_ns[[0, 1, -1]].tolist() == specified.seek_ns[[0, 1, -1]].tolist()


def test_a_measured_seek_curve_is_interpolated(tmp_path):
    (tmp_path / "seek.csv").write_text("cylinders,ms\n1,1.0\n3,2.0\n300,10.0\n")
    disk = specified_disk(DRIVE, read_seek_table(tmp_path / "seek.csv"))
    assert disk.seek_ns[[0, 1, 2, 3, 300]].tolist() == [0, 1_000_000, 1_500_000, 2_000_000, 10_000_000]
    assert disk.seek_ns[399] == pytest.approx(10_000_000 + 99 * 8_000_000 / 297, abs=1)


@pytest.mark.parametrize(("kind", "distance", "ms"), [
    ("constant", 200, 6.0), ("linear", 133, 6.0), ("linear", 1, 1.0), ("curve", 399, 12.0), ("hpl", 1, 1.0), ("hpl", 9, 4.5),
    ("hpl", 100, 7.0), ("hplplus10", 1, 1.1), ("hplplus10", 10, 2.0), ("hplplus10", 16, 5.0)])
def test_seek_formulas(kind, distance, ms):
    drive = changed("mechanics/Mechanical Model/Seek type", kind)
    drive["mechanics"]["Mechanical Model"] |= {"HPL seek equation values": [50, 3.0, 0.5, 5.0, 0.02, 1.0],
                                               "First ten seek times": list(np.linspace(1.1, 2.0, 10))}
    assert specified_disk(drive).seek_ns[distance] == pytest.approx(ms * 1e6, abs=1)


def test_a_bus_that_is_not_given_is_fast_scsi():
    assert specified_disk(DRIVE).bus_ns == round(DEFAULT_BUS_MS * 1e6)
    assert specified_disk(changed("drive/Bulk sector transfer time", 0.1)).bus_ns == 100_000


@pytest.mark.parametrize(("path", "value", "message"), [
    ("drive", None, "no field 'drive'"),
    ("drive/Segment size (in blks)", None, "no field 'Segment size"),
    ("drive/Number of buffer segments", "many", "give a number"),
    ("mechanics/Mechanical Model/Rotation speed (in rpms)", 0, "0 rpm"),
    ("mechanics/Mechanical Model/Single cylinder seek time", -1.0, "cannot be"),
    ("mechanics/Mechanical Model/Seek type", "psychic", "psychic"),
    ("mechanics/Mechanical Model/Seek type", "extracted", "--seek"),
    ("mechanics/Number of data surfaces", 0, "0 heads"),
    ("mechanics/Number of cylinders", 10**9, "has 1000000000 cylinders; give at most 10.7"),
    ("mechanics/Layout Model/Zones", [], "0 zones"),
    ("mechanics/Layout Model/Zones/0/Last cylinder number", -1, "is -1; give a whole number from 0"),
    ("mechanics/Layout Model/Zones/0/Blocks per track", 2.7, "'Blocks per track' is 2.7; give a whole number"),
    ("mechanics/Number of data surfaces", 10**9, "is 1000000000; give a whole number from 0 to 1024"),
    ("drive/Number of buffer segments", 10**6, "is 1000000; give a whole number from 0 to 4096"),
    ("drive/Maximum number of write segments", 1.5, "is 1.5; give a whole number"),
    ("drive/Immediate buffer read", 0.5, "is 0.5; give a whole number"),
    ("drive/Time scale for overheads", 2.0, "is 2.0, but only 1 is modelled"),
    ("mechanics/Layout Model/Zones/0/defects", [7, 63], "a block already"),
    ("mechanics/Layout Model/Zones/0/defects", 7, "'defects' is 7; give a list"),
    ("mechanics/Layout Model/Zones/0/slips", [3, "x"], "'slips' of a zone are .3, 'x'.; give whole numbers"),
    ("mechanics/Layout Model/Zones", [5], "'Zones' hold '5'; give a section"),
    ("drive/Read hit over. after read", 1e30, "is 1e.30; give a number of at most 10.9"),
    ("mechanics/Layout Model/Zones/0/Blocks per track", None, "no field 'Blocks per track'"),
])
def test_an_impossible_drive_is_one_sentence(path, value, message, measured):
    trace, drive = measured(n=8)
    drive.write_text(json.dumps(changed(path, value)))
    with pytest.raises(UserError, match=message) as error:
        replay_disk(trace, drive)
    assert "\n" not in str(error.value)


def test_a_drive_of_more_blocks_than_can_be_counted_is_one_sentence():
    drive = changed("mechanics/Number of data surfaces", 1000)
    drive["mechanics"]["Layout Model"]["Zones"][-1] |= {"Last cylinder number": 10**9, "Blocks per track": 10**9}
    with pytest.raises(UserError, match="more blocks than 64 bits count; give fewer"):
        specified_disk(drive)


def test_whole_numbers_may_be_written_with_a_point():
    def pointed(part):
        if isinstance(part, dict):
            return {name: pointed(value) for name, value in part.items()}
        return [pointed(value) for value in part] if isinstance(part, list) else float(part) if type(part) is int else part
    for value, other in zip(specified_disk(pointed(DRIVE)), specified_disk(DRIVE), strict=True):
        assert type(value) is type(other)
        np.testing.assert_equal(value, other)


@pytest.mark.parametrize(("spoil", "message"), [
    (lambda text: text.replace("gap_us", "pause"), "has no column gap_us"),
    (lambda text: text.splitlines()[0], "has no requests; give at least 4"),
    (lambda text: "\n".join(text.splitlines()[:2]), "has 1 request; give at least 4"),
    (lambda text: text.rstrip().rpartition(",")[0], "cut off"),
    (lambda text: text.replace("\nR,", "\nX,", 1), "Give R or W"),
    (lambda text: text + "R,1,0,5,5\n", "0 blocks"),
    (lambda text: text + "R,999999999,1,5,5\n", "not on a disk"),
    (lambda text: text + "R,-4,1,5,5\n", "^request 9 of .* is R,-4,1,5.0,5[.] .* of 0 to 10"),
    (lambda text: text + "R,4.5,1,5,5\n", "is R,4.5,1,5.*[.] Give .* whole"),
    (lambda text: text + "R,4,1,inf,5\n", "is R,4,1,inf,5. "),
    (lambda text: text + "R,4,1,5,1e300\n", "of 0 to 10"),
    (lambda text: text.replace("\n", ",1\n").replace("gap_us,1", "gap_us"), "more values than its header"),
])
def test_an_impossible_trace_is_one_sentence(spoil, message, measured):
    trace, drive = measured(n=8)
    trace.write_text(spoil(trace.read_text()))
    with pytest.raises(UserError, match=message) as error:
        replay_disk(trace, drive)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("unmeasured", [slice(0, 3), slice(4, 7), slice(0, 7)])
def test_a_half_without_service_times_is_one_sentence(unmeasured, measured):
    trace, drive = measured(n=8)
    table = pd.read_csv(trace)
    table.loc[unmeasured, "service_us"] = 0.0
    table.to_csv(trace, index=False)
    with pytest.raises(UserError, match=r"half of the trace .* has no service times; give a measured"):
        replay_disk(trace, drive)


@pytest.mark.parametrize("vary", [
    lambda text: text.replace(",", ", "), lambda text: text.replace(",", " ,\t"), str.lower,
    lambda text: text.replace("\nR", "\n  R").replace("\n", "  \n"),
    lambda text: "# a drive, measured\n" + text.replace("\nW", "\n# next, a write\n\nW") + "#end",
    lambda text: "\ufeff" + text,
    lambda text: text.replace("\n", "\r\n"), lambda text: text.rstrip(), lambda text: text.replace("\n", ",\n"),
    lambda text: text.replace("\n", ",\n").replace(",\n", "\n", 1),
    lambda text: text.replace("R,", '"R",').replace("block", '"block"'),
])
def test_what_does_not_change_the_meaning_of_a_trace_is_accepted(vary, measured):
    trace, _ = measured(n=60)
    plain = read_trace(trace)
    trace.write_bytes(vary(trace.read_text()).encode())
    assert all((column == expected).all() for column, expected in zip(read_trace(trace), plain, strict=True))


def test_columns_have_any_order_and_there_may_be_more_of_them(measured):
    trace, _ = measured(n=60)
    plain, table = read_trace(trace), pd.read_csv(trace)
    varied = table.assign(host="a", queue=np.nan)[["gap_us", "host", "count", "queue", "op", "service_us", "block"]]
    varied.to_csv(trace, index=False)
    varied.astype({"block": "int32", "count": "uint16", "gap_us": "float32"}).to_parquet(trace.with_suffix(".parquet"))
    for path in (trace, trace.with_suffix(".parquet")):
        assert all((column == expected).all() for column, expected in zip(read_trace(path), plain, strict=True))


def test_rows_of_a_parquet_file_are_counted_and_not_called_by_their_index(measured):
    trace, _ = measured()
    table = pd.read_csv(trace)
    table.loc[5, "block"] = -1
    table[table.index > 2].to_parquet(trace)
    with pytest.raises(UserError, match="request 3 of the trace"):
        read_trace(trace)
    trace.write_text("op,op,block,count,service_us,gap_us\n" + "R,R,1,1,1,1\n" * 9)
    with pytest.raises(UserError, match="several columns of the name op"):
        read_trace(trace)


def test_an_empty_trace_is_what_is_wrong_also_where_the_seek_curve_is_missing(measured):
    trace, drive = measured(n=8)
    trace.write_text(trace.read_text().splitlines()[0])
    drive.write_text(json.dumps(changed("mechanics/Mechanical Model/Seek type", "extracted")))
    with pytest.raises(UserError, match="has no requests"):
        replay_disk(trace, drive)


@pytest.mark.parametrize(("content", "message"), [
    ("cylinders,ms\n1,1\n3,x\n", "^row 2 of the seek curve .* is 3,x; give two numbers of at most 10\\^9$"),
    ("cylinders,ms\n1,1\n3,\n", "^row 2 of the seek curve .* is 3.*,nan; "),
    ("cylinders,ms\n1,1\n3,inf\n", "row 2 of the seek curve .* is 3,inf; "),
    ("cylinders,ms,ms\n1,1,1\n3,2,2\n", "several columns of the name ms; leave one"),
    ("cylinders,ms\n1,1\n", "has 1 rows of cylinders, ms; give two or more"),
    ("distance,ms\n1,1\n2,2\n", "rows of distance, ms; give"),
    ("cylinders,ms\n3,1\n2,2\n", "does not rise")])
def test_an_impossible_seek_curve_is_one_sentence(content, message, tmp_path):
    (tmp_path / "seek.csv").write_text(content)
    with pytest.raises(UserError, match=message):
        read_seek_table(tmp_path / "seek.csv")


@pytest.mark.parametrize("separator", [";", "\t", " ; "])
def test_columns_may_be_apart_by_semicolons_or_tabs(separator, measured, tmp_path):
    trace, _ = measured(n=40)
    path = tmp_path / "t.csv"
    path.write_text("# a note, with a comma\n" + trace.read_text().replace(",", separator))
    assert all((column == expected).all() for column, expected in zip(read_trace(path), read_trace(trace), strict=True))


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zip", "t.csv.zst", "t.csv.lz4"])
def test_a_compressed_trace_is_read_and_one_that_is_cut_off_is_one_sentence(name, measured, tmp_path):
    trace, _ = measured(n=400)
    packed = tmp_path / name
    if packed.suffix in BY_ARROW:
        with pa.output_stream(packed) as file:
            file.write(trace.read_bytes())
    else:
        pd.read_csv(trace).to_csv(packed, index=False)
    assert all((column == expected).all() for column, expected in zip(read_trace(packed), read_trace(trace), strict=True))
    whole = packed.read_bytes()
    for spoilt in (whole[:len(whole) // 2], bytes(len(whole))):
        packed.write_bytes(spoilt)
        with pytest.raises(UserError, match=f"^cannot read the trace .*{name} .*; give a CSV of op, ") as error:
            read_trace(packed)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(("content", "complaint"), [
    ("op,lba,blocks,service_us,gap_us\nR,1,1,1,1\nR,1,1,1,1,7,8\n", r"Expected 5 fields in line 3, saw 7\)"),
    ("", r"\(it is empty\)"), ("# nothing\n\n", r"\(it is empty\)")])
def test_what_pandas_says_of_a_table_is_a_part_of_one_sentence(content, complaint, tmp_path):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(UserError, match=f"^cannot read the trace .*{complaint}; give a CSV of op, ") as error:
        read_trace(tmp_path / "t.csv")
    assert "\n" not in str(error.value)


def test_a_damaged_archive_is_one_sentence(tmp_path):
    (tmp_path / "t.tar").write_bytes(bytes(600))
    with pytest.raises(UserError, match="cannot read the trace ") as error:
        read_trace(tmp_path / "t.tar")
    assert "\n" not in str(error.value)


def test_files_that_are_not_there_are_one_sentence(measured, tmp_path):
    trace, drive = measured(n=8)
    for files in ((tmp_path / "no.csv", drive), (trace, tmp_path / "no.json"), (trace, drive, tmp_path / "no.seek")):
        with pytest.raises(UserError, match="cannot read"):
            replay_disk(*files)
    drive.write_text("{")
    with pytest.raises(UserError, match="no JSON"):
        replay_disk(trace, drive)

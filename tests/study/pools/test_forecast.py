"""A user's own pool: what is described is what the allocator finds, and what becomes of writes in it."""
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from model.structures.sentinels import NIL
from model.zfs.ageing.described import n_units, n_units_of_pieces
from model.zfs.space.space_map import first, following
from study.commands import main as cli
from study.errors import UserError
from study.pools import asked_pool, described_space, forecast, forecast_page, zdb
from study.pools.zdb import Slab

MIB = 2**20
SIZE = 32 * MIB
SAMPLES = Path(__file__).parent / "zdb"


def test_metaslabs_that_are_loaded_have_the_described_space_described():
    slabs = [Slab(0, m * SIZE, True, free * MIB, SIZE, fragmentation=70) for m, free in enumerate((12, 9, 7))]
    pool, made = forecast._pool(slabs, 8192, "b117", 1, forecast._by_weight(slabs, "b117")[:3])
    assert made == {0, 1, 2}
    assert pool.vdevs.allocated[0] == pool.allocated.sum()
    written = forecast._write(pool, 20, 8192).size
    m = int(np.flatnonzero(pool.loaded)[0])
    described = SIZE - forecast._bytes(forecast._allocated(slabs[m], m * SIZE, 8192, forecast.stream(1, f"metaslab {m}")))
    assert pool.maps.space[m] == described - written * 8192
    node = first(pool.maps, m)
    while node != NIL:
        assert m * SIZE <= pool.maps.start[node] < pool.maps.end[node] <= (m + 1) * SIZE
        node = following(pool.maps, node)


def naive_units(places, n_bytes, max_bytes):
    """Go through all in order; an I/O goes on while the next block is its neighbour and it has room."""
    units, end, room = 0, None, 0
    for vdev, offset in sorted(places):
        if end != (vdev, offset) or room < n_bytes:
            units, room = units + 1, max_bytes
        end, room = (vdev, offset + n_bytes), room - n_bytes
    return units


@settings(max_examples=100)
@given(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 120)), min_size=1), st.sampled_from([4096, 8192, 65536, 131072]),
       st.sampled_from([2**17, 2**20]))
def test_ios_are_counted_as_one_by_one(blocks, n_bytes, max_bytes):
    places = [(vdev, block * n_bytes) for vdev, block in blocks]
    vdevs, offsets = np.array(places).T
    assert n_units(vdevs, offsets, n_bytes, max_bytes) == naive_units(places, n_bytes, max_bytes)


@pytest.mark.parametrize(("name", "max_kib"), [*((name, 128) for name in forecast.ERAS), ("openzfs_2019", 1024)])
def test_in_an_empty_pool_writes_are_as_large_as_they_may_be(name, max_kib):
    fresh = [Slab(0, m * 256 * MIB, False, 256 * MIB, 256 * MIB) for m in range(4)]
    prediction, = forecast.of_slabs(fresh, 8192, (name,))
    assert prediction.blocks_per_io == pytest.approx(max_kib / 8, rel=0.02)
    assert prediction.single == 0


@pytest.mark.parametrize("name", forecast.ERAS)
def test_holes_of_one_record_take_one_record_each(name):
    holes = [Slab(0, m * SIZE, True, 14 * MIB, SIZE, histogram={12: 14 * 256}) for m in range(8)]
    prediction, = forecast.of_slabs(holes, 4096, (name,))
    assert prediction.blocks_per_io == 1
    assert prediction.single == 1


def test_more_fragmentation_makes_writes_smaller():
    blocks = [forecast.of_slabs(described_space.alike(0.5, percent, 2**31, 2**28), 8192, ("b141_df",))[0].blocks_per_io
              for percent in (20, 50, 80)]
    assert blocks[0] > blocks[1] > blocks[2]


def test_each_vdev_is_taken_by_itself():
    slabs = [slab._replace(vdev=vdev) for vdev in (3, 5) for slab in described_space.alike(0.5, 50, 2**29, 2**28)]
    forecasts = forecast.of_slabs(slabs, 8192, ("b117", "b141"))
    assert [(row.vdev, row.era) for row in forecasts] == [(3, "b117"), (3, "b141"), (5, "b117"), (5, "b141")]
    assert forecasts[0][2:] == forecasts[2][2:]     # the same description, the same answer


def test_vdevs_with_a_purpose_are_left_out_and_named(tmp_path):
    printed = (SAMPLES / "openzfs_m.txt").read_text()
    assert printed.count("vdev          1   ") == 1
    path = tmp_path / "pool.txt"
    path.write_text(printed.replace("vdev          1   ", "vdev          1   special   "))
    slabs = zdb.read(path)
    assert {row.vdev for row in forecast.of_slabs(slabs, 8192, ("b117",))} == {0}
    result = CliRunner().invoke(cli.app, ["pool", str(path), "--era", "b117"])
    assert "left out, as having a purpose of their own: vdev 1 (special)\n" in result.output
    assert forecast_page.left_out(zdb.read(SAMPLES / "openzfs_m.txt")) == ""


def gangs_where_no_hole_is_long_enough(name, n_slabs):
    """Of holes of 4 KiB a record of 8 KiB takes three members, and a header of 512 B in two copies."""
    holes = [Slab(0, m * SIZE, True, 14 * MIB, SIZE, histogram={12: 14 * 256}) for m in range(n_slabs)]
    prediction, = forecast.of_slabs(holes, 8192, (name,))
    assert prediction.gangs == 1
    assert 1 / 5 <= prediction.blocks_per_io < 1
    assert prediction.single > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", forecast.ERAS)
def test_records_larger_than_all_holes_become_gangs(name):
    gangs_where_no_hole_is_long_enough(name, 4)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 200)), min_size=1, max_size=40), st.randoms(),
       st.sampled_from([2**17, 2**20]))
def test_ios_of_pieces_are_counted_as_one_by_one(gaps, order, max_bytes):
    """Pieces of any size; an I/O is full at a limit, wherever in a piece that is."""
    end, pieces = 0, []
    for gap, sectors in gaps:
        pieces.append((end + 512 * gap, 512 * sectors))
        end = sum(pieces[-1])
    rows = []
    for offset, n_bytes in pieces:
        if rows and rows[-1][0] + rows[-1][1] == offset:
            rows[-1] = (rows[-1][0], rows[-1][1] + n_bytes, False)
        else:
            rows.append((offset, n_bytes, True))
    order.shuffle(pieces)
    counts = n_units_of_pieces(*np.array(pieces).T, max_bytes)
    assert counts == (sum(-(-n_bytes // max_bytes) for _, n_bytes, _ in rows), sum(alone for *_, alone in rows))


@pytest.mark.parametrize(("free_bytes", "holes", "match"), [
    (64 * 1024, None, "vdev 0 has 65536 bytes free, too little")])
def test_a_pool_without_room_is_refused(free_bytes, holes, match):
    with pytest.raises(UserError, match=match):
        forecast.of_slabs([Slab(0, 0, True, free_bytes, SIZE, histogram=holes)], 8192, ("b117",))


@pytest.mark.parametrize("how", [{"histogram": {12: 2**28}}, {"n_segments": 2**28}, {"fragmentation": 98}, {}])
def test_metaslabs_with_more_segments_than_the_model_holds_are_made_smaller(how):
    slabs = [Slab(0, m * 2**43, True, 2**42, 2**43, **how) for m in range(4)]
    for n in (1, 3):
        fewer, _ = forecast._manageable(slabs, forecast._by_weight(slabs, "b117"), "b117", n, 8192)
        n_segments = n * described_space.n_segments(fewer[0], 8192)
        max_segments = forecast.MAX_SEGMENTS if how else forecast.MAX_UNKNOWN
        assert max_segments / 2 - n <= n_segments <= max_segments
        assert {slab.free_bytes / slab.size_bytes for slab in fewer} == {0.5}


@pytest.mark.slow
def test_a_smaller_metaslab_has_the_same_forecast(monkeypatch):
    slabs = [Slab(0, m * 2**33, True, 2**32, 2**33, histogram={13: 100_000, 15: 40_000, 17: 5_000}) for m in range(4)]

    def blocks():
        return np.mean([forecast.of_slabs(slabs, 8192, ("b141_df",), seed)[0].blocks_per_io for seed in range(6)])
    whole = blocks()
    monkeypatch.setattr(forecast, "MAX_SEGMENTS", 100_000)
    assert blocks() == pytest.approx(whole, rel=0.1)


# ---- what is not known ----

HEAD = "\tvdev          0   \n\tmetaslabs    {}   offset                spacemap          free        \n"
LINE = "\tmetaslab {:6d}   offset {:12x}   spacemap {:6d}   free    {}\n"
HISTOGRAM = ("\tOn-disk histogram:\t\tfragmentation 57\n\t\t\t 12:  12500 ****\n\t\t\t 14:   8700 ***\n\t\t\t 17:   1660 *\n"
             "\t\t\t 18:   2400 *\n")


def printed(n, frees, below="", size=2**33):
    lines = [LINE.format(m, m * size, 30 + m, free) + below for m, free in enumerate(frees)]
    return zdb.parse(HEAD.format(n) + "".join(lines), "pool.txt")


def test_without_a_histogram_a_forecast_is_a_range_that_holds_the_one_with_it():
    lines = 4 * ["1.51G"]
    low, high = forecast.of_slabs(printed(4, lines), 8192, ("b141_df",))
    prediction, = forecast.of_slabs(printed(4, lines, HISTOGRAM), 8192, ("b141_df",))
    assert (low.holes, high.holes, prediction.holes) == (forecast.RECORDS, forecast.WHOLE, "")
    assert 1 == low.blocks_per_io < prediction.blocks_per_io < high.blocks_per_io == 16
    cells = forecast_page.table([low, high, prediction._replace(vdev=1)], 8192)
    assert cells["records per write"].tolist() == ["1.0 to 16.0", f"{prediction.blocks_per_io:.1f}"]


def test_what_is_not_known_and_what_is_missing_is_said():
    notes = forecast_page.notes(printed(115, 2 * ["1.51G"]))
    assert notes[0] == "vdev 0: 2 metaslabs of 8 GiB, 3.02 GiB free"
    assert "vdev 0 has 115 metaslabs, of which 113 are missing" in notes[1]
    assert notes[2].startswith("For all 2 metaslabs of vdev 0 no histogram is printed")
    assert "`zdb -mm POOL`" in notes[2]
    assert forecast_page.notes(printed(2, 2 * ["1.51G"], HISTOGRAM)) == ["vdev 0: 2 metaslabs of 8 GiB, 3.02 GiB free"]


def test_metaslabs_before_the_last_are_missed_without_a_header():
    """As of a paste whose beginning was cut."""
    text = "".join(LINE.format(m, m * 2**33, 30 + m, "1.51G") + HISTOGRAM for m in (3, 4, 5))
    assert "vdev 0 has 6 metaslabs or more, of which 3 are missing" in forecast_page.notes(zdb.parse(text, "pool.txt"))[1]


@pytest.mark.parametrize(("below", "match"), [
    ("\tOn-disk histogram:\t\tfragmentation 57\n", "only the fragmentation is known"),
    ("\t                  segments      12500   maxsize    496K   freepct   18%\n", "Free segments are as many as printed"),
])
def test_how_segments_are_made_without_a_histogram_is_said(below, match):
    note, = forecast_page.notes(printed(2, 2 * ["1.51G"], below))[1:]
    assert match in note
    assert note.startswith("For all 2 metaslabs of vdev 0 ")


def test_free_space_by_a_histogram_with_changes_that_wait_is_said():
    slabs = printed(2, 2 * ["4.00G"], HISTOGRAM + "\tFlush data:\n\tunflushed txg=77100\n")
    note = forecast_page.notes(slabs)[1]
    assert "For all 2 metaslabs of vdev 0 the histogram's free space is taken" in note


def test_whole_metaslabs_make_what_is_not_known_of_others_matter_less():
    low, high = forecast.of_slabs(printed(3, ["16.00G", "15.1G", "16.00G"], size=2**34), 8192, ("b117",))
    assert low.blocks_per_io == high.blocks_per_io == 16


def test_metaslabs_of_256_gib_get_an_answer():
    low, high = forecast.of_slabs(printed(3, ["130G", "124G", "113G"], size=2**38), 8192, ("b141_df",))
    assert (low.blocks_per_io, high.blocks_per_io) == (1, 16)


@pytest.mark.parametrize("how", [{"histogram": {12: 3584}}, {"n_segments": 500, "largest_bytes": 2**17},
                                 {"fragmentation": 40}, {}])
def test_segments_are_as_many_as_was_said_before_they_were_made(how):
    slab = Slab(0, 0, True, 14 * MIB, SIZE, **how)
    made = described_space.segments(slab, 8192, np.random.default_rng(1))
    assert len(made) == described_space.n_segments(slab, 8192)


@pytest.mark.parametrize("name", ["onnv_69", "onnv_147_mm", "openzfs_m", "openzfs_mm", "openzfs_mmm"])
def test_a_forecast_is_made_of_all_that_zdb_prints(name):
    for row in forecast.of_slabs(zdb.read(SAMPLES / f"{name}.txt"), 8192, ("b117",)):
        assert 1 <= row.blocks_per_io <= 16


@pytest.mark.parametrize(("arguments", "sentence"), [
    ([], "give a file with what `zdb -mm POOL` prints, or both --fill and --fragmentation"),
    (["--fill", "1.8"], "--fill is given and --fragmentation is missing"),
    (["--fragmentation", "40"], "--fragmentation is given and --fill is missing"),
    (["--disk", "2T"], "--disk is given and --fill and --fragmentation are missing"),
    ([str(SAMPLES / "openzfs_mm.txt"), "--disk", "2T"], "says what the pool is like, and --disk does too"),
    ([str(SAMPLES / "openzfs_mm.txt"), "--fill", "0.8"], "says what the pool is like, and --fill does too"),
    (["--fill", "120%", "--fragmentation", "40"], "the fill is 1.2, but it must be from 0 to less than 1"),
    (["--fill", "much", "--fragmentation", "40"], "the fill is 'much', which is no share; write it like 0.8 or 80%"),
    (["--fill", "0.8", "--fragmentation", "some"], "the fragmentation is 'some', which is no share"),
    (["--fill", "1.2", "--fragmentation", "40"], "the fill is 1.2, but it must be from 0 to less than 1"),
    (["--fill", "0.8", "--fragmentation", "40", "--record", "1000"], "the record is 1000 bytes"),
    (["--fill", "0.8", "--fragmentation", "40", "--record", "many"], "the record is 'many', which is no size"),
    (["--fill", "0.8", "--fragmentation", "40", "--era", "b9"], "era is 'b9'"),
])
def test_what_cannot_be_asked_gets_one_sentence(arguments, sentence):
    result = CliRunner().invoke(cli.app, ["pool", *arguments])
    assert isinstance(result.exception, UserError)
    assert sentence in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_share_is_read_with_and_without_a_percent_sign():
    assert asked_pool.of_pool(None, "80%", "40%", "1G") == asked_pool.of_pool(None, "0.8", "40", "1G")


def test_the_command_prints_a_row_for_each_era():
    result = CliRunner().invoke(cli.app, ["pool", "--fill", "0.5", "--fragmentation", "50", "--disk", "2G"])
    assert result.exit_code == 0, result.exception
    assert [name for name in forecast.ERAS if f" {name} " in result.output] == [*forecast.ERAS]


def test_a_histogram_that_has_less_than_is_free_is_read_and_that_is_said():
    """Releases up to 2016 leave out what was freed last; of a paste rows may be missing."""
    text = ("\tvdev          0\n\tmetaslab      0   offset            0   spacemap     38   free    30.0M\n"
            "\tOn-disk histogram:\t\tfragmentation 20%\n\t\t\t 20:   3 **\n"
            "\tmetaslab      1   offset      4000000   spacemap     39   free    20.0M\n")
    (note,) = [line for line in forecast_page.notes(zdb.parse(text, "sample")) if "histogram has less" in line]
    assert note.startswith("For 1 of the 2 metaslabs of vdev 0 the histogram has less than is free")

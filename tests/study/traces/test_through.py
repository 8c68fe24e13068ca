"""A trace through each mechanism: against plain Python, against libcachesim, against `study verify`, and by laws."""
import json
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from study.drawing import render
from study.errors import UserError
from study.figures import traces
from study.project import DATA
from study.replays import verify
from study.traces import allocations, arcs, vdevs
from study.traces.read import read, ready
from study.traces.requests import READ, WRITE, Format, Trace, at_rate, rows_of
from twins.arc import TwinOfTextbook
from twins.vdev_cache import TwinOfVdevCache

FIXTURES = Path(__file__).parent / "fixtures"
RECORDINGS = DATA / "traces"
FORM = Format("made up", resolution="1 ns")
MS = 10**6


def made(place, n_bytes, kind, gap_ns, device=0):
    """A trace of these columns."""
    rows = rows_of(time_ns=np.cumsum(np.array(gap_ns, np.int64)), place=np.array(place, np.int64),
                   n_bytes=np.array(n_bytes, np.int64), kind=np.array(kind, np.int64),
                   device=np.broadcast_to(np.array(device, np.int64), len(place)))
    return Trace(Path("made up"), FORM, rows, ["a", "b"], ())


def random_trace(seed, n=4000, share=0.3):
    rng = stream(seed, "trace")
    place = (500 * rng.random(n) ** 2).astype(np.int64) * 4096
    return made(place, rng.choice([4096, 8192, 20_000], n), (rng.random(n) < share).astype(np.int64),
                rng.integers(0, 5 * MS, n), rng.integers(0, 2, n))


STORIES = st.lists(st.tuples(st.integers(0, 30), st.sampled_from([512, 4096, 9000]), st.sampled_from([READ, WRITE]),
                             st.integers(0, 1), st.sampled_from([0, MS, 100 * MS])), min_size=1, max_size=60)


def story_trace(story):
    place, n_bytes, kind, device, gap_ns = zip(*story, strict=True)
    return made([4096 * block for block in place], n_bytes, kind, gap_ns, device)


def references(trace, block_bytes):
    """(block, is a write) by plain Python."""
    for row in trace.requests:
        last = (row["place"] + row["n_bytes"] - 1) // block_bytes
        for block in range(row["place"] // block_bytes, last + 1):
            yield (int(row["device"]), int(block)), bool(row["kind"] == WRITE)


def lru_ratio(trace, block_bytes, c):
    cache, hits, reads = OrderedDict(), 0, 0
    for block, is_write in references(trace, block_bytes):
        reads += not is_write
        hits += not is_write and block in cache
        cache[block] = None
        cache.move_to_end(block)
        if len(cache) > c:
            cache.popitem(last=False)
    return hits / reads if reads else np.nan


def published_ratio(trace, block_bytes, c):
    twin, hits, reads = TwinOfTextbook(c), 0, 0
    for block, is_write in references(trace, block_bytes):
        is_hit = twin.request(block)
        reads += not is_write
        hits += is_hit and not is_write
    return hits / reads if reads else np.nan


@settings(deadline=None)
@given(STORIES, st.sampled_from([512, 4096, 8192]))
def test_each_row_of_the_arc_is_that_of_the_naive_twins(story, block_bytes):
    trace = story_trace(story)
    table = arcs.through_arc(trace, block_bytes, []).table
    for row in table.itertuples():
        assert row.lru == pytest.approx(lru_ratio(trace, block_bytes, row.blocks), nan_ok=True)
        assert row.published == pytest.approx(published_ratio(trace, block_bytes, row.blocks), nan_ok=True)


def test_a_cache_of_all_blocks_misses_each_once_whatever_its_rules():
    table = arcs.through_arc(random_trace(1, share=0), 4096, []).table
    last = table.iloc[-1]
    assert last["lru"] == last["published"] == last["zfs"]
    assert (np.diff(table["lru"]) >= 0).all()


def test_the_arc_of_zfs_may_exceed_its_size_by_a_block():
    """100 blocks in turn: an LRU of 99 has each gone before it is wanted, and one of 100 has all."""
    trace = made(4096 * (np.arange(1000) % 100), [4096] * 1000, [READ] * 1000, [MS] * 1000)
    result = arcs.through_arc(trace, 4096, [98 * 4096, 99 * 4096])
    assert result.table["lru"].tolist() == [0, 0]
    assert result.table["zfs"].tolist()[1] == 0.9
    assert result.table["zfs"].tolist()[0] < 0.9
    assert any("may exceed its size by a block" in note for note in result.notes)
    assert any("may exceed its size by a block" in note for note in arcs.through_l2arc(trace, 4096, None, [], "b141").notes)


@pytest.mark.parametrize(("n", "sizes"), [(1, [1]), (63, [1, 2, 4, 8, 16, 32, 63]), (64, [64]), (300, [64, 75, 150, 300])])
def test_default_sizes_have_64_blocks_or_a_note_says_that_they_tell_little(n, sizes):
    result = arcs.through_arc(made(4096 * np.arange(n), [4096] * n, [READ] * n, [MS] * n), 4096, [])
    assert result.table["blocks"].tolist() == sizes
    assert any("few blocks tell little" in note for note in result.notes) == (n < 64)
    assert result.notes[0].startswith("1 reference to 1 block of 4 KiB, of which 1 read;") == (n == 1)


# Miss ratios of libcachesim 0.3.5 of the fixture, objects of one size.
LIBCACHESIM = {5: (0.872, 0.777), 20: (0.626, 0.544), 60: (0.372, 0.343)}


def misses_of_twin(keys, c, fractions):
    twin = TwinOfTextbook(c, fractions)
    return sum(not twin.request(key) for key in keys) / len(keys)


def test_objects_are_missed_as_often_as_libcachesim_misses_them():
    """It moves p by fractions, and ours by whole numbers: the twin does either."""
    keys = read(FIXTURES / "small.oracleGeneral.bin.zst").requests["place"].tolist()
    result = arcs.through_arc(read(FIXTURES / "small.oracleGeneral.bin.zst"), 8192, list(LIBCACHESIM))
    for row in result.table.itertuples():
        lru, arc = LIBCACHESIM[row.blocks]
        assert row.lru == pytest.approx(1 - lru)
        assert misses_of_twin(keys, row.blocks, True) == pytest.approx(arc)
        assert row.published == pytest.approx(1 - misses_of_twin(keys, row.blocks, False))
    assert any("reads and writes are not told apart" in note for note in result.notes)
    assert any("whole seconds" in note for note in result.notes)


@pytest.mark.parametrize("through", [
    lambda trace: arcs.through_l2arc(trace, 8192, None, [], "b141"), lambda trace: vdevs.through_vdev_cache(trace, [], None),
    lambda trace: vdevs.through_queue(trace, 5000, None),
    lambda trace: allocations.through_allocator(trace, 8192, 0.5, None)])
def test_what_a_format_lacks_is_never_guessed(through, tmp_path):
    with pytest.raises(UserError, match="names objects and no places"):
        through(read(FIXTURES / "small.oracleGeneral.bin.zst"))
    path = tmp_path / "log"
    path.write_text("fio version 2 iolog\nf add\nf open\nf read 0 4096\nf write 0 4096\n")
    with pytest.raises(UserError, match="has no times"):
        through(read(path))
    assert len(through(ready(path, None, [], 100)).table)


def test_arc_of_zfs_is_left_out_without_times(tmp_path):
    path = tmp_path / "log"
    path.write_text("fio version 2 iolog\nf add\nf open\nf read 0 4096\nf read 0 4096\n")
    result = arcs.through_arc(read(path), 4096, [])
    assert result.table["zfs"].isna().all()
    assert result.table["lru"].tolist() == [0.5]
    assert any("--rate" in note for note in result.notes)


# ---- vdev cache ----


@pytest.mark.parametrize("size", [2**16, 2**20])
def test_outcomes_of_the_vdev_cache_are_those_of_the_twin(size):
    trace = random_trace(2)
    row = vdevs.through_vdev_cache(trace, [size], None).table.iloc[0]
    params = vdevs.rules("onnv_69").cache._replace(cache_bytes=size)
    counts = {}
    for device in (0, 1):
        twin, fills = TwinOfVdevCache(params), []
        for request in trace.requests[trace.requests["device"] == device]:
            tick, place, n = int(request["time_ns"]) // 10**7, int(request["place"]), int(request["n_bytes"])
            while fills and fills[0][0] + 1 <= tick:
                twin.fill_done(tick, fills.pop(0)[1])
            if request["kind"] == WRITE:
                twin.write(tick, place, n)
                continue
            outcome, _ = twin.read(tick, place, n, 1, 0)
            counts[outcome] = counts.get(outcome, 0) + 1
            if outcome == 1:
                fills.append((tick, place - place % 2**16))
    assert {code: int(row[name]) for code, name in enumerate(vdevs.OUTCOMES) if row[name]} == counts
    assert row["reads"] == (trace.requests["kind"] == READ).sum()


@pytest.mark.parametrize("path", sorted((RECORDINGS / "vdev_cache").glob("*.parquet")), ids=lambda path: path.stem)
def test_a_recording_of_the_vdev_cache_decides_as_verify_does(path):
    result = vdevs.through_vdev_cache(read(path), [], None)
    row = result.table.iloc[0]
    recorded = np.bincount(_recorded_outcomes(path), minlength=len(vdevs.OUTCOMES))
    assert [int(row[name]) for name in vdevs.OUTCOMES] == recorded.tolist()
    assert not result.differs


def test_all_recordings_of_the_vdev_cache_decide_as_verify_does():
    replays = [replay for replay in verify.committed() if replay.completions == "recorded"]
    assert replays
    for replay in replays:
        row = vdevs.through_vdev_cache(read(replay.path), [], None).table.iloc[0]
        assert {name: int(row[name]) for name in vdevs.OUTCOMES} == replay.outcomes


def _recorded_outcomes(path):
    import pyarrow.parquet as pq
    table = pq.read_table(path, columns=["op", "res"])
    op, res = (table[name].to_numpy() for name in ("op", "res"))
    return res[op == 0]


def test_a_recording_of_the_vdev_queue_decides_as_verify_does():
    path = RECORDINGS / "vdev_queue" / "onnv69_queue_mid.parquet"
    result = vdevs.through_queue(read(path), 5000, None)
    assert not result.differs
    assert result.table["requests_per_unit"].min() >= 1
    assert result.notes[0].startswith(f"{path}: 0 differences")


def test_a_recording_has_the_size_that_it_was_recorded_with():
    with pytest.raises(UserError, match="leave --sizes away"):
        vdevs.through_vdev_cache(read(RECORDINGS / "vdev_cache" / "meta_L1.parquet"), [2**20], None)


def test_only_a_recording_knows_metadata():
    with pytest.raises(UserError, match="does not say which reads are of metadata"):
        vdevs.through_vdev_cache(random_trace(1), [], "onnv_70")


def test_classes_are_not_named_by_a_trace():
    with pytest.raises(UserError, match="has classes"):
        vdevs.through_queue(random_trace(1), 5000, "openzfs")


# ---- allocator ----


def test_what_is_written_in_order_once_lies_in_rows():
    trace = made(8192 * np.arange(1000), [8192] * 1000, [WRITE] * 1000, [MS] * 1000)
    table = allocations.through_allocator(trace, 8192, 0.5, None).table
    assert table["records_per_write"].tolist() == [pytest.approx(16, rel=0.02)] * 4
    assert (table["refused"] == 0).all()


def test_a_block_is_allocated_once_a_group_however_often_it_is_written():
    trace = made([0] * 50, [4096] * 50, [WRITE] * 50, [4_000 * MS] * 50)
    table = allocations.through_allocator(trace, 4096, 0.01, None).table.set_index("era")
    for era in table.index:
        timeout_ns = vdevs.rules(era).txg.timeout_ns
        groups = len(set((trace.requests["time_ns"] // timeout_ns).tolist()))
        assert table.loc[era, ["allocations", "groups"]].tolist() == [groups, groups]


@settings(deadline=None, max_examples=15)
@given(STORIES)
def test_rows_of_the_allocator_are_those_of_plain_python(story):
    trace = story_trace(story)
    keys, group, wanted, last = [], 0, [], {}
    timeout_ns = 50 * MS
    writes = [(block, int(row["time_ns"])) for row in trace.requests if row["kind"] == WRITE
              for block in range(row["place"] // 4096, (row["place"] + row["n_bytes"] - 1) // 4096 + 1)]
    if not writes:
        return
    keys, times = (np.array(column, np.int64) for column in zip(*writes, strict=True))
    rows, groups = allocations._rows(trace, keys, times, 4096, timeout_ns)
    n, seen, before = 0, set(), writes[0][1] // timeout_ns
    for key, time_ns in writes:
        if time_ns // timeout_ns != before:
            group, before, seen = group + 1, time_ns // timeout_ns, set()
            wanted.append((allocations.END_OF_TXG, group))
        if key in seen:
            continue
        seen.add(key)
        wanted.append((allocations.ALLOCATE, 0))
        if key in last:
            wanted.append((allocations.FREE, last[key]))
        last[key], n = n, n + 1
    wanted.append((allocations.END_OF_TXG, group + 1))
    assert list(zip(rows.op.tolist(), rows.which.tolist(), strict=True)) == wanted
    assert len(groups) == n


def test_a_trace_without_writes_allocates_nothing():
    with pytest.raises(UserError, match="no writes"):
        allocations.through_allocator(random_trace(1, share=0), 8192, 0.5, None)


# ---- times, pictures, the command ----


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), 1e-9])
def test_a_rate_has_bounds(rate):
    with pytest.raises(UserError, match="a second"):
        at_rate(random_trace(1), rate)


def test_every_picture_is_drawn():
    trace = random_trace(3)
    for draw, data in ((traces.miss_ratios, arcs.through_arc(trace, 4096, []).curve),
                       (traces.sizes, vdevs.through_queue(trace, 5000, None).table),
                       (traces.shares, arcs.through_l2arc(trace, 4096, None, [], "b141").table),
                       (traces.bytes_read, vdevs.through_vdev_cache(trace, [], None).table),
                       (traces.records, allocations.through_allocator(trace, 4096, 0.5, None).table)):
        assert render(draw, data, formats=["png"])["png"].startswith(b"\x89PNG")


def test_the_command_prints_draws_and_gives_json(study, tmp_path):
    path, picture = FIXTURES / "blkparse.txt", tmp_path / "new" / "curve.svg"
    done = study("replay", "requests", str(path), "--through", "arc", "--through", "queue", "--json")
    printed = json.loads(done.stdout)
    assert (done.returncode, set(printed["through"]), printed["requests"]) == (0, {"arc", "queue"}, 61)
    assert printed["reading_s_per_million"] is printed["through"]["arc"]["model_s_per_million"] is None
    done = study("replay", "requests", str(path), "--picture", str(picture))
    assert (done.returncode, "that of a million requests" in done.stdout) == (0, True)
    assert picture.read_text().startswith("<?xml")


@pytest.mark.parametrize(("arguments", "says"), [
    (["--through", "arcc"], "did you mean 'arc'"), (["--event", "ZZ"], "--event"), (["--block", "3000"], "power of two"),
    (["--sizes", "0"], "0"), (["--sizes", "8E"], "9007199254740992 at most"), (["--sizes", ","], "no size"),
    (["--through", "l2arc", "--memory", "8E"], "at most"), (["--through", "l2arc", "--memory", "1K"], "--memory"),
    (["--sizes", "a"], "no size"), (["--picture", "x.gif"], "does not end in"),
    (["--device", "sdz"], "no device sdz"), (["--through", "queue", "--service-us", "-1"], "service"),
    (["--through", "queue", "--era", "b999"], "b999"), (["--through", "allocator", "--fill", "7"], "fill"),
    (["--through", "allocator", "--era", "b89"], "b89"), (["--through", "l2arc", "--sizes", "1M"], "cache device"),
    (["--through", "l2arc", "--era", "onnv_69"], "L2ARC"), (["--rate", "nan"], "rate"),
    (["--through", "vdev-cache", "--sizes", "4P"], "cache_bytes")])
def test_what_cannot_be_is_one_sentence(study, arguments, says):
    done = study("replay", "requests", str(FIXTURES / "blkparse.txt"), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["fio_v2.iolog", "fio_v3.iolog", "msr.csv", "small.oracleGeneral.bin.zst"])
def test_an_event_of_a_trace_that_has_none_is_refused(study, name):
    done = study("replay", "requests", str(FIXTURES / name), "--event", "D")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no text of blkparse" in done.stderr
    assert "leave it out" in done.stderr


def test_the_time_of_a_million_requests_is_printed(study, tmp_path):
    path = tmp_path / "usr.csv"
    lines = [f"{128166372003061629 + 9999 * i},usr,0,Read,{i % 77 * 8192},8192,1\n" for i in range(100_000)]
    for n, count in ((100_000, 2), (99_999, 0)):
        path.write_text("".join(lines[:n]))
        assert study("replay", "requests", str(path)).stdout.count("s per million requests") == count


@pytest.mark.parametrize(("option", "value", "through"), [
    ("--memory", "1M", "arc"), ("--fill", "0.9", "queue"), ("--service-us", "3", "allocator"), ("--era", "b103", "arc"),
    ("--sizes", "1M", "queue"), ("--block", "4K", "vdev-cache")])
def test_an_option_of_another_mechanism_is_not_passed_over(study, option, value, through):
    done = study("replay", "requests", str(FIXTURES / "blkparse.txt"), "--through", through, option, value)
    assert done.returncode == 2
    assert f"{option} is of " in done.stderr
    assert f"but the trace goes through {through}; leave it out" in " ".join(done.stderr.split())

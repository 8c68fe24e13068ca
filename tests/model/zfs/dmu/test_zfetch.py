"""zfetch: the worked sequence of the specification, its naive twin, laws, and defects that must be noticed."""


import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from model.zfs.dmu.zfetch import ZfetchParams, forget, max_fetches, new_zfetch, of_records, read_block
from model.zfs.eras import ERAS
from support.processes import UNCOMPILED, prints_the_same
from twins.zfetch import DEFECTS, TwinOfZfetch

LONG = 10**6  # last block of a file that does not end
OLD, NEW = ERAS["onnv_69"].zfetch, ERAS["b141"].zfetch  # before and after hg 10474

quick = settings(deadline=None, derandomize=True, max_examples=80)


class Kernels:
    """The kernels as the twin is called; `streams` as it keeps them."""

    def __init__(self, params, zfetch=None, file=0):
        self.params, self.file = params, file
        self.zfetch = zfetch or new_zfetch(params, 1)
        self.out = np.zeros((max_fetches(params), 2), np.int64)

    def read_block(self, block, prefetched, now, maxblkid):
        n = read_block(self.zfetch, self.params, self.file, block, prefetched, now, maxblkid, self.out)
        return [tuple(row) for row in self.out[:n].tolist()]

    @property
    def streams(self):
        z, first = self.zfetch, self.file * self.params.max_streams
        places = first + z.by_age[first:first + z.n_streams[self.file]]
        columns = (z.start, z.length, z.stride, z.ahead, z.cap, z.direction, z.used)
        names = ("o", "l", "s", "p", "c", "d", "last")
        return [{name: int(column[place]) for name, column in zip(names, columns, strict=True)} for place in places]


def fetches(blocks, params=OLD, prefetched=1, maxblkid=LONG):
    """(block, what its read prefetches) for each of the reads that prefetch anything; all in one tick."""
    zfetch = Kernels(params)
    answers = ((block, zfetch.read_block(block, prefetched, 0, maxblkid)) for block in blocks)
    return [(block, fetched) for block, fetched in answers if fetched]


def run(start, count, n):
    """`n` fetches of `count` blocks each, side by side."""
    return [(start + i * count, count) for i in range(n)]


# ---- the worked sequence of the specification, 4.6 ----

FORWARD = [(1, [(2, 2)]), (2, [(4, 3)]), (3, [(7, 4), (11, 4)]), (4, [(15, 5), (20, 5)]),
           (5, [(25, 6), (31, 6), (37, 6)]), (6, run(43, 7, 4)), (7, run(71, 8, 9)), (8, run(143, 9, 14)),
           (13, [(269, 14)]), (27, [(283, 28)]), (55, [(311, 56)]), (111, [(367, 112)]), (223, [(479, 224)]),
           (447, [(703, 256)]), (703, [(959, 256)]), (959, [(1215, 256)])]


@pytest.mark.parametrize("params", [OLD, NEW])
def test_a_long_sequential_read_forward(params):
    assert fetches(range(1200), params) == FORWARD


def test_a_long_sequential_read_backward():
    expected = [(4999, [(4997, 2)]), (4998, [(4994, 3)]), (4997, [(4990, 4), (4986, 4)])]
    assert fetches(range(5000, 4996, -1)) == expected


def test_backward_mirrors_forward():
    """The block x of one is the block 5000 - x of the other, and a fetch (a, n) is (5000 - a - n + 1, n)."""
    mirrored = [(5000 - block, [(5000 - a - n + 1, n) for a, n in fetched]) for block, fetched in FORWARD]
    assert [step for step in fetches(range(5000, 4100, -1)) if step[0] > 4990] == mirrored[:8]


def test_reading_every_eighth_block():
    answers = fetches(range(0, 120, 8), maxblkid=LONG)
    starts = {block: [start for start, _ in fetched] for block, fetched in answers}
    assert starts[16] == [24, 32]
    assert starts[24] == [40, 48, 56]
    assert starts[32] == [64, 72, 80, 88, 96]
    assert [len(starts[block]) for block in (40, 48, 56, 64, 72, 80, 88, 96)] == [9, 17, 33, 65, 129, 1, 1, 1]
    assert starts[80] == [80 + 256 * 8]
    assert all(count == 1 for _, fetched in answers for _, count in fetched)


def test_in_a_file_of_less_than_512_blocks_strides_are_not_found():
    """It has one stream, and it takes two to see a stride."""
    assert fetches(range(0, 120, 8), maxblkid=511) == []
    assert fetches(range(0, 120, 8), maxblkid=512) != []


def test_the_reader_is_256_to_511_blocks_behind():
    """Spec 4.6, from the second burst of 256 on: the distance to what is prefetched."""
    zfetch, ahead, distances = Kernels(OLD), 0, []
    for block in range(3000):
        ahead = max([ahead, *(start + count for start, count in zfetch.read_block(block, 1, 0, LONG))])
        distances += [ahead - 1 - block] if block >= 703 else []
    assert (min(distances), max(distances)) == (256, 511)


# ---- the twin ----


def walk(seed, n, n_readers=3, span=3000, p_jump=0.05, p_missed=0.1, per_tick=5):
    """Readers that go forward, backward or in strides, and jump now and then: rows of (block, prefetched, tick)."""
    rng = stream(seed, "walk")
    at, step = rng.integers(0, span, n_readers), rng.choice([1, 1, -1, 3, -7, 40], n_readers)
    tick, rows = 0, []
    for _ in range(n):
        tick += int(rng.random() < 1 / per_tick) + int(rng.random() < 0.01) * int(rng.integers(500))
        reader = int(rng.integers(n_readers))
        if rng.random() < p_jump or not 0 <= at[reader] + step[reader] < span:
            at[reader], step[reader] = rng.integers(0, span), rng.choice([1, 1, -1, 3, -7, 40])
        at[reader] = min(span - 1, max(0, at[reader] + step[reader] + int(rng.random() < 0.05)))
        rows.append((int(at[reader]), int(rng.random() >= p_missed), tick))
    return rows


def prefetches(zfetch, rows, maxblkid):
    """What is prefetched, and the streams after it, at every step."""
    return [(zfetch.read_block(*row, maxblkid), [dict(z) for z in zfetch.streams]) for row in rows]


small = st.fixed_dictionaries(dict(
    max_streams=st.integers(1, 4), block_cap=st.integers(1, 12), min_idle_s=st.integers(0, 2),
    hz=st.sampled_from([1, 100]), covered_if_missed=st.integers(0, 1))).map(lambda fields: ZfetchParams(**fields))
reads = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 1), st.sampled_from([0, 0, 0, 1, 3, 301])), max_size=60)


@quick
@given(reads, small, st.integers(0, 45))
def test_kernels_prefetch_as_the_naive_twin(reads, params, maxblkid):
    ticks = np.cumsum([later for _, _, later in reads]).tolist()
    rows = [(block, prefetched, tick) for (block, prefetched, _), tick in zip(reads, ticks, strict=True)]
    assert prefetches(Kernels(params), rows, maxblkid) == prefetches(TwinOfZfetch(params), rows, maxblkid)


jumps = st.lists(st.tuples(st.sampled_from([1, 1, 1, 1, -1, -1, 2, -2, 5, -5]), st.integers(1, 12),
                           st.sampled_from([1, 1, 1, 1, 0]), st.integers(0, 60)), min_size=1, max_size=12)


@quick
@given(jumps, small, st.integers(0, 70))
def test_kernels_follow_runs_as_the_naive_twin(jumps, params, maxblkid):
    """Runs of equal steps, so that windows grow and strides are kept."""
    rows = [(start + i * step, prefetched, 0) for step, n, prefetched, start in jumps for i in range(n)
            if start + i * step >= 0]
    assert prefetches(Kernels(params), rows, maxblkid) == prefetches(TwinOfZfetch(params), rows, maxblkid)


@pytest.mark.slow
@pytest.mark.parametrize("params", [OLD, NEW])
@pytest.mark.parametrize(("n_readers", "span", "maxblkid"), [(1, 800, 799), (2, 3000, 2999), (6, 3000, 10**9),
                                                             (12, 60, 2400), (3, 2**45, 2**46)])
def test_kernels_prefetch_as_the_naive_twin_on_long_walks(params, n_readers, span, maxblkid):
    rows = walk(3, 2000, n_readers, span)
    assert prefetches(Kernels(params), rows, maxblkid) == prefetches(TwinOfZfetch(params), rows, maxblkid)


def test_files_do_not_know_of_each_other():
    """Three files in one state, read by turns, and one forgotten half way."""
    shared = new_zfetch(OLD, 3)
    files = [Kernels(OLD, shared, file) for file in range(3)]
    twins = [TwinOfZfetch(OLD) for _ in range(3)]
    walks = [walk(seed, 300) for seed in range(3)]
    for i, rows in enumerate(zip(*walks, strict=True)):
        if i == 150:
            forget(shared, 1)
            twins[1].streams.clear()
        assert [file.read_block(*row, LONG) for file, row in zip(files, rows, strict=True)] == [
            twin.read_block(*row, LONG) for twin, row in zip(twins, rows, strict=True)]


# ---- a test of the tests: each defect must show ----

WALKS = (
    (OLD, walk(5, 1500, n_readers=2, p_missed=0.02), 2999),
    (NEW, walk(6, 1500, n_readers=4, span=60, p_missed=0.4), 2999),
    (OLD, walk(7, 1500, n_readers=5, span=40), 45),
    (OLD, [(block, 1, 0) for block in (*range(1200), *range(9000, 8000, -1))], LONG),
    (OLD._replace(block_cap=4), walk(8, 1500, n_readers=5, span=60, p_missed=0.02), 60),
    (OLD, [(0, 1, 0), (999, 1, 250), *((block, 1, 299) for block in (500, 501)), (77, 1, 300), (1, 1, 301)], 520),
)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_of_the_rule_shows_against_the_kernels(defect):
    def answers(zfetch, rows, maxblkid):
        return [zfetch.read_block(*row, maxblkid) for row in rows]
    assert any(answers(TwinOfZfetch(params, defect), *walk) != answers(Kernels(params), *walk)
               for params, *walk in WALKS)


@pytest.mark.parametrize("case", range(len(WALKS)))
def test_the_twin_without_a_defect_agrees_in_these_walks(case):
    params, rows, maxblkid = WALKS[case]
    assert prefetches(TwinOfZfetch(params), rows, maxblkid) == prefetches(Kernels(params), rows, maxblkid)


# ---- laws ----


@pytest.mark.parametrize("prefetched", [0, 1])
@pytest.mark.parametrize("params", [OLD, NEW])
def test_never_more_streams_than_the_share_of_the_file(params, prefetched):
    for maxblkid, share in ((0, 1), (255, 1), (511, 1), (512, 2), (767, 2), (768, 3), (2047, 7), (2048, 8), (10**6, 8)):
        zfetch = Kernels(params)
        n_streams = 0
        for block in range(0, 97 * min(maxblkid + 1, 40), 97):
            zfetch.read_block(block * block % (maxblkid + 1), prefetched, 0, maxblkid)
            n_streams = max(n_streams, len(zfetch.streams))
        assert n_streams == share or maxblkid == 0


@pytest.mark.parametrize("n_readers", [1, 2, 5, 8])
def test_readers_of_separate_files_prefetch_as_if_alone(n_readers):
    shared = new_zfetch(OLD, n_readers)
    readers = [Kernels(OLD, shared, file) for file in range(n_readers)]
    answers = [[] for _ in readers]
    for block in range(600):
        for reader, answer in zip(readers, answers, strict=True):
            answer += [(block, fetched) for fetched in [reader.read_block(block, 1, block, LONG)] if fetched]
    assert all(answer == fetches(range(600)) for answer in answers)


@pytest.mark.parametrize("n_readers", [1, 2, 5, 8])
def test_up_to_eight_readers_of_one_file_are_told_apart(n_readers):
    """As if alone, but moved: they start far from each other, and no three at equal distances."""
    starts = [5000 * 2**reader for reader in range(n_readers)]
    zfetch, answers = Kernels(OLD), [[] for _ in starts]
    for block in range(600):
        for start, answer in zip(starts, answers, strict=True):
            fetched = zfetch.read_block(start + block, 1, block, 2 * LONG)
            answer += [(block, [(a - start, n) for a, n in fetched])] if fetched else []
    assert all(answer == fetches(range(600)) for answer in answers)


def test_the_ninth_reader_is_ignored_until_a_stream_is_idle_for_three_seconds():
    zfetch = Kernels(OLD)
    starts = [5000 * 2**reader for reader in range(9)]
    for start in starts:
        zfetch.read_block(start, 1, 0, 2 * LONG)
    ninth = starts[-1]
    assert len(zfetch.streams) == 8
    assert zfetch.read_block(ninth + 1, 1, 299, 2 * LONG) == []
    assert ninth + 1 not in [z["o"] for z in zfetch.streams]
    zfetch.read_block(ninth + 1, 1, 300, 2 * LONG)
    assert [z["o"] for z in zfetch.streams] == [ninth + 1, *starts[6::-1]]  # the youngest of the idle ones went


def test_a_sequential_reader_prefetches_every_block_once_and_in_order():
    """But for the last block of the file, which may come twice: as the one more that is taken, and in its turn."""
    for maxblkid in (1, 2, 9, 268, 269, 500, 777, 3000):
        blocks = [block for _, fetched in fetches(range(maxblkid + 1), maxblkid=maxblkid)
                  for start, count in fetched for block in range(start, start + count)]
        assert blocks[:maxblkid - 1] == list(range(2, maxblkid + 1))
        assert set(blocks[maxblkid - 1:]) <= {maxblkid}


@quick
@given(reads, small, st.integers(0, 45))
def test_nothing_is_prefetched_outside_the_file(reads, params, maxblkid):
    zfetch = Kernels(params)
    for block, prefetched, tick in reads:
        for start, count in zfetch.read_block(block, prefetched, tick, maxblkid):
            assert 0 <= start <= start + count - 1 <= maxblkid
            assert count >= 1


def test_a_broken_promise_resets_the_stream():
    """A block that was to be prefetched and is not there starts anew, with a cap of 1: the worked sequence, moved."""
    zfetch = Kernels(OLD)
    for block in range(40):
        zfetch.read_block(block, 1, 0, LONG)
    assert zfetch.read_block(40, 0, 0, LONG) == []
    assert [(z["o"], z["l"], z["c"]) for z in zfetch.streams] == [(40, 1, 1)]
    again = [(block - 40, [(start - 40, count) for start, count in zfetch.read_block(block, 1, 0, LONG)])
             for block in range(41, 49)]
    assert again == FORWARD[:8]


def test_the_second_block_of_a_cold_read_does_not_reset():
    """Nothing was promised yet. The third finds its block under way, as it was prefetched with the second."""
    zfetch = Kernels(OLD)
    assert zfetch.read_block(0, 0, 0, LONG) == []
    assert zfetch.read_block(1, 0, 0, LONG) == [(2, 2)]
    assert zfetch.read_block(2, 1, 0, LONG) == [(4, 3)]


@pytest.mark.parametrize(("params", "streams"), [(OLD, [0]), (NEW, [5, 0])])
def test_reading_again_what_is_gone_is_covered_to_hg_10474(params, streams):
    zfetch = Kernels(params)
    for block in range(20):
        zfetch.read_block(block, 1, 0, LONG)
    assert zfetch.read_block(5, 1, 0, LONG) == []
    assert zfetch.read_block(5, 0, 0, LONG) == []
    assert [z["o"] for z in zfetch.streams] == streams


@pytest.mark.parametrize(("era", "record_kib", "blocks"), [
    ("b141", 128, 256), ("openzfs_2017", 8, 256), ("openzfs_2017", 128, 64), ("openzfs_2021", 1024, 8),
    ("openzfs", 128, 256), ("openzfs", 1024, 64), ("openzfs", 16384, 4), ("openzfs_2021", 16384, 1)])
def test_openzfs_counts_in_bytes_what_is_ahead(era, record_kib, blocks):
    """zfetch_max_distance: 8 MiB from 2015 on, 64 MiB since OpenZFS 2.2; a sequential reader is no more than that ahead."""
    params = of_records(ERAS[era].zfetch, record_kib * 1024)
    assert params.block_cap == blocks
    zfetch, ahead = Kernels(params), 0
    for block in range(300):
        for first, n in zfetch.read_block(block, block > 2, 0, LONG):
            ahead = max(ahead, first + n - 1 - block)
    assert blocks <= ahead <= 2 * blocks + 4


# ---- bad values ----


@pytest.mark.parametrize("bad", [{"max_streams": 0}, {"max_streams": 65}, {"block_cap": 0}, {"hz": 0},
                                 {"min_idle_s": -1}, {"covered_if_missed": 2}, {"block_cap": 2.5},
                                 {"max_request_bytes": -1}])
def test_bad_parameters_are_one_sentence(bad):
    (name, value), = bad.items()
    with pytest.raises(ValueError, match=f"{name} of zfetch is {value}, but .*; choose"):
        new_zfetch(ZfetchParams(**bad), 1)


@pytest.mark.parametrize("n_files", [0, -1, 2**24 + 1, 0.5])
def test_bad_number_of_files_is_one_sentence(n_files):
    with pytest.raises(ValueError, match=f"n_files is {n_files}, but .*; choose"):
        new_zfetch(ZfetchParams(), n_files)


# ---- the same without the compiler, and with every index checked ----

SHORT_RUN = """
from test_zfetch import WALKS, Kernels, prefetches
for params, rows, maxblkid in WALKS:
    print(prefetches(Kernels(params), rows[:300], maxblkid))
"""


@pytest.mark.slow
@pytest.mark.parametrize("setting", UNCOMPILED)
def test_interpreted_and_bounds_checked_code_prefetches_the_same(setting):
    assert prints_the_same(SHORT_RUN, setting)

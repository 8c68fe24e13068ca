"""The OLTP simulation on mirrors and RAID-Z: the laws of every run, which I/Os a block becomes, what reads cost."""

import itertools

import numpy as np
import pytest

from laws.filebench_oltp import FREE, LAWS
from model.simulations.filebench_oltp.filebench import Workload
from model.simulations.filebench_oltp.run import simulate
from model.simulations.filebench_oltp.state import Settings, new_site
from model.simulations.rules import rules_of
from model.zfs.dmu.layout import Sizes, lay_out, new_space, number_blocks
from model.zfs.vdev.leaves import FOR_TXG, ask, has_come, new_leaves, new_recorder, write_block
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT
from model.zfs.vdev.queue import READ, WRITE
from model.zfs.vdev.raid import KINDS, asize, mirror_child, read_ios, vdev_params, write_ios

SECOND = 10**9
SMALL = Workload(file_bytes=2**26)
VDEVS = {"mirror of 2": ("mirror", 2), "mirror of 3": ("mirror", 3), "raidz1 of 3": ("raidz1", 3),
         "raidz1 of 6": ("raidz1", 6), "raidz2 of 6": ("raidz2", 6), "4 KiB sectors": ("raidz1", 3, 12)}


@pytest.fixture(scope="module", params=sorted(VDEVS))
def run(request):
    site = new_site(SMALL, 6, vdev=vdev_params(*VDEVS[request.param]))
    settings = Settings(n_leaves=6, duration_ns=5 * SECOND, txg_ns=SECOND)
    return simulate(site, rules_of("onnv_69"), settings, 0, new_recorder(2, 200_000))


@pytest.mark.parametrize("law", sorted(LAWS))
def test_the_law_holds_exactly(run, law):
    assert run.counts["txgs"] > 0
    assert run.outcomes[0, 2] > 0  # some joined
    assert LAWS[law](run)


# ---- the I/Os of a block ----


def leaves_of(vdev, n_leaves):
    rules = rules_of("onnv_79")
    at_rest = np.zeros(n_leaves, np.int64)
    return new_leaves(n_leaves, rules.cache, rules.queue, rules.disk, at_rest, 600, 4, new_recorder(), 0, vdev)


def sent(leaves):
    """(kind, leaf, offset, B) of what is in the outbox, which is emptied."""
    ios, leaves.n_out[0] = leaves.outbox[:leaves.n_out[0]].copy(), 0
    queue = leaves.queue
    return [(int(queue.kind[io]), int(leaves.leaf_of[io]), int(queue.offset[io]), int(queue.n_bytes[io]))
            for io in ios]


def expected(vdev, table, n, number):
    return [(number * vdev.n_children + int(child), int(offset) + FRONT_BYTES, int(n_bytes))
            for child, offset, n_bytes, _ in table[:n]]


@pytest.mark.parametrize("arguments", VDEVS.values())
def test_a_block_is_read_and_written_by_the_ios_of_its_vdev_behind_the_labels_of_its_disks(arguments):
    vdev = vdev_params(*arguments)
    leaves, table = leaves_of(vdev, 2 * vdev.n_children), np.zeros((20, 4), np.int64)
    for number, offset, n_bytes in itertools.product((0, 1), (0, 2**20 + 2**13, 10**6 << 12), (512, 6656, 8192)):
        place = number << LEAF_SHIFT | offset + FRONT_BYTES
        n = write_block(leaves, 0, place, n_bytes)
        assert (leaves.owner[leaves.outbox[:n]] == FOR_TXG).all()
        assert sent(leaves) == [(WRITE, *io) for io in
                              expected(vdev, table, write_ios(vdev, offset, n_bytes, 0, table), number)]
        assert not ask(leaves, 0, place, n_bytes, 0, 3)
        n = read_ios(vdev, offset, n_bytes, table)
        assert sent(leaves) == [(READ, *io) for io in expected(vdev, table, n, number)]
        answers = [has_come(leaves, 3 << leaves.waiter_shift | i) for i in range(n)]
        assert answers == [-1] * (n - 1) + [3]


def test_all_children_of_a_mirror_are_written_alike_and_one_is_read():
    vdev = vdev_params("mirror", 3)
    leaves = leaves_of(vdev, 6)
    place = 1 << LEAF_SHIFT | 2**21 + FRONT_BYTES
    assert write_block(leaves, 0, place, 8192) == 3
    assert sent(leaves) == [(WRITE, leaf, 2**21 + FRONT_BYTES, 8192) for leaf in (3, 4, 5)]
    ask(leaves, 0, place, 8192, 0, 0)
    assert sent(leaves) == [(READ, 3 + mirror_child(vdev, 2**21), 2**21 + FRONT_BYTES, 8192)]


def test_two_disks_in_raidz_are_written_as_much_as_a_mirror():
    for n_bytes in (512, 1024, 6656, 8192):
        per_leaf = []
        for kind in ("mirror", "raidz1"):
            leaves = leaves_of(vdev_params(kind, 2), 2)
            write_block(leaves, 0, 2**21 + FRONT_BYTES, n_bytes)
            per_leaf.append(sorted((leaf, n) for _, leaf, _, n in sent(leaves)))
        assert per_leaf[0] == per_leaf[1]


# ---- layout ----


def test_a_vdev_gives_what_its_blocks_take_with_parity_and_an_aliquot_for_every_disk():
    vdev = vdev_params("raidz1", 5)
    files = number_blocks([4000])
    sizes = Sizes(8192, np.array([6656]), np.full(129, 7680), 8704)
    places, space = lay_out(files, sizes, 10, vdev=vdev)
    assert len(space.frontier) == 2
    spans = [(place, 8192) for place in places.place[:4000]]
    spans += zip(np.append(places.place[4000:], places.second), np.tile(places.n_bytes, 2), strict=True)
    spans = sorted((int(place), int(place) + int(asize(vdev, int(n)))) for place, n in spans)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    turns = [sum(asize(vdev, 8192) for _ in group) for _, group in itertools.groupby(places.place[:4000] >> LEAF_SHIFT)]
    assert max(turns) <= 5 * 2**19 + asize(vdev, 8192)
    assert min(turns[:-1]) > 5 * 2**19 - 2**17  # the rest: indirect blocks


def test_other_data_in_front_takes_as_much_of_every_disk():
    ends = [new_space(6, 2**19, 2**30, vdev_params(kind, 3)).frontier[0] for kind in ("mirror", "raidz1")]
    assert (np.array(ends) - FRONT_BYTES).tolist() == [2**30, 3 * 2**30]


# ---- what it costs ----


def reads_per_s(n_leaves, *arguments):
    """Of 8 KiB at random, nothing being written and no record staying in core or in the vdev cache."""
    workload = Workload(file_bytes=2**28, n_shadows=60, n_writers=0, **FREE)
    site = new_site(workload, n_leaves, vdev=vdev_params(*arguments))
    settings = Settings(n_leaves=n_leaves, duration_ns=10 * SECOND, txg_ns=1000 * SECOND, warm_indirect=1, keeps_records=0)
    x = simulate(site, rules_of("onnv_79"), settings)
    return x.reads_per_s, x.outcomes.sum() / x.counts["data_reads"]


def test_a_read_of_raidz_keeps_all_its_data_disks_busy_and_one_of_a_mirror_a_single_one():
    """So a mirror reads like as many single disks; RAID-Z of w data disks like one w-th of its data disks."""
    single, few = reads_per_s(6), reads_per_s(3)
    mirror, raidz = reads_per_s(6, "mirror", 2), reads_per_s(6, "raidz1", 3)
    assert (single[1], mirror[1], raidz[1]) == (1, 1, 2)
    assert mirror[0] > 1.5 * few[0]
    assert 0.85 < mirror[0] / single[0] < 1.15
    assert raidz[0] < 0.7 * single[0]


# ---- what cannot be ----


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_disks_that_do_not_make_up_vdevs_are_one_sentence(kind):
    n = 1 if kind == "single" else 5
    new_site(SMALL, 5, vdev=vdev_params(kind, n))
    if n > 1:
        with pytest.raises(ValueError, match="n_leaves is 7, but each vdev of the pool has 5 disks; choose"):
            new_site(SMALL, 7, vdev=vdev_params(kind, n))


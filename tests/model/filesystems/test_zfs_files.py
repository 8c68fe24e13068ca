"""ZFS under a database: laws of all its runs, defects that they notice, and closed forms of simple runs.

The runs are made by `defects.zfs_files`, by another process without the compiler; here is what must come out.
"""

import json

import pytest

from defects.zfs_files import DEFECTS, SOUND
from model.devices.data_sheet import SheetParams
from model.devices.ssd import SsdParams
from model.filesystems.zfs.new_store import psize_of
from model.filesystems.zfs.placement import metaslab_bytes
from model.filesystems.zfs.store import FileSettings, Group, Pool, new_store
from model.simulations.database_server import STUCK
from model.zfs import eras
from model.zfs.arc import columns as header
from model.zfs.arc.l2arc import L2arcParams
from model.zfs.arc.lists import HEADER_BYTES, L2_CACHEABLE, L2_HEADER_BYTES
from model.zfs.vdev.raid import vdev_params
from support.processes import interpreted

FILES = [(2**20, 2**20, 8192), (2**20, 2**20, 8192)]


@pytest.fixture(scope="module")
def printed():
    """What the other process printed."""
    return json.loads(interpreted("defects.zfs_files"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_every_law_holds(printed, name):
    assert printed["sound"][name] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_the_law_notices_the_defect(printed, name):
    assert DEFECTS[name][4] in printed["defects"][name]


@pytest.mark.slow
def test_a_single_client_commits_once_in_a_revolution_and_a_log_block(printed):
    """A block of 12 KiB begins where the last one ended, and comes too late for its sector: a revolution and the time of the
    block. A track of the default disk has 76.3 MB/s x 8.33 ms = 1241 sectors."""
    single = printed["one_client"]
    assert single["log_bytes"] == pytest.approx(12_288, rel=0.02)
    assert single["revolutions"] == pytest.approx(1 + 24 / 1241, abs=1e-3)


@pytest.mark.slow
def test_without_flushes_a_commit_waits_for_no_revolution_and_without_a_log_for_nothing(printed):
    single = printed["one_client"]
    assert single["unflushed"] < 0.15
    assert single["off"] == single["cpu"]
    assert single["off_log_blocks"] == 0


@pytest.mark.slow
def test_what_the_log_writes_in_place_is_compressed_and_summed_first(printed):
    """A commit of one record waits for all that it costs a processor."""
    assert printed["log_work"]["longer"] == pytest.approx(printed["log_work"]["cpu"], rel=0.02)


@pytest.mark.slow
def test_a_new_file_of_the_log_is_an_entry_beside_its_pages(printed):
    assert printed["entries"] == [1, 2]


@pytest.mark.slow
def test_each_record_is_delayed_for_itself_until_calls_are_one_transaction(printed):
    """Calls of four records, with too much dirty most of the time."""
    delays = printed["delays"]
    assert delays["openzfs"] <= 1
    assert delays["openzfs_2021"] > 1.5 * delays["openzfs"] > 0


@pytest.mark.slow
def test_with_primarycache_metadata_every_read_is_a_miss_or_shares_one(printed):
    reads = printed["uncached"]
    assert reads["reads"] - reads["shared"] <= reads["misses"] <= reads["reads"]
    assert reads["kept_misses"] < reads["misses"]


@pytest.mark.slow
def test_a_reader_in_order_reads_two_records_and_zfetch_all_others(printed):
    """Spec 4.6: the read of block 0 starts a stream, that of block 1 asks for 2 and 3, and so on to the end of the file."""
    for name in ("ahead", "raidz"):
        assert printed["in_order"][name]["reads"] == 2
        assert printed["in_order"][name]["ahead"] == 298
        assert printed["in_order"][name]["broken"] == []


@pytest.mark.slow
def test_who_reads_in_haste_reads_each_record_once_and_is_faster_for_what_is_read_ahead(printed):
    haste, alone = printed["in_order"]["haste"], printed["in_order"]["not"]
    assert haste["reads"] + haste["ahead"] == 300
    assert haste["ns"] < alone["ns"] - 299 * 10**9 // 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["not", "uncached", "deaf"])
def test_nothing_is_read_ahead_with_prefetch_off_or_primarycache_metadata(printed, name):
    """What may not be cached is not shown to zfetch from onnv_98 on. If nobody listens to zfetch, the law above sees it."""
    assert (printed["in_order"][name]["reads"], printed["in_order"][name]["ahead"]) == (300, 0)


@pytest.mark.slow
def test_groups_come_every_5_s_in_2007_and_every_30_s_in_2009(printed):
    assert printed["groups"]["old"] in (11, 12)
    assert printed["groups"]["new"] in (1, 2)


@pytest.mark.slow
def test_who_ends_a_group_of_2007_does_not_wind_up_the_timer(printed):
    """The first commit ends group 1 at once. The timer comes at 5 s for group 1, finds it gone, and comes at 10 s for
    group 2; from there on every 5 s."""
    first, second, third = printed["timed"]
    assert first < 1
    assert (second, third) == pytest.approx((10, 15), abs=0.5)  # and the time that a group takes


@pytest.mark.slow
def test_two_disks_in_turn_commit_twice_in_a_revolution(printed):
    """From one block of a disk to the next is a revolution and a block, or two, however the spindles stand to each other:
    the other disk's block comes in between."""
    revolutions = printed["two_disks"] - 24 / 1241
    assert round(revolutions) in (1, 2)
    assert revolutions == pytest.approx(round(revolutions), abs=2e-3)


@pytest.mark.slow
def test_a_run_in_which_nobody_can_go_on_ends(printed):
    assert printed["never_written"] == STUCK


@pytest.mark.slow
def test_the_throttle_counts_dnodes_too(printed):
    """A record of 8 KiB, the indirect blocks above it, and 7 blocks of 16 KiB for dnodes: times six."""
    counted = printed["counted"]
    assert counted["counted"] == 6 * (2**13 + (counted["levels"] - 1 + 7) * 2**14)


def test_blocks_of_a_log_on_its_own_pool_are_for_no_cache_device_of_another():
    store = new_store(FILES, FileSettings(), eras.era("b111"), Pool(Group(), None, Group(SsdParams())), 2, log_pool=Pool())
    arc, base = store.data.arc, store.data.files.base
    of_log, of_table = (arc.nodes[arc.node_of[base[file, 0]], header.MARKS] & L2_CACHEABLE for file in (0, 1))
    assert of_table
    assert not of_log


@pytest.mark.slow
def test_writes_of_a_group_dirty_as_many_records_as_chance_has_it(printed):
    """40 records, 120 writes of a page each in 30 s: n (1 - (1 - 1/n)^W)."""
    assert printed["groups"]["dirtied"] == pytest.approx(printed["groups"]["expected"], abs=3)


@pytest.mark.slow
@pytest.mark.parametrize("pages", ["16", "32", "128"])
def test_groups_write_as_much_for_a_page_as_the_closed_form_says_whatever_the_record(printed, pages):
    """n (1 - exp(-l)) / l, up to 1 MiB: 14.7 times at 128 KiB become 47 times."""
    written, expected = printed["amplified"][pages]
    assert written == pytest.approx(expected, rel=0.03)


@pytest.mark.slow
def test_a_seed_is_a_run(printed):
    assert printed["repeated"] == {"same": True, "differs": True}


@pytest.mark.slow
def test_log_blocks_go_to_the_log_device_unless_logbias_is_throughput(printed):
    log = printed["log_device"]
    assert 0 < log["log_writes"] <= log["log_blocks"]
    assert log["fewer_main_writes"] > 0
    assert log["biased_log_writes"] == 0
    assert log["biased_file_blocks"] > 0


@pytest.mark.slow
def test_what_the_arc_has_evicted_is_read_from_the_cache_device(printed):
    cache = printed["cache_device"]
    assert cache["from_cache"] > 100
    misses = cache["reads"] - cache["hits"]
    assert misses - cache["shared"] <= cache["from_cache"] + cache["from_disk"] <= misses
    assert cache["units"] <= cache["from_cache"]
    assert cache["fed_bytes"] >= 2**21


@pytest.mark.slow
def test_what_hits_takes_a_processor(printed):
    """Four processes that only read what is in core are as fast as their processors."""
    facts = printed["processors"]
    assert facts["single"] == pytest.approx(facts["read_ns"], rel=0.02)
    assert facts["four"] == pytest.approx(facts["read_ns"] / 4, rel=0.05)


@pytest.mark.slow
def test_a_processor_checks_and_unpacks_what_it_reads_for_each_byte(printed):
    """At 1 ns a byte; check-sums of indirect blocks are left over: below 4 KiB a read."""
    facts = printed["costs"]
    assert 2**17 <= facts["raw"] <= 2**17 + 2**12
    assert 2**15 + 2**17 <= facts["packed"] <= 2**15 + 2**17 + 2**12
    assert facts["in_core"] == pytest.approx(0, abs=2**12)
    assert facts["kept_packed"] == pytest.approx(2**17, abs=2**12)


@pytest.mark.slow
def test_a_cold_cache_device_serves_nothing_in_the_first_pass_and_a_warm_one_all_that_is_not_in_core(printed):
    facts = printed["cache_at_first"]
    assert facts["cold"] == 0
    assert facts["warm"] + facts["in_core"] >= facts["n"] - 3  # nothing is read from it while a round writes to it
    assert facts["warm"] > facts["n"] / 4
    assert facts["n"] * L2_HEADER_BYTES < facts["headers"] <= facts["n"] * (L2_HEADER_BYTES + HEADER_BYTES)


def test_compression_counts_if_it_saves_an_eighth():
    assert psize_of(8192, 100) == 8192
    assert psize_of(8192, 88) == 8192
    assert psize_of(8192, 87) == 7168
    assert psize_of(131_072, 50) == 65_536


def test_metaslabs_are_as_large_as_spec_2_1_says():
    assert [metaslab_bytes(n) for n in (73 * 10**9, 146 * 10**9, 500 * 10**9)] == [2**29, 2**30, 2**32]


@pytest.mark.parametrize(("pool", "changed", "sentence"), [
    (Pool(), {"record_bytes": 3000}, "a record is a power of two"),
    (Pool(), {"compress_pct": 0}, "compress_pct of the file systems is 0"),
    (Pool(Group(SheetParams()), Group(SheetParams(rpm=15_000))), {}, "2 data sheets"),
    (Pool(Group(), None, Group(SsdParams(), vdev=vdev_params("mirror", 2))), {}, "single devices"),
    (Pool(Group(), None, Group(SsdParams())), {"record_bytes": 512}, "a round of the cache devices may write 32769 blocks"),
    (Pool(Group(SsdParams(disk_bytes=10**6, buffer_bytes=0))), {}, "Choose smaller files"),
])
def test_what_cannot_be_is_one_sentence(pool, changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        new_store(FILES, FileSettings(**changed), eras.era("b111"), pool, 2)


def test_a_cache_device_needs_a_build_that_knows_it():
    assert not eras.era("onnv_70").l2arc.exists
    assert L2arcParams().exists
    with pytest.raises(ValueError, match="needs a build with an L2ARC"):
        new_store(FILES, FileSettings(), eras.era("onnv_70"), Pool(Group(), None, Group(SsdParams())), 2)

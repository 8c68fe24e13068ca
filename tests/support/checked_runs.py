"""A small run of every family of kernels, for `checked_arrays`."""

import numpy as np
import test_bitmap_maps
import test_block_requests
import test_dedup_writes
import test_disk
import test_disk_read_buffer
import test_exchange
import test_forecast
import test_pickers
import test_ufs
import test_vdev_queue_replay
import test_zfetch

from defects import alloc as alloc_defects
from defects import filebench_oltp as oltp_defects
from defects import free_runs as free_blocks_defects
from defects import innodb as innodb_defects
from defects import innodb_releases
from defects import oracle as oracle_defects
from defects import order_entry as order_entry_defects
from defects import pools as pool_defects
from defects import postgres as postgres_defects
from defects import sequential_reads as seqread_defects
from defects import zfs_files as zfs_files_defects
from defects import zil as zil_defects
from drivers import arc_traces, filled_pool, metaslab_stories, order_entry_pools, queue_stories
from drivers import l2arc as l2arc_machine
from drivers.queue_rules import WHAT_IF
from laws import aged_pool as aged_pool_laws
from laws import ufs as ufs_laws
from laws import zfs_files as zfs_files_laws
from model.databases.innodb.state import COLD, settings_of
from model.databases.postgres.pgbench import pgbench
from model.databases.postgres.state import AT_WORK
from model.devices.ssd import SsdParams
from model.devices.ssd_pages import page_writes
from model.events.streams import stream
from model.filesystems.calls import READ
from model.filesystems.ufs.state import UfsParams, new_ufs
from model.filesystems.ufs.volumes import Stripe
from model.filesystems.zfs import store as zfs_store
from model.filesystems.zfs.state import Group, Pool
from model.simulations import database_server
from model.simulations.database_server import Both, simulate_innodb, simulate_oracle, simulate_postgres
from model.simulations.filebench_oltp import run as filebench_run
from model.simulations.filebench_oltp.state import new_site
from model.simulations.order_entry.series import rewrite, window
from model.simulations.rules import rules_of
from model.simulations.sequential_reads import run as sequential_run
from model.simulations.sequential_reads.state import new_recorder
from model.structures.lru import misses, new_lru
from model.structures.numbering import larger, new_numbering, number_all
from model.structures.stack_distances import count_distances, new_stack
from model.zfs.ageing.described import count_bytes
from model.zfs.ageing.rewrites import Rewrites, operations
from model.zfs.arc import replay as arc_replay
from model.zfs.arc import requests as arc_requests
from model.zfs.arc.arc import ArcParams, new_arc
from model.zfs.dedup.table import group, new_table
from model.zfs.dedup.zap import ZapParams, enter_all
from model.zfs.dmu.recordsize import new_records, overwrite_all
from model.zfs.eras import era
from model.zfs.space.pickers import CURSOR_DYNAMIC_FIT, VARIANTS, PickerParams
from model.zfs.vdev import cache_replay, queue_requests
from model.zfs.vdev.cache import VdevCacheParams
from model.zfs.vdev.raid import vdev_params
from model.zfs.vdev.random_reads import RecordReads, random_record_reads
from twins.free_runs import BY_THREES, FAR, threes_and_sectors
from twins.vdev_cache import random_requests

OF_ZFS = {"cold, with cache device": {"cache_is_warm": 1}, "an SSD": {"mix": ((READ, 1.0),), "is_warm": 0, "in_order": True},
          "onnv_69": {}, "primarycache=metadata": {},
          "OpenZFS of 2013": {"n": 80, "n_pages": 4000, "record_bytes": 2**17, "memory_bytes": 2**26},
          "OpenZFS, what the log writes in place": {"name": "openzfs_2013"},
          "RAID-Z of OpenZFS": {}, "a zvol": {}}
MS = 10**6


def caches():
    rows = np.array(random_requests(stream(7, "requests"), 300, flagged=False)).T
    cache_replay.drive(VdevCacheParams(cache_bytes=2**20), cache_replay.operations(*rows), 3)
    overwrite_all(new_records(64, 2**17), np.arange(0, 2**23, 2**13), 2**13, 100)
    random_record_reads(RecordReads(n_records=9999), *stream(7, "reads").random((2, 300)))
    keys = arc_traces.keys(next(iter(arc_traces.MISSES))[0])[:1000]
    misses(new_lru(50), keys)
    params = ArcParams(2**20, 2**20)
    arc_replay.misses_textbook(new_arc(ArcParams(100, 100), 12_000, 24_000, 0), ArcParams(100, 100), keys)
    arc_replay.misses_zfs(new_arc(params, 12_000, 24_000), params, keys, 8192, 1, 100)
    for seed in range(3):
        l2arc_machine.long_run(seed, n=300, check_every=100)


def traces():
    keys = arc_traces.keys("zipf")[:1000]
    is_write, time_ns, counts = keys % 3 // 2, 10**8 * np.arange(len(keys)), np.zeros(arc_requests.N_COUNTS, np.int64)
    numbering, numbers = new_numbering(2000), np.zeros(len(keys), np.int32)
    number_all(numbering, keys, numbers)
    larger(numbering)
    n = int(numbering.n[0])
    stack = new_stack(n)
    stack = stack._replace(tree=stack.tree[:n + 9], block_at=stack.block_at[:n + 9])
    count_distances(stack, numbers, is_write == 0, np.zeros(n + 1, np.int64))
    published, params, rules = ArcParams(100, 100), ArcParams(2**20, 2**20), era("b141").l2arc
    device = arc_requests.new_cache_device(rules, 2**26, 8192)
    since, requests = np.zeros(1, np.int64), (numbers, is_write, time_ns, 8192, counts)
    arc_requests.run_textbook(new_arc(published, n + 1, n + 1, 0), published, numbers, is_write, counts)
    arc_requests.run_zfs(new_arc(params, n + 1, n + 1), params, since, *requests)
    arc_requests.run_l2(new_arc(params, n + 1, n + 1), params, 0 * since, device, rules, *requests)
    queue_rules, gaps = era("b141").queue, MS // 3 * np.arange(len(keys))
    queue_requests.run(queue_requests.new_device(queue_rules, 20), queue_rules, MS, gaps, is_write, keys * 512,
                       np.full(len(keys), 512))


def zfetch():
    seen = test_zfetch.Kernels(test_zfetch.OLD)
    for now, block in enumerate(stream(7, "blocks").integers(0, 24, 400).tolist()):
        seen.read_block(block, 0, 30 * now, test_zfetch.LONG)
    test_zfetch.forget(seen.zfetch, 0)


def devices():
    queue_stories.steps_seen(queue_stories.Leaf(WHAT_IF), queue_stories.random_story(2, 200, 40))
    test_vdev_queue_replay.replay_queue(test_vdev_queue_replay.trace_of("b117"))
    test_disk.test_the_disk_with_the_nearest_block_is_reached_first()
    test_disk_read_buffer.test_a_write_larger_than_a_segment_waits_for_the_platter()
    test_ufs.test_an_array_returns_from_its_cache_and_is_never_flushed()


def file_systems():
    rules, few = rules_of("onnv_69"), oltp_defects.WORKLOAD._replace(n_shadows=1, n_writers=1, file_bytes=2**22)
    for n, vdev, workload, duration_ns in ((3, vdev_params("single", 1), few, 1_010 * MS),
                                           (4, vdev_params("raidz1", 4), oltp_defects.WORKLOAD, 60 * MS)):
        site = new_site(workload, n, vdev=vdev)
        core = filebench_run.preallocated_core(site, 2**22) if workload is few else None
        filebench_run.simulate(site, rules, oltp_defects.SETTINGS._replace(
            n_leaves=n, duration_ns=duration_ns, txg_ns=duration_ns // 3, warm_indirect=int(core is None)), core=core)
    busy = oltp_defects.WORKLOAD._replace(file_bytes=2**17, n_writers=1, writer_high_water=20)  # what is read is written too
    filebench_run.simulate(new_site(busy, 3), rules, oltp_defects.SETTINGS._replace(duration_ns=30 * MS, keeps_records=0))
    site = seqread_defects.new_site(seqread_defects.READERS._replace(file_bytes=2**22), 4)
    sequential_run.simulate(site, seqread_defects.rules_of("onnv_70"),
                     seqread_defects.SETTINGS._replace(duration_ns=400 * MS, arc_bytes=2**21),
                     recorder=new_recorder(0, 0, 100))
    for name, changed in OF_ZFS.items():
        zfs_files_laws.run(**zfs_files_defects.SOUND[name] | {"n": 60, "rest_s": 8} | changed)
    test_block_requests.run(test_block_requests.stream(512, 8192, 20), n_clients=3)
    page_writes(SsdParams(disk_bytes=2**30), np.arange(9), 512)
    assert not zil_defects.is_noticed(30)
    assert not ufs_laws.fsflush_misses()
    for case in ("buffered", "direct"):
        assert not ufs_laws.differences(ufs_laws.CASES[case], 0)


def databases():
    database, settings = pgbench(1, 10**4, postgres_defects.CPU_NS), postgres_defects.SETTINGS
    postgres_defects.SETTINGS = settings._replace(duration_ns=1_200 * MS)
    postgres_defects.observe(database)
    settings = settings._replace(duration_ns=1_100 * MS, checkpoint_segments=3.0)
    simulate_postgres(database, settings._replace(is_sorted=1, commit_delay_ns=1000, commit_siblings=1))
    simulate_postgres(database, settings._replace(is_warm=AT_WORK, interval_transactions=50, duration_ns=60 * MS))
    for store in stores(database, settings):
        simulate_postgres(database, settings._replace(duration_ns=60 * MS), store)
    filled_pool.run()
    settings = innodb_defects.SETTINGS = innodb_defects.SETTINGS._replace(duration_ns=2_100 * MS)
    innodb_defects.observe()
    for changed in ({"max_dirty_pages_pct": 1.0, "start": 1, "log_factor": 20.0},
                    {"adaptive_flushing": 1, "flush_after_binlog": 1}):
        simulate_innodb(innodb_defects.TEST, settings._replace(log_bin=1, **changed),
                        database_server.on_device(**innodb_defects.DEVICE))
    assert not innodb_releases.notices()
    for version, more in (("5.6", {"max_dirty_pages_pct": 2.0, "io_capacity": 100}), ("5.4.2", {}),
                          ("8.4", {"max_dirty_pages_pct_lwm": 1.0})):
        simulate_innodb(innodb_releases.TEST, settings_of(version, **innodb_releases.CONF | {
            "n_transactions": 1000, "duration_ns": 1_500 * MS, "log_file_bytes": 2**20, "start": COLD} | more),
            database_server.on_device(**innodb_defects.DEVICE))
    for instance, device in ((oracle_defects.SMALL, oracle_defects.SLOW), (oracle_defects.REPLACED, oracle_defects.FAST),
                             (oracle_defects.SMALL._replace(cache_bytes=2**20), oracle_defects.SLOW)):
        simulate_oracle(instance._replace(n_transactions=150), database_server.on_device(**device))


def stores(database, settings):
    """UFS on an array, a pool, and a pool with the log on another one."""
    files, n = database_server.postgres_files(database, settings), database_server.n_processes_of(settings)
    drive = ufs_laws.new_drive(ufs_laws.SHEET._replace(depth=1, window=1, sorts=0), [MS])
    yield Both(ufs=new_ufs(files[:, 1].tolist(), [Stripe(SsdParams(), 1)], [0] * (len(files) + 1), n,
                           UfsParams(memory_bytes=2**24, log_directio=1), drive, [], 4096))
    for log_pool in (None, Pool(Group(SsdParams()))):
        yield Both(zfs=zfs_store.new_store(files, zfs_files_laws.SMALL, era("b111"), Pool(), n, log_pool=log_pool))


def allocators():
    aged_pool_laws.every_record_has_its_own_place(eras=("b141",))
    aged_pool_laws.what_is_kept_goes_on_as_it_would_have(eras=("b141",))
    count_bytes(aged_pool_laws.a_pool("b103")[0], np.array([-1, 0, 2**15]))
    for story in metaslab_stories.STORIES.values():
        if not hasattr(story, "hypothesis"):  # once is enough
            story()
    for params in (*VARIANTS.values(), PickerParams(CURSOR_DYNAMIC_FIT)):
        for seed in (1, 2):  # 2: far behind the cursors that were never set
            free_blocks_defects.agrees(params, seed)
    for params in BY_THREES:
        threes_and_sectors(401, params, 1, FAR)
    test_bitmap_maps.test_rows_longer_than_a_record_are_several()
    test_bitmap_maps.test_what_cannot_be_is_refused()
    test_pickers.test_cursor_dynamic_fit_takes_an_extent_of_10_mib_and_fills_it()
    test_forecast.test_metaslabs_that_are_loaded_have_the_described_space_described()
    test_forecast.gangs_where_no_hole_is_long_enough("b141", 1)
    assert alloc_defects.first_elsewhere("103_ff", "edge") is None
    assert pool_defects.how_it_shows(pool_defects.TRACES, "mv2ditto", "141_ndf", {})[0] == pool_defects.NOTHING
    operations(Rewrites(n_records=10, n_txgs=3, per_txg=5, log_per_txg=1, log_records=2), 2**20, 1)


def dedup():
    params = ZapParams(leaf_shift=9)
    table, keys = new_table(params, 2000), stream(7, "keys").integers(0, 2**63, 500)
    for txg, is_free in ((1, False), (2, False), (3, True), (4, True)):
        group(table, keys, txg, is_free)
    enter_all(new_table(params, 500).unique, keys)
    for changed in ({"n_unique": 16_000, "l2_bytes": 2**26, "gap_ns": 10 * MS}, {"is_free": 1, "gap_ns": 10 * MS},
                    {"n_duplicate": 100, "found_share": 0.5, "second_share": 0.2, "gap_ns": 10 * MS},
                    {"is_sync": 1, "gap_ns": 10 * MS, "n_files": 2, "file_blocks": 40, "shared_blocks": 20},
                    {"is_sync": 1, "has_log_device": 1, "gap_ns": 10 * MS}):
        b141 = test_dedup_writes.B141
        build = b141._replace(txg=b141.txg._replace(timeout_ns=300 * MS))
        test_dedup_writes.run(build=build, warm_ns=0, duration_ns=2 * 10**9, **changed)


def appliances():
    for has_slog in (0, 1):
        site = order_entry_pools.site_of(order_entry_defects.TINY._replace(has_slog=has_slog), n_other=20 * has_slog)
        rewrite(site, 300, window(site, 0, 250 * MS), 1, "ageing")
    test_exchange.seen(test_exchange.SMALL._replace(n_records=2**10, n_users=2), seconds=1)


def main():
    zfs_files_laws.sample_few_indirect_blocks()
    for family in (caches, traces, zfetch, devices, file_systems, databases, allocators, dedup, appliances):
        family()

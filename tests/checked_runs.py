"""A small run of every family of kernels, for `checked_arrays`."""

import aged_pool_laws
import alloc_mutants
import arc_traces
import free_blocks_mutants
import innodb_mutants
import l2arc_machine
import metaslab_stories
import numpy as np
import oltp_mutants
import order_entry_mutants
import order_entry_pools
import postgres_mutants
import seqread_mutants
import test_exchange
import ufs_laws
import zfs_files_laws
import zfs_files_mutants
import zil_mutants
from twins import random_requests

from model import arc_trace, oltp, seqread, vdev_cache_trace
from model.arc import ArcParams, new_arc
from model.described import count_bytes
from model.lru import misses, new_lru
from model.oltp_machine import new_site, rules_of
from model.order_entry_runs import rewrite, window
from model.pickers import VARIANTS
from model.postgres import pgbench
from model.recordsize import new_records, overwrite_all
from model.streams import stream
from model.vdev_cache import VdevCacheParams
from model.vdev_map import vdev_params
from model.workloads import RecordReads, random_record_reads

OF_ZFS = ("cold, with cache device", "an SSD", "onnv_69", "primarycache=metadata")
MS = 10**6


def caches():
    rows = np.array(random_requests(stream(7, "requests"), 300, flagged=False)).T
    vdev_cache_trace.drive(VdevCacheParams(cache_bytes=2**20), vdev_cache_trace.operations(*rows), 3)
    overwrite_all(new_records(64, 2**17), np.arange(0, 2**23, 2**13), 2**13, 100)
    random_record_reads(RecordReads(n_records=9999), *stream(7, "reads").random((2, 300)))
    keys = arc_traces.keys(next(iter(arc_traces.MISSES))[0])[:1000]
    misses(new_lru(50), keys)
    params = ArcParams(2**20, 2**20)
    arc_trace.misses_textbook(new_arc(ArcParams(100, 100), 12_000, 24_000, 0), ArcParams(100, 100), keys)
    arc_trace.misses_zfs(new_arc(params, 12_000, 24_000), params, keys, 8192, 1, 100)
    l2arc_machine.long_run(0, n=300, check_every=100)


def file_systems():
    rules = rules_of("onnv_69")
    for n, vdev in ((3, vdev_params("single", 1)), (4, vdev_params("raidz1", 4))):
        oltp.simulate(new_site(oltp_mutants.WORKLOAD, n, vdev=vdev), rules,
                      oltp_mutants.SETTINGS._replace(n_leaves=n, duration_ns=60 * MS, txg_ns=20 * MS))
    site = seqread_mutants.new_site(seqread_mutants.READERS._replace(file_bytes=2**26), 4)
    seqread.simulate(site, seqread_mutants.rules_of("onnv_70"), seqread_mutants.SETTINGS._replace(duration_ns=50 * MS))
    for name in OF_ZFS:
        zfs_files_laws.run(**zfs_files_mutants.SOUND[name] | {"n": 60, "rest_s": 8})
    assert not zil_mutants.is_noticed(30)
    assert not ufs_laws.differences(next(iter(ufs_laws.CASES.values())), 0)


def databases():
    postgres_mutants.SETTINGS = postgres_mutants.SETTINGS._replace(duration_ns=1_200 * MS)
    postgres_mutants.observe(pgbench(1, 10**4, postgres_mutants.CPU_NS))
    innodb_mutants.SETTINGS = innodb_mutants.SETTINGS._replace(duration_ns=innodb_mutants.SETTINGS.duration_ns // 4)
    innodb_mutants.observe()


def allocators():
    aged_pool_laws.every_record_has_its_own_place()
    aged_pool_laws.what_is_kept_goes_on_as_it_would_have()
    count_bytes(aged_pool_laws.a_pool("b103")[0], 3, 2**15)
    for story in metaslab_stories.STORIES.values():
        if not hasattr(story, "hypothesis"):  # once is enough
            story()
    for params in VARIANTS.values():
        free_blocks_mutants.agrees(params, 1)
    assert alloc_mutants.first_elsewhere("103_ff", "edge") is None


def appliances():
    site = order_entry_pools.site_of(order_entry_mutants.TINY)
    rewrite(site, 300, window(site, 0, 250 * MS), 1, "ageing")
    test_exchange.seen(test_exchange.SMALL._replace(n_records=2**12, n_users=2))


def main():
    for family in (caches, file_systems, databases, allocators, appliances):
        family()

"""What ZFS did at which build.

An era is a build with a name; its value for each mechanism is the set of parameters of that mechanism. Their fields say
what a rule is and where it is known from. So one rule of an era is changed, and its effect seen, by one `_replace`:

    era("b141").queue._replace(max_pending=35)

A mechanism that changed over time joins by a field of Era, and by what changed in the eras below. When that was is told in
the spec: 0.2, and section 1 for the vdev cache, 2 for the allocator and the threads that write. Section 3 has the queue, 4
zfetch, 5.6 transaction groups, 6 the intent log, 7.5 the L2ARC.

Of OpenZFS what is modelled, each era with all that came before it:

    openzfs_2013    the write throttle of August 2013 with the classes of the vdev queue.   ZFS on Linux 0.6.3 to 0.6.5
                    and groups every 5 s or 64 MiB
    openzfs_2017    indirect blocks of 128 KiB (its change 7104). Records of up to 16 MiB   0.7; FreeBSD 12
                    (5027, 0.6.5, if zfs_max_recordsize is raised from 1 MiB), in core
                    as they are on disk. No more read ahead than 8 MiB (5987)
    openzfs_2019    groups of a fifth of what may be dirty. Writes that follow each other   0.8, 2.0; FreeBSD 13.0
                    go to a disk as up to 1 MiB, not 128 KiB (sequential scrub). To
                    an SSD they go as before (pull request 8494)
    openzfs_2021    log blocks in a metaslab of their own (pull request 11389); classes     2.1; FreeBSD 13.1
                    of the vdev queue take turns (11166)
    openzfs         a call that rewrites several records is one transaction (14964).        2.2 of 2023, and later
                    records of up to 16 MiB without a parameter (13302); no more
                    read ahead than 64 MiB (13452). Padding of RAID-Z goes with
                    its column (12333)

Not in any: prefetch of later builds, and what `data/advice.toml` lists besides. Nor are several log blocks in flight (change
8585, 2017), which PostgreSQL does not feel. Who flushes its log holds a lock, so one commit is under way at a time.

`b141_df` was no build: it is b141 with the picker of the builds before it, which those after it went back to.
"""

from typing import NamedTuple

from model.events.clock import SECOND_NS
from model.zfs.arc.l2arc import L2arcParams
from model.zfs.dmu.indirect import IndirectParams
from model.zfs.dmu.recordsize import RecordParams
from model.zfs.dmu.zfetch import ZfetchParams
from model.zfs.metaslab.state import BONUS_AREA, FRAGMENTED, LARGEST, OWN_CLASS, THIRDS, MetaslabParams
from model.zfs.space.pickers import VARIANTS
from model.zfs.txg.throttle import DIRTY_DATA, T2, T3, TxgParams
from model.zfs.txg.write_issue import IssueParams
from model.zfs.vdev.cache import BYPASS_DATA, FILL_METADATA, VdevCacheParams
from model.zfs.vdev.queue import DONT_AGGREGATE, INHERITED, VdevQueueParams
from model.zfs.vdev.queue_classes import (
    ASYNC_READ,
    ASYNC_WRITE,
    SCRUB_CLASS,
    SYNC_READ,
    SYNC_WRITE,
    ClassParams,
)
from model.zfs.vdev.raid import PADDING_OPTIONAL, PADDING_WITH_COLUMNS, RaidzParams
from model.zfs.zil.log import BY_BLOCK, BY_WRITE, ZilParams


class Era(NamedTuple):
    """The rules of a build, a field for each mechanism that changed."""

    queue: VdevQueueParams = VdevQueueParams()
    zfetch: ZfetchParams = ZfetchParams()
    cache: VdevCacheParams = VdevCacheParams()
    metaslab: MetaslabParams = MetaslabParams()
    zil: ZilParams = ZilParams()
    l2arc: L2arcParams = L2arcParams(exists=0)
    txg: TxgParams = TxgParams()
    issue: IssueParams = IssueParams()
    indirect: IndirectParams = IndirectParams()
    classes: ClassParams = ClassParams()
    records: RecordParams = RecordParams()
    raidz: RaidzParams = RaidzParams()


def _since(earlier, **changed):
    """An era with the rules of an earlier one, but for those given: mechanism={rule: value}."""
    return earlier._replace(**{mechanism: getattr(earlier, mechanism)._replace(**rules)
                               for mechanism, rules in changed.items()})


_2007 = Era()
_ONNV_70 = _since(_2007, cache={"fill_rule": FILL_METADATA})  # change 6437054
_ONNV_79 = _since(_ONNV_70, cache={"fill_rule": BYPASS_DATA}, l2arc={"exists": 1}, issue={"for_all": 1})
_B89 = _since(
    _ONNV_79,
    zil={"counts_fetched": 1, "lists_late": 0},  # by onnv_85
    txg={"timeout_ns": 30 * 10**9, "from_sync": 1, "rule": T2, "uberblock_vdevs": 3},  # the last by onnv_85
)
_B103 = _since(
    _B89,
    queue={"agreeing_marks": DONT_AGGREGATE},
    zfetch={"rewrites_read": 0, "uncached_read": 0},
    zil={"copies_o_sync": 1},
    txg={"rule": T3},
    metaslab={"gang": THIRDS},
    l2arc={"boost_bytes": 2**23, "delay_ns": 0},
)
_B111 = _since(
    _B103,
    queue={"agreeing_marks": INHERITED},  # by b108; what came between b108 and b117 is taken to be later
    l2arc={"headroom": 2, "again_ns": SECOND_NS // 5, "norw": 1},  # by b108
)
_B117 = _since(
    _B111,
    queue={"read_gap_bytes": 2**15},
    metaslab={"picker": VARIANTS["117_df"]},
    issue={"cpus_pct": 80},
)
_B141 = _since(
    _B117,
    queue={"write_gap_bytes": 2**12, "max_pending": 10, "cache_fill_priority": 1},  # hg 10105, 10801, 11146
    zfetch={"covered_if_missed": 0},  # hg 10474
    raidz={"padding": PADDING_OPTIONAL, "max_parity": 3},  # hg 10105, b121; b120
    zil={"has_logbias": 1, "slim": 1, "slog_limit_bytes": 2**20, "strict": 0,  # hg 10310, 11670, 11670, by 11670
         "on_zvol": BY_BLOCK},  # by 10310
    metaslab={
        "defer_txgs": 2, "skips_unchanged": 1,  # hg 10921
        "bias_against": OWN_CLASS,  # hg 10922
        "bonus_scope": BONUS_AREA, "bonus_multiplier": 1, "reassess": 1, "prefetch_maps": 3,  # hg 11146
        "primary_until": FRAGMENTED, "passivate_with": LARGEST,  # hg 11146
        "picker": VARIANTS["141_ndf"],  # hg 12047
    },
)
_B141_DF = _since(_B141, metaslab={"picker": VARIANTS["141_df"]})
_OPENZFS_2013 = _since(
    _B141_DF,  # pickers of the builds before and after b141: spec 2.13
    txg={"timeout_ns": 5 * 10**9, "rule": DIRTY_DATA, "inflation": 1,  # illumos 4045, August 2013
         "sync_bytes": 2**26},  # zfs_dirty_data_sync
    classes={"exist": 1},  # the same
    queue={"time_shift": 40, "sync_read_priority": SYNC_READ, "sync_write_priority": SYNC_WRITE,  # classes, no deadlines
           "log_write_priority": SYNC_WRITE, "cache_fill_priority": SYNC_READ, "ddt_prefetch_priority": ASYNC_READ,
           "async_write_priority": ASYNC_WRITE, "async_read_priority": ASYNC_READ, "resilver_priority": SCRUB_CLASS,
           "scrub_priority": SCRUB_CLASS},
)
_OPENZFS_2017 = _since(_OPENZFS_2013, indirect={"shift": 10}, classes={"min_per_class": (10, 10, 1, 2, 1)},
                       records={"max_bytes": 2**24, "stay_compressed": 1}, zil={"on_zvol": BY_WRITE},  # change 7578
                       zfetch={"max_distance_bytes": 2**23},
                       queue={"bridges_beyond": 1})  # change 8005
_OPENZFS_2019 = _since(_OPENZFS_2017, txg={"sync_bytes": 0}, queue={"aggregation_bytes": 2**20})
_OPENZFS_2021 = _since(_OPENZFS_2019, zil={"own_metaslab": 1},
                       classes={"takes_turns": 1, "max_per_class": (10, 10, 3, 10, 3)})  # 11166; 3 scrubs: before it
_OPENZFS = _since(_OPENZFS_2021, txg={"joins_records": 1}, zfetch={"max_distance_bytes": 2**26},
                  raidz={"padding": PADDING_WITH_COLUMNS})  # 12333

ERAS = {
    "onnv_69": _2007,  # July 2007: the last without change 6437054 of the vdev cache
    "onnv_70": _ONNV_70,  # two weeks later: the first with it; nothing in the queue or in zfetch changed
    "onnv_79": _ONNV_79,  # November 2007
    "b89": _B89,  # spring 2008: the first with a new throttle
    "b103": _B103,  # December 2008
    "b111": _B111,  # May 2009: OpenSolaris 2009.06
    "b117": _B117,  # July 2009
    "b141": _B141,  # May 2010
    "b141_df": _B141_DF,
    "openzfs_2013": _OPENZFS_2013,  # see above what of these is here
    "openzfs_2017": _OPENZFS_2017,
    "openzfs_2019": _OPENZFS_2019,
    "openzfs_2021": _OPENZFS_2021,
    "openzfs": _OPENZFS,
}


def era(name: str) -> Era:
    """The era of that name."""
    if name not in ERAS:
        raise ValueError(f"era is {name!r}, but the builds known are {', '.join(ERAS)}; choose one of these")
    return ERAS[name]

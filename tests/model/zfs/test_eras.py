"""Eras: what changed, and when."""

import itertools

import pytest

from model.zfs.eras import ERAS, era


def test_eras_differ_in_what_the_time_line_says():
    """Spec 0.2, 2, 3, 4, 2.12, 5.6, 6 and 7.5, era by era."""
    before, *later = (ERAS[name] for name in ("onnv_69", "onnv_70", "onnv_79", "b103", "b111", "b117", "b141"))
    changes = []
    for now in later:
        changes.append({name for old, new in zip(before, now, strict=True) for name in old._fields
                        if getattr(old, name) != getattr(new, name)})
        before = now
    assert changes == [{"fill_rule"}, {"fill_rule", "exists", "for_all"},
                       {"agreeing_marks", "rewrites_read", "uncached_read", "copies_o_sync", "counts_fetched", "lists_late",
                        "gang", "boost_bytes", "delay_ns", "timeout_ns", "from_sync", "rule", "uberblock_vdevs"},
                       {"agreeing_marks", "headroom", "again_ns", "norw"},
                       {"read_gap_bytes", "picker", "cpus_pct"},
                       {"max_pending", "write_gap_bytes", "cache_fill_priority", "covered_if_missed",
                        "padding", "max_parity",
                        "has_logbias", "slim", "slog_limit_bytes", "strict", "on_zvol", "picker", "defer_txgs",
                        "skips_unchanged", "bias_against", "bonus_scope", "bonus_multiplier", "reassess", "prefetch_maps",
                        "primary_until", "passivate_with"}]


def test_eras_of_openzfs_differ_in_what_came_between():
    names = ("openzfs_2013", "openzfs_2017", "openzfs_2019", "openzfs_2021", "openzfs")
    changes = [{name for old, new in zip(ERAS[before], ERAS[now], strict=True) for name in old._fields
                if getattr(old, name) != getattr(new, name)} for before, now in itertools.pairwise(names)]
    assert changes == [{"shift", "min_per_class", "max_bytes", "stay_compressed", "max_distance_bytes", "bridges_beyond",
                        "on_zvol"},
                       {"sync_bytes", "aggregation_bytes"}, {"own_metaslab", "takes_turns", "max_per_class"},
                       {"joins_records", "max_distance_bytes", "padding"}]


def test_an_unknown_era_is_one_sentence():
    with pytest.raises(ValueError, match=r"era is 'b999', but .*; choose"):
        era("b999")

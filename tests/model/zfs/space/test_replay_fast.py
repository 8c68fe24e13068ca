"""Recorded decisions of the real allocator, replayed with the fast engine."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model.events.streams import stream
from model.zfs.space import replay_exact, replay_fast
from model.zfs.space.bitmaps import MAX_BLOCKS
from model.zfs.space.pickers import VARIANTS
from study.errors import UserError
from study.project import DATA
from study.replays import pool
from study.replays.alloc_trace import AMBIGUOUS, recorded_with
from study.replays.pool import replay_pool
from study.replays.recorded_vdevs import alike
from study.replays.space_map import replay_map

SIZES = (1, 2, 3, 8, 24, 33, 60)

RECORDED = [(path, variant, offsets) for path in sorted((DATA / "traces" / "alloc").glob("*__ops.parquet"))
            if not path.name.startswith("l2") for variant, offsets in recorded_with(path)]


@pytest.mark.parametrize(("path", "variant", "offsets"), RECORDED, ids=lambda part: getattr(part, "stem", part))
def test_auto_is_fast_exactly_where_no_choice_depends_on_a_trees_shape(path, variant, offsets):
    """And has no difference either way; `fast` may have some where `auto` declines."""
    exact, fast, auto = (replay_map(path, variant, offsets, engine=engine) for engine in ("exact", "fast", "auto"))
    ambiguous = fast.summary[AMBIGUOUS]
    assert auto.engine == ("exact" if ambiguous else "fast")
    assert auto.differences == exact.differences == 0
    assert fast.differences == 0 or ambiguous
    if path.name.startswith("rand4k"):
        assert auto.engine == "fast"
        assert {name: fast.summary[name] for name in exact.summary} == exact.summary


def test_blocks_of_one_size_and_of_mixed_sizes_are_recorded_of_every_build():
    for scenario in ("rand4k", "mix"):
        assert {variant for path, variant, _ in RECORDED if path.name.startswith(scenario)} == set(VARIANTS)


def test_maps_of_too_many_blocks_are_not_for_the_fast_engine(tmp_path):
    path = tmp_path / "large__ops.parquet"
    pq.write_table(pa.table({"op": [4, 0], "size512": [9, 1], "arg": [2**28, -1]}), path)
    assert replay_map(path, "103_ff", engine="auto").engine == "exact"
    with pytest.raises(UserError, match="134217728 blocks of 512 B"):
        replay_map(path, "103_ff", engine="fast")


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_blocks", [2**24 + 1, 5 * 2**23, 2**26, MAX_BLOCKS])
def test_both_compiled_engines_place_blocks_of_one_size_alike_in_the_largest_maps(variant, n_blocks):
    """300 places, of which nearly all are taken: then blocks are freed and allocated at random. (`test_free_runs` has more,
    and runs without the compiler.)"""
    of, rows, held, size = stream(1, variant), [(replay_exact.NEW_MAP, n_blocks, -1)], [], n_blocks // 300
    for block in range(600):
        if len(held) > 270 + int(of.random() * 30):
            rows.append((replay_exact.FREE, size, held.pop(int(of.random() * len(held)))))
        rows.append((replay_exact.ALLOCATE, size, block))
        held.append(block)
    kinds, sizes, blocks = np.array(rows).T
    operations = replay_exact.Operations(kinds, 4096 * sizes, blocks)
    (exact, _), (fast, summary) = (engine.drive(VARIANTS[variant], operations) for engine in (replay_exact, replay_fast))
    assert summary.n_ambiguous == 0
    assert (exact.offset == fast.offset).all()
    assert fast.offset.max() > 0.9 * 4096 * n_blocks


def mixed(total, n, seed=0):
    """(op, size512, arg) of allocations of many sizes in a map of so many sectors, nearly full, with frees at random."""
    of, rows, live, used = stream(seed, "mixed"), [], [], 0
    for block in range(n):
        size = SIZES[int(of.random() * len(SIZES))]
        while used + size > 0.93 * total:
            which, freed = live.pop(int(of.random() * len(live)))
            rows.append((1, freed, which))
            used -= freed
        rows.append((0, size, -1))
        live.append((block, size))
        used += size
    return rows


def written(path, rows):
    pq.write_table(pa.table(dict(zip(("op", "size512", "arg"), zip(*rows, strict=True), strict=True))), path)
    return path


def without_frees_of_nothing(path, rows, variant):
    """The rows that `variant` can be given: what it refused is not freed."""
    while True:
        try:
            replay_map(written(path, rows), variant)
        except UserError as error:
            del rows[int(re.search(r"row (\d+) frees", str(error))[1])]
        else:
            return rows


def test_where_the_fast_engine_went_astray_the_trace_is_not_blamed(tmp_path):
    path = tmp_path / "mixed__ops.parquet"
    without_frees_of_nothing(path, [(4, 9, 600), *mixed(600, 300)], "141_ndf")
    assert replay_map(path, "141_ndf", engine="auto").engine == "exact"
    with pytest.raises(UserError, match=r"for which the fast engine found no space, but \d+ of its choices depend on the "
                                        "shape of a tree; use --engine exact or auto"):
        replay_map(path, "141_ndf", engine="fast")
    written(path, [(4, 9, 8), (0, 8, -1), (0, 8, -1), (1, 8, 1)])
    with pytest.raises(UserError, match="row 3 frees allocation 1, which found no space and was never made"):
        replay_map(path, "141_ndf", engine="fast")


def test_of_a_pool_too_the_fast_engine_says_how_many_choices_may_differ(tmp_path, monkeypatch):
    path = written(tmp_path / "pool__ops.parquet", [(0, size, -1) for size in SIZES])
    summaries = {engine: replay_pool(path, "117_df", alike(1, 2**20), engine=engine).summary for engine in ("exact", "fast")}
    assert (AMBIGUOUS in summaries["exact"], summaries["fast"][AMBIGUOUS]) == (False, 0)

    def ambiguous(*arguments):
        driven = real(*arguments)
        driven.pool.blocks.free.n_ambiguous[:] = 3
        return driven
    real = pool.drive_by_variant
    monkeypatch.setattr(pool, "drive_by_variant", ambiguous)
    assert replay_pool(path, "117_df", alike(1, 2**20), engine="fast").summary[AMBIGUOUS] == 3

"""Free space under the rules: pictures, runs and shares, against what was recorded of the real code."""
import io
import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from model.zfs.ageing.rewrites import Rewrites
from model.zfs.space.pickers import VARIANTS
from study import drawing
from study.drawing import render
from study.experiments.allocator_2010 import free_space
from study.figures import free_space as free_space_pictures

quick = settings(deadline=None, derandomize=True, max_examples=40)
WORK, MAP_BYTES = Rewrites(n_records=3000, n_txgs=60, per_txg=40), 4096 * 4096


@pytest.fixture(scope="module")
def aged():
    return {variant: free_space.age(VARIANTS[variant], WORK, MAP_BYTES, 1) for variant in VARIANTS}


# ---- what is seen ----


@quick
@given(st.lists(st.lists(st.integers(0, 60), min_size=6, max_size=6, unique=True), min_size=1, max_size=5),
       st.integers(1, 5))
def test_runs_are_those_of_a_walk_through_sorted_blocks(rows, per_write):
    def by_hand(row):
        lengths, row = [1], sorted(row)
        for before, block in itertools.pairwise(row):
            lengths = [*lengths[:-1], lengths[-1] + 1] if block == before + 1 else [*lengths, 1]
        return len(lengths), sum(-(-length // per_write) for length in lengths)
    n_runs, n_writes = free_space.runs_of(np.array(rows), per_write)
    assert list(zip(n_runs.tolist(), n_writes.tolist(), strict=True)) == [by_hand(row) for row in rows]


def test_a_picture_has_as_many_places_as_there_are_records(aged):
    for rewriting in aged.values():
        maps = free_space.occupied(rewriting, [0, 1, 60])
        assert [(picture > 0).sum() for picture in maps] == [WORK.n_records] * 3
        assert (maps[0] == 2).sum() == 0
        written = len(np.unique(rewriting.records[0]))
        assert (maps[1] == 2).sum() == written
        assert set(np.flatnonzero(maps[1] == 2)) <= set(rewriting.offsets[0])


def test_the_fill_is_one_run_from_the_bottom(aged):
    for rewriting in aged.values():
        assert (rewriting.first == np.arange(WORK.n_records)).all()


def test_above_the_threshold_best_fit_takes_one_block_a_write(aged):
    """73 % full: the rule of 30 % has gone over to best fit, whose holes are of one block."""
    late = {variant: free_space.contiguity(rewriting)["late_io_bytes_128k_cap"] for variant, rewriting in aged.items()}
    assert aged["117_df"].by_size.all()
    assert not aged["103_ff"].by_size.any()
    assert late["117_df"] < 1.1 * 4096
    assert late["103_ff"] > 1.4 * 4096
    assert late["141_ndf"] > late["103_ff"]


def test_a_write_is_never_larger_than_128_kib(aged):
    for rewriting in aged.values():
        assert free_space.blocks_per_write(rewriting.offsets, 4096).min() >= 1
        assert free_space.blocks_per_write(rewriting.offsets, 4096).max() <= 32
    assert free_space.blocks_per_write(np.arange(64).reshape(1, 64), 8192).tolist() == [16]
    assert free_space.blocks_per_write(np.arange(64).reshape(1, 64), 2**18).tolist() == [1]


# ---- beside what was recorded ----


@pytest.mark.parametrize(("variant", "occupancy"), [("103_ff", 72), ("117_df", 80), ("141_ndf", 72)])
def test_rules_that_do_not_switch_are_as_recorded(variant, occupancy):
    """Other random numbers, so not the same blocks; but means over 400 transaction groups of 1000."""
    model = free_space._like_recorded(variant, occupancy, 5)
    for recorded, close in ((free_space.recorded_contiguity(), 0.02), (free_space.recorded_shares(), 0.01)):
        row, = recorded[(recorded.variant == variant) & (recorded.occupancy == occupancy)].to_dict("records")
        for name in set(row) & set(model) - {"variant", "occupancy"}:
            assert model[name] == pytest.approx(row[name], rel=close, abs=0.003), name


def test_what_was_recorded_is_complete():
    shares, runs = free_space.recorded_shares(), free_space.recorded_contiguity()
    for table in (shares, runs):
        assert sorted(set(table.occupancy)) == [50, 68, 70, 72, 80, 90, 95, 97]
        assert len(table) == 32
    assert shares.set_index(["variant", "occupancy"]).share["117_df", 72] == 100


def test_metrics_compare_medians_with_recorded_values():
    runs = free_space.recorded_contiguity()
    model = pd.concat([runs.assign(early_io_bytes_128k_cap=runs.early_io_bytes_128k_cap * factor,
                                   late_io_bytes_128k_cap=runs.late_io_bytes_128k_cap * 1.5) for factor in (0.5, 1, 9)])
    values = free_space.contiguity_metrics(model, runs).set_index("name").value
    assert values["early.103_ff.most-off"] == pytest.approx(0)
    assert values["late.141_df.most-off"] == pytest.approx(50)
    assert values["early.117_df.72.recorded"] == pytest.approx(7215 / 4096)
    shares = free_space.recorded_shares()
    values = free_space.share_metrics(shares.assign(share=shares.share / 2), shares).set_index("name").value
    assert values["share.141_df.97.model"] == values["share.141_df.97.recorded"] / 2 == 50


# ---- figures ----


def test_a_film_has_a_frame_for_each_map_its_time_and_a_key(aged):
    txgs = [0, 20, 40, 60]
    places = free_space.occupied(aged["141_df"], txgs)
    film = Image.open(io.BytesIO(drawing.film(free_space_pictures.moments, places, txgs)))
    assert (film.format, film.n_frames, film.width) == ("PNG", 4, drawing.SCREEN_PX)
    frames = []
    for n, new in enumerate((False, True, True, True)):
        film.seek(n)
        frames.append(np.array(film.convert("RGB")))
        red = (frames[-1] == [int(free_space_pictures.NEW[i:i + 2], 16) for i in (1, 3, 5)]).all(axis=2)
        assert red[:red.shape[0] * 9 // 10].any() == new        # below is the key
        assert red.any()
    assert all((frames[n] != frames[n - 1]).any() for n in range(1, 4))
    shown = [(figure.axes[0].get_title(), figure.axes[0].images[0].get_array().ravel().tolist())
             for figure in free_space_pictures.moments(places, txgs)]
    assert shown == [(f"after {txg} transaction groups", list(picture)) for txg, picture in zip(txgs, places, strict=True)]
    with pytest.raises(ValueError, match="shorter"):
        list(free_space_pictures.moments(places, txgs[:3]))


def test_maps_show_each_rule_at_each_time(aged):
    shown = {variant: free_space.occupied(rewriting, [0, 60]) for variant, rewriting in aged.items()}
    figure = free_space_pictures.maps(shown, ["before", "after"])
    assert len(figure.axes) == 8
    assert (figure.axes[1].images[0].get_array().ravel() == shown["103_ff"][1]).all()


def test_figures_come_out_the_same_and_legible(aged):
    runs, shares = free_space.recorded_contiguity(), free_space.recorded_shares()
    for draw, data in ((free_space_pictures.shares, (shares, shares, free_space.RULES)),
                       (free_space_pictures.contiguity, (runs, runs, free_space.RULES, 4096)),
                       (free_space_pictures.maps, ({"a": free_space.occupied(aged["103_ff"], [0])}, ["now"]))):
        first, second = (render(draw, *data, formats=("svg",))["svg"] for _ in range(2))
        assert first == second
    source = (Path(drawing.__file__).parent / "figures/free_space.py").read_text(encoding="utf-8")
    assert all(float(size) >= 7 for size in re.findall(r"fontsize=([\d.]+)", source))


def test_recorded_values_are_drawn_where_they_are():
    shares = free_space.recorded_shares()
    axes, = free_space_pictures.shares(shares, shares, {"141_df": "rule"}).axes
    drawn = [line for line in axes.lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert drawn[0].get_ydata().tolist() == shares[shares.variant == "141_df"].share.tolist()

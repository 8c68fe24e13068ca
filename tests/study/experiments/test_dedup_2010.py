"""Dedup of 2010: the model's ratio is a count of the same bytes; the gain of small blocks; what a table costs."""
import tomllib

import numpy as np
import pytest

from study.documents import priors
from study.experiments.dedup_2010 import backups, checksums, contents, table_costs

KINDS = contents.kinds(1, 1)


@pytest.mark.parametrize("block_bytes", contents.SIZES)
@pytest.mark.parametrize("name", KINDS)
def test_the_ratio_of_the_table_is_that_of_the_bytes(name, block_bytes):
    assert contents.ratio_of(KINDS[name], block_bytes) == pytest.approx(contents.unique_share(KINDS[name], block_bytes))


def test_copies_dedup_whole_and_streams_only_where_objects_begin_at_blocks():
    small = {name: contents.ratio_of(files, 8192) for name, files in KINDS.items()}
    assert small["four copies of a database"] == 4
    assert small["two tar streams of them"] < 1.35 < 1.7 < small["two streams, objects at multiples of 8 KiB"]


def test_the_formula_of_backups_is_that_of_real_bytes():
    n_pages, draws = 512, np.random.default_rng(1)
    files, small, large = [draws.bytes(n_pages * contents.PAGE)], 0, 0
    for day in range(4):
        pages = draws.choice(n_pages, 6, replace=False)
        files.append(contents.changed(files[-1], pages, 1, f"day {day}"))
        small, large = small + len(pages) / n_pages / 4, large + len(set(pages // 16)) / (n_pages // 16) / 4
    assert contents.ratio_of(files, 8192) == pytest.approx(backups.ratio(5, small))
    assert contents.ratio_of(files, 131072) == pytest.approx(backups.ratio(5, large))


@pytest.mark.parametrize("load", backups.LOADS)
def test_small_blocks_gain_something_and_never_more_than_pages_in_a_record(load):
    for changes in (0.002, 0.05, 1.0):
        small, large = backups.shares(load, changes, 0.6, 1)
        assert small <= large <= 16 * small
        assert 1 <= backups.gain(14, load, changes, 0.6, 1) <= 16


def test_runs_of_sixteen_pages_leave_nothing_to_gain():
    rows = backups.over_runs(14, 1)
    whole = rows[rows.run == 16].gain
    assert np.allclose(whole, 1)
    assert rows[rows.run == 1].gain.max() > 3


def test_more_backups_gain_more():
    gains = [backups.gain(n, "pgbench", 0.02, 0.6, 1) for n in (2, 14, 60, 365)]
    assert gains == sorted(gains)


def test_equal_inputs_give_equal_ensembles():
    first, second = (backups.predict(4, 2, 1) for _ in range(2))
    assert first.equals(second)
    assert {switch.name for switch in priors.read("dedup").switches} == {"load"}


def test_the_post_has_a_fair_entry():
    grown = table_costs.memory(1, 200_000)
    assert grown.in_core.between(170, 215).all()
    assert table_costs.definitions(grown).iloc[0, 2] == pytest.approx(30.5, rel=0.01)


def test_a_write_of_the_table_stands_for_tens_only_where_the_table_is_small():
    rows = table_costs.batches(1, 5000)
    for _, of_block in rows.groupby("block"):
        assert of_block.blocks_per_write.is_monotonic_decreasing
    assert rows.blocks_per_write.max() > 10 > 2 > rows.blocks_per_write.min()


def test_checksums_of_2009():
    table = checksums.of_2009().set_index("how")
    fast, slow = table[table.index.str.startswith("assembler")], table[table.index.str.startswith("plain C")]
    assert (fast["ms for 128K"] < 1).all()
    assert (fast["us for 8K"] < 64).all()
    assert (slow["us for 8K"] > 64).all()


def test_the_kept_measurement_of_a_checksum_is_of_both_blocks_and_says_where():
    table = checksums.beside().set_index("block")
    assert list(table.index) == ["128K", "8K"]
    assert (table["less than the post has"] == (table["measured: us"] < table["post: us at most"])).all()
    assert (table["MB/s"] * table["measured: us"]).tolist() == pytest.approx([131072, 8192])
    assert checksums.kept()["machine"]["processor"] in checksums.machine_in_words()


def test_what_is_measured_is_what_the_file_holds(monkeypatch):
    monkeypatch.setattr(checksums, "ROUNDS", 2)
    monkeypatch.setattr(checksums, "ROUND_BYTES", 2**18)
    made = checksums.measure()
    assert tomllib.loads(checksums.to_toml(made)) == made
    assert all(0 < each["least_us"] <= each["median_us"] <= each["most_us"] for each in made["block"])


def test_the_share_of_duplicates_makes_two_objects_of_one_table():
    low, central, high = table_costs.found_shares()
    assert 0 < low < central < high < 1
    for found_share in (0.0, low, central, high):
        machine = table_costs.with_table(2.0, found_share)
        assert machine.unique_bytes + machine.duplicate_bytes == pytest.approx(2 * table_costs.LIMIT)
        assert machine.duplicate_bytes <= found_share * 2 * table_costs.LIMIT
        assert 0 <= machine.second_share <= machine.found_share == found_share
    assert table_costs.with_table(2.0, 0.0).duplicate_bytes == 0

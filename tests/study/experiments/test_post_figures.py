"""The other figures of the post on dedup: every one is predicted, by its arithmetic or by simulation."""
import matplotlib.figure
import pandas as pd
import pytest

from model.zfs.dedup.zap import ZapParams, leaf_entries
from study.documents import claims
from study.experiments.dedup_2010 import backups, post_figures
from study.figures import dedup as pictures

CENTRAL = post_figures.known().central()
CALM = CENTRAL | {"table_times": 0.25, "offered_mb": 1.0}


@pytest.fixture(scope="module")
def of_one():
    return post_figures.quantities(CALM, 1)


def test_every_figure_of_the_post_on_dedup_is_predicted(of_one):
    wanted = {claim.predict for claim in claims.read() if claim.notebook == "13_dedup"}
    assert wanted == {f"{post_figures.RUN} {name}" for name in of_one} | {f"dedup {backups.QUANTITY}"}
    assert all(reference.startswith((*post_figures.CLAIMS, "dedup ratio")) for reference in wanted)


def test_checksums_are_cycles_over_the_clock(of_one):
    fast = post_figures.quantities(CALM | {"clock_ghz": 2 * CALM["clock_ghz"]}, 1)
    assert fast["checksum.bandwidth"] == pytest.approx(2 * of_one["checksum.bandwidth"])
    assert of_one["checksum.large_time"] * of_one["checksum.bandwidth"] == pytest.approx(131.072)     # KB
    assert of_one["checksum.small_time"] * of_one["checksum.bandwidth"] == pytest.approx(8192)
    assert post_figures.quantities(CALM | {"sha_code": "plain C"}, 1)["checksum.bandwidth"] < of_one["checksum.bandwidth"]


@pytest.mark.parametrize("chunks", [4, 5])
def test_a_table_twice_as_large_has_entries_as_large(chunks):
    small, large, scaled = (post_figures.entry_bytes(n, chunks, 1) for n in (120_000, 240_000, 2**10 * 240_000))
    assert large == pytest.approx(small, rel=0.01)
    assert scaled == large
    full = 4096 / leaf_entries(ZapParams(entry_chunks=chunks))
    assert full < large < 2.1 * full


def test_memory_of_the_whole_machine_holds_a_quarter_of_the_arcs_share(of_one):
    machine = post_figures.quantities(CALM | {"memory_holds": "the machine"}, 1)
    assert machine["unique_data.at_128k"] / of_one["unique_data.at_128k"] == pytest.approx(31 / 32 / 4)
    assert of_one["unique_data.at_128k"] == pytest.approx(16 * of_one["unique_data.at_8k"])


def test_one_write_stands_for_as_many_as_chance_puts_into_a_block():
    """Of n duplicates in L blocks L (1 - (1 - 1/L)^n) blocks are touched."""
    few = CALM | {"table_entries": 1e5, "group_blocks": 2e5}
    many = CALM | {"table_entries": 1e9, "group_blocks": 2e3}
    n_leaves = 1e5 * post_figures.entry_bytes(1e5, 5, 1) / 4096
    expected = 2e5 / (n_leaves * (1 - (1 - 1 / n_leaves)**2e5))
    assert post_figures.replaced(few, 1) == pytest.approx(expected, rel=0.1)
    assert post_figures.replaced(many, 1) == pytest.approx(1, abs=0.01)


def test_a_pool_that_keeps_up_absorbs_the_whole_run(of_one):
    assert of_one["throttle.absorbed"] == post_figures.RUN_S
    pressed = CENTRAL | {"table_times": 16.0, "offered_mb": 64.0, "dedup_disks": 8, "throttle_was_fast": 0}
    assert post_figures.absorbed_s(pressed, 1) < post_figures.RUN_S / 4


def test_figures_are_drawn_of_scores():
    scores = pd.DataFrame({"claim": ["ddt-entry", "sha-rate"], "published": [200.0, 128.0], "grade": ["consistent"] * 2} | {
        f"unfitted {share}": [150.0, 100.0] for share in ("5 %", "50 %", "95 %")})
    assert post_figures.over_printed(scores).low.tolist() == [0.75, 100 / 128]
    assert set(post_figures.metrics(scores).columns) == {"name", "value", "unit"}
    assert post_figures.shown(scores).printed.tolist() == ["about 200 Bytes", "more than 128 MB/sec"]
    assert isinstance(pictures.post_figures(post_figures.over_printed(scores)), matplotlib.figure.Figure)

"""What checkpoints write: to the page, and against closed forms for pages drawn at random.

Of n pages, W updates between two checkpoints change n (1 - (1 - 1/n)^W). So many images are in the log; so many pages the
checkpoint writes, if all have room in the buffers. If only B of them have, pages are written when their frame is wanted.
"""

import json
import math

import numpy as np
import pytest

from drivers.checkpoint_volume import by_model, by_replay, differences
from model.databases.postgres import columns as pg
from support.processes import interpreted

N_PAGES, N_UPDATES = 300, 20_000
T = 3.6  # of Student's t with 30 degrees of freedom or more: one in a thousand is farther out


def distinct(n, w):
    return n * (1 - (1 - 1 / n) ** w)


def is_mean_of(values, expected):
    """Within confidence limits of one in a thousand, which are narrow."""
    half = T * np.std(values, ddof=1) / math.sqrt(len(values))
    return abs(np.mean(values) - expected) <= half <= 0.03 * expected


@pytest.mark.parametrize("n_frames", [1000, 300, 200, 100, 40, 16])
def test_writes_and_images_are_those_of_a_plain_replay_to_the_page(n_frames):
    assert differences(N_PAGES, n_frames, 5000) == []


def test_images_and_checkpoints_have_the_volume_of_the_distinct_pages():
    seen = by_replay(N_PAGES, 1000, N_UPDATES)
    w = np.mean(seen.updates[:-1])
    assert is_mean_of(seen.images[:-1], distinct(N_PAGES, w))
    assert is_mean_of(seen.checkpoint, distinct(N_PAGES, w))
    x = by_model(N_PAGES, 1000, N_UPDATES)
    assert x.counts["checkpoint_writes"] == sum(seen.checkpoint)
    assert x.counts["images"] / len(seen.images) == pytest.approx(distinct(N_PAGES, w), rel=0.03)


@pytest.mark.parametrize("n_frames", [1000, 40])
def test_an_image_costs_its_bytes_however_small_the_buffers_are(n_frames):
    """What is in the log for images does not depend on what is in core."""
    x, without = (by_model(N_PAGES, n_frames, 3000, full_page_writes=full) for full in (1, 0))
    image_bytes = x.machine.database.relations[0, pg.IMAGE_BYTES]
    assert x.counts["log_bytes"] - without.counts["log_bytes"] == x.counts["images"] * image_bytes
    assert without.counts["images"] == 0
    assert x.counts["images"] == sum(by_replay(N_PAGES, 1000, 3000).images)


@pytest.mark.parametrize("n_frames", [200, 100, 40, 16])
def test_without_room_for_all_pages_nearly_each_miss_writes_one(n_frames):
    """Each update misses with 1 - B/n, and its victim is dirty but for those that the last checkpoint cleaned and nobody
    changed since. If victims are any, the pool gets dirty as 1 - exp(-updates / B), so between two checkpoints are
    written  (1 - B/n) (W - D)  on eviction and  D = B (1 - exp(-W / B))  by the checkpoint. The clock takes those first
    that have waited longest, and so more of the clean ones: more is dirty, and a little less is written."""
    x, seen = by_model(N_PAGES, n_frames, N_UPDATES), by_replay(N_PAGES, n_frames, N_UPDATES)
    n_intervals, w = len(seen.checkpoint), np.mean(seen.updates[:-1])
    miss, dirty = 1 - n_frames / N_PAGES, n_frames * (1 - math.exp(-w / n_frames))
    assert x.counts["reads"] == pytest.approx(miss * N_UPDATES, rel=0.03)
    assert 0.99 * dirty < x.counts["checkpoint_writes"] / n_intervals <= n_frames
    written = (x.counts["backend_writes"] + x.counts["checkpoint_writes"]) / (N_UPDATES / w)
    expected = miss * (w - dirty) + dirty
    assert 0.88 * expected < written < 1.01 * expected
    assert written > distinct(N_PAGES, w)


def test_rarer_checkpoints_write_less_in_all():
    """Twice as long between them: fewer images and fewer pages, because more changes share one."""
    runs = [by_model(N_PAGES, 1000, 9000, seconds=seconds).counts for seconds in (2, 4, 8)]
    for name in ("images", "checkpoint_writes", "log_bytes"):
        values = [run[name] for run in runs]
        assert values == sorted(values, reverse=True)


@pytest.mark.slow
def test_defects_are_noticed():
    """Run without the compiler, so that one function can be replaced."""
    assert json.loads(interpreted("defects.checkpoint_volume")) == ["none"]

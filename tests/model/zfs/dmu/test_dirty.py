"""Transaction groups: how many indirect blocks random rewrites dirty, against the closed form of spec 5.3."""

import math

import numpy as np
import pytest

from model.events.streams import stream
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu.dirty import dirty, new_txgs
from model.zfs.dmu.layout import number_blocks


def met(n_blocks, n_rewrites):
    """Of so many blocks that stand above equally many records each, those above a rewritten one: M (1 - (1 - 1/M)^n)."""
    return -n_blocks * math.expm1(n_rewrites * math.log1p(-1 / n_blocks)) if n_blocks > 1 else 1.0


def group_of(n_records, rewritten, shift=7):
    """Blocks of each level that a group holds when these records have been rewritten in it."""
    files = number_blocks([n_records], shift=shift)
    txgs = new_txgs(files.n_blocks - n_records, 5 * len(rewritten))
    for record in np.unique(rewritten).tolist():
        dirty(txgs, files, 0, record)
    quarter = int(txgs.open_txg[0]) % 4
    first, bases = quarter * txgs.room + 1, files.base[0, :files.n_levels[0]]
    blocks = txgs.entries[first:first + txgs.quarters[quarter, dirtied.N_USED], dirtied.BLOCK]
    return [int(((base <= blocks) & (blocks < end)).sum())
            for base, end in zip(bases, [*bases[1:], files.n_blocks], strict=True)]


def draw(n_records, n, name):
    return (stream(1, name).random(n) * n_records).astype(np.int64)


@pytest.mark.parametrize(("n_records", "blocks"), [(32 * 128, [4096, 32, 1]), (128 * 128 * 4, [65536, 512, 4, 1])])
def test_random_rewrites_dirty_as_many_indirect_blocks_as_expected(n_records, blocks):
    """Mean of 40 groups of 150 rewrites, within 4 standard errors."""
    counts = np.array([group_of(n_records, draw(n_records, 150, f"rewrites {i}")) for i in range(40)])
    for level, n_blocks in enumerate(blocks):
        of_level = counts[:, level]
        assert of_level.mean() == pytest.approx(met(n_blocks, 150), abs=4 * of_level.std() / 40**0.5 + 1e-9)


def test_100_gb_of_8_kb_records_dirty_an_l1_for_almost_every_record():
    """The example of spec 5.3: 10 000 rewrites meet 9530 of 102 400 L1s, and all 800 L2s."""
    dirtied = group_of(13107200, draw(13107200, 10_000, "rewrites"))
    assert dirtied[1] == pytest.approx(9530, abs=80)
    assert met(102400, 10_000) == pytest.approx(9530, abs=5)
    assert dirtied[2:] == [800, 7, 1]


def test_a_random_write_rewrites_eight_times_as_long_an_indirect_block_unless_they_are_met_again():
    """10 000 random writes; indirect blocks of 16 KiB and of 128 KiB: of the latter half are met: 5.8 times the bytes."""
    small, large = (group_of(13107200, draw(13107200, 10_000, "rewrites"), shift)[1] * (128 << shift) for shift in (7, 10))
    assert large / small == pytest.approx(8 * met(12800, 10_000) / met(102400, 10_000), rel=0.02)
    assert large / small == pytest.approx(5.8, rel=0.02)

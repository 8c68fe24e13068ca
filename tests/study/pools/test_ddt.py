"""What zdb and zpool print of dedup tables, of several releases."""
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.errors import UserError
from study.pools import ddt

SAMPLES = Path(__file__).parent / "ddt"
WHOLE = {path.name: path.read_text() for path in SAMPLES.glob("*.txt")}


@pytest.mark.parametrize(("name", "entries", "core", "ratio"), [
    ("zol_06_zdb_ddd.txt", 8193, 8193 * 141, 5.0),
    ("zol_06_zdb_dd.txt", 2873, 216 * 2104 + 2657 * 155, 1.07),
    ("illumos_zpool_status_d.txt", 2459286, 2459286 * 392, 1.07),
    ("openzfs_23_zpool_status_d.txt", 265611, round(51.0 * 2**20), 148),
    ("openzfs_zdb_s.txt", None, None, 1.03)])
def test_published_outputs_say_what_they_said(name, entries, core, ratio):
    table = ddt.read(SAMPLES / name)
    assert (table.entries, table.in_core_bytes) == (entries or table.entries, core)
    assert table.ratio == pytest.approx(ratio, rel=0.01)
    assert table.is_simulated == (core is None)
    assert table.entries == pytest.approx(table.total.blocks, rel=0.03)


def test_two_tools_agree_on_the_same_table():
    """As issue 7323 has them: so many bytes of blocks, over so many entries."""
    by_zdb = ddt.parse(WHOLE["zol_06_zdb_dd.txt"], "zdb").in_core_bytes
    assert by_zdb == pytest.approx(2873 * 302, rel=0.01)


def outcome(text):
    try:
        return ddt.parse(text, "cut.txt")._replace(printed_ratio=None)
    except UserError as error:
        return "one sentence" if str(error).startswith("cut.txt") and "\n" not in str(error) else str(error)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(WHOLE)), st.floats(0, 1))
def test_a_file_that_is_cut_is_one_sentence_or_says_the_same(name, share):
    """Only what stands behind the last number may be missing."""
    text = WHOLE[name]
    whole = ddt.parse(text, "whole.txt")._replace(printed_ratio=None)
    assert outcome(text[:int(share * len(text))]) in ("one sentence", whole)


@pytest.mark.parametrize(("text", "named"), [
    (" dedup: no DDT entries\n", "of a pool without dedup"), ("All DDTs are empty\n", "of a pool without dedup"),
    ("  pool: tank\n state: ONLINE\n", "nothing of a dedup table"), ("", "nothing of a dedup table"),
    ("dedup: DDT entries 3255693, size 311 on disk, 179 in co", "is cut or changed"),
    ("dedup: DDT entries 3255693, size 311 on disk, 179 in core\n", "ends before the histogram"),
    (WHOLE["zol_06_zdb_dd.txt"].replace("     2      216", "     2     9216"), "something is missing"),
    (WHOLE["zol_06_zdb_dd.txt"].replace("dedup = 1.07", "dedup = 3.07"), "ratio of 1.07"),
    ("dedup: DDT entries " + "9" * 5000 + ", size 311 on disk, 179 in core\n", "5000 digits"),
    (WHOLE["zol_06_zdb_dd.txt"] * 2, "more than one table")])
def test_what_is_no_table_is_one_sentence(text, named):
    with pytest.raises(UserError, match=named) as error:
        ddt.parse(text, "mine.txt")
    assert "\n" not in str(error.value)


def test_zdb_with_one_d_has_no_histogram_and_is_enough():
    lines = WHOLE["zol_06_zdb_dd.txt"].splitlines()
    table = ddt.parse("\n".join([*lines[:3], lines[-1]]), "d.txt")
    assert (table.entries, table.buckets, table.ratio) == (2873, (), 1.07)

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


HISTOGRAM = WHOLE["zol_06_zdb_dd.txt"].split("aggregated over all DDTs):\n")[1]
TABLE_23 = " dedup: DDT entries 2873, size 1.10M on disk, 847K in core\n" + HISTOGRAM     # zpool of 2.2, module of 2.3
FDT = ("DDT-sha256: version=1 [FDT]; flags=0x03 [FLAT LOG]; rootobj=20832\n"
       "DDT-sha256-zap-duplicate: dspace=163840; mspace=98304; entries=216\n"
       "DDT-sha256-zap-unique: dspace=1638400; mspace=983040; entries=2657\n\n") + HISTOGRAM


def test_zdb_of_fast_dedup_prints_bytes_of_all_entries():
    table = ddt.parse(FDT, "fdt.txt")
    assert (table.entries, table.in_core_bytes, table.on_disk_bytes) == (2873, 98304 + 983040, 163840 + 1638400)
    assert (table.ratio, table.is_of_all) == (pytest.approx(1.07, abs=0.01), False)


def test_sizes_of_all_entries_are_told_from_those_of_one_by_what_can_be():
    """A module of 2.3 gives a zpool of 2.2 the sizes of the whole table, and the line has no other word for it."""
    table = ddt.parse(TABLE_23, "status.txt")
    assert (table.in_core_bytes, table.is_of_all) == (847 * 2**10, True)
    shrunk = ddt.parse(TABLE_23.replace("1.10M", "38.2K").replace("847K", "4.24K"), "status.txt")
    assert (shrunk.in_core_bytes, shrunk.is_of_all) == (2873 * round(4.24 * 2**10), False)


DD = WHOLE["zol_06_zdb_dd.txt"]


def test_an_object_that_a_mail_has_wrapped_is_joined():
    assert ddt.parse(DD.replace("on disk, 2104", "on disk,\n2104"), "d.txt") == ddt.parse(DD, "d.txt")


@pytest.mark.parametrize(("text", "named"), [
    (DD.replace("on disk, 2104", "on di"), "line 1: 'DDT-sha256-zap-duplicate.* is cut or changed"),
    (DD.replace("DDT-sha256-zap-duplicate: 216", "DD-duplicate: 216"), "objects have 2657 entries, .* something is missing"),
    (DD.replace("2657 entries", "265 entries"), "something is missing"),
    (FDT.replace("DDT-sha256-zap-unique: dspace", "DD: dspace"), "something is missing")])
def test_an_object_that_is_lost_is_named(text, named):
    with pytest.raises(UserError, match=named):
        ddt.parse(text, "mine.txt")


def test_entries_that_wait_in_a_log_may_be_in_the_histogram():
    log = "DDT-log-sha256-0: flags=0x00; obj=9; len=1; txg=7; entries=2000\n"
    waiting = FDT.replace("entries=2657", "entries=657") + log
    assert ddt.parse(waiting, "fdt.txt").entries == 216 + 657


@pytest.mark.parametrize("name", sorted(WHOLE))
@pytest.mark.parametrize("mark", ["> ", ">", "# ", "#", "    ", "| "])
def test_what_was_quoted_or_commented_out_is_read_all_the_same(tmp_path, name, mark):
    (tmp_path / "pasted.txt").write_text("".join(mark + line for line in WHOLE[name].splitlines(keepends=True)))
    assert ddt.read(tmp_path / "pasted.txt") == ddt.read(SAMPLES / name)


def test_a_histogram_without_a_row_is_named():
    """As zdb -S printed of a pool with 1.5 thousand million files (openzfs issue 15420)."""
    head = WHOLE["openzfs_zdb_s.txt"].split("     1 ")[0]
    with pytest.raises(UserError, match="a histogram without a row"):
        ddt.parse(f"{head}\nreal    1m59.710s\n", "s.txt")


def test_a_table_that_was_emptied_is_of_a_pool_without_dedup():
    with pytest.raises(UserError, match="of a pool without dedup"):
        ddt.parse(" dedup: DDT entries 0, size 0B on disk, 0B in core\n", "status.txt")


@pytest.mark.parametrize(("printed", "most"), [
    ("216", 0), ("1023", 0), ("512B", 0), ("1G", 0), ("32K", 0), ("2.27M", 0.005 * 2**20), ("35.6G", 0.05 * 2**30),
    ("257K", 512), ("1023M", 2**19), ("4.32K", 5.12)])
def test_what_rounding_can_do_is_half_of_the_last_digit_printed(printed, most):
    assert ddt.rounding(printed) == pytest.approx(most)

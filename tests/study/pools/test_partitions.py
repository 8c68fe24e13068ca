"""Partition tables as people paste them, and what `study align` says of them."""
import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from study.commands.main import app
from study.errors import UserError
from study.pools import alignment, partitions
from support.partition_tables import (
    BUSYBOX,
    CHINESE,
    CYLINDERS,
    DUMP,
    DUMP_2008,
    FRENCH,
    GDISK,
    GERMAN_IMAGE,
    GPART,
    GPART_4K,
    GPT,
    GPT_2013,
    NEW,
    OLD,
    OLDEST,
    PARTED,
    PARTED_PEOPLE,
    PRTVTOC_EFI,
    SFDISK,
    SPANISH_CYLINDERS,
)


@pytest.mark.parametrize(("text", "starts"), [
    (NEW, {"/dev/sda1": 63 * 512, "/dev/sda5": 212992 * 512}),
    (GPT, {"/dev/nvme0n1p1": 2**20, "/dev/nvme0n1p2": 131329 * 4096}),
    (OLD, {"/dev/sdb1": 63 * 512, "/dev/mapper/a-long-name-that-is-wrapped-part2": 208896 * 512}),
    (CYLINDERS, {"/dev/sda1": 63 * 512, "/dev/sda2": 13 * 16065 * 512}),
    (OLDEST, {"/dev/sda1": 63 * 512, "/dev/sda2": 13 * 16065 * 512}),
    (BUSYBOX, {"/dev/sda1": 63 * 512, "/dev/sda2": 210944 * 512}),
    (PARTED.removeprefix("BYT;\n"), {"/dev/sda1": 34 * 512, "/dev/sda2": 264192 * 512}),
    (GPT_2013, {"/dev/sda1": 2**20, "/dev/sda2": 34 * 512}),
    (PARTED, {"/dev/sda1": 34 * 512, "/dev/sda2": 264192 * 512}),
    (PARTED.replace(":512:4096:", ":4096:4096:"), {"/dev/sda1": 34 * 4096, "/dev/sda2": 264192 * 4096}),
    (PARTED.replace("1:34s", "1:17408B"), {"/dev/sda1": 17408, "/dev/sda2": 264192 * 512}),
    (SFDISK, {"/dev/vda1": 2**20, "/dev/vda2": 131329 * 4096}),
    (SFDISK.replace('"sectorsize": 4096,', ""), {"/dev/vda1": 2**17, "/dev/vda2": 131329 * 512}),
    (GERMAN_IMAGE, {"disk.img1": 8192 * 512, "disk.img5": 1058816 * 512}),
    (FRENCH, {"/dev/sda1": 63 * 512, "/dev/sda2": 2099200 * 512}),
    (SPANISH_CYLINDERS, {"/dev/sda1": 63 * 512, "/dev/sda2": 13 * 16065 * 512}),
    (CHINESE, {"/dev/sda1": 2**20}), (DUMP_2008, {"/dev/sda1": 63 * 512, "/dev/sda5": 208908 * 512}),
    (DUMP, {"/dev/nvme0n1p1": 2**20, "/dev/nvme0n1p2": 131329 * 4096}),
    (PARTED_PEOPLE, {"/dev/sda1": 34 * 512, "/dev/sda9": 3907012608 * 512}),
    (GDISK.replace("/dev/sda", "c0d9"), {"c0d9p1": 40 * 512, "c0d9p2": 2**20}),
    (GDISK, {"/dev/sda1": 40 * 512, "/dev/sda2": 2**20}),
    (GPART, {"ada0p1": 34 * 512, "ada0p3": 2**20, "da1s1a": 63 * 512}), (GPART_4K, {"ada2p1": 6 * 4096}),
    (PRTVTOC_EFI, {"/dev/rdsk/c0t1d0s0": 34 * 512, "/dev/rdsk/c0t1d0s8": 976756751 * 512}),
    ("\n".join(" ".join(line.split()) for line in NEW.splitlines()), {"/dev/sda1": 63 * 512, "/dev/sda5": 212992 * 512}),
    (NEW + "\n" + OLD, {"/dev/sda1": 63 * 512, "/dev/sda5": 212992 * 512, "/dev/sdb1": 63 * 512,
                        "/dev/mapper/a-long-name-that-is-wrapped-part2": 208896 * 512})])
@pytest.mark.parametrize("pasted", [
    str, lambda text: text.replace("\n", "\r\n"), lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
    lambda text: f"```\n{text}\n```\n"], ids=["plain", "dos", "quoted", "fenced"])
def test_starts_of_every_form(text, starts, pasted):
    assert {partition.name: partition.start_bytes for partition in partitions.read(pasted(text))} == starts


@pytest.mark.parametrize(("text", "words"), [
    ("", ["no partition is in it"]), ("hello\n", ["no partition is in it"]),
    (SFDISK.replace('"start": 256', '"start": 1e999'), ["node and start"]), ('{"a":' * 100_000, ["JSON"]),
    (SFDISK.replace('"start": 256', '"start": 63.9'), ["node and start"]),
    (NEW.replace("212992", "9" * 5000), ["5000 digits"]),
    (SFDISK[:-40], ["no whole JSON", "cut off"]), ('{"partitiontable": {"partitions": [{}]}}', ["node and start"]),
    (SFDISK.replace("4096", "4000"), ["4000 B"]), (SFDISK.replace("256", "-1"), ["/dev/vda1 begins at -4096 B"]),
    (PARTED.replace("1:34s", "1:17.4kB"), ["17.4kB, which is rounded"]),
    (PARTED.rstrip()[:-20], ["partition 2 of /dev/sda is cut off"]),
    (NEW.partition("/dev/sda1")[0], ["no rows"]), (NEW[:-25], ["/dev/sda5        212992", "cut off"]),
    (CYLINDERS.replace("104391", "204391"), ["/dev/sda1 is given in cylinders", "fdisk -lu"]),
    (f"{CYLINDERS}Partition 2 does not end on cylinder boundary.\n", ["/dev/sda2 is given in cylinders", "fdisk -lu"]),
    (OLD.replace("83  Linux", "ee  GPT", 1), ["/dev/sdb1 stands for a whole GPT"]),
    (CYLINDERS.replace("83  Linux", "ee  EFI GPT"), ["/dev/sda1 stands for a whole GPT"]),
    (CYLINDERS.replace("13      104391", "13          13"), ["/dev/sda1 is given in cylinders"]),
    (DUMP_2008.replace("Id=83, bootable", "Id=ee"), ["/dev/sda1 stands for a whole GPT"]),
    (PARTED_PEOPLE.replace(" 34s ", " 1049kB "), ["partition 1 of /dev/sda begins at 1049kB, which is rounded"]),
    (GPART.partition("\n\n")[2].partition("\n\n")[2], ["da1s1 lies in a slice whose start is not in it"]),
    (PRTVTOC_EFI.replace("* 976773168 sectors", "*   16065 sectors/cylinder"), ["count from the start of its fdisk"]),
    ("Disk /dev/sda: 9729 cylinders, 255 heads, 63 sectors/track\nUnits = cylinders of 8225280 bytes, blocks of 1024 bytes, "
     "counting from 0\n\n/dev/sda1   *      0+     12      13-    104391   83  Linux\n", ["cylinders that count from 0"]),
    (NEW.replace("208782", "208783"), ["/dev/sda1  *         63", "cut off"]),
    (PARTED.replace("1:34s", "1:-34s").replace("2:264192s", "2:135MB"), ["-17408 B", "135MB"])])
def test_what_is_no_table_is_one_sentence_with_all_of_it(text, words):
    with pytest.raises(UserError) as caught:
        partitions.read(text)
    assert all(word in str(caught.value) for word in words)
    assert "\n" not in str(caught.value)


MODERN = """\
Disk /dev/sdb: 500.1 GB, 500107862016 bytes
255 heads, 63 sectors/track, 60801 cylinders
Units = cylinders of 16065 * 512 = 8225280 bytes

   Device Boot      Start         End      Blocks   Id  System
/dev/sdb1               1       60802   488385560   83  Linux
"""


@pytest.mark.parametrize("row", ["1       60802   488385560", "1        1216     9764864"])
def test_cylinders_of_a_partition_at_2048_tell_no_start(row):
    with pytest.raises(UserError, match="fdisk -lu"):
        partitions.read(MODERN.replace("1       60802   488385560", row))


@given(st.integers(1, 60000), st.integers(1, 5000), st.integers(0, 16064), st.integers(0, 16064))
@settings(max_examples=200, deadline=None)
def test_cylinders_are_read_right_or_refused(start, length, ahead, behind):
    """Of a partition that begins anywhere, save within the first track of a cylinder."""
    ahead = ahead if ahead >= 63 else 0
    first, end = (start - 1) * 16065 + ahead, start + length
    n = end * 16065 - behind - first
    row = f"{start} {end} {n // 2}{'+' * (n % 2)}"
    try:
        assert partitions.read(MODERN.replace("1       60802   488385560", row))[0].start_bytes == first * 512
    except UserError:
        assert ahead not in (0, 63) or behind or ahead == 63


def test_a_warning_is_of_its_own_disk_only():
    other = MODERN.replace("1       60802   488385560", "1 13 104391")
    warned = f"{MODERN.replace('/dev/sdb', '/dev/sdc')}Partition 1 does not end on cylinder boundary.\n"
    with pytest.raises(UserError) as caught:
        partitions.read(other + warned)
    assert "/dev/sdc1" in str(caught.value)
    assert "/dev/sdb1" not in str(caught.value)


@pytest.mark.parametrize(("text", "row"), [
    (GDISK.replace("  1.8 TiB     BF01  zfs", "  1.8 T"), "2 2048 3907029134"),
    (GDISK.replace("   40  ", "   20  "), "1 20 2047"),
    (GDISK.replace("   1004.0 KiB  EF02", ""), "1 40 2047"),
    (GDISK[:GDISK.index("   2     ")], "so that some are missing. Give what gdisk"),
    (GPART_4K.replace("freebsd-zfs  (1.8T)", "freebsd-z"), "6 488378635 1"),
    (GPART.replace("        2048  3907027087     3  freebsd-zfs  (1.8T)\n", ""), "rows of ada0 reach sector 2048"),
    (GPART.replace("=>        34  3907029101", "=>        34"), "=> 34 ada0"),
    (DUMP.replace("start=      131329", "sta      131329"), "/dev/nvme0n1p2"),
    (DUMP_2008.replace("start=       63, size=   208782, Id=83", "start=       63, siz"), "start="),
    (PARTED_PEOPLE.replace("2047s        2014s", "2047s        20"), "1 34s 2047s"),
    (PARTED_PEOPLE.replace("2014s", "2015s"), "1 34s 2047s"),
    (PRTVTOC_EFI.replace("976756717 976756750", "976756717 97675675"), "0 4 00 34"),
    (PRTVTOC_EFI.replace(" 976756717 976756750", " 97"), "0 4 00 34")])
def test_a_row_that_is_cut_is_refused_and_not_left_out(text, row):
    with pytest.raises(UserError) as caught:
        partitions.read(text)
    assert row in str(caught.value)


def test_a_partition_with_the_name_extended_is_one():
    text = PARTED_PEOPLE.replace("msdos", "gpt").replace("7952s        extended", "7952s        ext4   data extended")
    assert [partition.name for partition in partitions.read(text)] == ["/dev/sda1", "/dev/sda2", "/dev/sda9"]


@pytest.mark.parametrize(("head", "sector", "is_assumed"), [
    ("first-lba: 6", 4096, False), ("first-lba: 34", 512, False), ("first-lba: 2048", 512, True), ("", 512, True)])
def test_a_dump_without_the_size_of_sectors_says_what_is_assumed(tmp_path, head, sector, is_assumed):
    text = DUMP.replace("sector-size: 4096", head)
    (tmp_path / "a.dump").write_text(text)
    assert text != DUMP
    assert partitions.read(text)[0].sector_bytes == sector
    assert ("512 B are assumed for /dev/nvme0n1p1" in study(tmp_path / "a.dump").output.replace("\n", " ")) == is_assumed


@pytest.mark.parametrize("packed", [lambda text: text.encode("utf-16"), lambda text: gzip.compress(text.encode()),
                                    lambda text: text.encode("latin-1")])
def test_a_file_is_read_in_utf_16_gzip_and_older_encodings(tmp_path, packed):
    (tmp_path / "a.txt").write_bytes(packed(GERMAN_IMAGE))
    assert json.loads(study(tmp_path / "a.txt", "--json").output)["partitions"][0]["start_sector"] == 8192


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=5), st.sampled_from([512, 4096]))
@settings(max_examples=40, deadline=None)
def test_all_forms_of_one_table_say_the_same(starts, sector):
    rows = [(f"/dev/sda{i + 1}", start) for i, start in enumerate(starts)]
    new = f"Disk /dev/sda: 1 TiB, 1 bytes\nUnits: sectors of 1 * {sector} = {sector} bytes\n" + \
        "Device Start End Sectors Size Type\n" + "".join(f"{name} {s} {s + 9} 10 5K Linux swap\n" for name, s in rows)
    parted = f"BYT;\n/dev/sda:9s:scsi:{sector}:{sector}:gpt:X:;\n" + "".join(
        f"{i + 1}:{s}s:{s + 9}s:10s:::;\n" for i, s in enumerate(starts))
    sfdisk = json.dumps({"partitiontable": {"device": "/dev/sda", "sectorsize": sector, "partitions": [
        {"node": name, "start": s} for name, s in rows]}})
    expected = [partitions.Partition(name, s * sector, sector) for name, s in rows]
    assert partitions.read(new) == partitions.read(parted) == partitions.read(sfdisk) == expected


@given(st.integers(0, 10**7), st.sampled_from([512, 4096]), st.sampled_from([512, 4096, 8192, 131072]))
@settings(max_examples=60, deadline=None)
def test_the_place_to_move_to_is_aligned_and_near(start, sector, block):
    row = alignment.of_partitions([partitions.Partition("a", start * sector, sector)], block, block).rows[0]
    there = row.move_to_sector * sector
    assert 0 <= there - row.start_bytes < max(block, sector)
    moved = alignment.of_partitions([partitions.Partition("a", there, sector)], block, block)
    assert not moved.rows[0].straddles
    assert tuple(moved.rows[0][5:8]) == moved.aligned
    assert row.straddles == (row.aligned_for_bytes not in (0,) and row.aligned_for_bytes < block)


def study(*arguments):
    return CliRunner().invoke(app, ["align", *map(str, arguments)])


def test_the_command_says_what_straddles_and_where_to_begin(tmp_path):
    (tmp_path / "a.txt").write_text(CYLINDERS)
    made = json.loads(study(tmp_path / "a.txt", "--json").output)
    assert [(row["straddles"], row["move_to_sector"]) for row in made["partitions"]] == [(True, 64), (True, 208848)]
    assert [made["partitions"][0][f"blocks_{what}"] for what in ("read", "read_first", "written")] == [2, 2, 2]
    shown = study(tmp_path / "a.txt", "--block", "512").output
    assert "No partition straddles blocks of 512 B" in shown


def test_all_mistakes_are_told_at_once(tmp_path):
    (tmp_path / "cut.json").write_text(SFDISK[:-40])
    result = CliRunner().invoke(app, ["align", str(tmp_path / "cut.json"), "--block", "0", "--request", "3K"])
    message = str(result.exception)
    assert isinstance(result.exception, UserError)
    assert all(word in message for word in ("the block is 0", "the request is 3K", "no whole JSON"))
    both = str(CliRunner().invoke(app, ["align", str(tmp_path / "none"), "--block", "-8K"]).exception)
    assert "the block is -8K" in both
    assert "is not there" in both


@pytest.mark.parametrize(("text", "is_told"), [
    (GDISK, True), (GPART, True), (NEW, False), (DUMP, False), (PARTED_PEOPLE, False)])
def test_a_missing_end_is_noticed_or_told_to_be_invisible(tmp_path, text, is_told):
    (tmp_path / "table.txt").write_text(text)
    sentences = alignment.notes(alignment.of_file(tmp_path / "table.txt", "8K", None))
    assert any("rows missing at its end cannot be seen" in sentence for sentence in sentences) != is_told


def test_all_usual_blocks_stand_in_one_table_with_the_counts_of_their_own_row(tmp_path):
    path = tmp_path / "sdb.txt"
    path.write_text("label: dos\nunit: sectors\nsector-size: 512\n\n/dev/sdb1 : start= 63, size= 1000000\n"
                    "/dev/sdb2 : start= 1000064, size= 1000000\n")
    made = alignment.of_file(path, "8K", None)
    assert [(each.partition, each.block_bytes) for each in made.usual] == [
        (f"/dev/sdb{i}", 4096 << shift) for i in (1, 2) for shift in range(6)]
    for cost in made.usual:
        rows = {row.partition: row for row in alignment.of_file(path, str(cost.block_bytes), None).rows}
        row = rows[cost.partition]
        assert cost[3:] == (row.straddles, row.blocks_read, row.blocks_read_first, row.blocks_written)
    assert [each.straddles for each in made.usual] == [True] * 6 + [False] * 5 + [True]
    assert [len(row) for row in alignment.usual_table(made)] == [len(alignment.usual_columns())] * 2 == [7, 7]
    small = alignment.of_file(path, "8K", "4K")
    assert {each.request_bytes for each in small.usual} == {4096}
    assert "requests of 4K" in alignment.usual_note(small)
    assert "as large as a block" in alignment.usual_note(made)

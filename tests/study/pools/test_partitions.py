"""Partition tables as people paste them, and what `study align` says of them."""
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from study.commands.main import app
from study.errors import UserError
from study.pools import alignment, partitions

NEW = """\
Disk /dev/sda: 931.51 GiB, 1000204886016 bytes, 1953525168 sectors
Disk model: ST1000NM0011
Units: sectors of 1 * 512 = 512 bytes
Sector size (logical/physical): 512 bytes / 4096 bytes
I/O size (minimum/optimal): 4096 bytes / 4096 bytes
Disklabel type: dos
Disk identifier: 0x000a1b2c

Device     Boot   Start        End    Sectors   Size Id Type
/dev/sda1  *         63     208844     208782   102M 83 Linux
/dev/sda2        210944 1953525167 1953314224 931.4G  5 Extended
/dev/sda5        212992 1953525167 1953312176 931.4G 83 Linux
"""
GPT = """\
    Disk /dev/nvme0n1: 477 GiB, 512110190592 bytes, 125026902 sectors
    Units: sectors of 1 * 4096 = 4096 bytes
    Sector size (logical/physical): 4096 bytes / 4096 bytes
    Disklabel type: gpt

    Device          Start       End   Sectors   Size Type
    /dev/nvme0n1p1    256    131327    131072   512M EFI System
    /dev/nvme0n1p2 131329 125026639 124895311 476.4G Linux extended boot
"""
OLD = """\
$ fdisk -lu
Disk /dev/sdb: 160.0 GB, 160041885696 bytes
255 heads, 63 sectors/track, 19457 cylinders, total 312581808 sectors
Units = sectors of 1 * 512 = 512 bytes

   Device Boot      Start         End      Blocks   Id  System
/dev/sdb1   *          63      208844      104391   83  Linux
/dev/mapper/a-long-name-that-is-wrapped-part2
                   208896   312581807   156186456   83  Linux
"""
CYLINDERS = """\
Disk /dev/sda: 160.0 GB, 160041885696 bytes
255 heads, 63 sectors/track, 19457 cylinders
Units = cylinders of 16065 * 512 = 8225280 bytes

   Device Boot      Start         End      Blocks   Id  System
/dev/sda1   *           1          13      104391   83  Linux
/dev/sda2              14       19457   156183930   8e  Linux LVM
"""
GPT_2013 = """\
Disk /dev/sda: 500.1 GB, 500107862016 bytes, 976773168 sectors
Units = sectors of 1 * 512 = 512 bytes
Disk label type: gpt

#         Start          End    Size  Type            Name
 1         2048      1026047    500M  EFI System      EFI System Partition
 2           34      2050047    500M  Microsoft basic
"""
PARTED = """\
BYT;
/dev/sda:976773168s:scsi:512:4096:gpt:ATA WDC WD5000:;
1:34s:262177s:262144s:::msftres;
1:262178s:264191s:2014s:free;
2:264192s:976773119s:976508928s:ntfs:Basic data partition:msftdata;
"""
OLDEST = CYLINDERS.replace(" = 8225280 bytes", " bytes").replace("160.0 GB, 160041885696 bytes",
                                                                 "255 heads, 63 sectors, 19457 cylinders")
BUSYBOX = """\
Disk /dev/sda: 119 GB, 128035676160 bytes, 250069680 sectors
15566 cylinders, 255 heads, 63 sectors/track
Units: sectors of 1 * 512 = 512 bytes

Device  Boot StartCHS    EndCHS        StartLBA     EndLBA    Sectors  Size Id Type
/dev/sda1 *  0,1,1       12,254,63           63     208844     208782  101M 83 Linux
/dev/sda2    1023,254,63 1023,254,63     210944  250068991  249858048  119G 83 Linux
"""
SFDISK = json.dumps({"partitiontable": {
    "label": "gpt", "device": "/dev/vda", "unit": "sectors", "sectorsize": 4096, "partitions": [
        {"node": "/dev/vda1", "start": 256, "size": 131072, "type": "C12A"},
        {"node": "/dev/vda2", "start": 131329, "size": 5, "type": "0FC6"}]}}, indent=3)


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
    (PARTED.replace("1:34s", "1:-34s").replace("2:264192s", "2:135MB"), ["-17408 B", "135MB"])])
def test_what_is_no_table_is_one_sentence_with_all_of_it(text, words):
    with pytest.raises(UserError) as caught:
        partitions.read(text)
    assert all(word in str(caught.value) for word in words)
    assert "\n" not in str(caught.value)


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

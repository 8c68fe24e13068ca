"""Partition tables as people post them: of many tools and releases, with prompts, quoted, cut. Disks are made up."""
import json

import pytest

from study.errors import UserError
from study.pools import alignment

K = 1024


def mail(text):
    return "".join(f"> {line}\n" for line in text.splitlines())


CYLINDERS = """
Disk /dev/sda: 500.1 GB, 500107862016 bytes
255 heads, 63 sectors/track, 60801 cylinders
Units = cylinders of 16065 * 512 = 8225280 bytes
Disk identifier: 0x9d1b7c02

   Device Boot      Start         End      Blocks   Id  System
/dev/sda1   *           1          25      200781   83  Linux
/dev/sda2              26       60801   488183220   8e  Linux LVM
"""
SECTORS = """
Disk /dev/sda: 931.5 GiB, 1000204886016 bytes, 1953525168 sectors
Disk model: WDC WD10EZEX-08W
Units: sectors of 1 * 512 = 512 bytes
Sector size (logical/physical): 512 bytes / 4096 bytes
I/O size (minimum/optimal): 4096 bytes / 4096 bytes
Disklabel type: gpt
Disk identifier: 0B4CF6E1-6F7D-4C42-9F7E-6D6A7F4B5E7F

Device       Start        End    Sectors   Size Type
/dev/sda1     2048    1050623    1048576   512M EFI System
/dev/sda2  1050624 1953523711 1952473088   931G Linux filesystem
"""
OF_DOS = """
Disk /dev/sdb: 32.2 GB, 32212254720 bytes, 62914560 sectors
Units = sectors of 1 * 512 = 512 bytes
Sector size (logical/physical): 512 bytes / 512 bytes
I/O size (minimum/optimal): 512 bytes / 512 bytes
Disk label type: dos
Disk identifier: 0x000c3f21

   Device Boot      Start         End      Blocks   Id  System
/dev/sdb1   *          63      208844      104391   83  Linux
/dev/sdb2          208845    62910539    31350847+  8e  Linux LVM
"""
NO_TABLE = "\nDisk /dev/mapper/vg0-root: 53.7 GB, 53687091200 bytes, 104857600 sectors\n" \
    "Units = sectors of 1 * 512 = 512 bytes\nSector size (logical/physical): 512 bytes / 512 bytes\n" \
    "I/O size (minimum/optimal): 512 bytes / 512 bytes\n"
PARTED_S = """BYT;
/dev/sdb:62914560s:scsi:512:512:msdos:SUN COMSTAR:;
1:63s:208844s:208782s:ext3::boot;
2:208845s:62910539s:62701695s:::lvm;
"""
PARTED_B = """BYT;
/dev/sdb:32212254720B:scsi:512:512:msdos:SUN COMSTAR:;
1:32256B:106928639B:106896384B:ext3::boot;
2:106928640B:32210196479B:32103267840B:::lvm;
"""
PARTED_KB = PARTED_B.replace("32256B", "32.3kB").replace("106928639B", "107MB")
PARTED_HUMAN = """Model: SUN COMSTAR (scsi)
Disk /dev/sdb: 32.2GB
Sector size (logical/physical): 512B/512B
Partition Table: msdos
Disk Flags:

Number  Start   End     Size    Type     File system  Flags
 1      32.3kB  107MB   107MB   primary  ext3         boot
 2      107MB   32.2GB  32.1GB  primary               lvm

"""
PARTED_UNIT_S = """Model: SUN COMSTAR (scsi)
Disk /dev/sdb: 62914560s
Sector size (logical/physical): 512B/512B
Partition Table: msdos

Number  Start    End        Size       Type     File system  Flags
 1      63s      208844s    208782s    primary  ext3         boot
 2      208845s  62910539s  62701695s  primary               lvm

"""
JSON = json.dumps({"partitiontable": {
    "label": "dos", "id": "0x000c3f21", "device": "/dev/sdb", "unit": "sectors", "sectorsize": 512, "partitions": [
        {"node": "/dev/sdb1", "start": 63, "size": 208782, "type": "83", "bootable": True},
        {"node": "/dev/sdb2", "start": 208845, "size": 62701695, "type": "8e"}]}}, indent=3)
DUMP = """# partition table of /dev/sdb
unit: sectors

/dev/sdb1 : start=       63, size=   208782, Id=83, bootable
/dev/sdb2 : start=   208845, size= 62701695, Id=8e
/dev/sdb3 : start=        0, size=        0, Id= 0
/dev/sdb4 : start=        0, size=        0, Id= 0
"""
NEW_DUMP = """label: dos
label-id: 0x000c3f21
device: /dev/sdb
unit: sectors
sector-size: 512

/dev/sdb1 : start=          63, size=      208782, type=83, bootable
/dev/sdb2 : start=      208845, size=    62701695, type=8e
"""
GPART = """=>       34  976773101  ada0  GPT  (466G)
         34       1024     1  freebsd-boot  (512K)
       1058  968883200     2  freebsd-zfs  (462G)
  968884258    7888877     3  freebsd-swap  (3.8G)

"""
GPART_4K = """=>        40  1953525088  da0  GPT  (932G)
          40        1024    1  freebsd-boot  (512K)
        1064         984       - free -  (492K)
        2048  1953521664    2  freebsd-zfs  (932G)
  1953523712        1416       - free -  (708K)

"""
DISKPART = """
DISKPART> list partition

  Partition ###  Type              Size     Offset
  -------------  ----------------  -------  -------
  Partition 1    Primary            100 MB    31 KB
  Partition 2    Primary             29 GB   101 MB

"""
WMIC = """BlockSize  Index  Name                   StartingOffset
512        0      Disk #0, Partition #0  32256
512        1      Disk #0, Partition #1  106928640

"""
WMIC_OF_MORE = """Index  Name                   Size          StartingOffset  Type
0      Disk #0, Partition #0  106896384     32256           Installable File System
1      Disk #0, Partition #1  32103267840   106928640       Installable File System
"""
POWERSHELL = r"""

   DiskPath: \\?\scsi#disk&ven_sun&prod_comstar#5&38d1bdd&0&000100#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}

PartitionNumber  DriveLetter Offset                                        Size Type
---------------  ----------- ------                                        ---- ----
1                           32256                                     101.94 MB IFS
2                C           106928640                                 29.9 GB IFS

"""
DETAIL = """
DISKPART> detail partition

Partition 1
Type  : 07
Hidden: No
Active: Yes
Offset in Bytes: 32256

"""
SDB = {"/dev/sdb1": 63 * 512, "/dev/sdb2": 208845 * 512}
GPART_LIST = """Geom name: ada9
modified: false
first: 34
scheme: GPT
Providers:
1. Name: ada9p1
   Mediasize: 65536 (64K)
   Sectorsize: 512
   Stripeoffset: 1024
   label: (null)
   length: 65536
   offset: 17408
   type: freebsd-boot
   index: 1
   start: 34
2. Name: ada9p2
   Mediasize: 512110090752 (477G)
   Sectorsize: 512
   length: 512110090752
   offset: 82944
   type: freebsd-zfs
   start: 162
Consumers:
1. Name: ada9
   Mediasize: 512110190592 (477G)
   Sectorsize: 512
   Mode: r1w1e3
"""
GPART_LIST_OF_A_SLICE = "".join(
    f"Geom name: {geom}\nscheme: {scheme}\nProviders:\n1. Name: {name}\n   Sectorsize: 512\n   offset: {offset * 512}\n"
    f"   type: {kind}\nConsumers:\n1. Name: {geom}\n   Sectorsize: 512\n"
    for geom, scheme, name, offset, kind in (("da0", "MBR", "da0s1", 63, "freebsd"),
                                             ("da0s1", "BSD", "da0s1a", 16, "freebsd-ufs")))
PARTED_UTIL = """~ # partedUtil getptbl "/vmfs/devices/disks/naa.6001"
gpt
121601 255 63 1953525168
1 2048 1953525134 AA31E02A400F11DB9590000C2911D1B8 vmfs 0
"""
PARTED_UTIL_DOS = """msdos
1305 255 63 20971520
1 128 20470 251 0
2 20481 20971519 5 0
5 20482 20971519 131 0
"""
POSTS = {
    "fdisk of 2008, in cylinders": (CYLINDERS, {"/dev/sda1": 63 * 512, "/dev/sda2": 25 * 16065 * 512}),
    "fdisk today, in sectors": (SECTORS, {"/dev/sda1": 2048 * 512, "/dev/sda2": 1050624 * 512}),
    "fdisk -lu of 2012": (OF_DOS, SDB),
    "several disks, one without a table": (
        SECTORS + OF_DOS + NO_TABLE, {"/dev/sda1": 2048 * 512, "/dev/sda2": 1050624 * 512} | SDB),
    "cylinders and sectors after each other": (
        CYLINDERS + OF_DOS, {"/dev/sda1": 63 * 512, "/dev/sda2": 25 * 16065 * 512} | SDB),
    "fdisk with prompts": ("[root@db1 ~]# fdisk -lu /dev/sdb\n" + OF_DOS + "[root@db1 ~]# \n", SDB),
    "fdisk in its own dialogue": ("Command (m for help): p\n" + OF_DOS + "\nCommand (m for help): q\n", SDB),
    "parted -m in sectors": (PARTED_S, SDB),
    "parted -m in bytes": (PARTED_B, SDB),
    "parted -m of two disks": (PARTED_S + "\n" + PARTED_S.replace("sdb", "sdc"),
                               SDB | {"/dev/sdc1": 63 * 512, "/dev/sdc2": 208845 * 512}),
    "parted for people, in sectors": (PARTED_UNIT_S, SDB),
    "sfdisk --json": (JSON, SDB),
    "sfdisk --json behind a prompt": ("# sfdisk --json /dev/sdb\n" + JSON + "\n#\n", SDB),
    "sfdisk --json of two disks": (JSON + "\n" + JSON.replace("sdb", "sdc"),
                                   SDB | {"/dev/sdc1": 63 * 512, "/dev/sdc2": 208845 * 512}),
    "sfdisk -d of old": (DUMP, SDB),
    "sfdisk -d of today": (NEW_DUMP, SDB),
    "gpart show": (GPART, {"ada0p1": 34 * 512, "ada0p2": 1058 * 512, "ada0p3": 968884258 * 512}),
    "gpart list": (GPART_LIST, {"ada9p1": 34 * 512, "ada9p2": 162 * 512}),
    "a mail of gpart list": (mail(GPART_LIST), {"ada9p1": 34 * 512, "ada9p2": 162 * 512}),
    "gpart list of a slice": (GPART_LIST_OF_A_SLICE, {"da0s1a": (63 + 16) * 512}),
    "partedUtil": (PARTED_UTIL, {"/vmfs/devices/disks/naa.6001:1": 2048 * 512}),
    "partedUtil of DOS": (PARTED_UTIL_DOS, {"the disk:1": 128 * 512, "the disk:5": 20482 * 512}),
    "gpart show, with free space": (GPART_4K, {"da0p1": 40 * 512, "da0p2": 2048 * 512}),
    "gpart show of two disks": (
        GPART + GPART_4K, {"ada0p1": 34 * 512, "ada0p2": 1058 * 512, "ada0p3": 968884258 * 512, "da0p1": 40 * 512,
                           "da0p2": 2048 * 512}),
    "a mail": (mail(OF_DOS), SDB),
    "a mail of gpart": (mail(GPART_4K), {"da0p1": 40 * 512, "da0p2": 2048 * 512}),
    "lines of Windows": (OF_DOS.replace("\n", "\r\n"), SDB),
    "wmic, other columns": (WMIC_OF_MORE, {"Disk #0, Partition #0": 32256, "Disk #0, Partition #1": 106928640}),
    "diskpart, detail": (DETAIL, {"Partition 1": 32256}),
    "wmic partition get": (WMIC, {"Disk #0, Partition #0": 32256, "Disk #0, Partition #1": 106928640}),
}


def outcome(folder, text):
    """As the command reads a file: partitions and their starts."""
    path = folder / "post.txt"
    path.write_bytes(text.encode())
    return {row.partition: row.start_bytes for row in alignment.of_file(path, "8K", None).rows}


@pytest.mark.parametrize("post", POSTS)
def test_posts_are_read_right(tmp_path, post):
    text, starts = POSTS[post]
    assert outcome(tmp_path, text) == starts


def test_powershell_is_read_and_names_the_disk(tmp_path):
    starts = outcome(tmp_path, POWERSHELL)
    assert list(starts.values()) == [32256, 106928640]
    assert all(name.startswith(r"\\?\scsi#disk") for name in starts)
    assert list(starts)[1].endswith("partition 2 (C:)")


REFUSED = {
    "parted -m in kB": (PARTED_KB, "is rounded"),
    "parted for people": (PARTED_HUMAN, "is rounded"),
    "diskpart": (DISKPART, "begins at 31 KB, which is rounded"),
    "cut in cylinders": (CYLINDERS[:-30], "changed|cut"),
    "cut in sectors": (SECTORS[:SECTORS.rindex("1952473088")], "changed|cut"),
    "cut in parted": (PARTED_S[:-8], "cut off"),
    "cut in JSON": (JSON[:-40], "no whole JSON"),
    "cut in the second JSON": (JSON + JSON[:-40], "no whole JSON"),
    "the beginning of the second JSON lost": (
        JSON + JSON[JSON.index('"node"'):], "behind its JSON|no whole JSON|is not that of"),
    "wmic without rows": (WMIC.splitlines()[0], "has no rows"),
    "wmic, cut": (WMIC[:WMIC.rindex("  106928640")], "changed|cut"),
    "cut in a dump": (NEW_DUMP[:-25], "changed|cut"),
    "cut in gpart": (GPART[:GPART.index("  968884258")], "some are missing"),
    "lsblk": ("NAME   MAJ:MIN RM   SIZE RO TYPE MOUNTPOINT\nsda      8:0    0 931.5G  0 disk\n"
              "├─sda1   8:1    0   512M  0 part /boot\n", "it is what `lsblk` prints"),
    "diskutil": ("/dev/disk0\n   #:                       TYPE NAME                    SIZE       IDENTIFIER\n"
                 "   0:      GUID_partition_scheme                        *128.0 GB   disk0\n", "`diskutil list`.*gdisk -l"),
    "format, of a VTOC": ("Part      Tag    Flag     Cylinders         Size            Blocks\n"
                          "  0       root    wm       3 -  2083        4.00GB    (2081/0/0)    8390592\n", "prtvtoc DISK"),
    "format, of a GPT": ("Part      Tag    Flag     First Sector         Size         Last Sector\n"
                         "  0        usr    wm               256       68.36GB          143358320\n", "prtvtoc DISK"),
    "gpart backup": ("GPT 128\n1   freebsd-boot         34        128\n", "gpart show DISK"),
    "mmls": ("      Slot      Start        End          Length       Description\n"
             "002:  000:000   0000000063   0000208844   0000208782   Linux (0x83)\n", "`mmls`"),
    "gpart list, cut in a partition": (GPART_LIST[:GPART_LIST.index("   offset: 82944")], "ada9p2 has no line of its"),
    "gpart list of a slice alone": (GPART_LIST.replace("scheme: GPT", "scheme: BSD"), "lies in a slice"),
    "partedUtil, cut": (PARTED_UTIL[:PARTED_UTIL.index(" AA31E")], "changed|cut"),
    "df": ("Filesystem     1K-blocks    Used Available Use% Mounted on\n/dev/sda2       40G  10G  30G 25% /\n",
           "no partition is in it"),
    "one disk of two is cut": (OF_DOS + SECTORS[:SECTORS.rindex("1952473088")], "changed|cut"),
}


@pytest.mark.parametrize("post", REFUSED)
def test_what_tells_no_start_is_one_sentence(tmp_path, post):
    text, words = REFUSED[post]
    with pytest.raises(UserError, match=words) as error:
        outcome(tmp_path, text)
    assert "\n" not in str(error.value)

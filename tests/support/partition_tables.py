"""Tables of partitions as programs print them."""
import json

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
GERMAN_IMAGE = """\
Festplatte disk.img: 22,58 GiB, 24243077120 Bytes, 47349760 Sektoren
Einheiten: Sektoren von 1 * 512 = 512 Bytes
Sektorgröße (logisch/physikalisch): 512 Bytes / 512 Bytes
Festplattenbezeichner: 0xfb33757d

Gerät      Boot  Anfang     Ende Sektoren Größe Kn Typ
disk.img1          8192  1056767  1048576  512M  c W95 FAT32 (LBA)
disk.img2       1056768 17833983 16777216    8G  5 Erweiterte
disk.img5       1058816 17833983 16775168    8G 83 Linux
"""
FRENCH = """\
Disque /dev/sda : 21.5 Go, 21474836480 octets, 41943040 secteurs
Unités = secteur de 1 × 512 = 512 octets
Taille de secteur (logique / physique) : 512 octets / 512 octets

Périphérique Amorçage  Début         Fin      Blocs    Id. Système
/dev/sda1   *          63     2099199     1049568+  83  Linux
/dev/sda2         2099200    41943039    19921920   8e  Linux LVM
"""
SPANISH_CYLINDERS = """\
Disco /dev/sda: 80.0 GB, 80026361856 bytes
255 heads, 63 sectors/track, 9729 cylinders
Unidades = cilindros de 16065 * 512 = 8225280 bytes

Disposit. Inicio    Comienzo      Fin      Bloques  Id  Sistema
/dev/sda1   *           1          13      104391   83  Linux
/dev/sda2              14        9729    78043770   8e  Linux LVM
"""
CHINESE = """\
磁盘 /dev/sda：32.1 GB, 32088522752 字节，62672896 个扇区
Units = 扇区 of 1 * 512 = 512 bytes

   设备 Boot      Start         End      Blocks   Id  System
/dev/sda1   *        2048     2099199     1048576   83  Linux
"""
DUMP_2008 = """\
# partition table of /dev/sda
unit: sectors

/dev/sda1 : start=       63, size=   208782, Id=83, bootable
/dev/sda2 : start=   208845, size= 15608659, Id= 5
/dev/sda3 : start=        0, size=        0, Id= 0
/dev/sda5 : start=   208908, size= 15608596, Id=83
"""
DUMP = """\
label: gpt
device: /dev/nvme0n1
unit: sectors
sector-size: 4096

/dev/nvme0n1p1 : start=         256, size=      131072, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, name="EFI"
/dev/nvme0n1p2 : start=      131329, size=    97572044, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4
"""
PARTED_PEOPLE = """\
(parted) unit s print
Modell: ATA WDC WD20EARS-00M (scsi)
Festplatte  /dev/sda:  3907029168s
Sektorgröße (logisch/physisch): 512B/4096B
Partitionstabelle: msdos

Nummer  Anfang       Ende         Größe        Typ       Dateisystem  Flags
 1      34s          2047s        2014s                               bios_grub
 2      2048s        9999s        7952s        extended
 9      3907012608s  3907028991s  16384s
        3907028992s  3907029134s  143s         Free Space
"""
GDISK = """\
Disk /dev/sda: 3907029168 sectors, 1.8 TiB
Logical sector size: 512 bytes
Disk identifier (GUID): 01234567-0000-0000-0000-000000000000
First usable sector is 34, last usable sector is 3907029134
Total free space is 6 sectors (3.0 KiB)

Number  Start (sector)    End (sector)  Size       Code  Name
   1              40            2047   1004.0 KiB  EF02
   2            2048      3907029134   1.8 TiB     BF01  zfs
"""
GPART = """\
=>        34  3907029101  ada0  GPT  (1.8T)
          34         128     1  freebsd-boot  (64k)
         162        1886        - free -  (943k)
        2048  3907027087     3  freebsd-zfs  (1.8T)

=>       63  41942977  da1  MBR  (20G)
         63  41929587    1  freebsd  [active]  (20G)
    41929650     13390       - free -  (6.5M)

=>        0  41929587  da1s1  BSD  (20G)
          0  39845888      1  freebsd-ufs  (19G)
    39845888   2083699       - free -  (1.0G)
"""
GPART_4K = """\
=>        6  488378635  ada2  GPT  (1.8T)
          6  488378635     1  freebsd-zfs  (1.8T)
"""
PRTVTOC_EFI = """\
* /dev/rdsk/c0t1d0 partition map
*
* Dimensions:
*     512 bytes/sector
* 976773168 sectors
*
* Partition  Tag  Flags    Sector     Count    Sector  Mount Directory
       0      4    00         34 976756717 976756750
       8     11    00  976756751     16384 976773134
"""
SFDISK = json.dumps({"partitiontable": {
    "label": "gpt", "device": "/dev/vda", "unit": "sectors", "sectorsize": 4096, "partitions": [
        {"node": "/dev/vda1", "start": 256, "size": 131072, "type": "C12A"},
        {"node": "/dev/vda2", "start": 131329, "size": 5, "type": "0FC6"}]}}, indent=3)

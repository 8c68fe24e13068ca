"""What a system's tools print of disks, pools, data sets, processors, memory and PostgreSQL: a function for each, on text.

    disks(lsblk)            `lsblk -J -b -O`, of util-linux 2.27 on
    pools(zpool_status)     `zpool status -P`, also with -L
    space(zpool_list)       `zpool list -Hpv`, of ZFS 0.7 on
    datasets(zfs_get)       `zfs get -Hp all`
    processors(cpuinfo)     /proc/cpuinfo
    memory_bytes(meminfo)   /proc/meminfo
    settings(show_all)      `SHOW ALL` of psql, aligned or not

Formats: cmd/zpool/zpool_main.c of OpenZFS; lsblk(8); psql(1). Lines that are of none of them are passed over.
"""
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

ROLES = {"logs": "log", "cache": "cache", "special": "special", "dedup": "dedup", "spares": "spare"}
LEAF = re.compile(r"(?P<indent>(?:\t| {8})(?: {2})*)(?P<name>\S+)(?:\s.*)?")
GROUP = re.compile(r"(mirror|raidz[123]?|draid[123]?(?::\w+)*|indirect)(?:-\d+)?")     # draid2-0-1 is a spare within one
STAND_IN = re.compile(r"(replacing|spare)(-\d+)?")   # several devices in the place of one; without a number up to 2010
PARTITION = re.compile(r"(?<=\d)p\d+$|(?<=[a-z])\d+$|-part\d+$")
SHORTEST_SERIAL = 6                                 # that is looked for within a name
OLD_COLUMNS = 10                                    # of `zpool list`; 11 since 0.8, with CKPOINT
FRAGMENTATION = 6                                   # column of these, from 0; 5 before


class Disk(NamedTuple):
    """A disk as lsblk sees it."""
    path: str
    model: str                  # "" if it has none
    bytes: int
    rotates: bool
    transport: str              # nvme, sata, sas, virtio, usb; "" where it is not said
    sector_bytes: int           # physical
    names: dict[str, int]       # paths and ids of it and of what lies on it -> B
    mounts: dict[str, str]      # where it, or what lies on it, is mounted -> type of what is mounted: disk, part, raid1, lvm
    identities: tuple[str, ...]     # serial number and world wide name: names of /dev/disk/by-id hold these


class Vdev(NamedTuple):
    """A top-level vdev, a log device, a cache device, a spare."""
    role: str                   # data, log, cache, special, dedup, spare
    kind: str                   # disk, mirror, raidz1, raidz2, raidz3, draid2:4d:11c:1s, indirect
    devices: tuple[str, ...]


class Space(NamedTuple):
    """Size and use of a pool [B]; fragmentation is None where it is not told."""
    bytes: int
    allocated_bytes: int
    fragmentation_pct: int | None


def disks(lsblk: str) -> list[Disk]:
    """Disks that hold data: no loop, no memory, no medium that can be taken out, no zvol. Raises ValueError if it is no
    JSON of lsblk's."""
    try:
        devices = json.loads(lsblk)["blockdevices"]
        return [_disk(device) for device in devices
                if device["type"] == "disk" and int(device["size"] or 0) > 0
                and not re.match(r"(zram|ram|nbd|fd|zd)\d", device.get("kname") or device["name"])]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"it is not what lsblk -J -b -O prints ({error})") from None


def _disk(device: dict[str, Any]) -> Disk:
    parts = list(_and_below(device))
    names = {name: int(part["size"]) for part in parts
             for name in (_path(part), part.get("partuuid"), part.get("uuid"), part.get("partlabel")) if name}
    mounts = {place: part["type"] for part in parts
              for place in part.get("mountpoints") or [part.get("mountpoint")] if place}
    identities = tuple(word for key in ("serial", "wwn")
                       if len(word := (device.get(key) or "").strip().removeprefix("0x")) >= SHORTEST_SERIAL)
    model = " ".join((device.get("model") or "").replace("_", " ").split())
    return Disk(path=_path(device), model=model, bytes=int(device["size"]), rotates=device.get("rota") in (True, "1"),
                transport=device.get("tran") or "", sector_bytes=int(device.get("phy-sec") or 512), names=names,
                mounts=mounts, identities=identities)


def _and_below(device: dict) -> Iterator[dict]:
    yield device
    for child in device.get("children") or ():
        yield from _and_below(child)


def _path(device: dict) -> str:
    """lsblk before 2.33 has no paths."""
    return device.get("path") or f"/dev/{device['name']}"


def disk_of(name: str, of: list[Disk]) -> Disk | None:
    """The disk that a pool's device of that name is of. It is known by its path, by an id of its partition, or by the serial
    number in its name."""
    last = name.rsplit("/", 1)[-1]
    candidates = {name, f"/dev/{last}", last, PARTITION.sub("", name), f"/dev/{PARTITION.sub('', last)}"}
    return next((disk for disk in of if candidates & disk.names.keys()
                 or any(identity in last for identity in disk.identities)), None)


def bytes_of(name: str, disk: Disk) -> int:
    """Of what a pool has of that disk by that name: the disk, or a partition."""
    number = re.search(r"-part(\d+)$", name)
    parts = [f"{disk.path}{middle}{number[1]}" for middle in ("", "p")] if number else []
    return next((disk.names[part] for part in (name, name.rsplit("/", 1)[-1], *parts) if part in disk.names), disk.bytes)


def pools(zpool_status: str) -> dict[str, list[Vdev]]:
    """The vdevs of each pool. Devices in the place of one, as while it is replaced, count as the first of them."""
    vdevs: dict[str, list[Vdev]] = {}
    pool, role, in_config, place = "", "data", False, 0         # `place`: depth of a stand-in that we are below of
    for line in zpool_status.splitlines():
        if line.lstrip().startswith("pool: "):
            pool, role, in_config = line.split(": ", 1)[1].strip(), "data", False
            vdevs[pool] = []
        elif line.startswith(("config:", "errors:")):
            in_config = line.startswith("config:")
        elif in_config and (match := LEAF.fullmatch(line)) and match["name"] != "NAME":
            name, depth = match["name"], len(match["indent"].replace("\t", 8 * " ")) // 2 - 4
            place = place if depth > place else 0
            if depth == 0:
                role = ROLES.get(name, "data")
            elif place:
                _name_stand_in(vdevs[pool], name)
            else:
                place = depth if STAND_IN.fullmatch(name) else 0
                _add(vdevs[pool], role, depth, name)
    return vdevs


def _name_stand_in(vdevs: list[Vdev], name: str) -> None:
    """Call the last device by that name, if it has none yet: a stand-in may hold further ones before its first device."""
    *others, last = vdevs[-1].devices
    if STAND_IN.fullmatch(last) and not STAND_IN.fullmatch(name):
        vdevs[-1] = vdevs[-1]._replace(devices=(*others, name.removesuffix("/old")))


def _add(vdevs: list[Vdev], role: str, depth: int, name: str) -> None:
    """A group of devices, a device by itself, or one of the last group."""
    if depth > 1 and vdevs:
        vdevs[-1] = vdevs[-1]._replace(devices=(*vdevs[-1].devices, name))
    elif group := GROUP.fullmatch(name):
        vdevs.append(Vdev(role, "raidz1" if group[1] == "raidz" else group[1], ()))
    else:
        vdevs.append(Vdev(role, "disk", (name,)))


def space(zpool_list: str) -> dict[str, Space]:
    """Of each pool; rows of vdevs begin with a tab."""
    rows = [line.split("\t") for line in zpool_list.splitlines() if line and not line[0].isspace()]
    return {row[0]: Space(int(row[1]), int(row[2]), _percent(row[FRAGMENTATION if len(row) > OLD_COLUMNS else 5]))
            for row in rows if len(row) >= OLD_COLUMNS and row[1].isdigit() and row[2].isdigit()}


def _percent(text: str) -> int | None:
    digits = text.rstrip("%")
    return int(digits) if digits.isdigit() else None


def datasets(zfs_get: str) -> dict[str, dict[str, str]]:
    """Properties of each file system and volume."""
    properties: dict[str, dict[str, str]] = {}
    for row in (line.split("\t") for line in zfs_get.splitlines()):
        if len(row) >= 3 and "@" not in row[0]:
            properties.setdefault(row[0], {})[row[1]] = row[2]
    return properties


def processors(cpuinfo: str) -> tuple[int, str, frozenset[str]]:
    """How many, which, and what they can do."""
    rows = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in cpuinfo.splitlines())]
    count = sum(name == "processor" for name, _ in rows)
    model = next((value for name, value in rows if name in ("model name", "Model")), "")
    flags = next((value for name, value in rows if name in ("flags", "Features")), "")
    return count, model, frozenset(flags.split())


def memory_bytes(meminfo: str) -> int | None:
    """Memory of a system [B] by /proc/meminfo, or None."""
    match = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.M)
    return int(match[1]) * 2**10 if match else None


def settings(show_all: str) -> dict[str, str]:
    """PostgreSQL's settings, with their units."""
    rows = [[cell.strip() for cell in line.split("|")] for line in show_all.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) >= 3 and re.fullmatch(r"[a-zA-Z_][\w.]*", row[0])
            and row[:2] != ["name", "setting"]}

"""What a run was measured on: device, scheduler, file system and its options, kernel, processors, memory.

No name of the host and no path is kept: what is measured here may be given to others.
"""
import os
import platform
import re
from pathlib import Path
from typing import NamedTuple

from study.errors import UserError
from study.machines import this_machine, tool_output

QUEUE = ("scheduler", "rotational", "write_cache", "nr_requests", "logical_block_size", "physical_block_size",
         "max_sectors_kb", "wbt_lat_usec", "read_ahead_kb")
WITH_PATHS = re.compile(r"(lowerdir|upperdir|workdir|subvol|fsname)=[^,]*")
KIB = 1024


class Place(NamedTuple):
    """What a folder lies on."""
    devices: tuple[str, ...]        # as /proc/diskstats names them: the file system's and what lies below it
    described: dict[str, str]


def place(folder: Path) -> Place:
    """Of a folder. On a file system without a device of its own, such as tmpfs, there is none to sample."""
    number = os.stat(folder).st_dev
    kind, options, source = _mount(folder)
    described = {"filesystem": kind, "mount_options": WITH_PATHS.sub(r"\1=…", options)}
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not block.exists() and source.startswith("/dev/"):
        block = Path("/sys/class/block") / Path(os.path.realpath(source)).name
    if not block.exists():
        return Place((), described | {"device": "none of its own"})
    names = _below(block.resolve())
    disk = Path("/sys/class/block") / names[-1]
    described["device"] = _model(disk, names[-1])
    described |= {name: text for name in QUEUE if (text := _read(disk / "queue" / name))}
    if chosen := re.search(r"\[([^]]+)\]", described.get("scheduler", "")):
        described["scheduler"] = chosen[1]
    if (sectors := _read(disk / "size")).isdigit():
        described["device_gb"] = f"{int(sectors) * 512 / 1e9:.0f}"
    return Place(tuple(names), described)


def _below(block: Path) -> list[str]:
    """The block device, its disk if it is a partition, and what a mapped one lies on; the lowest last."""
    names = [block.name]
    if (block / "partition").exists():
        names += _below(block.parent)
    for slave in sorted((block / "slaves").glob("*")):
        names += _below(slave.resolve())
    return list(dict.fromkeys(names))


def _model(disk: Path, name: str) -> str:
    model = " ".join(_read(disk / "device" / "model").split())
    kind = "virtio disk" if name.startswith("vd") else "NVMe" if name.startswith("nvme") else "disk"
    return f"{kind}, {model}" if model else f"{kind} without a model name"


def _mount(folder: Path) -> tuple[str, str, str]:
    """File system, options and source of the mount that a folder lies below. (proc_pid_mountinfo(5))"""
    best = ("unknown", "", "")
    longest, whole = -1, str(folder.resolve())
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        words, _, behind = line.partition(" - ")
        point = words.split()[4].encode().decode("unicode_escape")
        if f"{whole}/".startswith(f"{point.rstrip('/')}/") and len(point) >= longest:
            longest, (kind, source, of_super) = len(point), behind.split(" ", 2)
            options = dict.fromkeys(f"{words.split()[5]},{of_super}".split(","))
            best = (kind, ",".join(options), source)
    return best


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def host() -> dict[str, str]:
    """Kernel, processors, memory, and whether this is a virtual machine."""
    count, model, flags = tool_output.processors(_read(Path("/proc/cpuinfo")))
    memory = tool_output.memory_bytes(_read(Path("/proc/meminfo")))
    release = re.match(r"[\d.]+", platform.release())
    return {"system": platform.system(), "kernel": release[0].rstrip(".") if release else "unknown",
            "processors": str(len(os.sched_getaffinity(0)) or count), "processor": model or "no name",
            "memory_gib": f"{(memory or 0) / 2**30:.1f}", "cpu_guess": f"{this_machine.speed_of(flags)[0]:g}",
            "virtual": "yes" if "hypervisor" in flags else "not seen"}


def free_memory_bytes() -> int:
    """MemAvailable. Raises UserError where the kernel does not say."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", _read(Path("/proc/meminfo")), re.MULTILINE)
    if match is None:
        raise UserError("/proc/meminfo does not say how much memory is free; measure on Linux 3.14 or newer")
    return int(match[1]) * KIB

"""Which sheet of data/hardware is nearest to a drive of which a system shows little: a guess, with its reason.

    sheet, why = nearest_sheet.of(disk)

1. A sheet whose drive has a model number that is a word of the drive's model name.
2. A virtual disk, or a volume of a cloud: gp3. What lies beneath is not to be seen.
3. A disk that rotates: 10 000 rpm if it is SAS and smaller than 900 GB, as such disks were; else 7200.
4. A drive without moving parts: for desktops if its capacity is 128 or 125 GB times a power of two, else for servers.
   Drives for servers keep more in reserve, so that they have 960 GB or 3.84 TB.
"""
import functools
import math
import re

from study.machines import hardware
from study.machines.tool_output import Disk
from study.project import DATA

CLOUD, INSTANCE = "cloud-gp3", "nvme-aws-i3"
VIRTUAL = re.compile(r"qemu|vbox|virtual|virtio|persistentdisk|elastic block store|hyper-?v|blockvolume|harddisk", re.I)
VIRTUAL_NAME = re.compile(r"/dev/(vd|xvd)[a-z]")
LARGEST_10K_BYTES = 900e9
TOLERANCE = 0.03            # of a capacity, against a multiple
MODEL_NUMBER = re.compile(r"(?=.*[A-Z])(?=.*\d)[\w-]{4,}")
DESKTOP = {"nvme": "nvme-desktop-2022", "other": "sata-ssd-850pro"}
SERVER = {"nvme": "nvme-server-2022", "other": "sata-ssd-s4500"}


def of(disk: Disk) -> tuple[str, str]:
    """Name of a sheet, and why that one."""
    words = _words(disk.model)
    for name, numbers in _model_numbers().items():
        if number := next((number for number in numbers if number in words), None):
            return name, f"of that model, {number}"
    if "instance storage" in disk.model.lower():
        return INSTANCE, "a drive of the host"
    if disk.transport == "virtio" or VIRTUAL.search(disk.model) or VIRTUAL_NAME.match(disk.path):
        return CLOUD, "a virtual disk, and what lies beneath is not to be seen"
    if disk.rotates:
        is_fast = disk.transport in ("sas", "fc") and disk.bytes < LARGEST_10K_BYTES
        return ("savvio-10k2", "a small SAS disk that rotates") if is_fast else ("sata-7k2-1tb", "a disk that rotates")
    kind = "nvme" if disk.transport == "nvme" or "nvme" in disk.path else "other"
    if _is_for_desktops(disk.bytes):
        return DESKTOP[kind], "without moving parts, of a capacity that drives for desktops have"
    return SERVER[kind], "without moving parts, of a capacity that drives for servers have"


def _is_for_desktops(capacity: int) -> bool:
    powers = [math.log2(capacity / unit) for unit in (128e9, 125e9)] if capacity else []
    return any(abs(2 ** (power - round(power)) - 1) < TOLERANCE for power in powers)


def _words(model: str) -> list[str]:
    return re.findall(r"[\w-]+", model.upper())


@functools.cache
def _model_numbers() -> dict[str, list[str]]:
    """Of each sheet: words with letters and digits in the names of its drives."""
    names = {path.stem: hardware.read(path.stem).name for path in sorted((DATA / "hardware").glob("*.toml"))}
    return {sheet: [word for word in _words(name) if MODEL_NUMBER.fullmatch(word)] for sheet, name in names.items()}

"""What one types to take a step: `zfs set …`, `postgresql.conf`, `my.cnf`, files of kernel parameters.

    configuration_lines.of(machine, {"files.record_kib": 8})      ("zfs set recordsize=8K POOL/DATA", …)

POOL, DATA and LOG stand for one's own names, DEVICE for a device to spare, DEVICE1 and so on for several. A change that no
line makes, as another layout of the disks, says what is to be done instead.
"""
from typing import Any

from study.machines import conf
from study.machines import simulate as machines
from study.machines.scenario import Scenario
from study.machines.storage import Devices

DATA, LOG, NEW_LOG = "POOL/DATA", "POOL/LOG", "LOGPOOL/LOG"
PROPERTIES = {"primarycache": "primarycache", "secondarycache": "secondarycache", "logbias": "logbias", "sync": "sync"}
# Of kernel parameters: the file of each system, and how a line of it is written.
FILES = {"linux": ("/etc/modprobe.d/zfs.conf", "options zfs {}={}"), "solaris": ("/etc/system", "set zfs:{} = {}"),
         "freebsd": ("/boot/loader.conf", 'vfs.zfs.{}="{}"')}
PARAMETERS = {"arc_max_mib": "zfs_arc_max", "prefetch": "zfs_prefetch_disable", "nocacheflush": "zfs_nocacheflush"}
OF_FREEBSD = {"zfs_arc_max": "arc_max", "zfs_prefetch_disable": "prefetch_disable",
              "zfs_nocacheflush": "cache_flush_disable"}
OPENZFS_OF_FREEBSD = {"zfs_arc_max": "arc.max", "zfs_prefetch_disable": "prefetch.disable",
                      "zfs_nocacheflush": "nocacheflush"}       # from FreeBSD 13 on
ERAS_OF_FREEBSD_13 = ("openzfs_2019", "openzfs_2021", "openzfs")
ANEW = "files written from now on have it: copy the database's files once"
BY_HAND = {"files.era": "install a newer release, then: zpool upgrade POOL",
           "pool.data.layout": "make the pool anew with another layout, and restore the data"}


def of(machine: Scenario, changes: dict[str, Any]) -> tuple[str, ...]:
    """Lines for these changes of the machine, in order."""
    own_pool = machine.log_pool is not None or "log_pool.data" in changes
    made = [_line(machine, path, value, own_pool) for path, value in changes.items()]
    anew = [f"# {ANEW}"] * any(path.endswith("record_kib") for path in changes)
    return (*filter(None, made), *anew)


def _line(machine: Scenario, path: str, value: Any, own_pool: bool) -> str:
    """Of one change; "" if another one says it. `own_pool`: the database's log has one."""
    section, name = path.rsplit(".", 1)
    if path in BY_HAND:
        return f"# {BY_HAND[path]}"
    if section == "database.conf":
        return f"{conf.KNOWN[machine.database.kind][0]}: {name} = {_word(value)}"
    if path in ("pool.log", "pool.cache"):
        return f"zpool add POOL {name} {_devices(value)}"
    if path == "log_pool.data":
        return f"zpool create LOGPOOL {_devices(value)}    # stop the database, and move its log to LOGPOOL/LOG"
    return _of_files(machine, name, value, own_pool) if section == "files" else ""


def _devices(given: Any) -> str:
    """DEVICE, or as many as there are; by vdev."""
    devices = Devices.model_validate(given)
    if devices.count == 1:
        return "DEVICE"
    kind = f"{devices.layout} " * (devices.layout != "stripe")
    names = [f"DEVICE{i}" for i in range(1, devices.count + 1)]
    vdevs = [names[i:i + devices.group] for i in range(0, devices.count, devices.group)]
    return " ".join(kind + " ".join(vdev) for vdev in vdevs)


def _of_files(machine: Scenario, name: str, value: Any, own_pool: bool) -> str:
    if name in PARAMETERS:
        return _parameter(machine, PARAMETERS[name], _number(name, value))
    if name == "compress_ratio":
        return f"zfs set compression=on {DATA}"
    dataset = DATA if not name.startswith("log_") else NEW_LOG if own_pool else LOG
    if name.endswith("record_kib"):
        if dataset == NEW_LOG:
            return f"zfs create -o recordsize={value}K {dataset}"
        return f"zfs set recordsize={value}K {dataset}"
    prop = PROPERTIES.get(name.removeprefix("log_"))
    return f"zfs set {prop}={value} {dataset}" if prop else ""


def _parameter(machine: Scenario, name: str, value: int) -> str:
    system = machines.system(machine)
    file, form = FILES[system]
    of_freebsd = OPENZFS_OF_FREEBSD if machine.zfs.era in ERAS_OF_FREEBSD_13 else OF_FREEBSD
    return f"{file}: " + form.format(of_freebsd[name] if system == "freebsd" else name, value)


def _number(name: str, value: float) -> int:
    """Prefetch is set off by a 1."""
    return round(value * 2**20) if name == "arc_max_mib" else int(not value if name == "prefetch" else value)


def _word(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)

"""A scenario of the machine at hand, from what its tools print: each line with where it came from, and what was not seen.

    lines = this_machine.lines(Seen({"lsblk": "{…", "/proc/meminfo": "MemTotal: …"}, {"zpool status": "zpool is not there"}))
    this_machine.text(lines)        a TOML file that `study predict` takes

Nothing is looked at here: `study.commands.scenario` asks the tools. What a scenario must have and no tool shows is a guess,
and its line says so. What was seen and is not simulated is a comment.
"""
import re
import tomllib
from collections.abc import Callable, Collection, Iterable
from typing import Any, get_args

from study.errors import UserError
from study.machines import conf, nearest_sheet, pool_lines, scenario, settings_without_effect, tool_output
from study.machines import simulate as machines
from study.machines.pool_lines import Line, Place, Seen
from study.machines.storage import GIB
from study.machines.tool_output import Disk, Vdev
from study.pools import described_space

KIB, MIB = 2**10, 2**20
# Of ZFS by its version: docs/scenarios.md, table of eras.
ERAS = (((2, 2), "openzfs"), ((2, 1), "openzfs_2021"), ((0, 8), "openzfs_2019"), ((0, 7), "openzfs_2017"),
        ((0, 6), "openzfs_2013"))
# `cpu` by what processors can do, from the newest: docs/scenarios.md, table of processors; vaes lies between two rows of it.
SPEEDS = (({"amx_tile", "avx_vnni"}, 4.6, "2023"), ({"vaes"}, 3.2, "2019 to 2021"), ({"avx2"}, 2.25, "2014"),
          ({"avx"}, 1.5, "2011"))
OLDEST_SPEED, UNKNOWN_SPEED = 1.0, 2.25
BYTES_OF_A_BRANCH = 15e6            # pgbench, for each -s
SCALE, CLIENTS, VERSION = 100, 16, 16       # where none is seen; of an ordinary server in study/predictions/advise.py
LOWEST_VERSION = 8.3
SYSTEMS = {"Linux": "linux", "FreeBSD": "freebsd", "SunOS": "solaris"}


def lines(seen: Seen, dataset: str | None = None) -> list[Line]:
    """The scenario, line by line; `dataset` says which holds the database, if not its own settings. Raises UserError if no
    disk is to be seen, or that data set is not there."""
    disks, pools = _disks(seen), tool_output.pools(seen.texts.get("zpool status", ""))
    if not disks and not pools:
        raise UserError(f"no disk and no pool is to be seen ({'; '.join(_why(seen, *_TOOLS_OF_DISKS))}); copy a scenario of "
                        "data/scenarios and change it by hand")
    settings = tool_output.settings(seen.texts.get("SHOW ALL", ""))
    data, log = _places(seen, pools, settings, dataset)
    made = [Line("", "title", "this machine", "written by: study scenario --from-this-machine"), *_host(seen)]
    made += _files(seen, data, log)
    made += pool_lines.of_pool("pool", seen, pools, disks, data, settings)
    if log.pool != data.pool:
        made += pool_lines.of_pool("log_pool", seen, pools, disks, log, settings)
    made += [Line("", "", None, f"not seen: {name}: {why}") for name, why in seen.missing.items()]
    return _that_fits([*made, *_database(seen, settings)])


def text(of: Iterable[Line]) -> str:
    """The file. Sections stand in their order of appearance."""
    sections: dict[str, list[str]] = {}
    for line in of:
        written = f"# {line.why}" if not line.key else f"{line.key} = {_toml(line.value)}    # {line.why}"
        sections.setdefault(line.section, []).append(written)
    return "\n\n".join("\n".join([f"[{name}]"] * bool(name) + rows) for name, rows in sections.items()) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value:.10g}"


def _why(seen: Seen, *names: str) -> list[str]:
    return [f"{name}: {seen.missing[name]}" for name in names if name in seen.missing]


_TOOLS_OF_DISKS = ("lsblk", "zpool status")


def _disks(seen: Seen) -> list[Disk]:
    if "lsblk" not in seen.texts:
        return []
    try:
        return tool_output.disks(seen.texts["lsblk"])
    except ValueError as error:
        seen.missing["lsblk"] = str(error)
        return []


# --- host -----------------------------------------------------------------------------------------------------------------

def _host(seen: Seen) -> list[Line]:
    count, model, flags = tool_output.processors(seen.texts.get("/proc/cpuinfo", ""))
    memory = tool_output.memory_bytes(seen.texts.get("/proc/meminfo", ""))
    system = SYSTEMS.get(seen.texts.get("uname", ""))
    made = [*[Line("host", "system", system, "uname")] * bool(system),
            Line("host", "cpus", count, "/proc/cpuinfo") if count else
            Line("host", "", None, "not seen: how many processors; 8 are taken"),
            Line("host", "memory_gib", round(memory / GIB, 1), "/proc/meminfo, MemTotal") if memory else
            Line("host", "", None, "not seen: memory; 8 GiB are taken")]
    speed, year = speed_of(flags)
    return [*made, Line("host", "cpu", speed, f"a guess: '{model or 'no name'}' can do what processors of {year} can; "
                                              "docs/scenarios.md has a table")]


def speed_of(flags: Collection[str]) -> tuple[float, str]:
    """A guess at `cpu` by what processors can do, and the years of such: docs/scenarios.md."""
    return next(((speed, year) for able, speed, year in SPEEDS if able & set(flags)),
                (OLDEST_SPEED, "2008") if "sse2" in flags else (UNKNOWN_SPEED, "2014"))


# --- data sets and files --------------------------------------------------------------------------------------------------

def _places(seen: Seen, pools: dict[str, list[Vdev]], settings: dict[str, str], dataset: str | None) -> tuple[Place, Place]:
    """Of the tables and of the log."""
    all_sets = tool_output.datasets(seen.texts.get("zfs get", ""))
    if dataset is not None and dataset not in all_sets:
        raise UserError(f"--dataset is {dataset}, but zfs get shows {', '.join(sorted(all_sets)) or 'none'}; name one of "
                        "these")
    folder = settings.get("data_directory", "")
    chosen = dataset or _holding(folder, all_sets)
    if not chosen and pools and not (folder and pool_lines.disk_below(folder, _disks(seen))):
        chosen = max(pools, key=lambda name: getattr(
            tool_output.space(seen.texts.get("zpool list", "")).get(name), "bytes", 0))
    data = _place(chosen, all_sets)
    log = _place(_holding(seen.texts.get("pg_wal", "").strip(), all_sets), all_sets)
    return data, log if log.pool and data.pool else data


def _place(dataset: str, all_sets: dict) -> Place:
    return Place(dataset.partition("/")[0], dataset, all_sets.get(dataset, {}))


def _holding(folder: str, all_sets: dict[str, dict[str, str]]) -> str:
    """The data set with the longest mount point that the folder lies below; "" if there is none."""
    mounts = {properties["mountpoint"]: name for name, properties in all_sets.items()
              if properties.get("mountpoint", "").startswith("/") and properties.get("mounted", "yes") == "yes"}
    return mounts[max(places, key=len)] if folder and (places := pool_lines.above(folder, mounts)) else ""


def _files(seen: Seen, data: Place, log: Place) -> list[Line]:
    version = seen.texts.get("/sys/module/zfs/version", "").strip()
    number = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    era = next((era for first, era in ERAS if number >= first), None)
    kind = "zvol" if "volblocksize" in data.properties else "zfs"
    made = [Line("files", "kind", kind, f"data set {data.dataset}" if data.dataset else
                 "not seen: no pool of ZFS; this is the machine as it would be with one"),
            Line("files", "era", era, f"/sys/module/zfs/version: {version}") if era else
            Line("files", "", None, "not seen: the version of ZFS; the likeliest for the database is taken")]
    made += _properties(data.properties, "", kind) if data.properties else [
        Line("files", "", None, "not seen: properties of a data set; ZFS as it comes is taken, with records of 128 KiB")]
    if log.dataset != data.dataset:
        made += _properties(log.properties, "log_", kind, f", data set {log.dataset} of pg_wal")
    made += [line for name, change in _PARAMETERS.items() if (line := change(seen.texts.get(
        f"/sys/module/zfs/parameters/{name}", "").strip()))]
    return [*made, Line("files", "", None, "not seen: what is in memory at the start; it is drawn")]


def _properties(properties: dict[str, str], prefix: str, kind: str, end: str = "") -> list[Line]:
    """Of a data set; of that of the log, only what a scenario has of it."""
    source, made = f"zfs get{end}", []
    of_size, size = ("volblocksize", "volblocksize_kib") if kind == "zvol" else ("recordsize", "record_kib")

    def add(key: str, value: Any, why: str) -> None:
        if not prefix or key in (size, "logbias", ""):
            made.append(Line("files", f"{prefix}{key}" if key else "", value, why))
    if (n_bytes := properties.get(of_size, "")).isdigit() and int(n_bytes) >= KIB:
        add(size, int(n_bytes) // KIB, f"{source}: {of_size}")
    for name, nearest in (("primarycache", "metadata"), ("secondarycache", "none")):
        if value := properties.get(name):
            known = get_args(scenario.Zfs.model_fields[name].annotation)
            add(name, value if value in known else nearest, f"{source}" if value in known else
                f"{source} says {value}, which is not simulated; this is nearest")
    if (bias := properties.get("logbias")) in ("latency", "throughput"):
        add("logbias", bias, source)
    if sync := properties.get("sync"):
        add("sync", sync, source)
    if ratio := re.fullmatch(r"(\d+\.?\d*)x?", properties.get("compressratio", "")):
        add("compress_ratio", min(max(1.0, float(ratio[1])), 100.0), f"{source}: compressratio")
    for name, idle in (("dedup", "off"), ("copies", "1"), ("encryption", "off"), ("special_small_blocks", "0")):
        if properties.get(name, idle) != idle:
            add("", None, f"seen, not simulated: {name}={properties[name]}")
    return made


def _arc_max(value: str) -> Line | None:
    large = value.isdigit() and int(value) >= 64 * MIB
    return Line("files", "arc_max_mib", round(int(value) / MIB), "zfs_arc_max") if large else None


def _switch(key: str, name: str, on: bool) -> Callable[[str], Line | None]:
    return lambda value: Line("files", key, on, f"{name} = 1") if value == "1" else None


_PARAMETERS = {"zfs_arc_max": _arc_max, "zfs_prefetch_disable": _switch("prefetch", "zfs_prefetch_disable", False),
               "zfs_nocacheflush": _switch("nocacheflush", "zfs_nocacheflush", True)}


# --- database -------------------------------------------------------------------------------------------------------------

def _database(seen: Seen, settings: dict[str, str]) -> list[Line]:
    made = [Line("database", "kind", "postgres", "SHOW ALL" if settings else
                 "a guess: no PostgreSQL was seen, and other databases were not looked for")]
    match = re.match(r"(\d+)(?:\.(\d+))?", settings.get("server_version", ""))
    version = float(VERSION)
    if match:
        version = float(match[1]) if int(match[1]) >= 10 else float(f"{match[1]}.{match[2] or 0}")
    made.append(Line("database", "version", max(version, LOWEST_VERSION),
                     "SHOW ALL: server_version" if match else "a guess"))
    total = seen.texts.get("databases", "").strip()
    scale = max(1, round(int(total) / BYTES_OF_A_BRANCH)) if total.isdigit() else SCALE
    made.append(Line("database", "scale", scale, f"a guess: pgbench as large as all databases, {int(total) / 1e9:.2f} GB; "
                                                 "what is asked of them is not seen" if total.isdigit() else
                     "a guess: how large the databases are was not seen"))
    made.append(Line("database", "clients", CLIENTS, "a guess: how many ask at a time is not seen"))
    made += [Line("database", "", None, f"seen, not simulated: {name} = {settings[name]} ({nearest})")
             for name, nearest in settings_without_effect.NEAREST.items()
             if name in settings and not settings_without_effect.is_as_simulated(name, settings[name])]
    return made + [_setting(name, settings[name], version) for name in conf.POSTGRES if name in settings]


def _setting(name: str, value: str, version: float) -> Line:
    """A comment, if the simulator does not take it."""
    try:
        scenario.of({"pool": {"data": {"sheet": nearest_sheet.CLOUD}}, "host": {"memory_gib": 65536},
                     "database": {"kind": "postgres", "version": version, "conf": {name: value}}})
    except UserError as error:
        return Line("database", "", None, f"seen, not simulated: {name} = {value} ({str(error).rsplit(': ', 1)[-1]})")
    return Line("database.conf", name, value, "SHOW ALL")


def _that_fits(of: list[Line]) -> list[Line]:
    """The lines, with a pool as full as it can be made. The database is made smaller if it does not go on the drives of
    the sheets."""
    of = _that_can_be_made(of)
    try:
        check(text(of))
    except UserError as error:
        smaller = [line._replace(value=SCALE, why=f"a guess: with {line.value}, {str(error).split(': ', 1)[-1]}")
                   if (line.section, line.key) == ("database", "scale") else line for line in of]
        check(text(smaller))
        return smaller
    return of


def _that_can_be_made(of: list[Line]) -> list[Line]:
    """The lines, without a fill and a fragmentation that random free space cannot have together."""
    filled = {line.section for line in of if line.key == "fill"}
    for section in filled:
        pair = {line.key: line.value for line in of if line.section == section and line.key in ("fill", "fragmentation")}
        try:
            described_space.alike(pair["fill"], pair["fragmentation"], GIB, GIB)
        except UserError as error:
            of = [line._replace(key="", value=None, why=f"seen, not simulated: {line.key} = {line.value} ({error})")
                  if line.section == section and line.key in pair else line for line in of]
    return of


def check(written: str) -> scenario.Scenario:
    """The scenario of such a file. Raises UserError for one that `study predict` would refuse."""
    return machines.checked(scenario.of(tomllib.loads(written), "this machine"))

"""A machine, a file system and a database, as one TOML file: what `study predict` reads, and all ladders are lists of.

    one = scenario.read(Path("data/scenarios/pgbench-mirror.toml"))
    other = scenario.changed(one, {"files.record_kib": 128, "database.conf.full_page_writes": False})
    scenario.differences(one, other)        {"files.record_kib": (8, 128), …}

What cannot be is one sentence: no disk, no client, a cache larger than its device, buffers larger than memory. Whether
the database fits on its disks is checked when the machine is built (`study.machines`).
"""
import functools
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from model import eras
from study import conf, errors, hardware
from study.errors import UserError
from study.project import DATA

PARITY = {"raidz1": 1, "raidz2": 2, "raidz3": 3}
# Of the eras of the model: raidz3 came with b120.
THIRD_PARITY = ("b141", "b141_df", "openzfs_2013", "openzfs_2017", "openzfs_2019", "openzfs_2021", "openzfs")
COMPRESSES = ("openzfs_2017", "openzfs_2019", "openzfs_2021", "openzfs")    # the ARC: OpenZFS 0.7, FreeBSD 12
KIB, GIB = 2**10, 2**30
LARGEST_RECORD = max(era.records.most_bytes for era in eras.ERAS.values()) // KIB
MOST_DEVICES, MOST_CLIENTS = 1024, 10_000       # that there is room for in a simulation


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _true_is_no_number(cls, content):
        for name, value in content.items() if isinstance(content, dict) else ():
            field = cls.model_fields.get(name)
            if isinstance(value, bool) and field and bool not in (field.annotation, *get_args(field.annotation)):
                parts = [one for part in (field.annotation, *get_args(field.annotation)) for one in (part, *get_args(part))]
                if any(issubclass(get_origin(one) or one, BaseModel | dict) for one in parts
                       if isinstance(get_origin(one) or one, type)):
                    raise ValueError(f"{name} is {str(value).lower()}, but it must be a section with names and values of "
                                     "its own")
                raise ValueError(f"{name} is {str(value).lower()}, which is neither a number nor a name; give one")
        return content


class Devices(_Strict):
    """Some devices of one kind. `width`: disks of a mirror or RAID-Z group; all of them if it is left out."""
    sheet: str                              # data/hardware/<sheet>.toml
    count: int = 1
    layout: Literal["stripe", "mirror", "raidz1", "raidz2", "raidz3"] = "stripe"
    width: int | None = None
    use_gib: float | None = None            # only so much of each device
    write_cache: bool | None = None         # of a disk: on or off; as its sheet says if it is left out
    ashift: Literal[9, 12, 13] = 9          # of the vdev; OpenZFS takes 12 for disks with sectors of 4 KiB
    battery: bool = False                   # behind a controller whose cache survives a power cut

    @property
    def group(self) -> int:
        """Devices of a top-level vdev."""
        return 1 if self.layout == "stripe" else self.width or self.count

    @property
    def n_vdevs(self) -> int:
        return self.count // self.group

    @property
    def device_bytes(self) -> int:
        whole = sheet(self.sheet).params.disk_bytes
        return whole if self.use_gib is None else int(self.use_gib * GIB)

    @property
    def usable_bytes(self) -> int:
        """Data that all of them hold."""
        data = self.group - PARITY[self.layout] if self.layout in PARITY else 1
        return self.n_vdevs * data * self.device_bytes

    @model_validator(mode="after")
    def _can_be(self):
        whole = sheet(self.sheet).params.disk_bytes
        if self.count < 1:
            raise ValueError(f"count is {self.count}, but there is no pool without a disk; give 1 or more")
        if self.count > MOST_DEVICES:
            raise ValueError(f"count is {self.count}, but {MOST_DEVICES} devices are simulated at most; choose fewer")
        least = {"stripe": 1, "mirror": 2}.get(self.layout, PARITY.get(self.layout, 0) + 1)
        if self.layout == "stripe" and self.width not in (None, 1):
            raise ValueError(f"width is {self.width}, but a stripe has no groups; leave it out or choose another layout")
        if self.group < least:
            raise ValueError(f"{self.layout} of {self.group} device{'s' * (self.group > 1)} is none; it needs "
                             f"{least} at least, so raise count or width, or choose another layout")
        if self.count % self.group:
            raise ValueError(f"{self.count} devices are not divided by groups of {self.group}; choose a multiple of it")
        if self.use_gib is not None and not 0 < self.use_gib * GIB <= whole:
            raise ValueError(f"use_gib is {self.use_gib:g}, but the device holds {whole / GIB:.1f} GiB; choose more than 0 "
                             "and no more than that")
        return self


class Pool(_Strict):
    """Devices of a pool: of its data, of its separate intent log, of its cache (L2ARC)."""
    data: Devices
    log: Devices | None = None
    cache: Devices | None = None

    @model_validator(mode="after")
    def _can_be(self):
        for name, one, layouts in (("log", self.log, ("stripe", "mirror")), ("cache", self.cache, ("stripe",))):
            if one is not None and one.layout not in layouts:
                raise ValueError(f"the {name} device is laid out as {one.layout}, which ZFS does not do; choose "
                                 f"{' or '.join(layouts)}")
        return self


def _check_record(name: str, kib: int, era: str):
    """ValueError unless the build has such records."""
    most = eras.ERAS[era].records.most_bytes // KIB
    if kib < 1 or kib & (kib - 1):
        raise ValueError(f"{name} is {kib}, but a record is a power of two, of 1 to {most} KiB with era {era}; choose one")
    if kib > LARGEST_RECORD:
        raise ValueError(f"{name} is {kib}, but no ZFS has records of more than {LARGEST_RECORD} KiB (16 MiB); choose no "
                         "more than that")
    if kib > most:
        raise ValueError(f"{name} is {kib}, but a record has {most} KiB at most with era {era}; choose no more than that, "
                         "or a release with large blocks, as openzfs_2017 or openzfs")


class Zfs(_Strict):
    kind: Literal["zfs"] = "zfs"
    era: str = "b111"                       # a build of model.eras; if a scenario leaves it out: of the database's time
    record_kib: int = 128                   # recordsize of the tables
    log_record_kib: int | None = None       # of the database's log; as the tables' if it is left out
    primarycache: Literal["all", "metadata"] = "all"        # none is not modelled
    secondarycache: Literal["all", "none"] = "all"          # metadata is not modelled
    logbias: Literal["latency", "throughput"] = "latency"
    log_logbias: Literal["latency", "throughput"] | None = None     # of the database's log; as the tables' if it is left out
    compress_ratio: Annotated[float, Field(ge=1, le=100)] = 1.0     # of a record; 1: compression=off
    compressed_arc: bool = False            # records are held as they are on disk; if left out: as its era does
    prefetch: bool = True
    zil: bool = True                        # False: zil_disable, or sync=disabled
    nocacheflush: bool = False
    arc_max_mib: float | None = None
    warm: bool | None = None                # whether the tables are in core at the start; not known if it is left out
    cache_warm: bool | None = None          # whether a cache device holds what hours put there; not known if it is left out
    to_scale: Annotated[float, Field(ge=1, le=10**4)] = 1.0         # tables are so many times smaller than they are, and
    groups_to_scale: Annotated[float, Field(ge=1, le=10**4)] = 1.0  # transaction groups shorter; study.run_length sets both

    @model_validator(mode="after")
    def _can_be(self):
        if self.era not in eras.ERAS:
            raise ValueError(f"era is '{self.era}', but the builds known are {', '.join(eras.ERAS)}; choose one of these")
        for name, value in (("record_kib", self.record_kib), ("log_record_kib", self.log_record_kib)):
            if value is not None:
                _check_record(name, value, self.era)
        if self.logbias == "throughput" and not eras.ERAS[self.era].zil.has_logbias:
            raise ValueError(f"logbias is throughput, but era {self.era} has no logbias; choose b141 or leave it out")
        if self.arc_max_mib is not None and self.arc_max_mib < 64:
            raise ValueError(f"arc_max_mib is {self.arc_max_mib:g}, but the ARC has 64 MiB at least; choose that or more")
        return self


class Ufs(_Strict):
    kind: Literal["ufs"] = "ufs"
    directio: bool = False
    throttle: bool = True                   # ufs_WRITES
    autoup_s: Annotated[int, Field(ge=1, le=86400)] = 30
    apart: bool = False                     # each device of the pool a file system: tables, indexes, all the rest
    warm: bool | None = None


class Host(_Strict):
    cpus: Annotated[int, Field(ge=1, le=1024)] = 8
    memory_gib: Annotated[float, Field(ge=0.125, le=65536)] = 8     # the ARC alone has 64 MiB at least
    cpu: Annotated[float, Field(gt=0, le=100)] = 1.0    # speed of one, against a Xeon of 2.3 GHz of 2008; see README
    system: Literal["solaris", "linux", "freebsd"] | None = None    # if left out: `study.servers.system`
    shares_cpus: bool | None = None     # threads of a transaction group want the database's processors; if left out: not on
                                        # Solaris, whose predictions are the documents'
    cpu_source: str = ""


class Postgres(_Strict):
    """pgbench on PostgreSQL. A run is of so many transactions in all, or seconds; of neither: see `study.predict`."""
    kind: Literal["postgres"] = "postgres"
    version: float = 8.3
    scale: int = 10
    clients: Annotated[int, Field(le=MOST_CLIENTS)] = 10
    threads: Annotated[int, Field(ge=1, le=MOST_CLIENTS)] | None = None     # of pgbench (-j); 1 if it is left out
    transactions: Annotated[int, Field(ge=1, le=10**8)] | None = None
    seconds: Annotated[float, Field(gt=0, le=86400)] | None = None
    script: Literal["tpc-b", "simple-update", "select-only", "toolkit"] = "tpc-b"  # toolkit: model.oltp_toolkit
    prepared: bool = False                  # statements are planned once (pgbench -M prepared)
    fillfactor: Annotated[int, Field(ge=10, le=100)] = 100
    start: Literal["warm", "cold", "at work"] = "warm"      # its shared buffers: full and clean; empty; as after hours,
    interval_transactions: Annotated[int, Field(ge=1)] | None = None    # with so many between checkpoints: study.run_length
    checkpoint_pace: Annotated[float, Field(ge=0)] = 0.0    # pages a transaction they came to; 0: all in time; likewise
    log_files: Annotated[int, Field(ge=1)] | None = None    # of 16 MB, that exist at the start; all that there will be
    conf: dict[str, Any] = {}

    @model_validator(mode="after")
    def _can_be(self):
        if self.scale < 1:
            raise ValueError(f"scale is {self.scale}, but pgbench has one branch at least; choose 1 or more")
        if self.clients < 1:
            raise ValueError(f"clients is {self.clients}, but without a client nothing is asked; choose 1 or more")
        if not 8.3 <= self.version < 19:
            raise ValueError(f"version is {self.version:g}, but PostgreSQL is simulated from 8.3 to 18; choose one of these")
        if (self.start == "at work") != (self.interval_transactions is not None):
            raise ValueError(f"start is '{self.start}' and interval_transactions is {self.interval_transactions}, but a "
                             "start at work needs that, and no other has it; leave both out, as a long run begins at work")
        settings = conf.check("postgres", self.conf)
        for name, first, last in (("max_wal_size", 9.5, 17), ("wal_compression", 9.5, 17), ("checkpoint_segments", 8, 9.5)):
            if name in settings and not first <= self.version < last:
                raise ValueError(f"{name} is set, but PostgreSQL {self.version:g} has no such setting; leave it out")
        return self


class Innodb(_Strict):
    """sysbench OLTP on InnoDB."""
    kind: Literal["innodb"] = "innodb"
    rows: int = 10_000_000
    clients: Annotated[int, Field(le=MOST_CLIENTS)] = 20
    seconds: Annotated[float, Field(gt=0, le=86400)] = 300
    version: Literal["5.4.0", "5.4.2", "5.5", "5.6", "5.7", "8.0", "8.4"] | None = None   # of MySQL; not known if left out
    sysbench: Literal["0.4", "1.0"] | None = None       # 0.4 with MySQL before 5.6, 1.0 (also for 0.5) with later ones
    read_only: bool = False
    write_only: bool = False                # its updates, its deletion and its insertion, without the selections
    distribution: Literal["special", "uniform", "pareto", "zipfian"] = "special"
    start: Literal["as loaded", "warm", "cold", "at work"] | None = None    # what its buffers hold; drawn if it is left out
    transactions_a_second: int | None = None    # at work: of the hours before
    conf: dict[str, Any] = {}

    @model_validator(mode="after")
    def _can_be(self):
        if self.rows < 1:
            raise ValueError(f"rows is {self.rows}, but a table has one row at least; choose 1 or more")
        if self.clients < 1:
            raise ValueError(f"clients is {self.clients}, but without a client nothing is asked; choose 1 or more")
        if self.read_only and self.write_only:
            raise ValueError("read_only and write_only are both set, and nothing is left of a transaction; choose one")
        if (self.start == "at work") != (self.transactions_a_second is not None):
            raise ValueError("start = \"at work\" and transactions_a_second go together, and study.run_length sets both; "
                             "leave them out")
        conf.check("innodb", self.conf)
        return self


class Oracle(_Strict):
    """Order entry on Oracle: so many users who do not think, tables of so many GiB in blocks of 8 KiB."""
    kind: Literal["oracle"] = "oracle"
    gib: Annotated[float, Field(ge=0.125, le=128)] = 10
    clients: Annotated[int, Field(le=MOST_CLIENTS)] = 32
    seconds: Annotated[float, Field(gt=0, le=86400)] = 1800
    conf: dict[str, Any] = {}

    @model_validator(mode="after")
    def _can_be(self):
        if self.clients < 1:
            raise ValueError(f"clients is {self.clients}, but without a client nothing is asked; choose 1 or more")
        conf.check("oracle", self.conf)
        return self


class Scenario(_Strict):
    title: str = ""
    host: Host = Host()
    files: Annotated[Zfs | Ufs, Field(discriminator="kind")] = Zfs()
    pool: Pool
    log_pool: Pool | None = None            # the database's log on a pool of its own
    database: Annotated[Postgres | Innodb | Oracle, Field(discriminator="kind")]

    @model_validator(mode="before")
    @classmethod
    def _of_the_usual_kinds(cls, content):
        if not isinstance(content, dict):
            return content
        usual = {"files": "zfs", "database": "postgres"}
        content = content | {name: {"kind": kind} | content[name] for name, kind in usual.items()
                             if isinstance(content.get(name), dict)}
        files = content.get("files", {"kind": "zfs"})
        if isinstance(files, dict) and files["kind"] == "zfs":
            files = {"era": _era_of_its_time(content)} | files
            content["files"] = {"compressed_arc": files["era"] in COMPRESSES} | files
        return content

    @model_validator(mode="after")
    def _can_be(self):
        memory, settings = self.host.memory_gib * GIB, conf.check(self.database.kind, self.database.conf)
        for name in ("shared_buffers", "innodb_buffer_pool_size", "db_cache_size"):
            if settings.get(name, 0) > memory:
                raise ValueError(f"{name} is {self.database.conf[name]}, more than the memory of "
                                 f"{self.host.memory_gib:g} GiB; choose less, or more memory")
        if isinstance(self.files, Zfs):
            if (self.files.arc_max_mib or 0) * 2**20 > memory:
                raise ValueError(f"arc_max_mib is {self.files.arc_max_mib:g}, more than the memory of "
                                 f"{self.host.memory_gib:g} GiB; choose less, or more memory")
            if any(one and one.data.layout == "raidz3" for one in (self.pool, self.log_pool)) \
                    and self.files.era not in THIRD_PARITY:
                raise ValueError(f"the layout is raidz3, but era {self.files.era} has no third parity; choose b141")
        elif self.database.kind == "oracle":
            raise ValueError("the database is oracle and the file system UFS, but Oracle is simulated on ZFS only; "
                             "choose zfs")
        else:
            self._refuse_zfs_only()
        return self

    def _refuse_zfs_only(self):
        for one in (self.pool, self.log_pool):
            if one is not None and one.data.layout == "mirror":
                raise ValueError("the layout is mirror, but a volume under UFS is simulated as a stripe only; choose "
                                 "stripe, or zfs")
            if one is not None and (one.log or one.cache or one.data.layout in PARITY):
                raise ValueError("a log device, a cache device and RAID-Z are ZFS's, but the file system is UFS; leave them "
                                 "out or choose zfs")


# From which version of a database on which ZFS is likeliest, by the years of both (model.eras): that of Linux, and the older
# one that FreeBSD had in the same year (10 and 11; 12 from 2018, 13.0 from 2021, 13.1 from 2022, 14 from November 2023).
_ERAS = {"postgres": {9.3: "openzfs_2013", 10: "openzfs_2017", 12: "openzfs_2019", 14: "openzfs_2021", 16: "openzfs"},
         "innodb": {"5.6": "openzfs_2013", "5.7": "openzfs_2017", "8.0": "openzfs_2021", "8.4": "openzfs"}}
_ERAS_OF_FREEBSD = {"postgres": {9.3: "openzfs_2013", 12: "openzfs_2017", 14: "openzfs_2019", 15: "openzfs_2021"},
                    "innodb": {"5.6": "openzfs_2013", "8.0": "openzfs_2017", "8.4": "openzfs"}}


def _era_of_its_time(content: dict) -> str:
    """What a scenario (as it is in its file) leaves out. Before these versions b111, which Linux never had."""
    database, host = content.get("database"), content.get("host")
    system = host.get("system") if isinstance(host, dict) else None
    if not isinstance(database, dict) or system == "solaris":
        return "b111"
    version, found = database.get("version"), "openzfs_2013" if system == "linux" else "b111"
    of_versions = _ERAS_OF_FREEBSD if system == "freebsd" else _ERAS
    for first, era in of_versions.get(str(database["kind"]), {}).items():
        if isinstance(version, str if isinstance(first, str) else int | float) and first <= version:
            found = era
    return found


# --- reading, changing, comparing -----------------------------------------------------------------------------------------

@functools.cache
def sheet(name: str) -> hardware.Device:
    """A device of data/hardware. Raises ValueError if there is none of that name."""
    folder = DATA / "hardware"
    if not (folder / f"{name}.toml").is_file():
        known = sorted(path.stem for path in folder.glob("*.toml"))
        raise ValueError(f"there is no sheet '{name}' in data/hardware; " + errors.meant(
            name, known, f"it has {', '.join(known)}: name one of these or write its file"))
    return hardware.read(name)


def read(path: Path) -> Scenario:
    """The scenario of a TOML file. Raises UserError, one sentence, for what cannot be."""
    return of(toml(path), path.name)


def toml(path: Path) -> dict:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise UserError(f"{path} is not there; name a scenario, such as one of data/scenarios") from None
    except UnicodeDecodeError:
        raise UserError(f"{path.name} is not text, but a scenario is a TOML file; copy one of data/scenarios") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path.name} is not TOML: {error}; mend that line") from None


def of(content: dict, name: str = "scenario") -> Scenario:
    try:
        return Scenario.model_validate(content)
    except ValidationError as error:
        raise UserError(sentence(name, error)) from None


def sentence(name: str, error: ValidationError, within: str = "") -> str:
    """The first complaint as one sentence: file, entry, value, what is allowed. `within`: the entry that was read."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")     # a word mistyped is not missing
    kinds = ("zfs", "ufs", "postgres", "innodb", "oracle")
    parts = [str(part + 1 if isinstance(part, int) else part) for part in first["loc"] if part not in kinds]
    entry = ".".join([within] * bool(within) + parts)
    words = {"extra_forbidden": _unknown(parts[-1] if parts else ""),
             "missing": "is missing; give it", "union_tag_not_found": "has no kind; give it one",
             "union_tag_invalid": f"is of a kind that is unknown; choose {first.get('ctx', {}).get('expected_tags')}"}
    if first["type"] in words:
        return f"{name}: {entry} {words[first['type']]}"
    return f"{name}: {errors.of_value(entry, first)}"


def _unknown(word: str) -> str:
    """What is wrong with an entry of that name."""
    known = {name for section in _Strict.__subclasses__() for name in section.model_fields}
    if word in known:
        return "is nothing that a section of this kind has; leave it out"
    return "is nothing that a scenario has; " + errors.meant(word, sorted(known), "leave it out or mend its name")


def changed(one: Scenario, changes: dict[str, Any]) -> Scenario:
    """The scenario with fields replaced, by their paths ("files.record_kib"); None takes a part away."""
    content = one.model_dump(exclude_defaults=False)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = content
        for parent in parents:
            if place.get(parent) is None:
                place[parent] = {}
            place = place[parent]
        place[last] = value.model_dump() if isinstance(value, BaseModel) else value
    return of(content, one.title or "scenario")


def fields(one: Scenario) -> dict[str, Any]:
    """Every leaf by its path."""
    def walk(content, path):
        for name, value in content.items():
            if isinstance(value, dict):
                yield from walk(value, f"{path}{name}.")
            else:
                yield f"{path}{name}", value
    return dict(walk(one.model_dump(), ""))


def differences(one: Scenario, other: Scenario) -> dict[str, tuple]:
    """What differs: path -> (in `one`, in `other`); None for what one of them lacks."""
    a, b = fields(one), fields(other)
    return {path: (a.get(path), b.get(path)) for path in sorted(a.keys() | b.keys())
            if a.get(path) != b.get(path) and path != "title"}

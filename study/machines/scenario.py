"""A machine, a file system and a database, as one TOML file: what `study predict` reads, and all ladders are lists of.

    machine = scenario.read(Path("data/scenarios/nvme-mirror.toml"))
    other = scenario.changed(machine, {"files.record_kib": 128, "database.conf.full_page_writes": False})
    scenario.differences(machine, other)    {"files.record_kib": (8, 128), …}

What cannot be is one sentence: no disk, no client, a cache larger than its device, buffers larger than memory. Whether
the database fits on its disks is checked when the machine is built (`study.machines.simulate`).
"""
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from model.zfs import eras
from study import errors
from study.errors import UserError
from study.machines import conf, conf_files, not_simulated, settings_without_effect
from study.machines.base_section import Section, every_kind
from study.machines.database import COUNTED, NAMED, Innodb, Oracle, Postgres, Script
from study.machines.storage import GIB, PARITY, Devices, Pool, Ufs, Zfs, Zvol
from study.project import DATA


class Host(Section):
    """The computer."""
    cpus: Annotated[int, Field(ge=1, le=1024)] = 8
    """Processors, counted as hardware threads."""
    memory_gib: Annotated[float, Field(ge=0.125, le=65536)] = 8     # the ARC alone has 64 MiB at least
    """Memory, GiB."""
    cpu: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Speed of one processor; 1 is a Xeon of 2.3 GHz of 2008. Other values: the table below."""
    system: Literal["solaris", "linux", "freebsd"] | None = None    # if left out: `study.machines.servers.system`
    """The operating system. Left out: Linux with an era of OpenZFS or with PostgreSQL from 9.5 on, else Solaris."""
    shares_cpus: bool | None = None
    """Threads that write a transaction group compete for the database's processors. Left out: true, but on Solaris false."""
    cpu_source: str = ""
    """A note on where the value of `cpu` is from."""


class Scenario(Section):
    """The file as a whole."""
    title: str = ""
    """A name for people."""
    host: Host = Host()
    files: Annotated[Zfs | Zvol | Ufs, Field(discriminator="kind")] = Zfs()
    pool: Pool
    log_pool: Pool | None = None
    """The database's log on a pool of its own."""
    database: Annotated[Postgres | Innodb | Oracle, Field(discriminator="kind")]

    @property
    def postgres(self) -> Postgres:
        """The database, where it is known to be PostgreSQL. The others likewise."""
        assert isinstance(self.database, Postgres)
        return self.database

    @property
    def innodb(self) -> Innodb:
        """The section of the database, which must be InnoDB's."""
        assert isinstance(self.database, Innodb)
        return self.database

    @property
    def oracle(self) -> Oracle:
        """The section of the database, which must be Oracle's."""
        assert isinstance(self.database, Oracle)
        return self.database

    @property
    def zfs(self) -> Zfs:
        """The section of the file system, which must be ZFS."""
        assert isinstance(self.files, Zfs)
        return self.files

    @property
    def ufs(self) -> Ufs:
        """The section of the file system, which must be UFS."""
        assert isinstance(self.files, Ufs)
        return self.files

    @model_validator(mode="before")
    @classmethod
    def _of_the_usual_kinds(cls, content: object) -> object:
        if not isinstance(content, dict):
            return content
        usual = {"files": "zfs", "database": "postgres"}
        content = content | {name: {"kind": kind} | content[name] for name, kind in usual.items()
                             if isinstance(content.get(name), dict)}
        database, files = content.get("database"), content.get("files", {"kind": "zfs"})
        if isinstance(database, dict):
            content["database"] = not_simulated.mariadb(database)
        if isinstance(files, dict) and files["kind"] in ("zfs", "zvol"):
            is_mariadb = isinstance(database, dict) and database["kind"] == "mariadb"
            own = {"database": database} if is_mariadb else {}
            content["files"] = {"era": _era_of_its_time(content | own)} | files
        return content

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        memory, settings = self.host.memory_gib * GIB, conf.check(self.database.kind, self.database.conf)
        for name in ("shared_buffers", "innodb_buffer_pool_size", "db_cache_size"):
            if settings.get(name, 0) > memory:
                raise ValueError(f"{name} is {self.database.conf[name]}, more than the memory of "
                                 f"{self.host.memory_gib:g} GiB; choose less, or more memory")
        if isinstance(self.files, Zfs):
            if (self.files.arc_max_mib or 0) * 2**20 > memory:
                raise ValueError(f"arc_max_mib is {self.files.arc_max_mib:g}, more than the memory of "
                                 f"{self.host.memory_gib:g} GiB; choose less, or more memory")
            if any(pool and pool.data.layout == "raidz3" for pool in (self.pool, self.log_pool)) \
                    and eras.ERAS[self.files.era].raidz.max_parity < PARITY["raidz3"]:
                raise ValueError(f"the layout is raidz3, but era {self.files.era} has no third parity; choose b141")
        elif self.database.kind == "oracle":
            raise ValueError("the database is oracle and the file system UFS, but Oracle is simulated on ZFS only; "
                             "choose zfs")
        else:
            self._refuse_zfs_only()
        return self

    def _refuse_zfs_only(self) -> None:
        for pool in (self.pool, self.log_pool):
            if pool is not None and pool.fill:
                raise ValueError(f"fill is {pool.fill:g}, but the file system is UFS, whose free space is not simulated; "
                                 "leave it out or choose zfs")
            if pool is not None and pool.data.layout == "mirror":
                raise ValueError("the layout is mirror, but a volume under UFS is simulated as a stripe only; choose "
                                 "stripe, or zfs")
            if pool is not None and (pool.log or pool.cache or pool.data.layout in PARITY):
                raise ValueError("a log device, a cache device and RAID-Z are ZFS's, but the file system is UFS; leave them "
                                 "out or choose zfs")


# From which version of a database on which ZFS is likeliest, by the years of both (model.zfs.eras). There is that of Linux,
# and the older one that FreeBSD had in the same year. That is 10 and 11; 12 from 2018, 13.0 from 2021, 13.1 from 2022, 14
# from November 2023.
Eras = dict[str, dict[Any, str]]
ERAS_OF_LINUX: Eras = {
                 "postgres": {9.3: "openzfs_2013", 10: "openzfs_2017", 12: "openzfs_2019", 14: "openzfs_2021",
                              16: "openzfs"},
                 "innodb": {"5.6": "openzfs_2013", "5.7": "openzfs_2017", "8.0": "openzfs_2021", "8.4": "openzfs"},
                 "mariadb": {(10, 0): "openzfs_2013", (10, 2): "openzfs_2017", (10, 4): "openzfs_2019",
                             (10, 6): "openzfs_2021", (11, 2): "openzfs"}}
ERAS_OF_FREEBSD: Eras = {
                   "postgres": {9.3: "openzfs_2013", 12: "openzfs_2017", 14: "openzfs_2019", 15: "openzfs_2021"},
                   "innodb": {"5.6": "openzfs_2013", "8.0": "openzfs_2017", "8.4": "openzfs"},
                   "mariadb": {(10, 0): "openzfs_2013", (10, 4): "openzfs_2017", (10, 6): "openzfs_2019",
                               (10, 8): "openzfs_2021", (11, 2): "openzfs"}}


def _era_of_its_time(content: dict) -> str:
    """What a scenario (as it is in its file) leaves out. Before these versions b111, which Linux never had."""
    database, host = content.get("database"), content.get("host")
    system = host.get("system") if isinstance(host, dict) else None
    if not isinstance(database, dict) or system == "solaris":
        return "b111"
    kind, likeliest = str(database["kind"]), "openzfs_2013" if system == "linux" else "b111"
    version = not_simulated.mariadb_version(database) if kind == "mariadb" else database.get("version")
    of_versions = ERAS_OF_FREEBSD if system == "freebsd" else ERAS_OF_LINUX
    for first, era in of_versions.get(kind, {}).items():
        are_numbers = isinstance(first, int | float) and isinstance(version, int | float)
        if (are_numbers or type(first) is type(version)) and first <= version:
            likeliest = era
    return likeliest


# --- reading, changing, comparing -----------------------------------------------------------------------------------------

def read(path: Path) -> Scenario:
    """The scenario of a TOML file. Raises UserError, one sentence, for what cannot be."""
    return of(toml(path), path.name)


def named(path: Path) -> Path:
    """The file itself, or that of data/scenarios which has the name."""
    name = path.name.removesuffix(".toml")
    ours = DATA / "scenarios" / f"{name}.toml"
    return ours if not path.exists() and path.parent == Path() and ours.is_file() else path


def toml(path: Path) -> dict:
    """What a scenario's file has, with the settings of the file that `conf_file` names. UserError, one sentence."""
    try:
        return _with_settings(tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=_number), path)
    except FileNotFoundError:
        known = sorted(file.stem for file in (DATA / "scenarios").glob("*.toml"))
        raise UserError(f"{path} is not there; " + errors.meant(
            path.stem, known, f"name a file, or one of data/scenarios: {', '.join(known)}")) from None
    except UnicodeDecodeError:
        raise UserError(f"{path.name} is no UTF-8 text, but a scenario is a TOML file; save it as UTF-8, or copy one of "
                        "data/scenarios") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path.name} is not TOML: {error}; {_mend(path, str(error))}") from None
    except _TooSmallError as error:
        raise UserError(f"{path.name} has the number {error}, which is too small to be read; write 0 or a larger "
                        "one") from None


class _TooSmallError(ArithmeticError):
    """A number that would be read as 0 though it is none."""


def _number(written: str) -> float:
    if conf.is_too_small(written):
        raise _TooSmallError(written)
    return float(written)


def _with_settings(content: dict, path: Path) -> dict:
    """The content, with `database.conf` as the database's own file has it; what stands there itself counts."""
    database = content.get("database")
    if not isinstance(database, dict) or "conf_file" not in database:
        return content
    file, own = database.pop("conf_file"), database.get("conf", {})
    if not isinstance(file, str) or not isinstance(own, dict):
        raise UserError(f"{path.name}: database.conf_file is {file!r}, which is no path; name postgresql.conf, my.cnf or a "
                        "file with what SHOW ALL prints")
    kind = "postgres" if database.get("kind", "postgres") == "postgres" else "innodb"
    read, is_of_server = conf_files.read(path.parent / file, database.get("version") if kind == "innodb" else None)
    if is_of_server:
        read, n_others = conf.split(kind, read)
        read |= {settings_without_effect.OTHERS: str(n_others)} if n_others else {}
    return content | {"database": database | {"conf": conf.as_written(kind, read) | conf.as_written(kind, own)}}


def _mend(path: Path, complaint: str) -> str:
    """What to do about a line that is not TOML: a setting as postgresql.conf and my.cnf have it wants quotes. The last
    line is meant where the complaint names none."""
    at = re.search(r"at line (\d+)", complaint)
    lines = path.read_text(encoding="utf-8-sig").rstrip().splitlines()
    line = lines[min(int(at[1]), len(lines)) - 1] if at else lines[-1] if lines else ""
    if "Cannot overwrite" in complaint or "twice" in complaint:
        return f"a name stands once: {line.strip()}"
    if re.match(r"\s*[\w-]+\s*=\s*[-+]?0\d[\d.]*\s*(?:#.*)?$", line):
        return f"a number begins with no zero: {line.strip()}"
    if setting := re.match(r"\s*([\w-]+)\s*=?\s*([\w./-]+)\s*(?:#.*)?$", line):
        return (f'in TOML text and sizes stand in quotes: {setting[1]} = "{setting[2]}"; the database\'s own settings '
                "belong into [database.conf]")
    return "mend that line"


def of(content: dict, name: str = "scenario") -> Scenario:
    """The scenario that `content` describes. A UserError names all that is wrong in it."""
    try:
        return Scenario.model_validate(content)
    except ValidationError as error:
        raise UserError(sentence(name, error)) from None


def sentence(name: str, error: ValidationError, within: str = "") -> str:
    """What is wrong as one sentence: file, entry, value, what is allowed. It tells all of it, but that something is missing
    only if that is all: a word mistyped is not missing. `within`: the entry that was read."""
    complaints = error.errors()
    several = [complaint for complaint in complaints if complaint["type"] != "missing"]
    in_words = [_in_words(complaint, within) for complaint in several or complaints[:1]]
    return f"{name}: {'; '.join(dict.fromkeys(in_words))}"


def _in_words(complaint: ErrorDetails, within: str) -> str:
    """One complaint in words."""
    kinds = ("zfs", "zvol", "ufs", "postgres", "innodb", "oracle", NAMED, COUNTED)
    place = complaint["loc"]
    parts = [str(part + 1 if isinstance(part, int) else part) for before, part in zip(("", *place), place, strict=False)
             if part not in kinds or before not in ("files", "database", "script")]
    entry, of_kind = ".".join([within] * bool(within) + parts), complaint.get("ctx", {})
    end = {"extra_forbidden": _unknown(*["", "", *parts][-2:]),
           "missing": "is missing; give it", "union_tag_not_found": "has no kind; give it one",
           "union_tag_invalid": f"has the unknown kind {of_kind.get('tag')!r}; choose {of_kind.get('expected_tags')}"}
    if complaint["type"] == "union_tag_invalid" and (nearest := not_simulated.of_kind(entry, str(of_kind["tag"]))):
        return f"{entry}: {nearest}"
    if complaint["type"] == "literal_error" and (nearest := not_simulated.of_value(parts[-1], complaint["input"])):
        return f"{entry} is '{complaint['input']}'; {nearest}"
    if complaint["type"] in end:
        return f"{entry} {end[complaint['type']]}"
    return errors.of_value(entry, complaint)


SECTIONS: dict[str, tuple[type[Section], ...]] = {
    "[host]": (Host,), "[files]": (Zfs, Zvol, Ufs), "[pool]": (Pool,), "[pool.data]": (Devices,),
    "[database]": (Postgres, Innodb, Oracle), "[database.script]": (Script,)}


def _unknown(section: str, word: str) -> str:
    """What is wrong with an entry of that name."""
    if nearest := not_simulated.known(section, word):
        return nearest
    known = {name for kind in every_kind() for name in kind.by_key()}
    if word in known:
        elsewhere = [title for title, kinds in SECTIONS.items() if any(word in kind.by_key() for kind in kinds)]
        here = "nothing that a section of this kind has"
        if not elsewhere or section in [title.strip("[]").split(".")[-1] for title in elsewhere]:
            return f"is {here}; leave it out"
        return f"is {here}; it belongs to {' or '.join(elsewhere)}"
    of_script = ", ".join(Script.by_key()) if section.endswith("script") else ""
    otherwise = f"a script is counts of {of_script}" if of_script else "leave it out or mend its name"
    return "is nothing that a scenario has; " + errors.meant(word, sorted(known), otherwise)


def changed(machine: Scenario, changes: dict[str, Any]) -> Scenario:
    """The scenario with fields replaced, by their paths ("files.record_kib"); None takes a part away."""
    content = machine.model_dump(exclude_defaults=False)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = content
        for parent in parents:
            if place.get(parent) is None:
                place[parent] = {}
            place = place[parent]
        place[last] = value.model_dump() if isinstance(value, BaseModel) else value
    return of(content, machine.title or "scenario")


def fields(machine: Scenario) -> dict[str, Any]:
    """Every leaf by its path."""
    def walk(content: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
        for name, value in content.items():
            if isinstance(value, dict):
                yield from walk(value, f"{path}{name}.")
            else:
                yield f"{path}{name}", value
    return dict(walk(machine.model_dump(), ""))


def differences(first: Scenario, second: Scenario) -> dict[str, tuple]:
    """What differs: path -> (in `first`, in `second`); None for what one of them lacks."""
    a, b = fields(first), fields(second)
    return {path: (a.get(path), b.get(path)) for path in sorted(a.keys() | b.keys())
            if a.get(path) != b.get(path) and path != "title"}

"""Keys of scenarios, settings of databases and eras, for docs/scenarios.md: from the classes that read them."""
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from model.zfs import eras
from study.commands.documentation.markdown import table
from study.machines import conf, not_simulated, scenario, settings_without_effect
from study.machines import database as scenario_database
from study.machines import storage as scenario_storage
from study.predictions import storage_steps
from study.project import ROOT

SECTIONS = (
    ("top of the file", scenario.Scenario), ("[host]", scenario.Host), ('[files], kind = "zfs"', scenario_storage.Zfs),
    ('[files], kind = "zvol"', scenario_storage.Zvol), ('[files], kind = "ufs"', scenario_storage.Ufs),
    ("[pool], [log_pool]", scenario_storage.Pool),
    ("[pool.data], [pool.log], [pool.cache], [log_pool.data]", scenario_storage.Devices),
    ('[database], kind = "postgres"', scenario_database.Postgres),
    ("[database.script]", scenario_database.Script), ('[database], kind = "innodb"', scenario_database.Innodb),
    ('[database], kind = "oracle"', scenario_database.Oracle),
    ("[dedup], for study advise alone", storage_steps.Dedup), ("[lun], for study advise alone", storage_steps.Lun))


def examples() -> str:
    """The table of scenarios in `data/scenarios`."""
    folder = ROOT / "data" / "scenarios"
    return table(("in `data/scenarios`", "what it is"),
                 [(f"`{path.stem}`", scenario.read(path).title) for path in sorted(folder.glob("*.toml"))])


def sections() -> str:
    """A table for each section: key, values, default, and what stands below the field."""
    lines = []
    for title, section in SECTIONS:
        rows = [(f"`{name}`", _values(field), _default(field), _what(name, field))
                for name, field in section.by_key().items() if section.__base__ is scenario.Section or field.alias
                or name == "kind"]
        lines += [f"## {title}", "", " ".join((section.__doc__ or "").split()), "",
                  table(("key", "values", "default", "what it is"), rows), ""]
    return "\n".join(lines[:-1])


def settings() -> str:
    """What `[database.conf]` may hold, by database."""
    lines = []
    for database, (file, known) in conf.KNOWN.items():
        rows = [(f"`{name}`", _setting(name, values)) for name, values in sorted(known.items())]
        lines += [f"### {database} ({file})", "", table(("setting", "values"), rows), ""]
    left_out = [(database, why, len(of_it), ", ".join(f"`{name}`" for name in of_it[:4]))
            for database, names in settings_without_effect.NAMES.items() for why in dict.fromkeys(names.values())
            if (of_it := [name for name, reason in names.items() if reason == why])]
    return "\n".join([*lines, table(("database", "taken without effect, since", "settings", "such as"), left_out)])


def names_of_eras() -> str:
    """All builds that a scenario may name, as a block of text."""
    return "\n".join(["```text", ", ".join(eras.ERAS), "```"])


def eras_by_version() -> str:
    """Which era a scenario has that leaves it out."""
    of_freebsd, of_linux = scenario.ERAS_OF_FREEBSD, scenario.ERAS_OF_LINUX
    return table(("database", "from version", "on FreeBSD", "else"), [
        (name, ".".join(map(str, first)) if isinstance(first, tuple) else first,
         of_freebsd[kind].get(first, "as before"), of_linux[kind].get(first, "as before"))
        for kind, name in (("postgres", "PostgreSQL"), ("innodb", "MySQL"), ("mariadb", "MariaDB"))
        for first in sorted({*of_freebsd[kind], *of_linux[kind]})])


def mariadb() -> str:
    """Which release of MySQL stands for which of MariaDB."""
    own, releases = dict(not_simulated.OF_MARIADB), dict(not_simulated.MARIADB)
    return table(("MariaDB from version", "taken as MySQL", "its own defaults"), [
        (".".join(map(str, first)), releases.get(first, "as before"),
         ", ".join(f"`{name} = {value}`" for name, value in own.get(first, {}).items()) or "–")
        for first in sorted({*releases, *own})])


def _what(name: str, field: FieldInfo) -> str:
    return field.description or ("which kind it is" if name == "kind" else "see its own section")


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required" if field.default_factory is None else "empty"
    default = field.default
    if isinstance(default, scenario.Section):
        return "as below"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str):
        return f"`{default}`" if default else "–"
    return "–" if default is None else f"{default:g}" if isinstance(default, float) else str(default)


def _values(field: FieldInfo) -> str:
    """What a field may be, in words: choices, bounds, kind."""
    kinds, bounds = _kinds(field.annotation), [*field.metadata, *_bounds(field.annotation)]
    low = next((f"from {bound.ge:g}" if isinstance(bound, Ge) else f"above {bound.gt:g}" for bound in bounds
                if isinstance(bound, Ge | Gt)), "")
    high = next((f"to {bound.le:g}" if isinstance(bound, Le) else f"below {bound.lt:g}" for bound in bounds
                 if isinstance(bound, Le | Lt)), "")
    return " ".join(filter(None, (", ".join(dict.fromkeys(kinds)), low, high)))


def _kinds(annotation: Any) -> list[str]:
    origin = get_origin(annotation)
    if origin is Literal:
        return [f"`{choice}`" for choice in get_args(annotation)]
    if origin is Annotated:
        return _kinds(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [kind for part in get_args(annotation) if part is not type(None) for kind in _kinds(part)]
    words = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    return [words.get(annotation, "section")]


def _bounds(annotation: Any) -> list:
    """Of what is annotated within a union."""
    bounds = [bound for part in get_args(annotation) if get_origin(part) is Annotated for bound in part.__metadata__]
    return [each for bound in bounds for each in (bound, *getattr(bound, "metadata", ()))]


def _setting(name: str, setting: conf.Setting) -> str:
    if setting.kind == "switch":
        return "on, off"
    if setting.kind == "choice":
        legal = ", ".join(f"`{word}`" for word in conf.LEGAL.get(name, ()))
        return ", ".join(f"`{choice}`" for choice in setting.choices) + (f"; not simulated: {legal}" if legal else "")
    words = {"size": "size", "time": "time", "number": "number", "whole": "whole number"}[setting.kind]
    bare = f"; a bare number counts {setting.unit}" if setting.unit and setting.unit not in ("B", "s") else ""
    return f"{words} {conf.bounds_in_words(setting)}{bare}"

"""Settings of databases by their own names and in their own units: `postgresql.conf` and `my.cnf`.

    conf.check("postgres", {"shared_buffers": "2GB", "checkpoint_timeout": "15min"})
    conf.size("2GB"), conf.seconds("15min", default="s"), conf.switch("off")

A name that the simulator does not know is an error, not ignored: a prediction without it would be of another server.
Units: PostgreSQL's documentation, "Setting Parameters" (kB, MB, GB, TB are powers of 1024; us, ms, s, min, h, d).
MySQL's manual, "Using Options to Set Program Variables" (K, M, G).
"""
import re
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from study import errors
from study.machines import settings_without_effect

BYTES = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
ON, OFF = ("on", "true", "yes", "1"), ("off", "false", "no", "0")
NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*")
BARE = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")


class Setting(NamedTuple):
    """What a setting may be: a kind, the unit of a bare number, and bounds or choices in the unit of the kind."""
    kind: str               # size (B), time (s), number, whole, switch, choice
    unit: str = ""
    low: float = 0
    high: float = 2**50
    choices: tuple[str, ...] = ()


POSTGRES = {
    "shared_buffers": Setting("size", "8K", 16 * 8192), "wal_buffers": Setting("size", "8K", 4 * 8192, 2**31),
    "full_page_writes": Setting("switch"), "fsync": Setting("switch"),
    "synchronous_commit": Setting("choice", choices=("on", "off", "local")),
    "wal_sync_method": Setting("choice", choices=("open_datasync", "fdatasync", "fsync", "open_sync", "fsync_writethrough")),
    "wal_compression": Setting("choice", choices=("off", "on", "pglz", "lz4", "zstd")),
    "commit_delay": Setting("time", "us", 0, 0.1), "commit_siblings": Setting("whole", "", 0, 1000),
    "wal_writer_delay": Setting("time", "ms", 0.001, 10),
    "checkpoint_timeout": Setting("time", "s", 30, 86400), "checkpoint_segments": Setting("whole", "", 1, 100_000),
    "max_wal_size": Setting("size", "M", 2 * 2**24), "checkpoint_completion_target": Setting("number", "", 0, 1),
    "bgwriter_delay": Setting("time", "ms", 0.01, 10), "bgwriter_lru_maxpages": Setting("whole", "", 0, 1000),
    "bgwriter_lru_multiplier": Setting("number", "", 0, 10),
}
INNODB = {
    "innodb_buffer_pool_size": Setting("size", "B", 5 * 2**20), "innodb_log_file_size": Setting("size", "B", 2**20),
    "innodb_log_files_in_group": Setting("whole", "", 1, 100), "innodb_log_buffer_size": Setting("size", "B", 2**18),
    "innodb_flush_log_at_trx_commit": Setting("choice", choices=("0", "1", "2")), "innodb_doublewrite": Setting("switch"),
    "innodb_io_capacity": Setting("whole", "", 100, 10**6), "innodb_max_dirty_pages_pct": Setting("number", "", 0, 100),
    "innodb_thread_concurrency": Setting("whole", "", 0, 1000), "innodb_write_io_threads": Setting("whole", "", 1, 64),
    "innodb_adaptive_flushing": Setting("switch"), "log_bin": Setting("switch"),
    "innodb_io_capacity_max": Setting("whole", "", 100, 10**6), "sync_binlog": Setting("whole", "", 0, 10**6),
    "innodb_max_dirty_pages_pct_lwm": Setting("number", "", 0, 99.99), "innodb_flush_neighbors": Setting("whole", "", 0, 2),
    "innodb_adaptive_flushing_lwm": Setting("number", "", 0, 70), "innodb_lru_scan_depth": Setting("whole", "", 100, 10**6),
    "innodb_change_buffering": Setting("choice", choices=("all", "none")),
    "innodb_redo_log_capacity": Setting("size", "B", 2**23), "innodb_buffer_pool_instances": Setting("whole", "", 1, 64),
}
# Other spellings of values that are simulated. Without a standby, which is refused, remote_… waits for this server alone.
_SWITCHES = dict.fromkeys(("true", "yes", "1"), "on") | dict.fromkeys(("false", "no", "0"), "off")
SAME = {"synchronous_commit": _SWITCHES | dict.fromkeys(("remote_apply", "remote_write"), "on"),
        "wal_compression": _SWITCHES, "innodb_doublewrite": {"detect_and_recover": "on"},
        "innodb_change_buffering": {"5": "all", "0": "none"}}
PREFIX = re.compile(r"(skip|disable|enable)_(\w+)")
LEGAL = {"innodb_change_buffering": ("inserts", "deletes", "changes", "purges"),     # beside what is simulated
         "innodb_doublewrite": ("detect_only",)}
ORACLE = {       # redo_log_size and redo_log_groups are no parameters there, but of the redo log's files
    "db_cache_size": Setting("size", "B", 2**22), "db_writer_processes": Setting("whole", "", 1, 100),
    "redo_log_size": Setting("size", "B", 2**22), "redo_log_groups": Setting("whole", "", 2, 255),
}
KNOWN = {"postgres": ("postgresql.conf", POSTGRES), "innodb": ("my.cnf", INNODB), "oracle": ("init.ora", ORACLE)}


def check(database: str, conf: dict) -> dict:
    """`conf` in base units (B, s, numbers, True or False, words). Raises ValueError, one sentence, on all names and values
    that are wrong."""
    file, known = KNOWN[database]
    conf = {name: value for name, value in conf.items()
            if not unfelt(database, name) and not settings_without_effect.is_as_simulated(name, value)}
    values: dict[str, Any] = {}
    complaints = []
    if wrong := [name for name in conf if name not in known]:
        complaints.append(f"{file} has no setting {_and_nearest(wrong[0], known)}" + "".join(
            f"; nor {_and_nearest(name, known)}" for name in wrong[1:]))
    for name, value in conf.items():
        if name not in known:
            continue
        try:
            values[name] = _value(name, known[name], value)
        except ValueError as error:
            complaints.append(str(error))
    if complaints:
        raise ValueError("; ".join(complaints))
    return _with_log_files(values)


def _with_log_files(values: dict) -> dict:
    """The redo log as two files, which is what a capacity and a single file are taken as; beside a capacity MySQL does
    not heed sizes of files."""
    if (capacity := values.pop("innodb_redo_log_capacity", None)) is None:
        if values.get("innodb_log_files_in_group") != 1:
            return values
        if (capacity := values.get("innodb_log_file_size")) is None:
            raise ValueError("innodb_log_files_in_group is 1, so that the log is one file of a size that is left out; give "
                             "innodb_log_file_size too")
    return values | {"innodb_log_file_size": capacity / 2, "innodb_log_files_in_group": 2}


def as_written(database: str, conf: dict) -> dict:
    """`conf` in the names and values of this page, from those of real files. These have a dash for _ and `loose_` in my.cnf,
    the name of a log for log_bin, and `-1` for wal_buffers. That is what the server chooses itself."""
    made: dict[str, Any] = {}
    for raw, given in conf.items():
        name, value = (raw.lower(), given) if database == "postgres" else _without_prefix(raw, given)
        word = _word(value)
        if database == "postgres" and name == "wal_buffers" and word == "-1":
            made.pop(name, None)
        elif name == "log_bin" and word not in (*ON, *OFF):
            made[name] = "on"
        else:
            made[name] = SAME.get(name, {}).get(word, value)
    return made


def _without_prefix(name: str, value: object) -> tuple[str, object]:
    """An option of my.cnf by its variable: skip_, disable_ and enable_ turn it off or on, and the other way with `=0`
    (MySQL's manual, "Program Option Modifiers"). Some variables begin so themselves, as skip_name_resolve."""
    written = name.lower().replace("-", "_")
    name = written.removeprefix("loose_")
    if name != written and not is_known("innodb", name) and PREFIX.fullmatch(name) is None:
        return written, value
    match = PREFIX.fullmatch(name)
    if match is None or name in settings_without_effect.NEAREST:
        return name, value
    prefix, bare = match.groups()
    is_switch = bare in INNODB and INNODB[bare].kind == "switch"
    if not is_switch and (prefix == "skip" or not (bare in settings_without_effect.NEAREST or unfelt("innodb", bare))):
        return name, value
    return bare, "on" if (prefix == "enable") != (_word(value) in ("0", "off", "false", "no")) else "off"


def split(database: str, shown: dict[str, str]) -> tuple[dict[str, str], int]:
    """Of what a server shows, the settings that are known here, and how many others there are: all names are genuine."""
    known = {name: value for name, value in shown.items() if is_known(database, name.lower())}
    return known, len(shown) - len(known)


def is_known(database: str, name: str) -> bool:
    """Whether a setting is simulated, or known to have no effect here."""
    return name in KNOWN[database][1] or name in settings_without_effect.NEAREST or bool(unfelt(database, name))


def unfelt(database: str, name: str) -> str:
    """Why a setting has no effect here; "" if it has, or is not known."""
    return "" if name in KNOWN[database][1] else settings_without_effect.why(database, name)


def _and_nearest(name: str, known: dict) -> str:
    """A name that is not simulated, and what to do."""
    return f"'{name}' that is simulated; " + (settings_without_effect.NEAREST.get(name) or errors.meant(
        name, sorted(known), "leave it out, or look in docs/scenarios.md for those that are"))


def _value(name: str, setting: Setting, value: object) -> float | bool | str:
    if _word(value) in LEGAL.get(name, ()):
        raise ValueError(f"{name} is '{value}', which is legal but not simulated; simulated are "
                         f"{' and '.join(setting.choices or ('on', 'off'))}, so choose the nearer one in [database.conf]")
    if setting.kind == "number" and BARE.fullmatch(str(value)) and is_too_small(str(value)):
        raise ValueError(f"{name} is {value}, which is too small to be read; choose one {bounds_in_words(setting)}")
    try:
        read = _READERS[setting.kind](value, setting)
    except (ValueError, TypeError):
        raise ValueError(f"{name} is '{value}', which is {_WORDS[setting.kind]}; write it like "
                         f"{_LIKE[setting.kind] or setting.choices[0]}") from None
    if setting.kind == "choice" and read not in setting.choices:
        raise ValueError(f"{name} is '{value}', but the choices are {', '.join(setting.choices)}; take one of these")
    if setting.kind not in ("choice", "switch") and not setting.low <= read <= setting.high:
        raise ValueError(f"{name} is {value}, but must be {bounds_in_words(setting)}; choose one in that range")
    return read


def bounds_in_words(setting: Setting) -> str:
    """From the least to the most of a number, a time or a size; no most where only memory or disks set it."""
    low, high = (_size_in_words(end) if setting.kind == "size" else f"{end:.7g}{' s' * (setting.kind == 'time')}"
                 for end in (setting.low, setting.high))
    return f"from {low}" + ("" if setting.high >= 2**50 else f" to {high}")


def _size_in_words(n_bytes: float) -> str:
    unit, name = next((unit, name) for unit, name in ((2**30, "GB"), (2**20, "MB"), (2**10, "kB")) if n_bytes >= unit)
    return f"{n_bytes / unit:g}{name}"


def size(text: object, unit: str = "B") -> float:
    """Bytes of 2GB, 64kB, 8192; a bare number counts `unit`s, such as 8K."""
    number, written = _parts(text)
    letter = written.upper().rstrip("B") or ("B" if written else "")
    if letter:
        return number * BYTES[letter] if letter in BYTES else _refuse()
    count, letter = _parts(unit if unit[0].isdigit() else f"1{unit}")
    return number * count * BYTES[letter]


def seconds(text: object, unit: str = "s") -> float:
    """A time of a setting [s]; `unit` is that of a bare number."""
    number, written = _parts(text)
    return number * SECONDS[written or unit] if (written or unit) in SECONDS else _refuse()


def number(written: object) -> float:
    """A number of a setting, with digits alone. ValueError for what is none."""
    return float(str(written)) if BARE.fullmatch(str(written)) else _refuse()


def is_too_small(written: str) -> bool:
    """Whether the number that is written becomes 0 though it is none."""
    return float(written) == 0 and re.search("[1-9]", re.split("[eE]", written)[0]) is not None


def switch(value: object) -> bool:
    """A setting that is on or off, in any of the words for it."""
    word = str(value).lower()
    return True if word in ON else False if word in OFF else _refuse()


def _parts(text: object) -> tuple[float, str]:
    if isinstance(text, bool):
        return _refuse()
    match = NUMBER.fullmatch(str(text))
    return (float(match[1]), match[2]) if match else _refuse()


def _refuse() -> NoReturn:
    raise ValueError


def _word(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value).lower()


_READERS: dict[str, Callable[[Any, Setting], Any]] = {
    "size": lambda value, setting: size(value, setting.unit),
    "time": lambda value, setting: seconds(value, setting.unit),
    "number": lambda value, _: number(value),
    "whole": lambda value, _: int(str(value)) if WHOLE.fullmatch(str(value)) else _refuse(),
    "switch": lambda value, _: switch(value),
    "choice": lambda value, _: _word(value),
}
_WORDS = {"size": "no size", "time": "no time", "number": "no number", "whole": "no whole number",
          "switch": "neither on nor off", "choice": "no word"}
_LIKE = {"size": "64MB", "time": "30s", "number": "0.5", "whole": "8", "switch": "on", "choice": ""}

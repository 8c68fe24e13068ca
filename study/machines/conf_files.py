"""Settings out of a database's own file, or of what it shows of itself.

    conf_files.read(path)       Settings of postgresql.conf, my.cnf, SHOW ALL, SHOW VARIABLES and the forms below

    shared_buffers = 2GB        # postgresql.conf; the sign of equality may be left out
    [mysqld]                    my.cnf: only sections of the server are read
    skip-log-bin                my.cnf: a name alone is on
    ALTER SYSTEM SET name = 'x';    statements: study/machines/conf_statements.py
    docker run … -c name=x      a command, or options of a server: study/machines/conf_command.py
    - -c name=x                 the same as a list, one a line
    command: …, parameters: …   of a compose file, an operator, a role of Ansible: study/machines/conf_yaml.py
    name | setting | …          psql, aligned or not; a table of mysql, with bars at both ends or of tabs
    -[ RECORD 1 ]               psql's \\x, and mysql's \\G: a line for each column

The last of several values of a name counts, as it does for the servers. Files that are included are not read: their lines
stay in what is returned, as `include_dir`, so that they are named.
"""
import re
from pathlib import Path
from typing import NamedTuple

from study import errors, given_files
from study.errors import UserError
from study.machines import conf_command, conf_statements, conf_yaml
from study.machines.conf_statements import VALUE
from study.pools import pasted

SECTION = re.compile(r"\[([\w.-]+)\]")
OF_SERVER = re.compile(r"(?:mysqld|mariadbd?|server|galera)(?:-[\d.]+)?", re.IGNORECASE)
LINE = re.compile(rf"(?P<name>[A-Za-z][\w.-]*)(?:(?:\s*=\s*|\s+)(?P<value>{VALUE}))?\s*(?:[#;].*)?")
OPTION = re.compile(
    r"""["']?(?:-c\s*["']?|--)(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>'[^']*'|"[^"]*"|[^\s"'\\]+))?["']?\s*\\?""")
ITEM = re.compile(r"""-\s+(?P<text>.*)""")        # of a list of YAML
IN_LIST = re.compile(r"""["']?(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>[^"']*))?["']?""")
COMMAND = re.compile(r"""(?![a-z][\w.-]*\s*=)(?!--\s).*(?:^|[\s"'=])(?:-c\s*["']?\w|--\w)""")
COMMENT = re.compile(r"\s[#;].*")
MARK = re.compile(r"""["']?-c["']?""")            # its setting is the next item
ROW = re.compile(r"\|? *(?P<name>[A-Za-z][\w.]*) *(?:\||\t) *(?!=)(?P<value>[^|\t]*?) *(?:[|\t].*)?")
CONTINUED = re.compile(r"\|? *[|\t] *(?P<value>[^|\t]*?) *(?:[|\t].*)?")
AROUND = re.compile(r"\s*(?:[-+|]+\s*$|\(?\d+ rows|(?:mysql|MariaDB|\w+[=#]).*>)")     # rules, prompts, a count of rows
EXPANDED = re.compile(r"\+?-\[ RECORD \d+ \]|\*{5,} *\d+\. row \*{5,}")      # psql's \\x, mysql's \\G
FIELD = re.compile(r"\s*(?P<name>\w+)\s*[|:] ?(?P<value>.*?)\s*\|?")
HEADS = {"name", "variable_name", "variable"}
VALUES = {"setting", "value", "variable_value"}
HAS_UNIT = re.compile(r"(?P<value>-?\d+) (?P<unit>\d*(?:kB|MB|B|us|ms|s|min))")      # in the cell of the value
# What tools of ZFS print and take, by a line of it: what it is, and where a scenario has that.
OF_ZFS = (
    (r"options\s+(?:zfs|spl)\s", "parameters of ZFS's module", "[files] has arc_max_mib for zfs_arc_max, in MiB, prefetch "
     "and nocacheflush"),
    (r"NAME\s+PROPERTY\s+VALUE\s+SOURCE", "properties that `zfs get` prints", "[files] has record_kib for recordsize, "
     "compress_ratio, primarycache, logbias and sync"),
    (r"NAME\s+SIZE\s+ALLOC\s+FREE\b", "what `zpool list` prints", "[pool] has fill for CAP and fragmentation for FRAG"),
    (r"\s*state: (?:ONLINE|DEGRADED|FAULTED|OFFLINE|UNAVAIL|REMOVED|SUSPENDED)\s*$", "what `zpool status` prints",
     "[pool.data], [pool.log] and [pool.cache] have the devices"),
)
WITH_UNIT = re.compile(r"(\d*)(kB|MB|B|us|ms|s|min)")      # of pg_settings
FEWEST = 3      # rows of a table, below which it is none


class Settings(NamedTuple):
    """`values` as they are written, by name. `is_of_server`: a server showed them, so that all names are genuine."""
    values: dict[str, str]
    is_of_server: bool


def read(path: Path) -> Settings:
    """UserError, one sentence, for a file that is none of these, with all lines that cannot be read."""
    given_files.refuse_endless(path, given_files.TEXT)
    try:
        lines = pasted.read(path, "SHOW ALL", has_comments=True).splitlines()
    except OSError as error:
        raise UserError(str(errors.of_the_system(error))) from None
    _refuse_zfs(lines, path)
    if any(map(EXPANDED.match, lines)):
        return Settings(_of_records(lines, path), True)
    try:
        of_yaml = conf_yaml.settings("\n".join(lines), lambda block: _of_lines(block.splitlines(), path))
    except ValueError as error:
        raise UserError(f"{path.name} {error}") from None
    if of_yaml is not None:
        return Settings(of_yaml, False)
    filled = [line.rstrip(" ") for line in lines if line.strip() and not AROUND.match(line)]
    rows = [match for line in filled if (match := ROW.fullmatch(line))]
    if len(rows) >= FEWEST and len(rows) * 2 > len(filled):
        has_bars = any("|" in row[0] for row in rows)
        return Settings(_of_rows(filled, path), has_bars or rows[0]["name"].lower() in HEADS)
    return Settings(_of_lines(lines, path), False)


def _refuse_zfs(lines: list[str], path: Path) -> None:
    for pattern, what, instead in OF_ZFS:
        if any(re.match(pattern, line) for line in lines):
            raise UserError(f"{path.name} has {what}, and no settings of a database; leave conf_file out, and write them "
                            f"into the scenario: {instead}")


def _of_rows(lines: list[str], path: Path) -> dict[str, str]:
    """Settings out of a table. Its head, if there is one, says which columns are name, value and unit."""
    settings: dict[str, str] = {}
    head: list[str] = []
    last = ""
    for line in lines:
        cells = [cell.strip() for cell in re.split(r"[|\t]", line.removeprefix("|"))]
        if HEADS & (words := {cell.lower() for cell in cells}) and (VALUES & words or not head):
            head = [cell.lower() for cell in cells]
            _refuse_without_values(head, path)
            continue
        name, value = _of_cells(head, cells, line)
        if name:
            last, settings[name] = name, value
        elif last and value and settings[last].endswith("+"):       # psql goes on in the next row
            settings[last] = f"{settings[last][:-1].rstrip()}\n{value}"
    return settings


def _refuse_without_values(head: list[str], path: Path) -> None:
    if not VALUES & set(head):
        raise UserError(f"{path.name} is a table with the columns {', '.join(filter(None, head))}, of which none is the "
                        "value; give what SHOW ALL or SHOW VARIABLES prints")


def _of_cells(head: list[str], cells: list[str], line: str) -> tuple[str, str]:
    """Name and value of a row; no name where it goes on with the one before, or is none."""
    if head:
        of = dict(zip(head, cells, strict=False))
        name, value = (next((of[key] for key in head if key in keys and key in of), "") for keys in (HEADS, VALUES))
        return name, _with_unit(value, of.get("unit", ""))
    if row := ROW.fullmatch(line):
        return row["name"], row["value"]
    more = CONTINUED.fullmatch(line)
    return "", more["value"] if more else ""


def _with_unit(value: str, unit: str) -> str:
    """As postgresql.conf has it: 16384 of 8kB are 131072kB."""
    if not unit and (written := HAS_UNIT.fullmatch(value)):
        value, unit = written["value"], written["unit"]
    match = WITH_UNIT.fullmatch(unit)
    return f"{int(value) * int(match[1] or 1)}{match[2]}" if match and value.isdigit() else value


def _of_records(lines: list[str], path: Path) -> dict[str, str]:
    """Settings out of records with a line for each column."""
    settings: dict[str, str] = {}
    records: list[dict[str, str]] = []
    for line in lines:
        if EXPANDED.match(line):
            records.append({})
        elif records and (field := FIELD.fullmatch(line)):
            records[-1].setdefault(field["name"].lower(), field["value"])
    for record in records:
        name = next((record[key] for key in HEADS if key in record), None)
        value = next((record[key] for key in VALUES if key in record), None)
        if name is None or value is None:
            raise UserError(f"{path.name} has a record without a name or without a value, so it is cut or of something "
                            "else. Give what SHOW ALL or SHOW VARIABLES prints")
        settings[name] = _with_unit(value, record.get("unit", ""))
    return settings


def _of_lines(lines: list[str], path: Path) -> dict[str, str]:
    settings: dict[str, str] = {}
    wrong: list[str] = []
    is_of_server = True
    commands = []       # lines with a command of a server
    for n, text in conf_command.joined(lines):
        line = text.strip()
        if not line or line[0] in "#;" or line.startswith("-- ") or line == "--":
            continue
        if line[0] == "!":
            settings[line[1:].split()[0]] = line
        elif section := SECTION.fullmatch(line):
            is_of_server = bool(OF_SERVER.fullmatch(section[1]))
        elif is_of_server:
            try:
                commands += [n] * _take(settings, line)
            except ValueError as error:
                wrong.append(f"line {n} '{line[:60]}' {error}".rstrip())
    if wrong:
        raise UserError(f"{path.name} has lines that are no settings: {', '.join(wrong)}; mend them, or leave them out")
    if len(commands) > 1:
        raise UserError(f"{path.name} has commands of several servers, in lines {', '.join(map(str, commands))}; give "
                        "that of the database alone")
    if not settings:
        raise UserError(f"{path.name} has no setting; give postgresql.conf, my.cnf, or what SHOW ALL prints")
    return settings


def _take(settings: dict[str, str], line: str) -> bool:
    """Put what a line sets into `settings`. Whether it is a command of a server. ValueError for a line that sets nothing,
    with a part of a sentence or without."""
    item = ITEM.fullmatch(line)
    text = item["text"] if item else line
    if item and MARK.fullmatch(text):
        return False
    if not item and conf_statements.is_of(line):
        conf_statements.apply(settings, line)
        return False
    match = OPTION.fullmatch(text)
    command = COMMENT.sub("", text)
    if match is None and not item and COMMAND.match(command) and (made := conf_command.of_line(command)):
        settings |= made
        return not command.startswith("-")
    match = match or (IN_LIST if item else LINE).fullmatch(text)
    if match is None:
        raise ValueError("")
    settings.pop(match["name"], None)       # the last counts, also among spellings of one name
    settings[match["name"]] = conf_statements.value_of(match["value"] or "")
    return False

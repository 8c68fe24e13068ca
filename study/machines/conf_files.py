"""Settings out of a database's own file, or of what it shows of itself.

    conf_files.read(path)       Settings of postgresql.conf, my.cnf, SHOW ALL, SHOW VARIABLES and the forms below

    shared_buffers = 2GB        # postgresql.conf; the sign of equality may be left out
    [mysqld]                    my.cnf: only sections of the server are read
    skip-log-bin                my.cnf: a name alone is on
    ALTER SYSTEM SET name = 'x';    statements: study/machines/conf_statements.py
    docker run … -c name=x      a command, or options of a server: study/machines/conf_command.py
    - -c name=x                 the same as a list, one a line
    command: …, parameters: …   of a compose file, an operator, a role of Ansible: study/machines/conf_yaml.py
    name | setting | …          psql, aligned or not; a table of mysql, with bars at both ends or of tabs; of Markdown
    name,setting,unit           exports of such rows, also as JSON: study/machines/conf_rows.py
    psql -c "ALTER SYSTEM …"    a command of a client
    ```                         a block of code of Markdown: what stands around it is passed over
    -[ RECORD 1 ]               psql's \\x, and mysql's \\G: a line for each column

The last of several values of a name counts, as it does for the servers. Files that are included are not read: their lines
stay in what is returned, as `include_dir`, so that they are named.
"""
import re
from pathlib import Path

from study import errors, given_files
from study.errors import UserError
from study.machines import conf_command, conf_rows, conf_statements, conf_yaml
from study.machines.conf_rows import Settings
from study.machines.conf_statements import VALUE
from study.pools import pasted

SECTION = re.compile(r"\[([\w.-]+)\]")
OF_SERVER = re.compile(r"(?:mysqld|mariadbd?|server|galera)(?:-(?P<version>\d+\.\d+)[\d.]*)?", re.IGNORECASE)
OF_SYSTEMD = "service"          # a section of a unit, whose commands alone are read
STARTS = re.compile(r"ExecStart\s*=|Environment\s*=")
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
EXPANDED = re.compile(r"\+?-\[ RECORD \d+ \]|\*{5,} *\d+\. row \*{5,}")      # psql's \\x, mysql's \\G
FIELD = re.compile(r"\s*(?P<name>\w+)\s*[|:] ?(?P<value>.*?)\s*\|?")
SHOWN = re.compile(r"^ *(\w[\w.]*) *\n *-+ *\n(?! *-+ *\n) *(.*?) *\n *\(1 row\)", re.MULTILINE)     # of SHOW name in psql
FENCE = re.compile(r"\s*(?:```|~~~)\s*\w*\s*")       # of Markdown
RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")     # below the head of a table of Markdown
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
# Other files with settings in them, by a line.
NOT_READ = (
    (r"\s*(?:services\.(?:postgresql|mysql)\b|\{ *(?:config|pkgs|lib)\b.*\}:)", "an expression of Nix"),
    (r"\s*(?:resource|module|provider)\s+\"|\s*(?:parameters?|database_flags|configuration)\s*\{\s*$", "HCL of Terraform"),
    (r"\s*(?:class\s*\{\s*'|(?:postgresql|mysql)::server)", "a manifest of Puppet"),
    (r"\s*<(?:!DOCTYPE|\?xml|html|table|tr|td|div)\b", "HTML or XML"),
    (r"(?!\s*#)[^<]*<<-?\s*['\"]?[A-Za-z]+['\"]?\s*$", "a script that writes settings into a file"),
    (r"\s*(?:sudo\s+)?(?:sed|awk|perl)\s+-", "a script that edits a file of settings"),
)
FEWEST = 3      # rows of a table, below which it is none


def read(path: Path, version: object = None) -> Settings:
    """UserError, one sentence, for a file that is none of these, with all lines that cannot be read. `version` is the
    server's: sections of my.cnf for other ones are left out."""
    given_files.refuse_endless(path, given_files.TEXT)
    try:
        lines = pasted.read(path, "SHOW ALL", has_comments=True).splitlines()
    except OSError as error:
        raise UserError(str(errors.of_the_system(error))) from None
    _refuse_zfs(lines, path)
    lines = _within_fences(lines, path)
    if any(map(EXPANDED.match, lines)):
        return Settings(_of_records(lines, path), True)
    text = "\n".join(lines)
    if SHOWN.search(text):
        return Settings(_of_lines(SHOWN.sub(_as_line, text).splitlines(), path, version), True)
    try:
        of_rows = conf_rows.of_csv(text) or conf_rows.of_json(text)
        of_yaml = None if of_rows else conf_yaml.settings(text, lambda block: _of_lines(block.splitlines(), path, version))
    except ValueError as error:
        raise UserError(f"{path.name} {error}") from None
    if of_rows:
        return of_rows
    if of_yaml is not None:
        return Settings(of_yaml, False)
    is_typed = any(map(RULE.fullmatch, lines))
    filled = _of_markdown(lines) if is_typed else [line.rstrip(" ") for line in lines
                                                   if line.strip() and not conf_rows.AROUND.match(line)]
    rows = [match for line in filled if (match := ROW.fullmatch(line))]
    is_headed = bool(filled) and conf_rows.is_head(_cells(filled[0].lower()))
    if (len(rows) >= FEWEST or is_headed or is_typed) and len(rows) * 2 > len(filled):
        has_bars = any("|" in row[0] for row in rows)
        is_shown = conf_rows.is_of_server(_cells(filled[0].lower())) if is_headed else has_bars
        return Settings(_of_rows(filled, path, is_typed), not is_typed and is_shown)
    _refuse_others(lines, path)
    return Settings(_of_lines(lines, path, version), False)


def _within_fences(lines: list[str], path: Path) -> list[str]:
    """Of Markdown the lines of its block of code, the others empty."""
    fences = [n for n, line in enumerate(lines) if FENCE.fullmatch(line)]
    if not fences:
        return lines
    first, last, *more = [*fences, len(lines)] if len(fences) == 1 else fences
    if more:
        raise UserError(f"{path.name} has several blocks of code; give that with the settings alone")
    outside = [line for n, line in enumerate(lines) if not first <= n <= last]
    if any(map(conf_yaml.OF_A_BLOCK.match, outside)):
        raise UserError(f"{path.name} has settings inside and outside its block of code; give the settings alone")
    return [line if first < n < last else "" for n, line in enumerate(lines)]


def _of_markdown(lines: list[str]) -> list[str]:
    """Rows of a table, without marks of words."""
    return [re.sub(r"[`*]", "", line).strip() for line in lines if line.strip() and not RULE.fullmatch(line)]


def _as_line(shown: re.Match[str]) -> str:
    """What SHOW has printed as a line of postgresql.conf, and empty ones for the others."""
    value = shown[2].replace("'", "''")
    return f"{shown[1]} = '{value}'" + "\n" * shown[0].count("\n")


def _refuse_others(lines: list[str], path: Path) -> None:
    for pattern, what in NOT_READ:
        if any(re.match(pattern, line) for line in lines):
            raise UserError(f"{path.name} is {what}, which is not read; write its settings into [database.conf], or give "
                            "what SHOW ALL or SHOW VARIABLES prints")


def _refuse_zfs(lines: list[str], path: Path) -> None:
    for pattern, what, instead in OF_ZFS:
        if any(re.match(pattern, line) for line in lines):
            raise UserError(f"{path.name} has {what}, and no settings of a database; leave conf_file out, and write them "
                            f"into the scenario: {instead}")


def _of_rows(lines: list[str], path: Path, is_typed: bool) -> dict[str, str]:
    """Settings out of a table. Its head, if there is one, says which columns are name, value and unit. One that was typed
    has a head, and of two columns the second is the value."""
    settings: dict[str, str] = {}
    head: list[str] = []
    last = ""
    for n, line in enumerate(lines):
        cells = _cells(line)
        words = [cell.lower() for cell in cells]
        if is_typed and n == 0:
            head = ["name", "value"] if len(list(filter(None, words))) == 2 else words
            _refuse_without_values(head, path)
            _refuse_several_values(words, path)
            continue
        if conf_rows.is_head(words) or (not head and conf_rows.HEADS & set(words)):
            head = words
            _refuse_without_values(head, path)
            _refuse_several_values(head, path)
            continue
        name, value = _of_cells(head, cells, line)
        if name:
            last, settings[name] = name, value
        elif last and value and settings[last].endswith("+"):       # psql goes on in the next row
            settings[last] = f"{settings[last][:-1].rstrip()}\n{value}"
    return settings


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"[|\t]", line.rstrip(" ").removeprefix("|").removesuffix("|"))]


def _refuse_several_values(head: list[str], path: Path) -> None:
    try:
        conf_rows.refuse_several_values(head)
    except ValueError as error:
        raise UserError(f"{path.name} {error}") from None


def _refuse_without_values(head: list[str], path: Path) -> None:
    wanted = (("value", conf_rows.VALUES), ("name", conf_rows.HEADS))
    if absent := next((what for what, keys in wanted if not keys & set(head)), ""):
        raise UserError(f"{path.name} is a table with the columns {', '.join(filter(None, head))}, of which none is the "
                        f"{absent}; give what SHOW ALL or SHOW VARIABLES prints")


def _of_cells(head: list[str], cells: list[str], line: str) -> tuple[str, str]:
    """Name and value of a row; no name where it goes on with the one before, or is none."""
    if head:
        return conf_rows.of_cells(head, cells)
    if row := ROW.fullmatch(line):
        return row["name"], row["value"]
    more = CONTINUED.fullmatch(line)
    return "", more["value"] if more else ""


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
        if not conf_rows.is_head(list(record)):
            raise UserError(f"{path.name} has a record without a name or without a value, so it is cut or of something "
                            "else. Give what SHOW ALL or SHOW VARIABLES prints")
        name, value = conf_rows.of_cells(list(record), list(record.values()))
        settings[name] = value
    return settings


def _of_lines(lines: list[str], path: Path, version: object) -> dict[str, str]:
    settings: dict[str, str] = {}
    wrong: list[str] = []
    is_of_server, is_of_unit = True, False
    commands = []       # lines with a command of a server
    _refuse_versions(lines, path, version)
    for n, text in conf_command.joined(lines):
        line = text.strip()
        if not line or line[0] in "#;" or line.startswith("-- ") or line == "--":
            continue
        if line[0] == "!":
            settings[line[1:].split()[0]] = line
        elif section := SECTION.fullmatch(line):
            is_of_unit = section[1].lower() == OF_SYSTEMD
            is_of_server = is_of_unit or _is_read(section[1], version)
        elif is_of_server and (not is_of_unit or STARTS.match(line)):
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


def _is_read(section: str, version: object) -> bool:
    """Whether a server of that version reads a section: that of another version it does not."""
    match = OF_SERVER.fullmatch(section)
    return match is not None and match["version"] in (None, _short(version))


def _short(version: object) -> str:
    return ".".join(str(version).split(".")[:2])


def _refuse_versions(lines: list[str], path: Path, version: object) -> None:
    """A server reads the sections of its own version alone, and without `version` nobody has told which that is."""
    sections = [section for line in lines if (section := SECTION.fullmatch(line.strip()))]
    versions = {match["version"] for section in sections if (match := OF_SERVER.fullmatch(section[1])) and match["version"]}
    if version is None and versions:
        which = "several versions" if len(versions) > 1 else "a version"
        raise UserError(f"{path.name} has sections for {which}, {', '.join(sorted(versions))}; give version in "
                        "[database], and those of others are left out")


def _take(settings: dict[str, str], line: str) -> bool:
    """Put what a line sets into `settings`. Whether it is a command of a server. ValueError for a line that sets nothing,
    with a part of a sentence or without."""
    item = ITEM.fullmatch(line)
    text = item["text"] if item else line
    if item and MARK.fullmatch(text):
        return False
    if not item and (statements := conf_command.statements(line)):
        for statement in statements:
            conf_statements.apply(settings, statement)
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

"""Settings out of a database's own file, or of what it shows of itself.

    conf_files.read(path)       postgresql.conf, my.cnf, SHOW ALL, SHOW VARIABLES: name -> value as it is written

    shared_buffers = 2GB        # postgresql.conf; the sign of equality may be left out
    [mysqld]                    my.cnf: only sections of the server are read
    skip-log-bin                my.cnf: a name alone is on
    name | setting | …          psql, aligned or not; a table of mysql, with bars at both ends or of tabs

The last of several values of a name counts, as it does for the servers. Files that are included are not read: their lines
stay in what is returned, as `include_dir`, so that they are named.
"""
import re
from pathlib import Path

from study import errors, given_files
from study.errors import UserError
from study.pools import pasted

SECTION = re.compile(r"\[([\w.-]+)\]")
OF_SERVER = re.compile(r"(?:mysqld|mariadbd?|server|galera)(?:-[\d.]+)?", re.IGNORECASE)
VALUE = r"""'(?:[^']|'')*'|"[^"]*"|[^#;'"]*?"""
LINE = re.compile(rf"(?P<name>[A-Za-z][\w.-]*) *(?:=|(?<=\S)\s)? *(?P<value>{VALUE})\s*(?:[#;].*)?")
ROW = re.compile(r"\|? *(?P<name>[A-Za-z][\w.]*) *(?:\||\t) *(?P<value>[^|\t]*?) *(?:[|\t].*)?")
AROUND = re.compile(r"\s*(?:[-+|]+\s*$|\(?\d+ rows|(?:mysql|MariaDB|\w+[=#]).*>)")     # rules, prompts, a count of rows
HEADS = {"name", "variable_name", "variable"}
FEWEST = 3      # rows of a table, below which it is none


def read(path: Path) -> dict[str, str]:
    """UserError, one sentence, for a file that is none of these, with all lines that cannot be read."""
    given_files.refuse_endless(path, given_files.TEXT)
    try:
        lines = pasted.read(path, "SHOW ALL", has_comments=True).splitlines()
    except OSError as error:
        raise UserError(str(errors.of_the_system(error))) from None
    filled = [line.strip(" ") for line in lines if line.strip() and not AROUND.match(line)]
    rows = [match for line in filled if (match := ROW.fullmatch(line))]
    if len(rows) >= FEWEST and len(rows) * 2 > len(filled):
        return {row["name"]: row["value"] for row in rows if row["name"].lower() not in HEADS}
    return _of_lines(lines, path)


def _of_lines(lines: list[str], path: Path) -> dict[str, str]:
    settings, wrong, is_of_server = {}, [], True
    for n, line in enumerate(map(str.strip, lines), start=1):
        if not line or line[0] in "#;":
            continue
        if line[0] == "!":
            settings[line[1:].split()[0]] = line
        elif section := SECTION.fullmatch(line):
            is_of_server = bool(OF_SERVER.fullmatch(section[1]))
        elif is_of_server and (match := LINE.fullmatch(line)):
            settings[match["name"]] = _value(match["value"])
        elif is_of_server:
            wrong.append(f"line {n} '{line[:60]}'")
    if wrong or not settings:
        told = f"has lines that are no settings: {', '.join(wrong)}; mend them" if wrong else \
            "has no setting; give postgresql.conf, my.cnf, or what SHOW ALL prints"
        raise UserError(f"{path.name} {told}")
    return settings


def _value(written: str) -> str:
    """Without quotes; a name alone is on."""
    if written[:1] in "'\"" and written:
        return written[1:-1].replace("''", "'")
    return written or "on"

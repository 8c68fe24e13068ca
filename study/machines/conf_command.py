"""Options of a database server in a command, as shells, containers and units of a system have it.

    conf_command.of_words(["postgres", "-c", "fsync=off"])      what the options set; {} of another program
    conf_command.of_line("docker run -d postgres:17 -c fsync=off")
    conf_command.of_line("PGOPTIONS='-c fsync=off -c jit=off'")

An option is `-c name=value` or `--name=value`, also several in a string of their own. Sources: PostgreSQL's and MySQL's
manuals of their servers; docker-entrypoint.sh of their images, which puts the server before options that stand alone.
"""
import itertools
import re
import shlex
from collections.abc import Iterable, Iterator

from study.machines import conf, conf_statements, settings_without_effect

SERVERS = {"postgres", "postmaster", "mysqld", "mysqld_safe", "mariadbd", "mariadbd-safe"}
IMAGE = re.compile(r"(?:\S*/)?[\w.-]*(?:postg|pg|timescale|citus|mysql|maria|percona)[\w.-]*(?::[\w.-]+)?(?:@\S+)?")
CLIENTS = {"psql": ("-c", "--command"), "mysql": ("-e", "--execute"), "mariadb": ("-e", "--execute")}
CLIENT = re.compile(r"(?:^|.*\s)(?:\S*/)?(?:psql|mysql|mariadb)\s+.*-(?:c|e|-command|-execute)\b")
CONTAINER = re.compile(r"(?:^|.*\s)(?:\S*/)?(?:docker|podman|nerdctl|docker-compose)\s+(?:\S+\s+)?(?:run|create)\b")
SHELLS = {"sh", "bash", "ash", "dash"}
NAME = r"[A-Za-z][\w.-]*"
LONG = re.compile(rf"--(?P<name>{NAME})(?:=(?P<value>.*))?", re.DOTALL)
SHORT = re.compile(rf"(?P<name>{NAME})\s*=\s*(?P<value>.*)", re.DOTALL)
VARIABLE = re.compile(r"(?<!\$)\$\{?\w|\{\{")
SEVERAL = re.compile(r"\s(?:-c\s*\w|--\w)")
APART = {"&&", "||", ";", "|", "&"}       # commands of a shell stand on both sides
# A comment, or a name with its value: a backslash at its end is of a path, and does not join it with the next line.
ALONE = re.compile(r"\s*(?:[#;]|(?!(?:command|args):)[\w.-]+\s*[:=])")
OF_NO_SETTING = {"-D", "-p", "-k", "-h", "-i", "-l", "-N", "-u", "-P"}      # folders, ports, sockets, users, connections
WITHOUT_VALUE = {"-i", "-l"}


def split(command: str) -> list[str]:
    """The words of a command. ValueError, a part of a sentence, if a quotation does not end."""
    try:
        return shlex.split(command)
    except ValueError:
        raise ValueError("has a command with a quotation that does not end; give it whole") from None


def joined(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines and their numbers, from 1. A line of a command that a backslash continues is joined with the next one."""
    held, held_at = "", 0
    for n, line in enumerate(lines, start=1):
        held, held_at = f"{held} {line.strip()}" if held_at else line.rstrip(), held_at or n
        if held.endswith("\\") and not ALONE.match(held):
            held = held[:-1].rstrip()
            continue
        yield held_at, held
        held, held_at = "", 0
    if held_at:
        yield held_at, held


def statements(line: str) -> list[str]:
    """What a command asks a server by its client, as `psql -c "…"`. ValueError as `split`, and beside a container's.

    A container that is made has names and images of servers. It has a client where that is its command."""
    if not CLIENT.match(line):
        return []
    parts = [list(part) for is_apart, part in itertools.groupby(split(line), APART.__contains__) if not is_apart]
    asked = [_asked_in_container(part) if CONTAINER.match(" ".join(part)) else _asked(part) for part in parts]
    made = [statement for of_part in asked for statement in of_part]
    servers = [part for part, of_part in zip(parts, asked, strict=True) if CONTAINER.match(" ".join(part)) and not of_part]
    if made and any(map(_of_command, servers)):
        raise ValueError("has a command of a server and that of a client; give each in a line of its own")
    return made


def _asked(words: list[str]) -> list[str]:
    at = next((n for n, word in enumerate(words)
               if word.rpartition("/")[2] in CLIENTS and words[n - 1:n] != ["--name"]), len(words))
    made = []
    for word, following in itertools.pairwise([*words[at:], ""]):
        option, is_assigned, value = word.partition("=")
        if option in CLIENTS[words[at].rpartition("/")[2]]:
            made.append(value if is_assigned else following)
    return made


def _asked_in_container(words: list[str]) -> list[str]:
    """An option before the word tells that it is a name, unless that is what the container begins with."""
    words = [part for word in words for part in (word.split("=", 1) if word.startswith("--entrypoint=") else [word])]
    at = next((n for n, word in enumerate(words) if word.rpartition("/")[2] in CLIENTS
               and (words[n - 1] == "--entrypoint" or not words[n - 1].startswith("-"))), len(words))
    return list(filter(conf_statements.is_of, _asked(words[at:])))


def of_line(line: str) -> dict[str, str]:
    """What a line with a command sets; {} if it is none of a server. ValueError as `of_words`, and for several servers."""
    parts = [list(part) for is_apart, part in itertools.groupby(split(line), APART.__contains__) if not is_apart]
    made = [settings for part in parts if (settings := _of_command(part))]
    if len(made) > 1:
        raise ValueError("has commands of several servers; give that of the database alone")
    return made[0] if made else {}


def _of_command(words: list[str]) -> dict[str, str]:
    variable, is_assigned, value = words[0].partition("=")
    if is_assigned and re.fullmatch(r"\w+", variable):      # of a shell, or of a unit of systemd
        words = [value, *words[1:]]
    if words[0].rpartition("/")[2] == "pg_ctl":
        return of_words([word for mark, options in itertools.pairwise(words) if mark == "-o" for word in split(options)])
    is_container = re.search(r"\b(?:run|create)\b", " ".join(words[1:3])) is not None
    at = [n for n, word in enumerate(words) if word.rpartition("/")[2] in SERVERS
          or (is_container and not word.startswith("-") and words[n - 1] != "--name" and IMAGE.fullmatch(word))]
    return of_words(["postgres", *words[at[-1] + 1:]] if at else words)


def of_words(words: list[str]) -> dict[str, str]:
    """Options of a server among the words of its command, a name alone is on; nothing of another program's. ValueError, a
    part of a sentence, for what is not read among them."""
    words = _single(words)
    at = next((i for i, word in enumerate(words[:3]) if word.rpartition("/")[2] in SERVERS), None)
    if at is None and not (words and words[0].startswith("-")):
        return {}
    made: dict[str, str] = {}
    rest = iter(words[0 if at is None else at + 1:])
    last, not_read = "", []     # an option whose value may be the next word
    for word in rest:
        match = LONG.fullmatch(word)
        if word == "-c" or (not match and word.startswith("-c")):
            written = word[2:].strip() or next(rest, "").strip()
            match, last = SHORT.fullmatch(written), ""
            if not match:
                not_read.append(f"-c {written}".strip())
                continue
        elif match:
            last = match["name"] if match["value"] is None else ""
        elif last and not word.startswith("-"):
            made[last], last = word, ""
            continue
        else:
            last = ""
            if word in OF_NO_SETTING - WITHOUT_VALUE:
                next(rest, None)
            elif word[:2] not in OF_NO_SETTING:
                not_read.append(word)
            continue
        made.pop(match["name"], None)       # the last counts
        made[match["name"]] = "on" if match["value"] is None else match["value"]
    if made and not_read:
        raise ValueError(f"has a command with {', '.join(not_read)}, which is not read; write it as -c name=value or "
                         "--name=value")
    return {name: checked(name, value) for name, value in made.items()}


def checked(name: str, value: str) -> str:
    """A value without quotes. ValueError, a part of a sentence, if it is a variable's and matters."""
    known = name.replace("-", "_")
    if VARIABLE.search(value) and (known in conf.POSTGRES | conf.INNODB or known in settings_without_effect.NEAREST):
        raise ValueError(f"sets {name} to {value}, a variable whose value is not in it; write the value")
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return conf_statements.value_of(value) if is_quoted and value[0] not in value[1:-1] else value


def _single(words: list[str]) -> list[str]:
    """Words of one option or argument each: several may stand in a string, and a shell takes a command as one."""
    if len(words) > 2 and words[0].rpartition("/")[2] in SHELLS and words[1].startswith("-"):
        words = [word for word in split(words[2]) if word != "exec"]
    if len(words) == 1 and " " in words[0].strip():
        return split(words[0])
    return [part for word in words for part in (split(word) if word.startswith("-") and SEVERAL.search(word) else [word])]

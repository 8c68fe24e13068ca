"""Settings in files of containers and clusters: the command of a service, and parameters that an operator passes on.

    conf_yaml.settings(text)    of a compose file, a Dockerfile's CMD, Patroni's or an operator's YAML; None of another text

    command: postgres -c name=x --other=y       also folded over lines, or as a list
    CMD ["mysqld", "--name=x"]
    parameters:                                 of Patroni, CloudNativePG and Zalando's operator
      name: x

Sources: Compose specification, "command"; Dockerfile reference, "CMD"; Patroni's documentation, "YAML Configuration
Settings".
"""
import re
import shlex
from collections.abc import Iterator
from typing import Any

import yaml

KEY = re.compile(r"^\s*(?:-\s+)?(command|parameters):", re.MULTILINE)
CMD = re.compile(r"^CMD\s+(?=\S)", re.MULTILINE)
SERVERS = {"postgres", "postmaster", "mysqld", "mysqld_safe", "mariadbd", "mariadbd-safe"}
NAME = r"[A-Za-z][\w.-]*"
LONG = re.compile(rf"--(?P<name>{NAME})(?:=(?P<value>.*))?", re.DOTALL)
SHORT = re.compile(rf"(?P<name>{NAME})\s*=\s*(?P<value>.*)", re.DOTALL)
VARIABLE = re.compile(r"(?<!\$)\$\{?\w")
OF_NO_SETTING = {"-D", "-p", "-k", "-h", "-i", "-l", "-N", "-u", "-P"}      # folders, ports, sockets, users, connections
WITHOUT_VALUE = {"-i", "-l"}
# Where Patroni has parameters: those for the cluster, and those of this server, which count.
OF_PATRONI = ("bootstrap.dcs.postgresql.parameters", "postgresql.parameters")


def settings(text: str) -> dict[str, str] | None:
    """By name. None if no command of a server with options and no parameters are in it. ValueError, a part of a sentence, if
    they are of several services or cannot be read."""
    text = text.replace("\\\n", " ")
    lines = [line for line in text.splitlines() if CMD.match(line)]
    if not KEY.search(text) and not lines:
        return None
    of_yaml = "\n".join(CMD.sub("command: ", line) for line in lines) or text
    try:
        content = list(yaml.load_all(of_yaml, Loader=yaml.BaseLoader))
    except (yaml.YAMLError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        raise ValueError("has a command or parameters, but is no YAML" + (f" from line {where.line + 1} on" if where else "")
                         + "; give the file whole, or its options one a line") from None
    given = {place: read for place, read in _all(content, "") if read}
    if set(given) == set(OF_PATRONI):
        return given[OF_PATRONI[0]] | given[OF_PATRONI[1]]
    different = [place for i, (place, read) in enumerate(given.items()) if read not in list(given.values())[:i]]
    if len(different) > 1:
        raise ValueError(f"has settings in several places, {' and '.join(different)}; give that of the database alone")
    return given[different[0]] if different else None


def _all(content: Any, place: str) -> Iterator[tuple[str, dict[str, str]]]:
    """What each command of a server and each `parameters` of one sets, with where it stands."""
    if isinstance(content, list):
        for part in content:
            yield from _all(part, place)
    elif isinstance(content, dict):
        for key, value in content.items():
            here = f"{place}.{key}".strip(".")
            if key == "command" and isinstance(value, str | list):
                yield here, _of_command(_words(value))
            elif key == "parameters" and isinstance(value, dict) and place.rpartition(".")[2] in ("", "postgresql"):
                yield here, {name: written for name, written in value.items() if isinstance(written, str)}
            else:
                yield from _all(value, here)


def _words(command: str | list[Any]) -> list[str]:
    if isinstance(command, list):
        return [str(word) for word in command]
    try:
        return shlex.split(command)
    except ValueError:
        raise ValueError("has a command with a quotation that does not end; give it whole") from None


def _of_command(words: list[str]) -> dict[str, str]:
    """Options of a server among the words of its command, a name alone is on; nothing of another program's."""
    at = next((i for i, word in enumerate(words[:3]) if word.rpartition("/")[2] in SERVERS), None)
    if at is None and not (words and words[0].startswith("-")):
        return {}
    made: dict[str, str] = {}
    rest = iter(words[0 if at is None else at + 1:])
    last, not_read = "", []     # an option whose value may be the next word
    for word in rest:
        match = LONG.fullmatch(word)
        if word == "-c" or (not match and word.startswith("-c")):
            written = word[2:] or next(rest, "")
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
        if VARIABLE.search(match["value"] or ""):
            raise ValueError(f"sets {match['name']} to {match['value']}, a variable whose value is not in it; write the "
                             "value")
        made.pop(match["name"], None)       # the last counts
        made[match["name"]] = "on" if match["value"] is None else match["value"]
    if made and not_read:
        raise ValueError(f"has a command with {', '.join(not_read)}, which is not read; write it as -c name=value or "
                         "--name=value")
    return made

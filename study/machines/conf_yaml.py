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
NAME = r"[A-Za-z][\w.-]*"
LONG = re.compile(rf"--(?P<name>{NAME})(?:=(?P<value>.*))?", re.DOTALL)
SHORT = re.compile(rf"(?:-c)?(?P<name>{NAME})=(?P<value>.*)", re.DOTALL)
VARIABLE = re.compile(r"(?<!\$)\$\{?\w")
OF_NO_SETTING = {"-D", "-p", "-k", "-h", "-i", "-l", "-N", "-u", "-P"}      # folders, ports, sockets, users, connections


def settings(text: str) -> dict[str, str] | None:
    """By name. None if no command with options and no parameters are in it; ValueError, a part of a sentence, if they are
    of several services or cannot be read."""
    lines = [line for line in text.splitlines() if CMD.match(line)]
    if not KEY.search(text) and not lines:
        return None
    of_yaml = "\n".join(CMD.sub("command: ", line) for line in lines) or text
    try:
        content = list(yaml.load_all(of_yaml, Loader=yaml.BaseLoader))
        given = [(place, read) for place, read in _all(content, "") if read]
    except (yaml.YAMLError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        raise ValueError("has a command or parameters, but is no YAML" + (f" from line {where.line + 1} on" if where else "")
                         + "; give the file whole, or its options one a line") from None
    if len(given) > 1:
        raise ValueError(f"has settings in several places, {' and '.join(place for place, _ in given)}; give that of the "
                         "database alone")
    return given[0][1] if given else None


def _all(content: Any, place: str) -> Iterator[tuple[str, dict[str, str]]]:
    """What each command and each `parameters` sets, with where it stands."""
    if isinstance(content, list):
        for part in content:
            yield from _all(part, place)
    elif isinstance(content, dict):
        for key, value in content.items():
            here = f"{place}.{key}".strip(".")
            if key == "command" and isinstance(value, str | list):
                yield here, _of_words(value if isinstance(value, list) else shlex.split(value))
            elif key == "parameters" and isinstance(value, dict):
                yield here, {name: written for name, written in value.items() if isinstance(written, str)}
            else:
                yield from _all(value, here)


def _of_words(words: list[Any]) -> dict[str, str]:
    """Options of a server among the words of its command; a name alone is on."""
    made: dict[str, str] = {}
    is_next, not_read = False, []
    for word in map(str, words):
        match = LONG.fullmatch(word) or (SHORT.fullmatch(word) if is_next or word.startswith("-c") else None)
        if match:
            if VARIABLE.search(match["value"] or ""):
                raise ValueError(f"sets {match['name']} to {match['value']}, a variable whose value is not in it; write the "
                                 "value")
            made.pop(match["name"], None)       # the last counts
            made[match["name"]] = "on" if match["value"] is None else match["value"]
        elif word.startswith("-") and word != "-c" and word not in OF_NO_SETTING:
            not_read.append(word)
        is_next = word == "-c"
    if made and not_read:
        raise ValueError(f"has a command with {', '.join(not_read)}, which is not read; write it as -c name=value or "
                         "--name=value")
    return made

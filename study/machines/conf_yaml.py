"""Settings in files of containers, clusters and roles: commands of services, parameters, lists and blocks of settings.

    conf_yaml.settings(text, of_lines)      of a compose file, a Dockerfile's CMD, YAML or JSON; None of another text

    command: postgres -c name=x --other=y       also folded over lines, or as a list; args of a container
    CMD ["mysqld", "--name=x"]
    parameters:                                 of Patroni, CloudNativePG and Zalando's operator
      name: x
    postgresql_config:                          of roles of Ansible, and of groups of parameters
      - {option: name, value: x}
    postgresql_shared_buffers: 4GB              a variable of a role, beside others
    extendedConfiguration: |                    of charts of Helm: lines as in postgresql.conf or my.cnf
      name = x

Under another key names are taken if one is a setting that is simulated. Then all are, and a name that is none is refused.
Sources: Compose specification, "command"; Dockerfile reference, "CMD"; Patroni's documentation, "YAML
Configuration Settings"; README of the role geerlingguy.postgresql; values of the charts of Bitnami.
"""
import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from study.machines import conf, conf_command

KEY = re.compile(r"^\s*(?:-\s+)?(command|args|parameters):", re.MULTILINE)
CMD = re.compile(r"^CMD\s+(?=\S)", re.MULTILINE)
PLAIN = re.compile(r"[\w./-]+")
OF_STRINGS = re.compile(r"""\s*(['"])[^'"\n]*\1\s*(?:,\s*(['"])[^'"\n]*\2\s*)*,?\s*""")       # a list without its brackets
SIMULATED = conf.POSTGRES.keys() | conf.INNODB.keys()
ANY_NAME = "|".join(sorted(SIMULATED)).replace("_", "[-_]")
OF_A_BLOCK = re.compile(rf"^\s*(?:{ANY_NAME})(?:\s*=|[ \t]+\S+[ \t]*$)", re.MULTILINE)     # a line of such a file
IN_WORDS = re.compile(rf"(?:-c\s*|--)?(?:{ANY_NAME})\s*=")
NAMES = ("option", "key", "name", "parameter", "setting", "variable", "ParameterName")
VALUES = ("value", "val", "ParameterValue")
MODULES = ("postgresql_set", "mysql_variables", "lineinfile")           # of Ansible: a task has one setting
OF_CONF = re.compile(r"postg|pg|my\.cnf|mysql|maria|\{\{", re.IGNORECASE)     # in the path of a file that a task edits
OF_A_ROLE = re.compile(r"(?P<server>postgres(?:ql)?|pg|mysql|mariadb)_+(?P<name>\w+)")
# Where Patroni has parameters: those for the cluster, and those of this server, which count.
OF_PATRONI = ("bootstrap.dcs.postgresql.parameters", "postgresql.parameters")


def settings(text: str, of_lines: Callable[[str], dict[str, str]]) -> dict[str, str] | None:
    """By name. None if no command of a server with options and no parameters are in it. ValueError, a part of a sentence, if
    they are of several services or cannot be read. `of_lines` reads postgresql.conf and my.cnf."""
    text = "\n".join(line for _, line in conf_command.joined(text.splitlines()))
    lines = [line for line in text.splitlines() if CMD.match(line)]
    of_yaml = "\n".join(CMD.sub("command: ", line) for line in lines) or text
    try:
        content = list(yaml.load_all(f"[{of_yaml}]" if OF_STRINGS.fullmatch(of_yaml) else of_yaml, Loader=yaml.BaseLoader))
    except (yaml.YAMLError, RecursionError) as error:
        if not KEY.search(of_yaml):
            return None
        where = getattr(error, "problem_mark", None)
        raise ValueError("has a command or parameters, but is no YAML" + (f" from line {where.line + 1} on" if where else "")
                         + "; give the file whole, or its options one a line") from None
    given: dict[str, dict[str, str]] = {}
    visited: set[int] = set()
    for place, read in (part for document in content for part in _all(document, "", of_lines, visited)):
        if read and read not in given.values():
            name = place or "the top level"
            while name in given:
                name += " (again)"
            given[name] = read
    if set(given) == set(OF_PATRONI):
        return given[OF_PATRONI[0]] | given[OF_PATRONI[1]]
    if len(given) > 1:
        raise ValueError(f"has settings in several places, {' and '.join(given)}; give that of the database alone")
    if not given and any(map(_is_mapping, content)):
        raise ValueError("is YAML without a command of a server, its parameters, or a setting that is simulated. Give what "
                         "the database reads, or what SHOW ALL prints")
    return next(iter(given.values()), None)


def _is_mapping(content: Any) -> bool:
    """Whether it has keys, which a line of postgresql.conf with a colon in quotes is no case of."""
    inner = content if isinstance(content, list) else [content]
    return any(isinstance(part, dict) and part and all(map(PLAIN.fullmatch, part)) for part in inner)


def _all(content: Any, place: str, of_lines: Callable[[str], dict[str, str]],
         visited: set[int]) -> Iterator[tuple[str, dict[str, str]]]:
    """What each part sets, with where it stands. An alias of a part that was `visited` is no other part."""
    if id(content) in visited:
        return
    if isinstance(content, list | dict):
        visited.add(id(content))
    if isinstance(content, list):
        yield place, (made := _of_list(content))
        for part in [] if made else content:
            yield from _all(part, place, of_lines, visited)
    elif isinstance(content, dict):
        yield place, _of_names({name: value for name, value in content.items() if isinstance(value, str)})
        for key, value in content.items():
            here = f"{place}.{key}".strip(".")
            if key in ("command", "args") and isinstance(value, str | list):
                yield here, _of_command(value, content.get("image"))
            elif key == "parameters" and isinstance(value, dict) and place.rpartition(".")[2] in ("", "postgresql"):
                yield here, {name: conf_command.checked(name, written) for name, written in value.items()
                             if isinstance(written, str)}
            elif isinstance(value, str) and OF_A_BLOCK.search(value):
                yield here, of_lines(value)
            else:
                yield from _all(value, here, of_lines, visited)


def _of_command(command: str | list[Any], image: Any) -> dict[str, str]:
    """Options of a server; none if the image is of another program."""
    words = [str(word) for word in command] if isinstance(command, list) else conf_command.split(command)
    is_of_another = isinstance(image, str) and not conf_command.IMAGE.fullmatch(image)
    return {} if is_of_another and (not words or words[0].startswith("--")) else conf_command.of_words(words)


def _of_list(parts: list[Any]) -> dict[str, str]:
    """Of a list of settings in any of their forms; {} of another list."""
    if parts and all(isinstance(part, str) for part in parts):
        if any(" - " in part for part in parts):        # of a list whose lines are not below each other
            return {}
        if parts[0].startswith("-") or parts[0] in conf_command.SERVERS:
            return conf_command.of_words(parts) if any(map(IN_WORDS.match, parts)) else {}
        matches = [conf_command.SHORT.fullmatch(part) for part in parts]
        return _of_names({match["name"]: match["value"] for match in matches if match}) if all(matches) else {}
    read = [(part, _of_record(part)) for part in parts]
    of_tasks = [setting for part, setting in read if setting and _module(part)]
    made = _of_names(dict(of_tasks or [setting for _, setting in read if setting]))
    if made and not of_tasks and (
            others := [part for part, setting in read if not setting and not _is_absent(part)]):
        raise ValueError(f"has {str(others[0])[:60]} in a list of settings, which is not read; write its name and its value")
    return made


def _module(part: Any) -> str | None:
    """The key of a task's setting."""
    return next((key for key in part if key.rpartition(".")[2] in MODULES), None) if isinstance(part, dict) else None


def _of_record(part: Any) -> tuple[str, str] | None:
    """Name and value in an entry of a list."""
    record = part[module] if (module := _module(part)) else part
    if isinstance(record, str) and module:
        record = dict(word.partition("=")[::2] for word in conf_command.split(record))
    if not isinstance(record, dict):
        return None
    name = next((record[key] for key in NAMES if key in record), None)
    value = next((record[key] for key in VALUES if key in record), None)
    if name is None and OF_CONF.search(str(record.get("path", record.get("dest", "{{")))):
        match = conf_command.SHORT.fullmatch(str(record.get("line")))
        name, value = match.groups() if match else (None, None)
    if name is None and len(record) == 1:
        [(name, value)] = record.items()
    if isinstance(name, str) and _name(name).replace("-", "_") in SIMULATED:
        _refuse_if_open(part, record, name)
    return (name, value) if isinstance(name, str) and isinstance(value, str) and not _is_absent(record) else None


def _refuse_if_open(part: dict[str, Any], record: dict[str, Any], name: str) -> None:
    """ValueError for a setting of which only the task's machine decides whether it is made."""
    of_state = str(record.get("state", ""))
    if "when" in part or conf_command.VARIABLE.search(of_state):
        why = f"when: {part['when']}" if "when" in part else f"state: {of_state}"
        raise ValueError(f"sets {name} under a condition ({why[:60]}), which is not decided here; keep what holds, without "
                         "its condition")


def _is_absent(record: Any) -> bool:
    """Whether an entry takes its setting back, or is of a group of parameters and has its server's value."""
    return isinstance(record, dict) and (record.get("state") == "absent" or
                                         ("ParameterName" in record and "ParameterValue" not in record))


def _of_names(written: dict[str, str]) -> dict[str, str]:
    """The settings, if at least one of them is simulated."""
    named = {_name(name): value for name, value in written.items() if not name.endswith("_version")}
    is_of_server = any(name.replace("-", "_") in SIMULATED for name in named)
    return {name: conf_command.checked(name, value) for name, value in named.items()} if is_of_server else {}


def _name(written: str) -> str:
    """A setting's own name: charts write it in camel case, and roles put the server's before it."""
    name = re.sub(r"(?<=[a-z\d])[A-Z]", lambda match: f"_{match[0].lower()}", written)
    if name.replace("-", "_") in SIMULATED or (name != written and conf.is_known("postgres", name)):
        return name
    match = OF_A_ROLE.fullmatch(written)
    database = "postgres" if match and match["server"][0] == "p" else "innodb"
    return match["name"] if match and conf.is_known(database, match["name"]) else written

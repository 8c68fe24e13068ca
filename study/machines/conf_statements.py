"""Statements that set a server's settings, as tuners print them and as people paste them from psql and mysql.

    conf_statements.is_of("postgres=# ALTER SYSTEM SET fsync = off;")       True
    conf_statements.apply(settings, line)       what the line sets is put into `settings`

    ALTER SYSTEM SET name = x;  ALTER SYSTEM SET name TO x;  ALTER SYSTEM RESET name;
    SET GLOBAL name = x, GLOBAL other = y;  SET @@global.name := x;  SET PERSIST name = x;

A prompt may stand before a statement. What the servers answer, and what asks or reloads, sets nothing.
"""
import re

VALUE = r"""'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|"[^"]*"|[^#;'"]*?"""
ESCAPED = re.compile(r"[\\']('|(?<=\\)\\)")      # '' and \\' are one quote, as two backslashes are one
PROMPT = re.compile(r"(?:\w*[=(*!^-]+[#>]|\w+(?: \[[^\]]*\])?>|[#>=]+>?)\s*(?=[A-Za-z\\])")
WORD = re.compile(r"(?:ALTER|SET|RESET|SELECT|SHOW|Query\s+OK)\b(?![-.]|\s*=)|\\\w", re.IGNORECASE)
PIECES = re.compile(r"""(?:'(?:[^']|'')*'|"[^"]*"|--.*|[^;'"])+""")
ASSIGNED = rf"(?P<name>[A-Za-z][\w.]*)\s*(?::?=|\sTO\s)\s*(?P<value>{VALUE})\s*(?:(?:--|[#]).*)?"
OF_SYSTEM = re.compile(rf"ALTER\s+SYSTEM\s+SET\s+{ASSIGNED}", re.IGNORECASE)
RESET = re.compile(r"ALTER\s+SYSTEM\s+RESET\s+(?P<name>[\w.]+)", re.IGNORECASE)
OF_MYSQL = re.compile(r"SET\s+(?P<all>(?:(?:GLOBAL|PERSIST|PERSIST_ONLY)\s|@@(?:GLOBAL|PERSIST|PERSIST_ONLY)\.).*)",
                      re.IGNORECASE | re.DOTALL)
SCOPE = re.compile(r"(?:GLOBAL|PERSIST|PERSIST_ONLY)\s+|@@(?:GLOBAL|PERSIST|PERSIST_ONLY)\.", re.IGNORECASE)
NEXT = re.compile(rf",\s*(?={SCOPE.pattern})", re.IGNORECASE)
ONE = re.compile(ASSIGNED, re.IGNORECASE)
# Answers of psql and mysql, questions, a user's own variables, and the beginning of a statement that goes on.
NOTHING = re.compile(r"--.*|ALTER\s+(?:SYSTEM|DATABASE|ROLE)(?:\s+SET)?|SET(?:\s+@\w.*)?|RESET|(?:SELECT|SHOW)\b.*|"
                     r"Query\s+OK\b.*|\\\w.*", re.IGNORECASE)
ELSEWHERE = re.compile(r"(?:ALTER\s+(?:DATABASE|ROLE|USER)|SET|RESET)\s", re.IGNORECASE)


def is_of(line: str) -> bool:
    """Whether a line is of a session: it begins with a prompt, or as a statement does."""
    prompt = PROMPT.match(line)
    return prompt is not None or WORD.match(line) is not None


def apply(settings: dict[str, str], line: str) -> None:
    """Put what the statements of a line set into `settings`. ValueError, a part of a sentence, for one that is not of the
    server."""
    prompt = PROMPT.match(line)
    for piece in map(str.strip, PIECES.findall(line[prompt.end():] if prompt else line)):
        if not piece or NOTHING.fullmatch(piece):
            continue
        if match := RESET.fullmatch(piece):
            _reset(settings, match["name"])
        elif match := OF_SYSTEM.fullmatch(piece):
            _set(settings, match)
        elif match := OF_MYSQL.fullmatch(piece):
            for part in NEXT.split(match["all"]):
                _set(settings, _assignment(SCOPE.sub("", part, count=1).strip()))
        elif ELSEWHERE.match(piece):
            raise ValueError("is of one database, role or session and not of the server")
        else:
            raise ValueError("is no statement that sets anything")


def value_of(written: str) -> str:
    """Without quotes; a name alone is on."""
    if written[:1] in "'\"" and written:
        return ESCAPED.sub(lambda match: match[1], written[1:-1])
    return written or "on"


def _assignment(text: str) -> re.Match[str]:
    match = ONE.fullmatch(text)
    if match is None:
        raise ValueError("is no statement that sets anything")
    return match


def _set(settings: dict[str, str], match: re.Match[str]) -> None:
    settings.pop(match["name"], None)       # the last counts, also among spellings of one name
    if match["value"].upper() != "DEFAULT":
        settings[match["name"]] = value_of(match["value"])


def _reset(settings: dict[str, str], name: str) -> None:
    if name.upper() == "ALL":
        settings.clear()
    else:
        settings.pop(name, None)

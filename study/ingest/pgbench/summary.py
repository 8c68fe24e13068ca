"""The summary of pgbench and what stands around it: settings, response times of statements, the command, its version."""

import re

from study.ingest import text
from study.ingest.pgbench import progress
from study.ingest.reading import Damaged, Reading, Source

PROCESSED = "number of transactions actually processed"
BANNER = re.compile(r"pgbench \((\S+)[^)]*\)|pgbench \(PostgreSQL\) (\S+)")
COMMAND = re.compile(r"[$#>]?\s*(?:\S*/)?pgbench\s+-.*")
ABORTED = ("Run was aborted", "aborted in command")
ERROR = re.compile(r"pgbench: (?:fatal|error): (.*)")
NUMBER = r"(-?[\d.]+|NaN)"
FIELDS = [
    (re.compile(pattern), name, unit)
    for pattern, name, unit in (
        (rf"number of failed transactions: {NUMBER}", "failed", "transactions"),
        (rf"number of serialization failures: {NUMBER}", "serialization_failures", "transactions"),
        (rf"number of deadlock failures: {NUMBER}", "deadlock_failures", "transactions"),
        (rf"number of other failures: {NUMBER}", "other_failures", "transactions"),
        (rf"number of transactions retried: {NUMBER}", "retried", "transactions"),
        (rf"total number of retries: {NUMBER}", "retries", "retries"),
        (rf"number of transactions skipped: {NUMBER}", "skipped", "transactions"),
        (rf"number of transactions above the [\d.]+ ms latency limit: {NUMBER}", "above_limit", "transactions"),
        (rf"latency average[ =:]+{NUMBER} ms", "response.mean", "ms"),
        (rf"latency stddev[ =:]+{NUMBER} ms", "response.stddev", "ms"),
        (rf"initial connection time = {NUMBER} ms", "connecting", "ms"),
        (rf"average connection time = {NUMBER} ms", "connecting.mean", "ms"),
        (rf"rate limit schedule lag: avg {NUMBER}", "lag.mean", "ms"),
        (rf"rate limit schedule lag: avg [\d.]+ \(max {NUMBER}\)", "lag.maximum", "ms"),
        (rf"tps\s*=\s*{NUMBER} \((?:without initial connection time|excluding connections establishing)\)", "tps", "1/s"),
        (
            rf"tps\s*=\s*{NUMBER} \((?:including reconnection times|including connections establishing)\)",
            "tps.with_connecting",
            "1/s",
        ),
    )
]
SETTINGS = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"transaction type: (.*)", "transaction_type"),
        (r"scaling factor: (.*)", "scale"),
        (r"query mode: (.*)", "query_mode"),
        (r"number of clients: (.*)", "clients"),
        (r"number of threads: (.*)", "threads"),
        (r"(?:maximum number of tries|transaction maximum tries number): (.*)", "max_tries"),
        (r"duration: (\d+) s", "duration_s"),
        (r"number of transactions per client: (.*)", "transactions_per_client"),
        (r"partition method: (.*)", "partition_method"),
        (r"partitions: (.*)", "partitions"),
    )
]
STATEMENTS = re.compile(r"(?: - )?statement latencies in milliseconds(, failures| and failures)?( and retries)?:?.*")
# By the counts between its response time and its text. A page may have lost margins and all blanks but one.
STATEMENT = [re.compile(rf"\s*(\d+\.\d+)((?:\s+\d+){{{n}}})\s+(\S.*)") for n in range(3)]
NUMBERED = re.compile(r"\s*\d+[.,]\d+\s")
SCRIPT = re.compile(r"SQL script (\d+): (.*)")
SHARE = re.compile(r" - (\d+) transactions? \(([\d.]+)% of total(?:, tps = ([\d.]+))?\)")
OF_SCRIPT = re.compile(rf"{PROCESSED}: (\d+) \(tps = ([\d.]+)\)")  # of 19, below a share that has those that failed, too
PASSED = re.compile(
    r"starting vacuum\.\.\.(end\.)?|pgbench: (warning|hint|note).*|\s*| - weight: .*|pghost: .*|"
    r"maximum try number: .*|number of transactions below .*|.*SQL script.*"
)


def read(reading: Reading, source: Source) -> bool:
    """Reads standard output, standard error or both. Whether a summary is in it."""
    of_progress: list[tuple[int, dict[str, str]]] = []
    is_shortened = False
    script, n_statement, n_counts, is_summary = "", 0, -1, False     # counts beside a statement's time; -1 above them
    for n, line in text.lines(source.path):
        line = line.rstrip() if n_counts >= 0 or line.startswith(" - ") else line.strip()
        if match := progress.LINE.fullmatch(line):
            of_progress.append((n, match.groupdict()))
            continue
        is_shortened = is_shortened or (bool(of_progress) and not is_summary and text.is_omission(line))
        if line.startswith("progress: "):
            reading.refuse(source.name, n, "it begins as a line of progress and does not go on so")
            continue
        if PROCESSED in line and not line.lstrip().startswith((PROCESSED, f"- {PROCESSED}")):
            raise Damaged(
                f"line {n} of {source.name} has more before '{PROCESSED}', so ends of lines are lost. "
                "Put each on a line of its own, as pgbench prints it"
            )
        if line.startswith(PROCESSED):
            if is_summary:
                raise Damaged(f"{source.name} holds a second summary in line {n}; a run has one, so give each by itself")
            is_summary = True
        if any(word in line for word in ABORTED):
            reading.problems.append(f"the run was aborted, says line {n} of {source.name}")
        elif (error := ERROR.match(line)) and not reading.problems:
            reading.problems.append(f"pgbench stopped with an error, says line {n} of {source.name}: {error[1][:100]}")
        if match := SCRIPT.match(line):
            script, n_statement, n_counts = f"script_{match[1]}.", 0, -1
            reading.params[f"script_{match[1]}"] = match[2]
        elif match := STATEMENTS.fullmatch(line):
            n_counts = sum(map(bool, match.groups()))
        elif n_counts >= 0 and (match := STATEMENT[n_counts].fullmatch(line)):
            n_statement += 1
            name = f"{script}statement_{n_statement}"
            reading.total(f"pgbench.{name}.response", text.number(match[1]), "ms")
            reading.params[name] = match[3]
            reading.rows += 1
        elif n_counts >= 0 and NUMBERED.match(line):
            reading.refuse(source.name, n, "it begins as a response time of a statement and does not go on so")
        else:
            _line(reading, source, n, line, script)
    if n_counts >= 0:
        text.note_a_cut(reading, source)
    if of_progress:
        progress.keep(reading, source, of_progress, is_shortened)
    if is_summary:
        absent = [name for name in ("processed", "tps") if name not in reading.printed("pgbench")]
        if "tps" in absent and "tps.with_connecting" in reading.printed("pgbench"):
            absent.remove("tps")
        if absent and not reading.problems and not reading.refused:
            reading.problems.append(f"the summary in {source.name} has no {' and no '.join(absent)}, so it is cut off")
    return is_summary


def _line(reading: Reading, source: Source, n: int, line: str, script: str) -> None:
    """Line `n`, which is about the run or, below its heading, about `script`."""
    line = line.removeprefix(" - ") if script else line
    if script and (match := OF_SCRIPT.match(line)):
        reading.total(f"pgbench.{script}processed", float(match[1]), "transactions")
        reading.total(f"pgbench.{script}tps", text.number(match[2]), "1/s")
        reading.rows += 1
        return
    if match := re.match(rf"{PROCESSED}: (\d+)(?:/(\d+))?", line):
        reading.total("pgbench.processed", float(match[1]), "transactions")
        if match[2]:
            reading.total("pgbench.planned", float(match[2]), "transactions")
        reading.rows += 1
        return
    if script and (match := SHARE.match(f" - {line}")):
        reading.total(f"pgbench.{script}{'processed' if match[3] else 'ended'}", float(match[1]), "transactions")
        if match[3]:
            reading.total(f"pgbench.{script}tps", text.number(match[3]), "1/s")
        reading.rows += 1
        return
    if match := BANNER.match(line):
        reading.version = match[1] or match[2]
    elif COMMAND.fullmatch(line):
        _command(reading, line.strip())
    elif of_setting := next(((name, match[1]) for pattern, name in SETTINGS if (match := pattern.fullmatch(line))), None):
        reading.params[of_setting[0]] = of_setting[1]
        reading.rows += 1
        return
    known = False
    for pattern, name, unit in FIELDS:
        if match := pattern.match(line):
            known = True
            if match[1] != "NaN":
                reading.total(f"pgbench.{script}{name}", text.number(match[1]), unit)
    if line.startswith("latency average") and "(including failures)" in line:
        reading.params["response_includes_failures"] = True
    reading.rows += known
    reading.other_lines += not known
    if not known and not PASSED.fullmatch(line) and re.match(r"(tps|latency|number of)\b", line):
        reading.refuse(source.name, n, f"'{line[:60]}' is no line of a summary that is known")


def _command(reading: Reading, line: str) -> None:
    reading.params["command"] = line
    words = line.replace("=", " ").split()
    for options, name in (
        (("-R", "--rate"), "rate"),
        (("--sampling-rate",), "sampling_rate"),
        (("--max-tries",), "max_tries"),
    ):
        for option in options:
            if option in words[:-1]:
                reading.params[name] = words[words.index(option) + 1]

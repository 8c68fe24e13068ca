"""iostat of sysstat 9 to 12: with `-x` or without, as text or JSON, with or without `-t -y -k -m -s`.

Columns go by their names, which say release and unit. Without `-y` the first report is of the time since the machine
started, so it is kept as a series of its own. A percent sign is missing from names in JSON.
JSON that was cut off, as by SIGTERM, is refused.
Format: iostat.c and rd_stats of sysstat; iostat(1).
"""

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

from study.ingest import folded, local_times, text
from study.ingest.around import Around
from study.ingest.reading import NO_CLOCK, Clock, Damaged, Quantity, Reading, Series, Source, refuse_several

TOOL = "iostat"
HEADER = re.compile(
    r"Linux (?P<kernel>\S+) \((?P<host>[^)]*)\)\s+(?P<date>\S+)\s+_(?P<machine>\S+)_\s+\((?P<cpus>\d+) CPU\)"
)
RATE, MEAN, SHARE, INSTANT = "rate", "mean", "share", "instant"
COLUMNS = {
    "r/s": ("reads", "1/s", RATE),
    "w/s": ("writes", "1/s", RATE),
    "d/s": ("discards", "1/s", RATE),
    "f/s": ("flushes", "1/s", RATE),
    "tps": ("requests", "1/s", RATE),
    "rrqm/s": ("reads_merged", "1/s", RATE),
    "wrqm/s": ("writes_merged", "1/s", RATE),
    "drqm/s": ("discards_merged", "1/s", RATE),
    "rqm/s": ("merged", "1/s", RATE),
    "%rrqm": ("reads_merged.share", "%", SHARE),
    "%wrqm": ("writes_merged.share", "%", SHARE),
    "%drqm": ("discards_merged.share", "%", SHARE),
    "rrqm": ("reads_merged.share", "%", SHARE),
    "wrqm": ("writes_merged.share", "%", SHARE),
    "drqm": ("discards_merged.share", "%", SHARE),
    "r_await": ("read.response", "ms", MEAN),
    "w_await": ("write.response", "ms", MEAN),
    "d_await": ("discard.response", "ms", MEAN),
    "f_await": ("flush.response", "ms", MEAN),
    "await": ("response", "ms", MEAN),
    "svctm": ("service", "ms", MEAN),
    "avgrq-sz": ("request.size", "512 B", MEAN),
    "areq-sz": ("request.size", "KiB", MEAN),
    "rareq-sz": ("read.size", "KiB", MEAN),
    "wareq-sz": ("write.size", "KiB", MEAN),
    "dareq-sz": ("discard.size", "KiB", MEAN),
    "avgqu-sz": ("queue", "requests", MEAN),
    "aqu-sz": ("queue", "requests", MEAN),
    "%util": ("busy", "%", SHARE),
    "util": ("busy", "%", SHARE),
}
UNITS = {"kB": "KiB/s", "MB": "MiB/s", "sec": "512 B/s"}
for _prefix, _name in (("r", "read_bandwidth"), ("w", "write_bandwidth"), ("d", "discard_bandwidth"), ("", "bandwidth")):
    COLUMNS |= {f"{_prefix}{unit}/s": (_name, shown, RATE) for unit, shown in UNITS.items()}
for _prefix, _unit, _shown in (("kB", "KiB/s", "KiB"), ("MB", "MiB/s", "MiB"), ("Blk", "512 B/s", "512 B")):
    for _ends, _name in (("read", "read"), ("wrtn", "write"), ("dscd", "discard")):  # without -x: rates, and amounts
        COLUMNS[f"{_prefix}_{_ends}/s"] = (f"{_name}_bandwidth", _unit, RATE)
        COLUMNS[f"{_prefix}_{_ends}"] = (f"{_name}_amount", _shown, "sum")
TABLE = folded.Table(heading=re.compile(r"Device:?(?:\s|$)"), words=COLUMNS.keys())
MIN_NUMBERS = 5  # of a device
CPU = ("user", "nice", "system", "iowait", "steal", "idle")

class Report(NamedTuple):
    """One interval."""

    at: float | None  # s since 1970; without a zone as if it were UTC
    cpu: dict[str, float]
    disks: dict[str, dict[str, float]]  # by name of the column


def kind(name: str, head: str) -> str | None:
    """Which output of iostat this is by its beginning, or None."""
    if re.match(r'\s*\{\s*"sysstat"', head):
        return "json"
    rows = [line for line in head.splitlines() if line.strip()]
    is_table = any(re.match(r"Device:?\s", row) and "/s" in row for row in rows)
    return "text" if is_table and not any(row.startswith("Filesystem") for row in rows) else None


def read(sources: list[Source], scratch: Path) -> Reading:
    """All that iostat printed. Damaged if there are several outputs of a kind."""
    reading = Reading(tool=TOOL)
    source = sources[0]
    if len(sources) > 1:
        kinds = {source.kind for source in sources}
        if len(kinds) != len(sources):
            refuse_several(sources)
        source = next(source for source in sources if source.kind == "json")
        reading.warnings.append(
            f"{next(other.name for other in sources if other != source)} is not read: {source.name}, beside "
            "it, holds the same in JSON"
        )
    reports, has_zone = (_of_json if source.kind == "json" else _of_text)(reading, source)
    if reports:
        _series(reading, source, reports, has_zone)
    reading.missing.append("totals of its own: iostat prints none, so nothing can be compared")
    return reading


# --- text -------------------------------------------------------------------------------------------------------------


def _of_text(reading: Reading, source: Source) -> tuple[list[Report], bool]:
    text.note_a_cut(reading, source)
    reports: list[Report] = []
    columns: list[str] = []
    at, has_zone, cpu, in_cpu = None, False, dict[str, float](), False
    cpu_names: tuple[str, ...] = CPU
    waiting = list[str]()  # a name without its numbers
    around = Around(reading, source, TOOL, _is_heading)
    for n, line in folded.lines(source.path, TABLE):
        words = line.split()
        columns = [] if columns and text.is_command(line) else columns
        if words and not columns and around.passes_over(n, line):
            continue
        has_own_name = len(words) > len(columns)
        if waiting and (not words or words[0] in ("Device", "Device:", "avg-cpu:") or has_own_name):
            reading.refuse(source.name, n, f"the row of {waiting[0][:40]} before it is not whole")
            waiting = []
        if not words:
            columns, in_cpu = ([], False) if columns else ([], in_cpu)
        elif match := HEADER.match(line):
            if "kernel" in reading.params:
                raise Damaged(f"a second run begins in line {n} of {source.name}; give each run by itself")
            reading.params |= match.groupdict()
        elif (command := text.command_of(line, TOOL)) is not None:
            if reports:
                raise Damaged(f"a second run begins in line {n} of {source.name}; give each run by itself")
            reading.params["command"] = " ".join([TOOL, *command])
        elif words[0] in ("Device", "Device:"):
            columns, in_cpu, waiting = _known(words[1:], n), False, []
            reports.append(Report(at, cpu, {}))
            at, cpu = None, {}
        elif words[0] == "avg-cpu:":
            in_cpu, cpu_names = True, _of_cpu(words[1:])
        elif text.is_omission(line):
            reading.refuse(source.name, n, text.OMITTED)
        elif in_cpu:
            in_cpu = False
            try:
                cpu = dict(zip(cpu_names, map(text.number, words), strict=True))
            except ValueError:
                reading.refuse(source.name, n, f"it has not the {len(cpu_names)} numbers of a line below avg-cpu")
        elif columns and len(words) == 1 and not waiting and not text.is_prompt(line):
            waiting = words  # a long name, or any with -h of sysstat 10 and 11, has a line of its own
        elif columns and not text.is_prompt(line):
            if " ".join((waiting + words)[: -len(columns)]) in reports[-1].disks:  # one heading of many, as grep leaves it
                reports.append(Report(None, {}, {}))
            _row(reading, source, n, waiting + words, columns, reports[-1])
            waiting = []
        elif local_times.is_time(line.strip()):
            at, has_zone = _moment(reading, source, n, line.strip())
        elif text.is_prompt(line):
            reading.other_lines += 1
        else:
            is_cut = not reports and len(words) > MIN_NUMBERS and all(map(text.NUMBER.fullmatch, words[1:]))
            why = "it stands above the first heading, so the beginning is cut off" if is_cut else "it is no line of iostat"
            reading.refuse(source.name, n, f"'{line[:40]}': {why}")
    if waiting:
        reading.problems.append(f"the last line of {source.name} is not whole, so the file is cut off")
    _compare_devices(reading, source, reports)
    return reports, has_zone


def _is_heading(line: str) -> bool:
    """Whether a line is the first one, a time or a heading. What stands between it and the next empty line is below it."""
    return bool(HEADER.match(line) or line.startswith(("Device", "avg-cpu:")) or local_times.is_time(line.strip()))


def _moment(reading: Reading, source: Source, n: int, shown: str) -> tuple[float | None, bool]:
    """Of a line that is a time: s since 1970 or None, whether it has a zone. One that is not known is refused."""
    at, has_zone = local_times.moment(shown)
    _note_order(reading, shown)
    if at is None:
        reading.refuse(
            source.name,
            n,
            f"'{shown[:40]}' is a time without a date, or one whose order of day and month is not known; "
            "record with S_TIME_FORMAT=ISO",
        )
    return at, has_zone


def _compare_devices(reading: Reading, source: Source, reports: list[Report]) -> None:
    """A last report that lacks devices is cut off. Other reports may have others than the first."""
    if reports and not reports[-1].disks and not reading.refused:
        reading.problems.append(f"the last report of {source.name} has no device, so the file is cut off")
    generation = {tuple(report.disks) for report in reports}
    if len(generation) > 1:
        absent = [n + 1 for n, report in enumerate(reports) if set(report.disks) != set(reports[0].disks)]
        if absent == [len(reports)] and len(reports[-1].disks) < len(reports[0].disks):
            reading.problems.append(f"the last report of {source.name} lacks devices, so the file is cut off")
        else:
            reading.warnings.append(f"devices come and go: report {absent[0]} has others than the first")


def _of_cpu(words: list[str]) -> tuple[str, ...]:
    """Names below avg-cpu: up to sysstat 6 without steal, and system is called sys."""
    names = tuple("system" if word == "%sys" else word.lstrip("%") for word in words)
    return names if names and set(names) <= set(CPU) else CPU


def _known(columns: list[str], n: int) -> list[str]:
    if unknown := [name for name in columns if name not in COLUMNS]:
        raise Damaged(f"line {n} has a column '{unknown[0][:40]}', which is none of iostat -x")
    return columns


def _row(reading: Reading, source: Source, n: int, words: list[str], columns: list[str], report: Report) -> None:
    device, values = " ".join(words[: -len(columns)]), words[-len(columns) :]
    try:
        if not device or device in report.disks or any(map(text.NUMBER.fullmatch, words[1 : -len(columns)])):
            raise ValueError
        report.disks[device] = dict(zip(columns, map(text.number, values), strict=True))
        reading.rows += 1
    except ValueError:
        has_units = any(re.fullmatch(r"\d[\d.,]*[kMGTP%]", word) for word in values)
        why = "its numbers have units, as --human prints them; record without it" if has_units else (
            f"it is not whole: a device has {len(columns)} numbers" if len(words) <= len(columns) else
            f"it is no device with {len(columns)} numbers")
        reading.refuse(source.name, n, why)


def _note_order(reading: Reading, shown: str) -> None:
    note = "dates are read with the month before the day, as the locales C and en_US do; S_TIME_FORMAT=ISO is certain"
    if note not in reading.warnings and local_times.is_month_first_by_habit(shown):
        reading.warnings.append(note)


# --- JSON -------------------------------------------------------------------------------------------------------------


def _of_json(reading: Reading, source: Source) -> tuple[list[Report], bool]:
    content = text.whole(source.path)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = _repaired(content)
        if document is None:
            raise Damaged(f"{source.name} is no whole JSON") from None
        reading.problems.append(
            f"{source.name} is cut off, as iostat leaves it that was stopped by SIGTERM; stop it by SIGINT"
        )
    try:
        host = document["sysstat"]["hosts"][0]
        reading.params |= {
            "kernel": str(host["release"]),
            "host": str(host["nodename"]),
            "date": str(host["date"]),
            "machine": str(host["machine"]),
            "cpus": str(host["number-of-cpus"]),
        }
        made = [_report(part) for part in host["statistics"]]
        _note_order(reading, str(host["statistics"][0].get("timestamp", "")) if made else "")
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise Damaged(
            f"{source.name} is not what iostat -x -o JSON writes ({type(error).__name__}: {str(error)[:40]})"
        ) from None
    reading.rows += sum(len(report.disks) for report, _ in made)
    return [report for report, _ in made], any(has_zone for _, has_zone in made)


def _repaired(content: str) -> Any:
    """What was whole, of JSON whose end is missing; None if nothing was."""
    for end in ("]}]}}", "]}]}]}}"):
        for cut in (len(content), content.rfind("},\n"), content.rfind("}")):
            try:
                return json.loads(content[: cut + 1 if cut < len(content) else cut].rstrip().rstrip(",") + end)
            except (ValueError, RecursionError):
                continue
    return None


def _report(part: dict[str, Any]) -> tuple[Report, bool]:
    moment = text.epoch(str(part["timestamp"])) if "timestamp" in part else None
    at, has_zone = moment if moment else local_times.moment(str(part.get("timestamp", "")))
    disks = {}
    for disk in part["disk"]:
        device = str(disk["disk_device"])
        columns = _known([name for name in disk if name != "disk_device"], 1)
        disks[device] = {name: float(disk[name]) for name in columns}
        if device == "" or not all(map(math.isfinite, disks[device].values())):
            raise ValueError("a number is not finite")
    return (
        Report(at, {name: float(value) for name, value in part.get("avg-cpu", {}).items() if name in CPU}, disks),
        has_zone,
    )


# --- series -----------------------------------------------------------------------------------------------------------


def _series(reading: Reading, source: Source, reports: list[Report], has_zone: bool) -> None:
    columns = list(dict.fromkeys(name for report in reports for disk in report.disks.values() for name in disk))
    twice = {"rsec/s": "rkB/s", "wsec/s": "wkB/s"}  # up to sysstat 6 both are printed, and one is half of the other
    columns = [name for name in columns if twice.get(name) not in columns]
    reading.dialect = _generation(columns, source.kind)
    times, clock = _times(reading, reports, has_zone)
    quantities = [Quantity(*COLUMNS[name]) for name in columns]
    since_boot, later = _split(reading, reports)
    for name, chosen in (("iostat.disks", later), ("iostat.disks_since_boot", since_boot)):
        series = Series(name=name, quantities=quantities, clock=clock, file=source.name)
        for n in chosen:
            for device, values in reports[n].disks.items():
                series.add(times[n], [values.get(column, math.nan) for column in columns], device)
        if len(series.times):
            reading.series.append(series)
    cpu = Series(name="iostat.cpu", quantities=[Quantity(f"cpu.{name}", "%", SHARE) for name in CPU], clock=clock,
                 file=source.name)
    for n in later:
        if reports[n].cpu:
            cpu.add(times[n], [reports[n].cpu.get(name, math.nan) for name in CPU])
    if len(cpu.times):
        reading.series.append(cpu)
    reading.params["reports"] = len(reports)


def _generation(columns: list[str], form: str) -> str:
    there = {name.lstrip("%") for name in columns}
    if there & {"kB_read/s", "MB_read/s", "Blk_read/s"}:
        return f"{form}, without -x"
    release = (
        "12.3.1 or later"
        if "f/s" in there
        else (
            "12.1.2 or later"
            if "d/s" in there
            else "short, -s" if "areq-sz" in there else "11.5.7 to 12.1.1" if "rareq-sz" in there else "up to 11.5.6"
        )
    )
    return f"{form}, {release}"


def _times(reading: Reading, reports: list[Report], has_zone: bool) -> tuple[list[float], Clock]:
    stamped = [report.at for report in reports]
    interval = text.interval_of(str(reading.params.get("command", "")).split())
    if interval is not None and not any(stamped):
        reading.missing.append(f"times of the reports; they are {interval:g} s apart, as the command says")
        return [interval * n for n in range(len(reports))], NO_CLOCK
    if any(at is None for at in stamped):
        reading.missing.append(
            "times of the reports, and with them the interval; they are numbered, and a second is assumed "
            "between two; record with -t and S_TIME_FORMAT=ISO"
        )
        return [float(n) for n in range(len(reports))], NO_CLOCK
    known = [at for at in stamped if at is not None]
    if any(later <= earlier for earlier, later in itertools.pairwise(known)):
        raise Damaged("times of its reports do not go forward")
    source = "-t, whole seconds with a zone" if has_zone else f"{text.LOCAL} of -t, whole seconds without a zone"
    return [at - known[0] for at in known], Clock(known[0], 1.0, source)


def _split(reading: Reading, reports: list[Report]) -> tuple[list[int], list[int]]:
    """Which reports are of the time since the machine started, and which are not. A single one is, without `-y`."""
    everything = list(range(len(reports)))
    command = str(reading.params.get("command", "")).split()
    if text.has_option(command, "y"):
        return [], everything
    if len(reports) == 1:
        known = "without -y is of the time since the machine started" if "kernel" in reading.params else (
            "is taken for one of the time since the machine started: the line of the system, above the first, is not there")
        reading.warnings.append(f"there is a single report, which {known}")
        return everything, []
    reading.warnings.append(
        f"the first report is kept apart: without -y it is of the time since the machine started, and {text.of_y(command)}"
    )
    return everything[:1], everything[1:]

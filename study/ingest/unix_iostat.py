"""iostat of Solaris, illumos, FreeBSD and macOS: `-x` with the options that go with it, and the short tables.

    device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b              Solaris -x; -n puts the device last
    device     r/s     w/s    kr/s    kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b  FreeBSD -x; up to 10: qlen svc_t %b
     KB/t  tps  MB/s  us sy id                                               FreeBSD, macOS; names of disks stand above

Kilobytes are of 1024 B. The first report is of the time since the machine started. A comma may stand before decimals.
Columns of the whole machine stand behind those of the first device, or in a table of their own.
Formats: iostat(8) of FreeBSD and macOS, iostat(8) of illumos, iostat(1M) of Solaris.
"""

import itertools
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from study.ingest import text
from study.ingest.around import Around, is_prose
from study.ingest.reading import NO_CLOCK, Clock, Damaged, Quantity, Reading, Series, Source, refuse_several
from study.ingest.zpool_iostat import report_lines

TOOL = "Unix iostat"
RATE, MEAN, SHARE, INSTANT, COUNT = "rate", "mean", "share", "instant", "count"
DEVICE = {
    "r/s": ("reads", "1/s", RATE),
    "w/s": ("writes", "1/s", RATE),
    "tps": ("requests", "1/s", RATE),
    "kr/s": ("read_bandwidth", "KiB/s", RATE),
    "kw/s": ("write_bandwidth", "KiB/s", RATE),
    "Mr/s": ("read_bandwidth", "MiB/s", RATE),
    "Mw/s": ("write_bandwidth", "MiB/s", RATE),
    "MB/s": ("bandwidth", "MiB/s", RATE),
    "kps": ("bandwidth", "KiB/s", RATE),
    "KB/t": ("request.size", "KiB", MEAN),
    "wait": ("waiting", "requests", MEAN),
    "actv": ("active", "requests", MEAN),
    "qlen": ("queue", "requests", INSTANT),
    "svc_t": ("response", "ms", MEAN),
    "serv": ("response", "ms", MEAN),
    "wsvc_t": ("wait", "ms", MEAN),
    "asvc_t": ("service", "ms", MEAN),
    "ms/r": ("read.response", "ms", MEAN),
    "ms/w": ("write.response", "ms", MEAN),
    "ms/o": ("other.response", "ms", MEAN),
    "ms/t": ("response", "ms", MEAN),
    "%w": ("waiting.share", "%", SHARE),
    "%b": ("busy", "%", SHARE),
    "s/w": ("errors.soft", "errors", COUNT),
    "h/w": ("errors.hard", "errors", COUNT),
    "trn": ("errors.transport", "errors", COUNT),
    "tot": ("errors", "errors", COUNT),
}
MACHINE = {
    "us": ("cpu.user", "%", SHARE),
    "ni": ("cpu.nice", "%", SHARE),
    "sy": ("cpu.system", "%", SHARE),
    "in": ("cpu.interrupt", "%", SHARE),
    "wt": ("cpu.iowait", "%", SHARE),
    "id": ("cpu.idle", "%", SHARE),
    "tin": ("terminal.read", "characters/s", RATE),
    "tout": ("terminal.written", "characters/s", RATE),
    "1m": ("load.1m", "processes", MEAN),
    "5m": ("load.5m", "processes", MEAN),
    "15m": ("load.15m", "processes", MEAN),
}
GROUPS = (("KB/t", "tps", "MB/s"), ("kps", "tps", "serv"))  # of a disk, in the short tables
TITLE = re.compile(r"\s*extended (?:device|disk) statistics\b.*")
CHANGE = re.compile(r"<<.*>>")  # a device that comes or goes, on Solaris
UNIQUE = {"kr/s", "Mr/s"}  # columns that no other tool's tables have
TOTALS = {"r/i", "kr/i", "xfrs"}  # of -I
LOOKED_AT = 60  # lines


@dataclass
class Table:
    """A heading: what stands in a row below it."""

    columns: list[str] = field(default_factory=list)  # of a device
    machine: list[str] = field(default_factory=list)  # of the whole machine, where a row has them
    is_last: bool = False  # the device's name stands behind its numbers
    disks: list[str] = field(default_factory=list)  # of a short table
    order: list[str] = field(default_factory=list)  # all columns; none above the first table


@dataclass
class Report:
    """One interval."""

    at: float | None
    disks: dict[str, dict[str, float]] = field(default_factory=dict)
    machine: dict[str, float] = field(default_factory=dict)


def kind(name: str, head: str) -> str | None:
    """"text" for such an output by its beginning, else None."""
    rows = [line for line in head.splitlines() if line.strip()][:LOOKED_AT]
    return "text" if any(map(_is_heading, rows)) else None


def _is_heading(line: str) -> bool:
    words = set(line.split())
    has_device = bool(words & {"device", "disk"})
    return (has_device and bool(words & (UNIQUE | TOTALS))) or any(set(group) <= words for group in GROUPS)


def read(sources: list[Source], scratch: Path) -> Reading:
    """All that iostat printed. Damaged if there are several outputs."""
    refuse_several(sources)
    reading, source = Reading(tool=TOOL), sources[0]
    text.note_a_cut(reading, source)
    reports, is_short = _reports(reading, source)
    if reports:
        _keep(reading, source, reports)
        reading.dialect = "short tables" if is_short else "-x"
    reading.missing.append("totals of its own: iostat prints none, so nothing can be compared")
    return reading


def _reports(reading: Reading, source: Source) -> tuple[list[Report], bool]:
    reports: list[Report] = []
    table, above, at, is_short = Table(), list[str](), None, False
    machine: dict[str, float] = {}
    around = Around(reading, source, "iostat", _is_heading)
    for n, line in text.lines(source.path):
        words = line.split()
        table = Table() if text.is_command(line) else table
        if not words or CHANGE.fullmatch(line.strip()) or TITLE.fullmatch(line):
            reading.other_lines += 1
        elif (moment := _moment(line)) is not None:
            at = moment
        elif set(words) <= {"tty", "cpu"}:
            table, above = Table(), words
            reading.other_lines += 1
        elif (not (_is_machine(words) or _is_named_last(words, table)) and (is_prose(line) or not table.order)
              and _passes_over(around, n, line)):
            above = words if not text.is_prompt(line) else above
            table = Table()     # what stands below text is no row of the heading above it
        elif (command := text.command_of(line, "iostat")) is not None:
            if reports:
                raise Damaged(f"a second run begins in line {n} of {source.name}; give each run by itself")
            reading.params["command"] = " ".join(["iostat", *command])
        elif text.is_omission(line):
            reading.refuse(source.name, n, text.OMITTED)
        elif made := _table(words, above, n):
            table, is_short = made, is_short or bool(made.disks)
            if table.columns:
                reports.append(Report(at, machine=machine))
                at, machine = None, {}
        elif table.disks:
            if _is_numbers(words) and len(words) == len(table.order):
                reports.append(_short(words, table))
                reading.rows += len(table.disks)
            else:
                above = words
                _unless_a_heading(reading, source, n, words)
        elif table.columns and not text.is_prompt(line):
            _row(reading, source, n, words, table, reports)
        elif table.machine and _is_numbers(words) and len(words) == len(table.machine):
            machine = dict(zip(table.machine, map(text.number, words), strict=True))
        elif text.is_prompt(line):
            reading.other_lines += 1
        else:
            above = words
            _unless_a_heading(reading, source, n, words)
    return [report for report in reports if report.disks], is_short


def _passes_over(around: Around, n: int, line: str) -> bool:
    if _is_heading(line):
        around.takes_back(n - 1)
    return around.passes_over(n, line)


def _unless_a_heading(reading: Reading, source: Source, n: int, words: list[str]) -> None:
    """Refuse a line with numbers. One without is taken for names that stand above a heading."""
    if any(text.NUMBER.fullmatch(word) for word in words):
        reading.refuse(source.name, n, f"'{' '.join(words)[:40]}' is no row of the heading above it")
    else:
        reading.other_lines += 1


def _is_numbers(words: list[str]) -> bool:
    return all(map(text.NUMBER.fullmatch, words))


def _is_machine(words: list[str]) -> bool:
    """Whether a line is of a table of the processors, which stands above that of the devices."""
    return set(words) <= MACHINE.keys() | {"cpu", "tty"} or _is_numbers(words)


def _is_named_last(words: list[str], table: Table) -> bool:
    """Whether a line is a row whose device stands behind its numbers, with blanks in its name or not."""
    return table.is_last and len(words) > len(table.columns) and _is_numbers(words[:len(table.columns)])


def _table(words: list[str], above: list[str], n: int) -> Table | None:
    """The table that a line is the heading of. Raises Damaged for columns that are not known."""
    known = DEVICE.keys() | MACHINE.keys() | {"device", "disk"}
    if set(words) & TOTALS:
        raise Damaged(f"line {n} is a heading of -I, whose numbers are no rates; record without -I")
    if {"device", "disk"} & {words[0], words[-1]} and "r/s" in words:
        if unknown := [word for word in words if word not in known]:
            raise Damaged(f"line {n} has a column '{unknown[0][:40]}', which is not known of {TOOL}")
        names = [word for word in words if word not in ("device", "disk")]
        return Table([word for word in names if word in DEVICE], [word for word in names if word in MACHINE],
                     words[-1] in ("device", "disk"), order=words)
    group = next((group for group in GROUPS if set(group) <= set(words)), None)
    if group and set(words) <= known:
        disks = [name for name in above if name not in ("tty", "cpu", "load", "average")]
        if sum(word in DEVICE for word in words) != len(group) * len(disks) or len(set(disks)) != len(disks):
            raise Damaged(f"line {n} has columns of other disks than the names above it; give both lines whole")
        return Table(machine=[word for word in words if word in MACHINE], disks=disks, order=words)
    if set(words) <= MACHINE.keys():
        return Table(machine=words)
    return None


def _short(words: list[str], table: Table) -> Report:
    """A row of a short table: all disks, and the machine."""
    report, values = Report(None), list(map(text.number, words))
    of_disks = [(column, value) for column, value in zip(table.order, values, strict=True) if column in DEVICE]
    report.machine = {column: value for column, value in zip(table.order, values, strict=True) if column in MACHINE}
    width = len(of_disks) // len(table.disks)
    report.disks = {disk: dict(of_disks[width * i:width * (i + 1)]) for i, disk in enumerate(table.disks)}
    return report


def _row(reading: Reading, source: Source, n: int, words: list[str], table: Table, reports: list[Report]) -> None:
    device, values = (" ".join(words[len(table.columns):]), words[:len(table.columns)]) if table.is_last else (
        words[0], words[1:])
    has_machine = len(values) == len(table.columns) + len(table.machine) and table.machine
    if not device or not _is_numbers(values) or not (len(values) == len(table.columns) or has_machine):
        reading.refuse(source.name, n, f"it is no device with {len(table.columns)} numbers")
        return
    if device in reports[-1].disks:  # one heading of many, as grep leaves it
        reports.append(Report(None))
    numbers = list(map(text.number, values))
    reports[-1].disks[device] = dict(zip(table.columns, numbers, strict=False))
    if has_machine:
        reports[-1].machine = dict(zip(table.machine, numbers[len(table.columns):], strict=True))
    reading.rows += 1


def _moment(line: str) -> float | None:
    """Seconds since 1970 of a line that -T u or -T d prints."""
    if report_lines.EPOCH.fullmatch(line.strip()):
        return float(line)
    seen = report_lines.date(line)
    return seen[0] if seen else None


def _interval(words: list[str], is_bsd: bool) -> float | None:
    """Seconds between reports. On FreeBSD and macOS `-w` has them, else they are 1. Those behind `-c` and `-n` are none."""
    if not is_bsd:
        return text.interval_of(words)
    if (wait := _behind(words, "w")) is not None:
        return text.interval_of([wait])
    given = text.interval_of([word for i, word in enumerate(words) if not i or not re.fullmatch(r"-\w*[cn]", words[i - 1])])
    return given or (1.0 if _behind(words, "c") else None)


def _behind(words: list[str], letter: str) -> str | None:
    """What stands behind an option or a group of options that ends in a letter."""
    return next((word for option, word in itertools.pairwise(words) if re.fullmatch(rf"-\w*{letter}", option)), None)


def _n_asked_for(words: list[str], is_bsd: bool) -> int:
    """How many reports the command asks for; 0 where it does not say."""
    numbers = [word for word in words if word.isdecimal()]
    count = _behind(words, "c") if is_bsd else None
    count = count or (numbers[-1] if len(numbers) > 1 else None)
    return int(count) if count is not None and count.isdecimal() else 0


def _keep(reading: Reading, source: Source, reports: list[Report]) -> None:
    """Series of disks and of the machine; the first report is of the time since it started."""
    times, clock = _times(reading, reports)
    generation = {tuple(report.disks) for report in reports}
    command = str(reading.params.get("command", "")).split()
    if len(generation) > 1 and not text.has_option(command, "z"):
        reading.warnings.append("devices come and go, as -z has them, or reports are not whole")
    n_asked_for = _n_asked_for(command, _is_bsd(reports))
    if n_asked_for > len(reports):
        reading.warnings.append(f"{len(reports)} of {n_asked_for} reports are here; the first is taken for that since the "
                                "machine started, which it is not if the beginning is missing")
    elif len(reports) == 1:
        reading.warnings.append("there is a single report, which is taken for one of the time since the machine started")
    else:
        reading.warnings.append("the first report is kept apart: it is of the time since the machine started")
    columns = list(dict.fromkeys(name for report in reports for disk in report.disks.values() for name in disk))
    for name, chosen in (("iostat.disks_since_boot", [0]), ("iostat.disks", range(1, len(reports)))):
        series = Series(name=name, quantities=[Quantity(*DEVICE[column]) for column in columns], clock=clock,
                        file=source.name)
        for i in chosen:
            for device, values in reports[i].disks.items():
                series.add(times[i], [values.get(column, math.nan) for column in columns], device)
        if len(series.times):
            reading.series.append(series)
    columns = list(dict.fromkeys(name for report in reports for name in report.machine))
    machine = Series(name="iostat.cpu", quantities=[Quantity(*MACHINE[column]) for column in columns], clock=clock,
                     file=source.name)
    for i in range(1, len(reports)):
        if reports[i].machine:
            machine.add(times[i], [reports[i].machine.get(column, math.nan) for column in columns])
    if len(machine.times):
        reading.series.append(machine)
    reading.params["reports"] = len(reports)


def _is_bsd(reports: list[Report]) -> bool:
    return any({"qlen", "KB/t"} & columns.keys() for columns in reports[0].disks.values())


def _times(reading: Reading, reports: list[Report]) -> tuple[list[float], Clock]:
    stamps = [report.at for report in reports if report.at is not None]
    if len(stamps) == len(reports):
        if any(later <= earlier for earlier, later in itertools.pairwise(stamps)):
            raise Damaged("times of its reports do not go forward")
        return [at - stamps[0] for at in stamps], Clock(stamps[0], 1.0, f"{text.LOCAL} of -T, whole seconds")
    interval = _interval(str(reading.params.get("command", "")).split(), _is_bsd(reports))
    if interval is not None:
        reading.missing.append(f"times of the reports; they are {interval:g} s apart, as the command says")
    else:
        reading.missing.append(
            "times of the reports, and with them the interval; they are numbered, and a second is assumed between two"
        )
    return [(interval or 1.0) * i for i in range(len(reports))], NO_CLOCK

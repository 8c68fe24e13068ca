"""FileBench: the style up to 1.4 (2007 on Solaris, 1.4.9.1) and of 1.5, with `psrun` and `lathist`.

    2007    IO Summary: 1034439 ops 8543.3 ops/s, (4255/4245 r/w) 66.7mb/s, 188us cpu/op, 45.7ms latency
    1.4     66.156: IO Summary: 62109 ops, 1035.1 ops/s, (259/518 r/w),  68.2mb/s,    430us cpu/op,  17.1ms latency
    1.5     3.027: IO Summary: 198862 ops 99233.228 ops/s 16539/16539 rd/wr 5446.5mb/s 0.019ms/op

`mb` is 2^20 bytes. A run that was stopped early ends as one that was not, but prints no breakdown.
Formats: stats.c of FileBench; transcripts of 2007.
"""

import math
import re
from pathlib import Path

from study.ingest import text
from study.ingest.reading import CLOSED, Bin, Damaged, Histogram, Quantity, Reading, Series, Source, refuse_several, slug

TOOL = "FileBench"
NEW = re.compile(
    r"(?P<t>[\d.]+): IO Summary:\s+(?P<ops>\d+) ops\s+(?P<rate>[\d.]+) ops/s,?\s+(?P<reads>\d+)/(?P<writes>\d+) rd/wr\s+"
    r"(?P<mb>[\d.]+)mb/s,?\s+(?P<ms>[\d.]+)ms/op"
)
OLD = re.compile(
    r"(?:\d+: )?(?:(?P<t>[\d.]+): )?IO Summary:\s+(?P<ops>\d+) ops,? (?P<rate>[\d.]+) ops/s,? "
    r"\((?P<reads>\d+)/(?P<writes>\d+) r/w\),?\s+(?P<mb>[\d.]+)mb/s,\s+(?P<cpu>[\d.]+)us cpu/op,\s+(?P<ms>[\d.]+)ms latency"
)
NEW_ROW = re.compile(
    r"(?P<name>\S+)\s+(?P<ops>\d+)ops\s+(?P<rate>[\d.]+)ops/s\s+(?P<mb>[\d.]+)mb/s\s+(?P<ms>[\d.]+)ms/op"
    r"(?:\s+(?P<cpu>[\d.]+)us/op-cpu)?\s*(?:\[(?P<low>[\d.]+)ms\s*-\s*(?P<high>[\d.]+)ms\])?"
    r"(?:\s+\[(?P<bins>[\d\s]+)\])?\s*"
)
OLD_ROW = re.compile(
    r"(?P<name>\S+)\s+(?P<rate>[\d.]+)ops/s\s+(?P<mb>[\d.]+)mb/s\s+(?P<ms>[\d.]+)ms/op\s+(?P<cpu>[\d.]+)us/op-cpu\s*"
)
BREAKDOWN, RUN_TOOK = "Per-Operation Breakdown", re.compile(r"(?:\d+: )?(?:[\d.]+: )?Run took (\d+) seconds.*")
BANNER = re.compile(r"(?:\d+: )?(?:[\d.]+: )?File[Bb]ench [Vv]ersion (\S+).*")
EARLY = re.compile(r".*(stopped early|NO VALID RESULTS|[Ss]topping run early|Run aborted).*")
MOST_IDLE = 12  # rows whose type is guessed, of two each
HALF_A_TENTH = 0.05  # MiB/s, by which a printed bandwidth may be off
STAMP = re.compile(r"(?:\d+: )?([\d.]+): (.*)")


def kind(name: str, head: str) -> str | None:
    """"text" for an output of FileBench by its beginning, else None."""
    rows = head.splitlines()
    return (
        "text"
        if any(BANNER.match(row) or "IO Summary:" in row or BREAKDOWN in row or RUN_TOOK.match(row) for row in rows)
        else None
    )


def read(sources: list[Source], scratch: Path) -> Reading:
    """All that the output of one run says. Damaged if there are several."""
    refuse_several(sources)
    reading, source = Reading(tool=TOOL), sources[0]
    blocks: list[tuple[float, dict[str, str]]] = []
    rows: list[list[dict[str, str]]] = []
    in_breakdown, took, began, t = False, None, None, math.nan
    for n, line in text.lines(source.path):
        line = line.strip()
        if match := STAMP.match(line):
            t = float(match[1]) if match[1].count(".") <= 1 and match[1] != "." else math.nan
        if match := BANNER.match(line):
            if reading.version:
                raise Damaged(f"a second run begins in line {n} of {source.name}; give each run by itself")
            reading.version = match[1]
        elif EARLY.fullmatch(line):
            reading.problems.append(f"the run was stopped early, says line {n} of {source.name}")
        elif line.endswith("Running..."):
            if began is not None:
                raise Damaged(f"a second run begins in line {n} of {source.name}; give each run by itself")
            began = t
        elif match := RUN_TOOK.fullmatch(line):
            if took is not None:
                raise Damaged(f"a second run took its time in line {n} of {source.name}; give each run by itself")
            took = float(match[1])
        elif BREAKDOWN in line:
            in_breakdown = True
            rows.append([])
        elif match := NEW.fullmatch(line) or OLD.fullmatch(line):
            blocks.append((float(match["t"] or (t if math.isfinite(t) else len(blocks))), match.groupdict()))
            reading.dialect = "up to 1.4" if match.re == OLD else "1.5"
            in_breakdown = False
            reading.rows += 1
        elif "IO Summary:" in line:
            reading.refuse(source.name, n, "it begins as a summary and does not go on so")
        elif in_breakdown and (match := NEW_ROW.fullmatch(line) or OLD_ROW.fullmatch(line)):
            rows[-1].append({name: value for name, value in match.groupdict().items() if value is not None})
            reading.rows += 1
        elif in_breakdown and "ops/s" in line:
            reading.refuse(source.name, n, "it begins as a row of the breakdown and does not go on so")
        else:
            reading.other_lines += 1
    if not blocks:
        reading.problems.append(f"{source.name} has no summary of I/O: the run was stopped early, or the file is cut off")
        return reading
    if took is None:
        reading.problems.append(f"{source.name} does not say how long the run took, so it is cut off")
    _totals(reading, source, blocks, rows, began or 0.0, took)
    return reading


def _totals(
    reading: Reading,
    source: Source,
    blocks: list[tuple[float, dict[str, str]]],
    rows: list[list[dict[str, str]]],
    began: float,
    took: float | None,
) -> None:
    reading.load = CLOSED
    reading.warnings.append(
        "the load is closed: threads wait for each operation, so a stall holds back those that would have "
        "shown it (coordinated omission)"
    )
    reading.missing.append("the time of day; --started gives it")
    if took is not None:
        reading.total("filebench.elapsed", took, "s")
    names = {
        "rate": Quantity("rate", "1/s", "rate"),
        "reads": Quantity("reads", "1/s", "rate"),
        "writes": Quantity("writes", "1/s", "rate"),
        "mb": Quantity("bandwidth", "MiB/s", "rate"),
        "ms": Quantity("response", "ms", "mean"),
        "ops": Quantity("operations", "operations", "count"),
        "cpu": Quantity("cpu", "us", "mean"),
    }
    there = [name for name in names if blocks[0][1].get(name) is not None]
    if len(blocks) == 1:
        for name in there:
            reading.total(f"filebench.{names[name].name}", text.number(blocks[0][1][name]), names[name].unit)
    else:
        reading.dialect += ", several intervals"
        reading.missing.append(
            "numbers of the whole run: each interval is counted afresh, and percentiles of them cannot be joined"
        )
        series = Series(name="filebench.intervals", quantities=[names[name] for name in there], file=source.name)
        for t, block in blocks:
            series.add(t - began, [text.number(block[name]) for name in there])
        reading.series.append(series)
    if len(rows) != len(blocks):
        reading.problems.append(f"{source.name} has {len(rows)} breakdowns and {len(blocks)} summaries, so it is cut off")
        return
    _rows(reading, source, blocks, rows, began, names)
    left_out: dict[str, None] = {}  # sets in order
    idle: dict[str, None] = {}
    for (_, block), breakdown in zip(blocks, rows, strict=True):
        left_out |= dict.fromkeys(_check_rows(reading, block, breakdown))
        idle |= {row["name"]: None for row in breakdown if "ops" in row and float(row["ops"]) and not float(row["mb"])}
    if left_out:
        reading.warnings.append(
            f"left out of the count of operations: {', '.join(left_out)}. The summary counts I/O alone, and does not say "
            "which rows are I/O. Those that fit best are counted"
        )
    if idle:
        reading.warnings.append(
            f"rows that move no bytes ({', '.join(idle)}) are I/O or waiting, and FileBench does not say which. The loss of "
            "one of them may not be seen"
        )
    if len(blocks) == 1 and took:
        ops, rate = float(blocks[0][1]["ops"]), float(blocks[0][1]["rate"])
        reading.check(
            "operations, by rate and time",
            rate * took,
            ops,
            "operations",
            0.02 * ops + 1.5 * rate,
            "the time is printed in whole seconds",
        )


def _check_rows(reading: Reading, block: dict[str, str], breakdown: list[dict[str, str]]) -> list[str]:
    """Holds the rows against their summary. Names of those that are left out of its count."""
    printed = float(block["ops"])
    counted = breakdown
    if breakdown and all("ops" in row for row in breakdown):
        counted = _counted(breakdown, printed)
        reading.check(
            "operations of the breakdown",
            sum(float(row["ops"]) for row in counted),
            printed,
            "operations",
            max(1.0, 0.001 * printed),
            "threads go on while it is printed",
        )
        _check_each(reading, block, breakdown)
    if breakdown:
        reading.check(
            "bandwidth of the breakdown",
            sum(float(row["mb"]) for row in counted),
            float(block["mb"]),
            "MiB/s",
            HALF_A_TENTH * (len(counted) + 1) + 0.001 * float(block["mb"]),
            "each row is rounded to a tenth",
        )
    taken = set(map(id, counted))  # two rows may be alike
    return [row["name"] for row in breakdown if id(row) not in taken and float(row["ops"])]


def _check_each(reading: Reading, block: dict[str, str], breakdown: list[dict[str, str]]) -> None:
    """Operations of the row that fits its own rate worst. The time is that of the summary."""
    if not float(block["rate"]):
        return
    seconds = float(block["ops"]) / float(block["rate"])
    name, by_rate, ops = max(
        ((row["name"], float(row["rate"]) * seconds, float(row["ops"])) for row in breakdown),
        key=lambda of_row: abs(of_row[1] - of_row[2]) - 0.01 * of_row[2],
    )
    reading.check(
        f"operations of {name}, by its rate",
        by_rate,
        ops,
        "operations",
        0.5 * seconds + 0.01 * ops + 1.0,
        "rates of rows are whole numbers",
    )


def _counted(breakdown: list[dict[str, str]], printed: float) -> list[dict[str, str]]:
    """Rows that the summary counts. Closing a file is I/O and moves no bytes; waiting for a semaphore is none. The type of
    a row is not printed. So all that move bytes are taken, and of the others those whose sum comes nearest."""
    idle = [row for row in breakdown if not float(row["mb"]) and float(row["ops"])]
    moving = [row for row in breakdown if float(row["mb"])] + idle[MOST_IDLE:]
    sums: dict[float, tuple[dict[str, str], ...]] = {sum(float(row["ops"]) for row in moving): ()}
    for row in idle[:MOST_IDLE]:
        sums = {total + float(row["ops"]): (*taken, row) for total, taken in sums.items()} | sums
    return [*moving, *sums[min(sums, key=lambda total: abs(total - printed))]]


def _rows(
    reading: Reading,
    source: Source,
    blocks: list[tuple[float, dict[str, str]]],
    rows: list[list[dict[str, str]]],
    began: float,
    names: dict[str, Quantity],
) -> None:
    keys = [
        name for name in ("rate", "mb", "ms", "ops", "cpu") if any(name in row for breakdown in rows for row in breakdown)
    ]
    series = Series(name="filebench.operations", quantities=[names[name] for name in keys], file=source.name)
    for (t, _), breakdown in zip(blocks, rows, strict=True):
        seen: dict[str, int] = {}
        for row in breakdown:
            seen[row["name"]] = seen.get(row["name"], 0) + 1
            subject = row["name"] if seen[row["name"]] == 1 else f"{row['name']}#{seen[row['name']]}"
            series.add(t - began, [text.number(row[name]) if name in row else math.nan for name in keys], subject)
            if len(blocks) == 1:
                for name in keys:
                    if name in row:
                        reading.total(f"{slug(subject)}.{names[name].name}", text.number(row[name]), names[name].unit)
            if "bins" in row:
                counts = [float(word) for word in row["bins"].split()]
                bins = [Bin(float(2**n), float(2 ** (n + 1)), count) for n, count in enumerate(counts) if count]
                reading.histograms.append(
                    Histogram(series="filebench.response", subject=subject, t=t - began, name="response", unit="ns",
                              of="operations", bins=bins)
                )
    if len(blocks) > 1:
        reading.series.append(series)

"""Histograms of zpool iostat: waits (`-w`) and sizes of requests (`-r`), for each report and vdev."""

import math
from typing import NamedTuple

from study.ingest.reading import Bin, Damaged, Histogram, Reading, Source
from study.ingest.zpool_iostat.layouts import OF_SIZES, OF_WAITS, SIZES, WAITS
from study.ingest.zpool_iostat.report_lines import DASHES, Lines


class Block(NamedTuple):
    """A histogram of each column, of one report and vdev."""

    at: float | None
    vdev: str
    rows: list[tuple[float, list[float]]]  # label of a bucket, and its counts


def read(reading: Reading, source: Source) -> None:
    """Histograms of all reports and vdevs. Raises Damaged."""
    lines = Lines(reading, source)
    known = OF_WAITS if source.kind == "waits" else OF_SIZES
    blocks, width, expected, is_raw = list[Block](), None, None, True
    for line in lines.lines():
        words = line.words
        if DASHES.fullmatch(line.shown) or words[0] in ("latency", "req_size"):
            expected = lines.n_numbers(line) or expected
            reading.other_lines += 1
        elif "total_wait" in words or "sync_read" in words:
            blocks.append(Block(line.at, "" if words[0] in ("total_wait", "sync_read") else words[0], []))
            reading.other_lines += 1
        elif len(words) == 1:
            blocks.append(Block(line.at, words[0], []))
        elif (cells := lines.cells(line, words)) is None:
            continue
        elif len(cells) - 1 not in known.values() or width not in (None, len(cells)):
            all_known = ", ".join(map(str, known.values()))
            lines.refuse(line, f"it has {len(cells) - 1} numbers; such a line has {all_known}, all of a file as many")
        elif expected not in (None, len(cells) - 1):
            lines.refuse(line, f"it has {len(cells) - 1} numbers, and the heading above it {expected}")
        elif not blocks:
            raise Damaged(f"line {line.n} of {source.name} is a bucket before any pool is named")
        else:
            label, *counts = cells
            width = len(cells)
            is_raw = is_raw and all(count.is_raw for count in counts)
            blocks[-1].rows.append((label.value, [count.value for count in counts]))
            reading.rows += 1
    if width is not None:
        release = next(release for release, n in known.items() if n == width - 1)
        _dialect(reading, source, release, is_raw)
        _keep(lines, [block for block in blocks if block.rows], width - 1)


def _dialect(reading: Reading, source: Source, release: str, is_raw: bool) -> None:
    option = "-w" if source.kind == "waits" else "-r"
    shown = f"{option} of {release}, {'-p' if is_raw else 'human numbers'}"
    reading.dialect = ", ".join(filter(None, [reading.dialect, shown]))


def _keep(lines: Lines, blocks: list[Block], n_columns: int) -> None:
    """A histogram for each column of each block that counted anything."""
    reading, source = lines.reading, lines.source
    n_buckets = {len(block.rows) for block in blocks}
    if len(n_buckets) > 1:
        reading.problems.append(
            f"histograms of {source.name} have {min(n_buckets)} to {max(n_buckets)} buckets, so the file is cut off"
        )
    reports = _numbers_of_reports([block.vdev for block in blocks])
    stamps = [
        next((block.at for block, report in zip(blocks, reports, strict=True) if report == n), None)
        for n in range(max(reports) + 1)
    ]
    seconds, _ = lines.clock(stamps)
    of_waits = source.kind == "waits"
    series, unit, names = ("zpool.waits", "ns", WAITS) if of_waits else ("zpool.sizes", "B", SIZES)
    n_whole = 0 if lines.of_interval() else 1
    for block, report in zip(blocks, reports, strict=True):
        for column, name in enumerate(names[:n_columns]):
            bins = [Bin(*_ends(label, of_waits), values[column]) for label, values in block.rows if values[column]]
            if bins:
                reading.histograms.append(
                    Histogram(
                        series=series if report >= n_whole else f"{series}_since_import",
                        subject=block.vdev,
                        t=seconds[report],
                        name=name,
                        unit=unit,
                        of="operations/s" if report >= n_whole else "operations",
                        bins=bins,
                    )
                )
    if not n_whole:
        return
    reading.warnings.append(
        f"the first report of {source.name} is taken for counts since the pool was imported, as it is without "
        "-y; later ones are rates"
    )


def _numbers_of_reports(vdevs: list[str]) -> list[int]:
    """From 0: a vdev that comes again begins another report."""
    numbers, seen, report = [], set[str](), 0
    for vdev in vdevs:
        if vdev in seen:
            seen, report = set(), report + 1
        seen.add(vdev)
        numbers.append(report)
    return numbers


def _ends(label: float, of_waits: bool) -> tuple[float, float]:
    """Raw labels of waits are 2^n - 1; human ones are rounded down from that to a unit."""
    if not of_waits:
        return label, 2 * label
    upper = 2.0 ** round(math.log2(label + 1)) if label > 0 else 1.0
    return upper / 2, upper

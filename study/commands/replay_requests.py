"""`study replay requests`: a trace of the reader's own through caches, queue and allocator of the model."""
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from study.commands.pool import ERAS
from study.commands.result import Json, give
from study.console import doing, number, out, table
from study.errors import UserError, meant
from study.project import refuse_overwriting, refuse_unwritable, write_atomically
from study.words import counted

if TYPE_CHECKING:
    from study.traces.requests import Trace
    from study.traces.through import Through

MECHANISMS = ("arc", "l2arc", "vdev-cache", "queue", "allocator")
USED_BY = {"--block": ("arc", "l2arc", "allocator"), "--sizes": ("arc", "l2arc", "vdev-cache"), "--memory": ("l2arc",),
           "--era": ("l2arc", "vdev-cache", "queue", "allocator"), "--service-us": ("queue",), "--fill": ("allocator",)}
PICTURES = (".png", ".svg", ".pdf")
MIN_BLOCK, MAX_BLOCK = 512, 2**24   # B: SPA_MINBLOCKSIZE, SPA_MAXBLOCKSIZE
ENOUGH = 100_000    # requests; fewer take no time that can be told
MAX_SIZE = 2**53    # B of a cache
EVENTS = "QGIDC"    # of blkparse


def replay_requests(
    trace: Annotated[Path, typer.Argument(help="An iolog of fio (v2, v3), text of blkparse, a CSV of MSR Cambridge, "
                                               "oracleGeneral of libCacheSim, or a recording as in data/traces. It may be "
                                               "packed by gzip, bzip2, zstd or lz4.")],
    through: Annotated[list[str] | None, typer.Option(help=f"{', '.join(MECHANISMS)}; may be given several times. Default: "
                                                           "arc.")] = None,
    block: Annotated[str | None, typer.Option(
        help="arc, l2arc, allocator: size of a block (recordsize); K is 1024 B. Default: 8K.")] = None,
    sizes: Annotated[str | None, typer.Option(
        help="Sizes to try, as 64M,1G: of the ARC, of the cache device (l2arc), of zfs_vdev_cache_size. For a trace of "
             "objects: their number.")] = None,
    memory: Annotated[str | None, typer.Option(
        help="l2arc: size of the ARC. Default: a sixteenth of what the trace touches.")] = None,
    era: Annotated[str | None, typer.Option(
        help=f"Rules of which build: {ERAS}. Default: onnv_69 for the vdev cache, b141 for queue and l2arc, four "
             "builds for the allocator.")] = None,
    service_us: Annotated[float | None, typer.Option(
        help="queue: how long the device takes for a unit, us. Default: 5000.")] = None,
    fill: Annotated[float | None, typer.Option(
        help="allocator: share of the disk that all written blocks take. Default: 0.5.")] = None,
    rate: Annotated[float | None, typer.Option(help="Requests a second, evenly spaced; not the trace's times.")] = None,
    device: Annotated[list[str] | None, typer.Option(
        help="Only this device or file of the trace; may be given several times.")] = None,
    event: Annotated[str | None, typer.Option(
        help=f"blkparse: which events are the requests, one of {', '.join(EVENTS)}. Default: Q, as queued.")] = None,
    picture: Annotated[Path | None, typer.Option(help=f"Draw it here: {', '.join(PICTURES)}.")] = None,
    as_json: Json = False,
) -> None:
    """What caches, queue and allocator do with the requests of your own trace.

    arc: hit ratios of reads.
    LRU: exact for every size, by stack distances.
    ARC: as first published, and as in ZFS of 2007.

    l2arc: where reads are answered: by the ARC, the cache device or the pool.

    vdev-cache: reads that find their line, in percent; MiB that reads ask for, and MiB that disks move for them.

    queue: I/Os and their mean size in KiB, as they come and as they go to the device.

    allocator: records per write.

    Some formats lack kinds (read or write), places or times. A mechanism that needs them is refused.
    What is assumed is printed.

    Letters of blkparse: Q queued, G got a request, I inserted, D issued, C completed.

    Example: study replay requests data/examples/requests.iolog --through arc
    """
    wanted = through or ["arc"]
    _check(wanted, event, picture, trace)
    _refuse_unused(wanted, {"--block": block, "--sizes": sizes, "--memory": memory, "--era": era,
                            "--service-us": service_us, "--fill": fill})
    block_bytes, of_sizes, memory_bytes = _in_bytes(wanted, block or "8K", sizes, memory)
    from study.traces.read import ready, seconds_to_read
    with doing("reading the trace"):
        given, seconds = seconds_to_read(lambda: ready(trace, event, device or [], rate))
    with doing("through the model; the first time it is compiled"):
        results = [_through(name, given, block_bytes, of_sizes, memory_bytes, era,
                            5000.0 if service_us is None else service_us, 0.5 if fill is None else fill)
                   for name in dict.fromkeys(wanted)]
    if picture is not None:
        write_atomically(picture, _drawn(results[0], picture))
    give(_in_json(given, seconds, results), as_json, lambda: _say(given, seconds, results, picture))
    raise typer.Exit(1 if any(result.differs for result in results) else 0)


def _refuse_unused(wanted: list[str], options: dict[str, object]) -> None:
    """UserError for an option that none of the mechanisms asks for."""
    for option, value in options.items():
        if value is not None and not set(wanted) & set(USED_BY[option]):
            raise UserError(f"{option} is of {', '.join(USED_BY[option])}, but the trace goes through {', '.join(wanted)}; "
                            "leave it out, or give --through another of these")


def _in_bytes(wanted: list[str], block: str, sizes: str | None, memory: str | None) -> tuple[int, list[int], int | None]:
    """Of a block, of the caches to try, of the ARC. UserError for sizes that a mechanism cannot have."""
    from study.sizes import size_of
    block_bytes = size_of(block, "block")
    if not MIN_BLOCK <= block_bytes <= MAX_BLOCK or block_bytes & (block_bytes - 1):
        raise UserError(f"the block has {block_bytes} bytes, but it must be a power of two from {MIN_BLOCK} to {MAX_BLOCK}; "
                        "choose one")
    of_sizes = [size_of(size, "size") for size in sizes.split(",")] if sizes else []
    memory_bytes = size_of(memory, "memory") if memory else None
    if max([*of_sizes, memory_bytes or 0]) > MAX_SIZE:
        raise UserError(f"a cache has {max([*of_sizes, memory_bytes or 0])} bytes, but the model takes {MAX_SIZE} at most; "
                        "choose less")
    if of_sizes and min(of_sizes) < 1 and wanted != ["vdev-cache"]:
        raise UserError("a size is 0, but a cache holds at least a block; choose larger ones")
    return block_bytes, of_sizes, memory_bytes


def _check(wanted: list[str], event: str | None, picture: Path | None, trace: Path) -> None:
    """UserError for what can be told before anything is read."""
    unknown = next((name for name in wanted if name not in MECHANISMS), None)
    if unknown is not None:
        raise UserError(f"--through is '{unknown[:40]}', but a trace goes through {', '.join(MECHANISMS)}; "
                        f"{meant(unknown, MECHANISMS, 'choose one of these')}")
    if event is not None and (len(event) != 1 or event not in EVENTS):
        raise UserError(f"--event is '{event[:40]}', but blkparse's events with requests are {', '.join(EVENTS)}; choose "
                        "one")
    if picture is not None:
        if picture.suffix not in PICTURES:
            raise UserError(f"{picture} does not end in {', '.join(PICTURES)}; choose a name that does")
        if len(set(wanted)) > 1:
            raise UserError(f"--picture is of one mechanism, but --through names {len(set(wanted))}; choose one")
        refuse_unwritable(picture)
        refuse_overwriting(picture, trace)


def _through(name: str, trace: "Trace", block_bytes: int, sizes: list[int], memory_bytes: int | None, era: str | None,
             service_us: float, fill: float) -> "Through":
    if name in ("arc", "l2arc"):
        from study.traces import arcs
        if name == "arc":
            return arcs.through_arc(trace, block_bytes, sizes)
        return arcs.through_l2arc(trace, block_bytes, memory_bytes, sizes, era or "b141")
    if name == "allocator":
        from study.traces import allocations
        return allocations.through_allocator(trace, block_bytes, fill, era)
    from study.traces import vdevs
    if name == "queue":
        return vdevs.through_queue(trace, service_us, era)
    return vdevs.through_vdev_cache(trace, sizes, era)


def _drawn(result: "Through", picture: Path) -> bytes:
    from study.drawing import render
    from study.figures import traces
    if result.mechanism == "arc" and result.curve is None:
        raise UserError("there is no read in the trace, so there is no curve to draw; leave --picture away")
    draws: dict[str, tuple[Callable[..., Any], Any]] = {
        "arc": (traces.miss_ratios, result.curve), "l2arc": (traces.shares, result.table),
        "vdev-cache": (traces.bytes_read, result.table), "queue": (traces.sizes, result.table),
        "allocator": (traces.records, result.table)}
    draw, data = draws[result.mechanism]
    return render(draw, data, formats=[picture.suffix[1:]])[picture.suffix[1:]]


# ---- what is printed ----

def _percent(share: float) -> str:
    return "-" if share != share else f"{100 * share:.2f}"


def _mib(n_bytes: float) -> str:
    return number(n_bytes / 2**20)


def _kib(n_bytes: float) -> str:
    return number(n_bytes / 2**10)


COLUMNS: dict[str, list[tuple[str, str, Callable[[Any], str]]]] = {
    "arc": [("bytes", "size, MiB", _mib), ("blocks", "blocks", str), ("share", "% of all", _percent),
            ("lru", "LRU, hits %", _percent), ("published", "ARC as published, hits %", _percent),
            ("zfs", "ARC of ZFS, hits %", _percent)],
    "l2arc": [("bytes", "device, MiB", _mib), ("arc", "from ARC, %", _percent), ("device", "from device, %", _percent),
              ("pool", "from pool, %", _percent), ("fed_bytes", "written to device, MiB", _mib)],
    "vdev-cache": [("bytes", "size, MiB", _mib), ("reads", "reads", str), ("found", "found, %", _percent),
                   ("wanted_bytes", "wanted, MiB", _mib), ("taken_bytes", "moved, MiB", _mib)],
    "queue": [("kind", "kind", str), ("requests", "requests", str), ("request_bytes", "mean, KiB", _kib),
              ("units", "units on the device", str), ("unit_bytes", "mean, KiB", _kib),
              ("requests_per_unit", "requests per unit", number)],
    "allocator": [("era", "rules", str), ("allocations", "records", str), ("groups", "groups", str),
                  ("records_per_write", "records per write", number), ("records_per_write_last", "last tenth", number),
                  ("bytes_per_write", "KiB per write", _kib), ("refused", "without room", str)]}


def _say(trace: "Trace", seconds: float, results: "list[Through]", picture: Path | None) -> None:
    out.print(f"{trace.path}: {trace.format.name}, {counted(len(trace.requests), 'request')} "
              f"({_times(trace)}), read in {_per_million(seconds, len(trace.requests))}", soft_wrap=True)
    for note in trace.notes:
        out.print(note, soft_wrap=True)
    for result in results:
        columns = [column for column in COLUMNS[result.mechanism] if column[0] in result.table]
        shown = table(*(head for _, head, _ in columns))
        for row in result.table.to_dict("records"):
            shown.add_row(*(in_words(row[name]) for name, _, in_words in columns))
        out.print(f"\n{result.mechanism}:")
        out.print(shown)
        for note in result.notes:
            out.print(note, soft_wrap=True)
        out.print(f"{_per_million(result.seconds / result.runs, len(trace.requests))}, each of "
                  f"{counted(result.runs, 'time')} through the trace", soft_wrap=True)
    if picture is not None:
        out.print(f"drawn in {picture}", soft_wrap=True)


def _times(trace: "Trace") -> str:
    if not trace.format.resolution:
        return "no times"
    return f"{number(trace.seconds)} s, times of {trace.format.resolution}"


def _for_million(seconds: float, n: int) -> float | None:
    """s of a processor, or None of too few requests."""
    return 1e6 * seconds / n if n >= ENOUGH else None


def _per_million(seconds: float, n: int) -> str:
    of_million = _for_million(seconds, n)
    if of_million is None:
        return "too little time to tell that of a million requests"
    return f"{of_million:.2g} s per million requests"


def _in_json(trace: "Trace", seconds: float, results: "list[Through]") -> dict[str, Any]:
    n = len(trace.requests)
    return {"trace": trace.path, "format": trace.format.name, "requests": n, "devices": trace.devices, "notes": trace.notes,
            "seconds": trace.seconds if trace.format.resolution else None, "reading_s_per_million": _for_million(seconds, n),
            "through": {result.mechanism: {"rows": result.table, "notes": result.notes,
                                           "model_s_per_million": _for_million(result.seconds / result.runs, n)}
                        for result in results}}

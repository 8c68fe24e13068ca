"""The verbs of `study replay`: a recorded trace through the model, decision by decision; 1 is the exit on a difference."""
from pathlib import Path
from typing import Annotated

import typer

from study.commands.replay_requests import replay_requests
from study.commands.result import Json, give
from study.console import doing, out, table
from study.errors import UserError
from study.project import refuse_overwriting, refuse_unwritable, write_atomically
from study.words import counted

COMPILES = "replaying; the first time the model is compiled"
replay = typer.Typer(no_args_is_help=True, rich_markup_mode="rich",
                     help="Replay a recorded trace through the model, decision by decision.")
replay.command("requests")(replay_requests)


@replay.command("vdev-cache")
def replay_vdev_cache(
    trace: Annotated[Path, typer.Argument(help="Parquet file or CSV of tick, op, nocache, size512, off512, res, fill512, "
                                               "evict512.")],
    size: Annotated[int, typer.Option(help="zfs_vdev_cache_size in bytes.")] = 10 * 2**20,
    max: Annotated[int, typer.Option(help="zfs_vdev_cache_max in bytes.")] = 16384,
    fill_ticks: Annotated[int | None, typer.Option(help="Let the model end each fill this many ticks after its issue, "
                                                        "instead of where the trace does.")] = None,
    era: Annotated[str | None, typer.Option(help="Build whose rule says which reads fill, such as onnv_70. Default: that in "
                                                 "the trace's name, else onnv_69.")] = None,
    as_json: Json = False,
) -> None:
    """Repeat every decision of the vdev cache in TRACE; exits with 1 and prints the first difference, if there is one.

    A row is an event.

    tick: system clock, 10 ms.
    op: 0 read, 1 write, 2 end of a fill.
    nocache: 1 for DONT_CACHE.
    size512, off512: sectors of 512 B.
    res: 0 hit, 1 miss that fills, 2 joins a fill, 3 to 7 as in data/traces/vdev_cache/README.md.
    fill512, evict512: the line filled and the one evicted, or -1.

    For builds where only metadata fills, the trace also needs level, type, via, metadata.

    Example: study replay vdev-cache data/traces/vdev_cache/meta_L1.parquet
    """
    from study.replays.vdev_cache import replay_vdev_cache, sentence
    with doing(COMPILES):
        result = replay_vdev_cache(trace, size, max, fill_ticks, era)
    give(result, as_json, lambda: out.print(sentence(result), soft_wrap=True))
    raise typer.Exit(1 if result.differences else 0)


@replay.command("queue")
def replay_queue(
    trace: Annotated[Path, typer.Argument(help="Parquet file or CSV of tick, op, kind, off512, size512, priority, flags, "
                                               "io, n, unit.")],
    era: Annotated[str | None, typer.Option(help="Build whose rules are used, such as b117. Default: that in the trace's "
                                                 "name.")] = None,
    as_json: Json = False,
) -> None:
    """Repeat every decision of the vdev queue of a leaf in TRACE; at the first difference it stops and exits with 1.

    A row is an event.

    tick: system clock, 10 ms.
    op: 0 an I/O arrives, 1 a unit completes, 2 a unit is issued, 3 an optional I/O is dropped.
    kind: 0 read, 1 write.
    off512, size512: sectors of 512 B.
    priority: steps of deadline, or -1.
    flags: as in data/traces/vdev_queue/README.md.
    io, unit: numbers of the I/O and of the unit, or -1.
    n: I/Os in the unit.

    Example: study replay queue data/traces/vdev_queue/onnv69_queue_mid.parquet
    """
    from study.replays.trace_file import sentence
    from study.replays.vdev_queue import replay_queue
    with doing(COMPILES):
        result = replay_queue(trace, era)
    give(result, as_json, lambda: out.print(sentence(result), soft_wrap=True))
    raise typer.Exit(1 if result.differences else 0)


@replay.command("disk")
def replay_disk(
    trace: Annotated[Path, typer.Argument(help="CSV or Parquet file of op, block, count, service_us, gap_us.")],
    disk: Annotated[Path, typer.Option(help="JSON description of the drive: data/examples/drive.json is an example. A copy "
                                            "for your own drive may lie anywhere.")],
    seek: Annotated[Path | None, typer.Option(help="CSV of the measured seek curve.")] = None,
    to: Annotated[Path | None, typer.Option(
        "--out", help="Write measured and predicted service times here (CSV); folders that are missing are made.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the service times of a measured drive with the disk model's.

    Three models: as specified, with a few constants estimated on the first half of the trace, and from a data sheet alone.

    A row of TRACE is a request; the next one waits for its end.

    op: R read, W write.
    block, count: where it begins and how long it is, blocks of 512 B.
    service_us: from issue to completion, us.
    gap_us: idle time until the next request, us.

    The drive is described as in DiskSim, times in ms. The seek curve has the columns cylinders and ms.

    Example: study replay disk data/examples/drive-trace.csv --disk data/examples/drive.json
    """
    from study.replays import public_formats
    from study.replays.disk import per_request, replay_disk
    public_formats.refuse(trace)
    if to is not None:
        refuse_unwritable(to)
        refuse_overwriting(to, trace, disk, seek)
    with doing(COMPILES):
        result = replay_disk(trace, disk, seek)
    n, mean_ms = len(result.measured_ms), result.measured_ms.mean()
    shown = table("disk model", "mean error %", "demerit %", "mean error %, 2nd half", "demerit %, 2nd half",
                  "error of a request %")
    for name, score in result.scores.items():
        parts = (score.mean_error, score.demerit, score.mean_error_second, score.demerit_second, score.request_rms)
        shown.add_row(name.replace("_", " "), *(f"{100 * part:.2f}" for part in parts))
    if to is not None:
        write_atomically(to, per_request(result).to_csv(index=False))

    def say() -> None:
        out.print(f"{counted(n, 'request')}, {mean_ms:.3f} ms in the mean", soft_wrap=True)
        out.print(shown)
        if to is not None:
            out.print(f"service times written to {to}", soft_wrap=True)
    scores = {name: {part: value for part, value in score._asdict().items() if part != "predicted_ms"}
              for name, score in result.scores.items()}
    give({"requests": n, "mean_ms": mean_ms, "constants": result.constants, "errors": scores}, as_json, say)


@replay.command("alloc")
def replay_alloc(
    trace: Annotated[Path, typer.Argument(help="Parquet file or CSV of op, size512, arg.")],
    variant: Annotated[str, typer.Option(help="Rules of which build: 103_ff, 117_df, 141_df, 141_ndf.")],
    expect: Annotated[Path | None, typer.Option(help="Recorded offsets to compare with.")] = None,
    to: Annotated[Path | None, typer.Option(
        "--out", help="Write the model's offsets here (Parquet); folders that are missing are made.")] = None,
    engine: Annotated[str, typer.Option(help="exact, fast, or auto: fast where it gives the same.")] = "exact",
    pools: Annotated[Path | None, typer.Option(help="File that describes the vdevs of the trace's pool. Default: "
                                                    "pools.jsonl beside the trace, if that names the trace.")] = None,
    metaslabs: Annotated[int | None, typer.Option(help="The trace is of a pool with this many metaslabs.")] = None,
    metaslab_size: Annotated[str | None, typer.Option(help="Their size; 64M is 64MiB. Default: 64MiB.")] = None,
    expect_txg: Annotated[Path | None, typer.Option(help="CSV of the pool after each transaction group.")] = None,
    as_json: Json = False,
) -> None:
    """Repeat every allocation of TRACE, in one space map or in a pool of metaslabs.

    A row is an operation.

    op: 0 allocate, 1 free, 2 end of a transaction group, 3 a scenario begins, 4 a new map.
    size512: sectors of 512 B; for op 4 the map's unit in B, as a power of two.
    arg: for op 1 the number of the allocation, from 0; for op 4 the sectors of the map; else -1.

    Exits with 1 and prints the first difference if a block goes elsewhere than recorded.
    The first time, compiling takes up to half a minute.

    Example: study replay alloc data/traces/alloc/edge__103_ff__ops.parquet --variant 103_ff
    """
    from study.replays.alloc_trace import scenario_of, sentence
    from study.replays.recorded_vdevs import alike, recorded_vdevs
    if pools is not None and not pools.exists():
        raise UserError(f"{pools} is not there; name the file that says the vdevs of the trace")
    vdevs = recorded_vdevs(trace, variant, pools) if metaslabs is None else None
    if pools is not None and vdevs is None:
        raise UserError(f"{pools} has no line for trace {scenario_of(trace)} and variant {variant}, or --metaslabs is "
                        "given, too; give the file of this trace, or --metaslabs alone")
    for option, value in (("--expect-txg", expect_txg), ("--metaslab-size", metaslab_size)):
        if metaslabs is None and vdevs is None and value is not None:
            raise UserError(f"{option} is of a pool and --metaslabs is missing; give the number of metaslabs too")
    if to is not None:
        refuse_unwritable(to)
        refuse_overwriting(to, trace, expect, expect_txg)
    with doing(COMPILES):
        if metaslabs is not None:
            from study.sizes import size_of
            vdevs = alike(metaslabs, size_of(metaslab_size or "64MiB", "metaslab size"))
        if vdevs is None:
            from study.replays.space_map import replay_map
            result = replay_map(trace, variant, expect, to, engine)
        else:
            from study.replays.pool import replay_pool
            result = replay_pool(trace, variant, vdevs, expect, expect_txg, to, engine)
    give(result, as_json, lambda: out.print(sentence(result), soft_wrap=True))
    raise typer.Exit(1 if result.differs else 0)

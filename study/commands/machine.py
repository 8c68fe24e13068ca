"""The verbs about a machine or a pool of the user's own: study pool, predict, advise, age."""
import json
from pathlib import Path
from typing import Annotated

import typer

from study import console
from study.commands.result import Json, give
from study.console import err, out, table
from study.errors import UserError
from study.project import refuse_overwriting, refuse_unwritable

machine = typer.Typer(rich_markup_mode="rich")
PANEL = "Your own machine"
ERAS = ("onnv_69, onnv_70, onnv_79, b89, b103, b111, b117, b141, b141_df, openzfs_2013, openzfs_2017, openzfs_2019, "
        "openzfs_2021, openzfs")    # of model.zfs.eras, which help need not wait for


@machine.command(rich_help_panel=PANEL)
def pool(
    file: Annotated[Path | None, typer.Argument(help="What `zdb -mm` or `-mmm POOL` printed. `-m` gives ranges.")] = None,
    fill: Annotated[str | None, typer.Option(help="Instead of a file: allocated share of the pool, as 0.8 or 80%.")] = None,
    fragmentation: Annotated[str | None, typer.Option(
        help="And its fragmentation, %, as of `zpool list`: 40 or 40%.")] = None,
    record: Annotated[str, typer.Option(help="Size of the records (of a LUN, its volblocksize); K is 1024 B.")] = "8K",
    era: Annotated[str | None, typer.Option(
        help=f"Only the rules of one build: {ERAS}. Those up to b111 choose as b103 does, those of OpenZFS as b141_df. "
             "Default: the four above.")] = None,
    disk: Annotated[str, typer.Option(help="With --fill: size of a top-level vdev.")] = "1T",
    as_json: Json = False,
) -> None:
    """How well small writes would go together in your pool: the allocator, run in free space like the pool's.

    A line for each rule by which ZFS has chosen free space:

    b103 (2008): first fit.
    b117 (2009): best fit where less than 30 % of a metaslab is free.
    b141_df: best fit below 4 %. OpenZFS since 2011; nearest to a pool of today.
    b141 (2010): the new rules that notebooks 03 to 06 are about.

    Writes are of 128 KiB at most, as ZFS had it up to 2019 and has it for SSDs.
    With --era openzfs_2019 or later they are of 1 MiB, as to disks.
    A vdev is taken as a disk or a mirror. On RAID-Z and dRAID records are cut up and have parity.
    That is left out.

    Takes about half a minute the first time, seconds later.

    Example: study pool --fill 0.8 --fragmentation 40
    """
    from study.pools import forecast
    from study.sizes import size_of
    slabs, record_bytes = forecast.of_pool(file, fill, fragmentation, disk), size_of(record, "record")
    with console.doing("writing to free space like the pool's; the first time the model is compiled"):
        forecasts = forecast.of_slabs(slabs, record_bytes, forecast.eras(era))
    shown = table(*forecast.COLUMNS)
    for row in forecast.table(forecasts, record_bytes).itertuples(index=False):
        shown.add_row(*row)
    notes = forecast.notes(slabs)
    if era is None:
        notes.append("b141_df is the nearest to OpenZFS of today; what each line stands for: study pool --help")

    def say() -> None:
        out.print(shown)
        for note in notes:
            out.print(note, soft_wrap=True)
    give({"record_bytes": record_bytes, "forecasts": forecasts, "notes": notes}, as_json, say)


@machine.command(rich_help_panel=PANEL)
def predict(
    scenario: Annotated[Path, typer.Argument(help="A TOML file, or the name of one in data/scenarios.")],
    to: Annotated[Path | None, typer.Option(
        "--out", help="Write scenario and intervals here (JSON); folders that are missing are made.")] = None,
    draws: Annotated[int, typer.Option(min=2, help="Draws of all that is not known.")] = 24,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each draw.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be simulated and what is taken by default; run "
                                                            "nothing.")] = False,
    as_json: Json = False,
) -> None:
    """What a database would do on a machine: TPS, response times, log and device I/O.

    Each comes with an interval: 5 to 95 % of the draws of all that is not known, and the middle.
    The first row widens that of TPS by the error of earlier blind predictions.

    Takes one to four minutes, the first of them for compiling.

    Example: study predict data/scenarios/nvme-mirror.toml

    How far off such predictions are: docs/predicting.md.
    """
    from study.ensembles import ensembles
    from study.machines import scenario as scenarios
    from study.machines.simulate import checked
    from study.predictions import bounds, model_error
    from study.predictions import predict as prediction
    scenario = scenarios.named(scenario)
    content = scenarios.toml(scenario)
    mine = checked(scenarios.of(content, scenario.name))
    if to is not None:
        refuse_unwritable(to)
        refuse_overwriting(to, scenario)
    if dry_run:
        notes, taken = prediction.notes(mine), prediction.taken_by_default(content, mine)
        give({"scenario": mine.model_dump(mode="json"), "runs": draws * seeds, "taken_by_default": taken, "notes": notes},
             as_json, lambda: out.print("\n".join([
                 f"{scenario} can be simulated: {draws * seeds} runs, a minute or a few", *(f"- {note}" for note in notes),
                 "taken by default:", *(f"  {line}" for line in taken)]), soft_wrap=True))
        return
    if era := prediction.era_taken(content, mine):
        err.print(era, soft_wrap=True)
    err.print(f"simulating {draws * seeds} runs: a minute or a few")
    with console.counting("runs") as tell, ensembles.telling(tell):
        predicted = prediction.interval(mine, draws, seeds)
        shares = bounds.of(mine, prediction.EXPERIMENTS[mine.database.kind])
    error, taken = model_error.seen(), prediction.taken_by_default(content, mine)
    others = {"bound_by": {part.of: part.share for part in shares}, "taken_by_default": taken}
    calibrated = model_error.as_quantity(predicted.tps, error) | others
    if to is not None:
        prediction.write(predicted, to, calibrated)

    def say() -> None:
        prediction.say(predicted, out, model_error.widened(predicted.tps, error))
        out.print(f"first row: {model_error.in_words(error)}", soft_wrap=True)
        out.print(bounds.sentence(shares), soft_wrap=True)
        out.print("\n".join(["taken by default:", *(f"  {line}" for line in taken)]), soft_wrap=True)
        if to is not None:
            out.print(f"written to {to}", soft_wrap=True)
    give(json.loads(prediction.as_json(predicted, calibrated)), as_json, say)


@machine.command(rich_help_panel=PANEL)
def advise(
    hardware: Annotated[Path | None, typer.Option(help="What you have: a TOML file as in data/machines.")] = None,
    database: Annotated[str, typer.Option(help="postgres, innodb or oracle.")] = "postgres",
    draws: Annotated[int, typer.Option(min=2, help="Draws of all that is not known.")] = 8,
    today: Annotated[bool, typer.Option(help="Instead: what of the advice still holds in OpenZFS of today.")] = False,
    as_json: Json = False,
) -> None:
    """Which step of tuning next gives most on your machine, with intervals, and what it costs in safety.

    Takes about ten minutes, as every step is simulated as long as `predict` would; with --today seconds.

    Example: study advise --hardware data/machines/two-disks-and-an-ssd.toml
    """
    from study.ensembles import ensembles
    from study.predictions import advise as advising
    from study.predictions import bounds, recipes
    from study.predictions.predict import EXPERIMENTS, taken_by_default
    if database not in advising.DATABASES:
        raise UserError(f"database is '{database}', but the choices are postgres, innodb and oracle; take one of these")
    if today and hardware is not None:
        raise UserError(f"--today is of no machine and --hardware is {hardware}; leave one of the two out")
    if today:
        give(recipes.read().model_dump(), as_json, lambda: out.print(recipes.page(), soft_wrap=True))
    elif hardware is None:
        raise UserError("--hardware is missing; give a TOML file of what you have, such as data/machines/"
                        "two-disks-and-an-ssd.toml")
    else:
        mine = advising.read(hardware, database)
        taken = taken_by_default(advising.content_of(hardware, database)[0], mine[0])
        err.print("simulating every step of data/advice.toml on this machine: about ten minutes")
        with console.counting("runs") as tell, ensembles.telling(tell):
            advice = advising.advise(*mine, draws)
            shares = bounds.of(advising.at_work(mine[0]), EXPERIMENTS[database])
        advice = advice._replace(bound_by=shares, notes=taken)
        give(advice, as_json, lambda: advising.say(advice, out))


@machine.command(rich_help_panel=PANEL)
def age(
    era: Annotated[str, typer.Option(help=f"Rules of which build: {ERAS}. Those up to b111 choose as b103 does, those "
                                          "of OpenZFS as b141_df.")] = "b141",
    vdevs: Annotated[int, typer.Option(min=1, help="Top-level vdevs of one disk each.")] = 11,
    disk_gb: Annotated[float, typer.Option(min=0.1, help="Size of a disk, in GB (10^9).")] = 1000,
    records: Annotated[int, typer.Option(min=1, help="Records of 4 KiB; 91 million are 350 GiB.")] = 91_000_000,
    used_pct: Annotated[float, typer.Option(min=0, max=100, help="Of the pool, with other data that stays.")] = 0,
    turnovers: Annotated[float, typer.Option(min=0, help="Random rewrites for each record.")] = 3,
    writes_per_txg: Annotated[int, typer.Option(min=1, help="Records that a transaction group writes.")] = 25_000,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the pool, for notebooks that ask for the same.")] = False,
    as_json: Json = False,
) -> None:
    """Write a pool full of records and rewrite them at random: what that does to the free space, and how long it takes.

    Takes minutes, of which up to one is for compiling. What is printed last says how long a write took.

    Example, of seconds: study age --era b103 --disk-gb 10 --records 1000000
    """
    from study.commands.age import age_and_say
    age_and_say(out, era, vdevs, disk_gb, records, used_pct, turnovers, writes_per_txg, keep, as_json)

"""`study pool`: what the allocator makes of small writes in the free space of a pool of the user's own."""
from pathlib import Path
from typing import Annotated

import typer

from study import console, given_files
from study.commands.result import Json, give
from study.console import out, table

ERAS = ("onnv_69, onnv_70, onnv_79, b89, b103, b111, b117, b141, b141_df, openzfs_2013, openzfs_2017, openzfs_2019, "
        "openzfs_2021, openzfs")    # of model.zfs.eras, which help need not wait for


def pool(
    file: Annotated[Path | None, typer.Argument(
        help="Output of `zdb -mm POOL` or `zdb -mmm POOL`. From `zdb -m` results are ranges.")] = None,
    fill: Annotated[str | None, typer.Option(help="Instead of a file: allocated share of the pool, as 0.8 or 80%.")] = None,
    fragmentation: Annotated[str | None, typer.Option(
        help="With --fill: the pool's fragmentation as in `zpool list`, 40 or 40%.")] = None,
    record: Annotated[str, typer.Option(help="Size of the records (of a LUN, its volblocksize); K is 1024 B.")] = "8K",
    era: Annotated[str | None, typer.Option(
        help=f"Only the rules of one build: {ERAS}. Those up to b111 choose as b103 does, those of OpenZFS as b141_df. "
             "Default: the four above.")] = None,
    disk: Annotated[str | None, typer.Option(help="With --fill: size of a top-level vdev. Default: 1T.")] = None,
    as_json: Json = False,
) -> None:
    """How well small writes would go together in your pool: runs the allocator in free space like the pool's.

    The table has a line for each rule by which ZFS has chosen free space:

    b103 (2008): first fit.
    b117 (2009): best fit where less than 30 % of a metaslab is free.
    b141_df: best fit below 4 %. OpenZFS since 2011; nearest to a pool of today.
    b141 (2010): the new rules that notebooks 03 to 06 are about.

    A write has 128 KiB at most, as in ZFS up to 2019, and as for SSDs since.
    With --era openzfs_2019 or later it has 1 MiB at most, as for disks.
    Each vdev counts as a disk or a mirror. RAID-Z and dRAID cut up records and add parity.
    That is left out.

    Takes about half a minute the first time, and seconds later.

    Example: study pool --fill 0.8 --fragmentation 40
    """
    from study.pools import asked_pool, forecast, forecast_page
    from study.sizes import size_of
    if file is not None:
        given_files.refuse_endless(file, given_files.PRINTED)
    slabs, record_bytes = asked_pool.of_pool(file, fill, fragmentation, disk), size_of(record, "record")
    with console.doing("writing to free space like the pool's; the first time the model is compiled"):
        forecasts = forecast.of_slabs(slabs, record_bytes, asked_pool.eras(era))
    shown = table(*forecast_page.COLUMNS)
    for row in forecast_page.table(forecasts, record_bytes).itertuples(index=False):
        shown.add_row(*row)
    notes = forecast_page.notes(slabs)
    if era is None:
        notes.append("b141_df is the nearest to OpenZFS of today; what each line stands for: study pool --help")

    def say() -> None:
        out.print(shown)
        for note in notes:
            out.print(note, soft_wrap=True)
    give({"record_bytes": record_bytes, "forecasts": forecasts, "notes": notes}, as_json, say)

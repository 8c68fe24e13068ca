"""`study dedup`: whether dedup pays in a pool of the user's own."""
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from study import console, given_files
from study.commands.result import Json, give
from study.console import out, page

if TYPE_CHECKING:
    from study.machines.dedup_pool import Forecast


def dedup(
    file: Annotated[Path, typer.Argument(help="Output of `zdb -DD`, `zdb -S` or `zpool status -D POOL`.")],
    memory: Annotated[str | None, typer.Option(help="Memory of the machine, as 16G. Default: this machine's.")] = None,
    size: Annotated[str | None, typer.Option(help="Size of the pool, as 10T: also says what the table is when the pool is "
                                                  "full. Default: only the data there now.")] = None,
    release: Annotated[str, typer.Option(help="How much memory may hold the table. 2010: a quarter of the ARC. "
                                              "openzfs: three quarters of half of memory, as on Linux with 0.7 to "
                                              "2.1.")] = "openzfs",
    disks: Annotated[int, typer.Option(min=1, max=48, help="Disks of the pool, striped.")] = 8,
    sheet: Annotated[str, typer.Option(help="Which disks: a data sheet of data/hardware.")] = "sata-7k2-1tb",
    as_json: Json = False,
) -> None:
    """Whether dedup pays in your pool: entries, memory for its table, rate of writes with dedup and without.

    Output of all releases up to OpenZFS 2.3 is read. `zdb -S` simulates dedup in a pool that has none.
    Rates are simulated by the rules of 2010, for writes spread over the whole table. Beside each stands what limits it.
    Dedup pays if the ratio is 2 or more, the table fits into memory and writes keep half of their rate.

    Takes about a minute the first time, and seconds later.

    Example: study dedup ddt.txt --memory 32G --size 20T
    """
    from study.machines import dedup_pool
    from study.pools import ddt
    from study.sizes import size_of
    given_files.refuse_endless(file, given_files.PRINTED)
    table = ddt.read(file)
    memory_bytes = size_of(memory, "memory") if memory else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    pool_bytes = size_of(size, "size of the pool") if size else None
    with console.doing("writing to a pool with such a table; the first time the model is compiled"):
        made = dedup_pool.forecast(table, memory_bytes, release, pool_bytes, disks, sheet)
    give(made, as_json, lambda: _say(made))


def _say(made: "Forecast") -> None:
    gib, tib = 2**30, 2**40
    how = ("expected of so many entries" if made.is_estimated else
           "as printed, taken as of all entries: for each it would be too much" if made.is_of_all else
           "as printed: blocks of the table, uncompressed")
    lines = {"entries": f"{made.entries}", "ratio": f"{made.ratio:.2f}",
             "table now": f"{made.table_bytes / gib:.3f} GiB, {made.table_bytes / made.entries:.0f} B an entry ({how})"}
    if made.is_split_assumed:
        lines["assumed"] = "blocks of 128K, and as many entries with two references as in pools of this ratio: no histogram"
    if made.full_bytes is not None:
        lines["table, pool full"] = f"{made.full_bytes / gib:.3f} GiB, of entries as large"
    reach = "" if made.room_data_bytes is None else f", {made.room_data_bytes / tib:.2f} TiB of different data"
    lines |= {"room in memory": f"{made.room_bytes / gib:.3f} GiB for metadata: {made.room_entries:.3g} entries{reach}",
              "writes, with dedup": f"{made.with_mb_per_s:.1f} MB/s, by the rules of 2010, {100 * made.found_share:.0f} % "
                                    f"of it found and not written; the limit is {made.with_limit}",
              "writes, without": f"{made.without_mb_per_s:.1f} MB/s; the limit is {made.without_limit}",
              "does it pay?": f"{'yes' if made.pays else 'no'}: {made.reason}"}
    out.print(page(lines))

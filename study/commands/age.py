"""`study age`: an aged pool on the terminal, with progress."""
import resource
from typing import TYPE_CHECKING, Annotated, Any

import typer

from study.commands.pool import ERAS
from study.commands.result import Json, give
from study.console import err, out, table
from study.errors import UserError

if TYPE_CHECKING:
    from study.pools.aged_pools import Aged, Recipe


def age(
    era: Annotated[str, typer.Option(help=f"Rules of which build: {ERAS}. Those up to b111 choose as b103 does, those "
                                          "of OpenZFS as b141_df.")] = "b141",
    vdevs: Annotated[int, typer.Option(min=1, help="Top-level vdevs of one disk each.")] = 11,
    disk_gb: Annotated[float, typer.Option(min=0.1, help="Size of a disk, in GB (10^9).")] = 1000,
    records: Annotated[int, typer.Option(min=1, help="Records of 4 KiB; 91 million are 350 GiB.")] = 91_000_000,
    used_pct: Annotated[float, typer.Option(min=0, max=100, help="Share of the pool with other data that stay, %.")] = 0,
    turnovers: Annotated[float, typer.Option(min=0, help="Random rewrites for each record.")] = 3,
    writes_per_txg: Annotated[int, typer.Option(min=1, help="Records that a transaction group writes.")] = 25_000,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the pool, for notebooks that ask for the same.")] = False,
    as_json: Json = False,
) -> None:
    """Write a pool full of records and rewrite them at random: what that does to the free space, and how long it takes.

    Takes minutes; up to one of them is for compiling. The last output is how long a write took.

    Example that takes seconds: study age --era b103 --disk-gb 10 --records 1000000
    """
    from study.pools import age_recipe
    recipe = age_recipe.recipe_of(era, vdevs, disk_gb, records, used_pct, turnovers, writes_per_txg)
    result = _made(recipe, keep)
    parts, n = list(age_recipe.rows(result, turnovers)), records * (1 + turnovers)
    used = int(result.pool.class_allocated[0]) / int(result.pool.class_space[0])
    summary = {"records": records, "metaslabs": len(result.pool.weight), "used": used, "writes": int(n),
               "seconds": result.seconds, "ns_a_write": result.seconds / n * 1e9,
               "maps_loaded": result.pool.counters.n_loads[0],
               "memory_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}
    give({**summary, "records_per_row": [{"when": when, "records": contiguity} for when, contiguity in parts]}, as_json,
         lambda: _say(parts, summary))


def _made(recipe: "Recipe", keep: bool) -> "Aged":
    """The pool, while a bar for each stage shows how far it is."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from study.pools.aged_pools import aged, make
    with Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"), TimeElapsedColumn(),
                  TimeRemainingColumn(), console=err) as progress:
        tasks = {}

        def tell(doing: str, share: float) -> None:
            if doing not in tasks:
                tasks[doing] = progress.add_task(doing, total=1.0)
            progress.update(tasks[doing], completed=share)
        try:
            return (aged if keep else make)(recipe, tell)
        except ValueError as error:
            raise UserError(str(error)) from error


def _say(parts: list[tuple[str, float]], summary: dict[str, Any]) -> None:
    shown = table("", "records per row of touching ones")
    for name, contiguity in parts:
        shown.add_row(name, f"{contiguity:.1f}")
    out.print(shown)
    out.print("{records} records in {metaslabs} metaslabs, {used:.1%} of the pool used. {writes} writes in {seconds:.0f} s "
              "of processor time ({ns_a_write:.0f} ns a write), {maps_loaded} maps loaded. {memory_gib:.2f} GiB of memory "
              "at most.".format(**summary), soft_wrap=True)

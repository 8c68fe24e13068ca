"""`study align`: which partitions lie across the blocks of the volume below them."""
from pathlib import Path
from typing import Annotated

import typer

from study.commands.result import Json, give
from study.console import out, table


def align(
    file: Annotated[Path, typer.Argument(
        help="Output of `sfdisk --json DISK`, `parted -m DISK unit s print` or `fdisk -l`.")],
    block: Annotated[str, typer.Option(help="Block size of the volume (volblocksize), a power of two; K is 1024 B.")] = "8K",
    request: Annotated[str | None, typer.Option(
        help="Size of the requests, a power of two. Default: the block size.")] = None,
    as_json: Json = False,
) -> None:
    """Which partitions of a LUN begin inside a block, what that costs, and where they should begin.

    A request that lies across two blocks reads both.
    A write that covers a part of a block has to read the block first, unless it is in memory.

    For each partition it prints the largest block size that fits its start, and what one request reads and writes.
    The last column is the sector where the partition should begin.
    A second table has the same counts for blocks of 4K to 128K.

    The file may hold several disks. All forms of `fdisk -l` are read, in any language.
    So are `sfdisk -d`, `gdisk -l`, `gpart show` and `list`, `prtvtoc`, and `partedUtil getptbl` of ESXi.
    Of Windows it reads `wmic partition get` and `Get-Partition`.
    It refuses rounded starts, and cylinders that do not settle where a partition begins.
    The disk counts as the whole LUN, from its first byte.

    Takes a second.

    Example: sfdisk --json /dev/sdb > sdb.json; study align sdb.json --block 8K
    """
    from study.pools import alignment
    aligned = alignment.of_file(file, block, request)
    shown, usual = (table(*columns, whole="partition") for columns in (alignment.COLUMNS, alignment.usual_columns()))
    for row in alignment.table(aligned):
        shown.add_row(*row)
    for row in alignment.usual_table(aligned):
        usual.add_row(*row)
    notes = alignment.notes(aligned)

    def say() -> None:
        for each in (shown, "", usual):
            out.print(each)
        out.print(alignment.usual_note(aligned), soft_wrap=True)
        for note in notes:
            out.print(note, soft_wrap=True)
    give({"block_bytes": aligned.block_bytes, "request_bytes": aligned.request_bytes, "partitions": aligned.rows,
          "usual_blocks": aligned.usual,
          "notes": notes}, as_json, say)

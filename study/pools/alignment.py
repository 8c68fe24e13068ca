"""Which partitions of a disk straddle the blocks of the volume below it, what that costs, and where they should begin.

    alignment.of_file(file, block, request)     a Row for each partition, and a Cost for each and each usual size of blocks

The closed forms are those of `model.zfs.dmu.straddling`; the disk's first byte is taken to be the volume's.
"""
from pathlib import Path
from typing import NamedTuple

from model.zfs.dmu import straddling
from study import errors, given_files
from study.errors import UserError
from study.pools import partitions, pasted
from study.sizes import UNITS, size_of
from study.words import counted

LARGEST_BLOCK = 2**24           # B: no ZFS has larger ones
USUAL_BLOCKS = tuple(2**shift for shift in range(12, 18))     # B: 4K to 128K


class Row(NamedTuple):
    """A partition. The counts are of one request, nothing in memory: blocks that a read reads, that a write reads first, and
    that it writes."""
    partition: str
    start_sector: int
    start_bytes: int
    aligned_for_bytes: int      # the largest block, a power of two, that it is aligned for; 0: for all
    straddles: bool
    blocks_read: float
    blocks_read_first: float
    blocks_written: float
    move_to_sector: int         # the next place that is aligned


class Cost(NamedTuple):
    """What requests of a partition cost on a volume with such blocks; the counts are those of a Row."""
    partition: str
    block_bytes: int
    request_bytes: int
    straddles: bool
    blocks_read: float
    blocks_read_first: float
    blocks_written: float


class Alignment(NamedTuple):
    """What a verb prints."""
    block_bytes: int
    request_bytes: int
    aligned: tuple[float, float, float]     # the three counts for a partition that is
    rows: list[Row]
    usual: list[Cost]                       # of each partition, for USUAL_BLOCKS
    assumed: tuple[str, ...] = ()      # partitions, the size of whose sectors is not told
    tells_its_end: bool = True          # rows that are missing at the end would be noticed


def of_file(file: Path, block: str, request: str | None) -> Alignment:
    """UserError, one sentence, with all that is wrong about file and sizes."""
    wrong: list[str] = []
    sizes: list[int] = []
    for text, quantity in ((block, "block"), (request or block, "request")):
        try:
            sizes.append(_power_of_two(text, quantity))
        except UserError as error:
            wrong.append(str(error))
            sizes.append(0)
    of_disks: list[partitions.Partition] = []
    content = ""
    try:
        given_files.refuse_endless(file, given_files.TEXT)
        content = pasted.read(file, "sfdisk --json DISK", is_loose=True)
        of_disks = partitions.read(content)
    except UserError as error:
        wrong.append(f"{file.name}: {error}")
    except OSError as error:
        wrong.append(str(errors.of_the_system(error)))
    if wrong:
        raise UserError("; ".join(dict.fromkeys(wrong)))
    return of_partitions(of_disks, sizes[0], sizes[1], is_request_given=request is not None)._replace(
        tells_its_end=partitions.tells_its_end(content))


def _power_of_two(text: str, quantity: str) -> int:
    n_bytes = -1 if text.strip().startswith("-") else size_of(text, quantity)
    if not straddling.SECTOR_BYTES <= n_bytes <= LARGEST_BLOCK or n_bytes & (n_bytes - 1):
        raise UserError(f"the {quantity} is {text}, but it is a power of two from {straddling.SECTOR_BYTES} B to 16M; "
                        "choose one, as 8K")
    return n_bytes


def of_partitions(of_disks: list[partitions.Partition], block_bytes: int, request_bytes: int,
                  is_request_given: bool = False) -> Alignment:
    """`is_request_given`: requests have that size with all usual blocks; else that of the blocks."""
    return Alignment(
        block_bytes=block_bytes, request_bytes=request_bytes, aligned=_counts(0, request_bytes, block_bytes),
        rows=[_row(partition, block_bytes, request_bytes) for partition in of_disks],
        usual=[_cost(partition, usual, request_bytes if is_request_given else usual)
               for partition in of_disks for usual in USUAL_BLOCKS],
        assumed=tuple(partition.name for partition in of_disks if partition.is_assumed))


def _row(partition: partitions.Partition, block_bytes: int, request_bytes: int) -> Row:
    start, sector = partition.start_bytes, partition.sector_bytes
    read, first, written = _counts(start, request_bytes, block_bytes)
    return Row(partition=partition.name, start_sector=start // sector, start_bytes=start, aligned_for_bytes=start & -start,
               straddles=straddling.straddles(start, request_bytes, block_bytes), blocks_read=read,
               blocks_read_first=first, blocks_written=written,
               move_to_sector=straddling.next_aligned(start, max(block_bytes, sector)) // sector)


def _cost(partition: partitions.Partition, block_bytes: int, request_bytes: int) -> Cost:
    read, first, written = _counts(partition.start_bytes, request_bytes, block_bytes)
    return Cost(partition=partition.name, block_bytes=block_bytes, request_bytes=request_bytes,
                straddles=straddling.straddles(partition.start_bytes, request_bytes, block_bytes), blocks_read=read,
                blocks_read_first=first, blocks_written=written)


def _counts(start: int, request_bytes: int, block_bytes: int) -> tuple[float, float, float]:
    """(blocks read by a read, read first by a write, written by it), mean over the places that requests have in a block."""
    n = max(1, block_bytes // request_bytes)
    places = [start + i * request_bytes for i in range(n)]
    reads = [straddling.ios(place, request_bytes, block_bytes, False).reads for place in places]
    writes = [straddling.ios(place, request_bytes, block_bytes, True) for place in places]
    return sum(reads) / n, sum(each.reads for each in writes) / n, sum(each.writes for each in writes) / n


def size_in_words(n_bytes: int) -> str:
    """As 8K or 31.5K."""
    unit = next((unit for unit, size in reversed(UNITS.items()) if size <= n_bytes), "")
    return f"{n_bytes / UNITS[unit]:g}{unit or ' B'}"


COLUMNS = ("partition", "sector", "byte", "aligned for", "straddles", "read", "read first", "written", "move to")


def table(alignment: Alignment) -> list[tuple[str, ...]]:
    """For readers."""
    return [(row.partition, str(row.start_sector), str(row.start_bytes),
             f"up to {size_in_words(row.aligned_for_bytes)}" if row.aligned_for_bytes else "all",
             "yes" if row.straddles else "no", f"{row.blocks_read:g}", f"{row.blocks_read_first:g}",
             f"{row.blocks_written:g}", str(row.move_to_sector) if row.straddles else "stays") for row in alignment.rows]


def usual_columns() -> tuple[str, ...]:
    """Titles of the table of usual block sizes: the partition, then a column for each size."""
    return ("partition", *map(size_in_words, USUAL_BLOCKS))


def usual_table(alignment: Alignment) -> list[tuple[str, ...]]:
    """For readers: a row for each partition, a column for each usual size of blocks."""
    n = len(USUAL_BLOCKS)
    of_rows = [alignment.usual[i:i + n] for i in range(0, len(alignment.usual), n)]
    return [(costs[0].partition, *(_in_a_cell(each) for each in costs)) for costs in of_rows]


def _in_a_cell(cost: Cost) -> str:
    counts = f"{cost.blocks_read:g} / {cost.blocks_read_first:g} / {cost.blocks_written:g}"
    return counts if cost.straddles else f"{counts} fits"


def usual_note(alignment: Alignment) -> str:
    """What a cell of the table has."""
    sizes = {each.request_bytes for each in alignment.usual}
    requests = f"of {size_in_words(sizes.pop())}" if len(sizes) == 1 else "as large as a block"
    return (f"For each size of blocks, and requests {requests}: blocks that a read reads / that a write reads first / that "
            "it writes. *Fits*: no request lies across more blocks than it must.")


def notes(alignment: Alignment) -> list[str]:
    """What follows from it, in sentences."""
    straddling_rows = [row.partition for row in alignment.rows if row.straddles]
    block, request = size_in_words(alignment.block_bytes), size_in_words(alignment.request_bytes)
    reads, first, writes = alignment.aligned
    sentences = [f"Counts are blocks of {block} for a request of {request}, nothing in memory. Aligned: a read reads "
                 f"{reads:g}, a write reads {first:g} first and writes {writes:g}."]
    if alignment.assumed:
        sentences.append(f"The text does not tell the size of sectors. {partitions.USUAL_SECTOR} B are assumed for "
                         f"{', '.join(alignment.assumed)}.")
    if not alignment.tells_its_end:
        sentences.append("The text does not tell where it ends, so rows missing at its end cannot be seen. See that "
                         f"{alignment.rows[-1].partition} is the last of the disk.")
    if not straddling_rows:
        return [*sentences, f"No partition straddles blocks of {block}."]
    sentences.append(f"{len(straddling_rows)} of {counted(len(alignment.rows), 'partition')} straddle blocks of {block}: "
                     f"{', '.join(straddling_rows)}.")
    if first < max(row.blocks_read_first for row in alignment.rows):
        sentences.append("Each write of theirs then waits for reads, unless the blocks are in memory. Blocks that are in "
                         "memory cost nothing but their writing.")
    if alignment.request_bytes < alignment.block_bytes:
        sentences.append("Requests are smaller than blocks, so writes read first wherever a partition begins. A "
                         f"volblocksize of {request} spares that.")
    return [*sentences, "What this costs in time: notebooks/14_lun_alignment.ipynb."]

"""The dedup table of a user's own pool, from what `zdb -D` (to `-DDD`), `zdb -S` or `zpool status -D` prints.

    zdb -DD           DDT-sha256-zap-duplicate: 216 entries, size 1784 on disk, 2104 in core      a line for each object
                      DDT-sha256-zap-unique: dspace=1638400; mspace=983040; entries=10240         since 2.3; of all
                      DDT-sha256-zap-unique: object=1028                        since 2.3, with -DDD: passed over
    zpool status -D   dedup: DDT entries 2873, size 390 on disk, 302 in core                      of an entry
                      dedup: DDT entries 265611, size 82.9M on disk, 51.0M in core, 51.0M cached (100.00%)    of all: 2.3
                      dedup: DDT entries 445552, size 124M on disk, 72.1M in core       of all: zpool of 2.2, module of 2.3
    all, and zdb -S   a histogram, a row for each power of two of references, and `Total`
    zdb               dedup = 1.07, compress = 1.00, copies = 1.00, dedup * compress / copies = 1.07

*In core* is no memory that was measured. It is the size of the table's blocks that are filled, uncompressed, over its
entries (zdb.c, `dump_ddt`). `zdb -S` has no table: it prints what there would be, without a size.

The last two forms of `zpool status` differ by their numbers alone. A size is of the whole table if an entry would have
LEAST_ENTRY bytes then, and more than MOST_ENTRY else.

Formats: zdb.c and zpool_main.c of onnv_147, illumos, OpenZFS 0.6 to 2.3; published outputs (tests/study/pools/ddt).
"""
import re
from pathlib import Path
from typing import NamedTuple

from study.errors import UserError
from study.pools import pasted
from study.sizes import UNITS, size_of

TOO_LONG = re.compile(r"\d{30,}")
COMMANDS = "zdb -DD POOL"
SIZE = r"(\d+(?:\.\d+)?[KMGTPE]?B?)"
OBJECT = re.compile(r"\s*DDT-(\S+?)-(?:zap|flat)-(ditto|duplicate|unique):\s+"
                    rf"(\d+) entries, size {SIZE} on disk, {SIZE} in core\b")
OBJECT_OF_FDT = re.compile(r"\s*DDT-(\S+?)-(?:zap|flat)-(ditto|duplicate|unique):\s+"
                           r"dspace=(\d+); mspace=(\d+); entries=(\d+)")
BROKEN = re.compile(r"\s*DDT-(?!log-)\S*-(?:ditto|duplicate|unique): (?!object=\d+$|contents:)")
LOG = re.compile(r"\s*DDT-log-\S+: .*\bentries=(\d+)")     # of fast dedup: changes that wait
STATUS = re.compile(rf"\s*(?:dedup:\s+)?DDT entries (\d+), size {SIZE} on disk, {SIZE} in core"
                    rf"(?:, {SIZE} cached \(.*\))?\s*$")
HEAD = re.compile(r"\s*bucket\s+allocated\s+referenced")
WHOLE = re.compile(r"\s*(?:Simulated DDT histogram|DDT histogram \(aggregated over all DDTs\)):")
SIMULATED = re.compile(r"\s*Simulated DDT histogram:")
ROW = re.compile(rf"\s*(Total|\d[\d.]*[KMGTPE]?)(?:\s+{SIZE})" + rf"\s+{SIZE}" * 7 + r"\s*$")
RATIO = re.compile(r"\s*dedup = (\d+\.\d+)")
NONE = re.compile(r"\s*(?:dedup: )?(?:no DDT entries|All DDTs are empty)", re.MULTILINE)
NO_DEDUP = "{} is of a pool without dedup: its table is empty; `zdb -S POOL` prints what dedup would find"
RULE = re.compile(r"[\s_\-]*$|\s*refcnt\s+blocks")
ANY = re.compile(r"\bDDT\b|\bdedup\b")
LEAST_ENTRY, MOST_ENTRY = 32, 2**16     # B; an entry in core has 70 at least, and tables of few entries have 10 KiB for each
ROUNDED = 1.03      # entries of objects over those of a histogram, which a pool in use may have counted at another moment


class _Object(NamedTuple):
    """A part of the table: entries, and the bytes of all of them."""
    checksum: str
    kind: str           # ditto, duplicate, unique
    entries: int
    disk_bytes: int
    core_bytes: int


class Bucket(NamedTuple):
    """Entries with so many references, or twice as many less one: counts of blocks, and bytes."""
    references: int
    blocks: int
    logical_bytes: int
    physical_bytes: int
    disk_bytes: int
    referenced_blocks: int
    referenced_logical_bytes: int
    referenced_physical_bytes: int
    referenced_disk_bytes: int


class Ddt(NamedTuple):
    """A table as it was printed; sizes in bytes, of all of it. None is what was not printed."""
    entries: int
    in_core_bytes: int | None
    on_disk_bytes: int | None
    is_simulated: bool
    buckets: tuple[Bucket, ...]     # none of `zdb -D`
    printed_ratio: float | None
    is_of_all: bool = False         # the sizes that were printed are of the whole table, which was told by them alone

    @property
    def total(self) -> Bucket | None:
        """The sum of all rows of the table, or None if it has none."""
        sums = [sum(column) for column in zip(*self.buckets, strict=True)]
        return Bucket._make(sums)._replace(references=0) if self.buckets else None

    @property
    def ratio(self) -> float:
        """Bytes that are referenced, over bytes that lie on disks."""
        total = self.total
        if total is None or not total.disk_bytes:
            return self.printed_ratio or 1.0
        return total.referenced_disk_bytes / total.disk_bytes


def read(path: Path) -> Ddt:
    """The table that a file tells of. UserError, one sentence, if there is none or it cannot be."""
    return parse(pasted.read(path, COMMANDS), str(path))


def parse(text: str, name: str) -> Ddt:
    """Likewise; `name` is for errors."""
    if number := TOO_LONG.search(text):
        raise UserError(f"{name}: a number has {len(number[0])} digits, more than any pool's; give what `{COMMANDS}` prints")
    lines = _joined(text.splitlines(), name)
    objects = [_Object(match[1], match[2], int(match[3]), *(int(match[3]) * size_of(match[i], "size of an entry")
                                                            for i in (4, 5)))
               for line in lines if (match := OBJECT.match(line))]
    objects += [_Object(match[1], match[2], int(match[5]), int(match[3]), int(match[4]))
                for line in lines if (match := OBJECT_OF_FDT.match(line))]
    status = [match for line in lines if (match := STATUS.match(line))]
    is_simulated = any(SIMULATED.match(line) for line in lines)
    if not objects and not status and not is_simulated:
        _refuse(text, name)
    if len(status) > 1 or len({each[:2] for each in objects}) < len(objects) or (status and objects):
        raise UserError(f"{name} has more than one table, of two pools, of one at two times or by two tools; give "
                        "one of them")
    if status and not int(status[0][1]):
        raise UserError(NO_DEDUP.format(name))
    buckets = _histogram(lines, name)
    ratio = next((float(match[1]) for line in lines if (match := RATIO.match(line))), None)
    if not buckets and ratio is None:
        raise UserError(f"{name} ends before the histogram, so it is cut; give the whole output of `{COMMANDS}`")
    entries, core, disk, is_of_all = _sizes(objects, status)
    made = Ddt(entries=entries or sum(bucket.blocks for bucket in buckets), in_core_bytes=core, on_disk_bytes=disk,
               is_simulated=is_simulated, buckets=buckets, printed_ratio=ratio, is_of_all=is_of_all)
    if objects:
        _check_entries(made, sum(int(match[1]) for line in lines if (match := LOG.match(line))), name)
    _check(made, name)
    return made


def _joined(lines: list[str], name: str) -> list[str]:
    """Lines; an object's that a mail has wrapped, with the next. UserError for one that stays in parts."""
    joined: list[str] = []
    rest = iter(enumerate(lines, start=1))
    for n, line in rest:
        if BROKEN.match(line) and not _is_object(line):
            whole = f"{line.rstrip()} {next(rest, (0, ''))[1].strip()}"
            if not _is_object(whole):
                raise UserError(f"{name}, line {n}: '{line.strip()[:100]}' is cut or changed; give the output unchanged")
            line = whole
        joined.append(line)
    return joined


def _is_object(line: str) -> bool:
    return bool(OBJECT.match(line) or OBJECT_OF_FDT.match(line))


def _check_entries(ddt: Ddt, waiting: int, name: str) -> None:
    """The objects have as many entries as the histogram; those that wait in a log may be in it too."""
    counted = ddt.total.blocks if ddt.total else ddt.entries
    if not counted / ROUNDED - waiting <= ddt.entries <= counted * ROUNDED:
        raise UserError(f"{name}: the lines of objects have {ddt.entries} entries, but the histogram has {counted}, so that "
                        "something is missing; give the output unchanged")


def _refuse(text: str, name: str) -> None:
    if NONE.search(text):
        raise UserError(NO_DEDUP.format(name))
    complaint = ("has no line of a table's size that is whole, so it is cut or changed" if ANY.search(text) else
                 "has nothing of a dedup table")
    raise UserError(f"{name} {complaint}; give what `{COMMANDS}`, `zdb -S POOL` or `zpool status -D POOL` prints")


def _sizes(objects: list[_Object], status: list[re.Match]) -> tuple[int, int | None, int | None, bool]:
    """Entries, bytes in core and on disk, of all objects together; whether these were told by the numbers alone."""
    if status:
        entries, is_said = int(status[0][1]), status[0][4] is not None
        disk, core = (size_of(status[0][i], "size of the table") for i in (2, 3))
        is_of_all = is_said or (core >= LEAST_ENTRY * entries and core > MOST_ENTRY)
        times = 1 if is_of_all else entries
        return entries, core * times, disk * times, is_of_all and not is_said
    if not objects:
        return 0, None, None, False
    return (sum(each.entries for each in objects), sum(each.core_bytes for each in objects),
            sum(each.disk_bytes for each in objects), False)


def _histogram(lines: list[str], name: str) -> tuple[Bucket, ...]:
    """Rows of the histogram of the whole table, which comes last. UserError where it has no end."""
    heads = [n for n, line in enumerate(lines) if HEAD.match(line)]
    whole = [n for n, line in enumerate(lines) if WHOLE.match(line)]
    if not heads:
        return ()
    if whole and heads[-1] < whole[-1]:
        raise UserError(f"{name} ends before the histogram of the whole table, so it is cut; give the whole output")
    rows: list[Bucket] = []
    rounded = [0.0] * len(Bucket._fields)
    total = None
    for n, line in enumerate(lines[heads[-1] + 1:], start=heads[-1] + 2):
        match = ROW.match(line)
        if match:
            rounded = [each + rounding(match[i]) if i > 1 else 0.0 for i, each in enumerate(rounded, start=1)]
        if match and match[1] == "Total":
            total = _bucket(match)
            break
        if match:
            rows.append(_bucket(match))
        elif not RULE.match(line) and not rows:
            raise UserError(f"{name} has a histogram without a row, so that zdb counted no block; run it again, or with "
                            "another release of zdb")
        elif not RULE.match(line):
            raise UserError(f"{name}, line {n}: '{line.strip()[:100]}' is no row of the histogram; give the output "
                            "unchanged")
    if total is None:
        raise UserError(f"{name} ends inside its histogram, before the row Total, so it is cut; give the whole output")
    for column, most in zip(Bucket._fields[1:], rounded[1:], strict=True):
        summed, printed = sum(getattr(row, column) for row in rows), getattr(total, column)
        if abs(summed - printed) > most + len(rows):        # sizes are whole bytes here
            raise UserError(f"{name}: the rows have {summed} {column.replace('_', ' ')}, but Total says {printed}. "
                            f"Rounding explains {most:.0f} at most, so that something is missing or wrong. Give the "
                            "output unchanged")
    return tuple(rows)


def rounding(printed: str) -> float:
    """How far a size of zdb or zpool may be from what it is of, in bytes. They print whole multiples of a unit without
    decimals, and others with as many as fit into five characters (libzfs_util.c, `zfs_nicenum`; libspl, `nicenum`)."""
    number = printed.strip().upper().rstrip("B")
    unit = UNITS.get(number[-1], 1)
    digits, _, decimals = number.rstrip("KMGTPE").partition(".")
    if not decimals and (unit == 1 or len(digits) < 3):
        return 0.0
    return unit / 2 / 10 ** len(decimals)


def _bucket(match: re.Match) -> Bucket:
    sizes = {name: size_of(match[i], "column of the histogram") for i, name in enumerate(Bucket._fields[1:], start=2)}
    return Bucket(references=0 if match[1] == "Total" else size_of(match[1], "count of references"), **sizes)


def _check(ddt: Ddt, name: str) -> None:
    total = ddt.total
    if ddt.entries < 1:
        raise UserError(f"{name} is of a pool without dedup: it has no entry; `zdb -S POOL` prints what dedup would find")
    if total and ddt.printed_ratio and not ddt.printed_ratio / 1.1 <= ddt.ratio <= ddt.printed_ratio * 1.1:
        raise UserError(f"{name}: the histogram has a ratio of {ddt.ratio:.2f}, but the last line says "
                        f"{ddt.printed_ratio:.2f}; give the output unchanged")

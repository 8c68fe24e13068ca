"""The free space of a user's own pool, from what `zdb -m`, `zdb -mm` or `zdb -mmm POOL` prints.

Three forms are known, all read the same way (formats: zdb.c of onnv_69 to onnv_147, illumos and OpenZFS):

    2006 to 2008    lines of offset (hexadecimal), space map object and free space below a vdev
    2009 and 2010   `metaslab N offset … spacemap … free …`; with -mm below each `segments N maxsize … freepct …%`
    today           the same. With -mm a histogram of the free segments on disk and the fragmentation. With -mmm segments,
                    largest and a histogram of those in memory, which is taken if there is one

A vdev with a purpose of its own (`vdev 1   special`, `dedup`, `log`) takes no data of the kind that is asked about here. Its
metaslabs are read, but not sized. (zdb of 2010 and before does not say which vdev is a log.)

Where changes wait in log space maps (OpenZFS 2.0 and later), `free` is without them. What is in memory is with them, and so
is the histogram on disk: metaslab_sync writes it anew from memory. Each is held to its own account. So much is free as the
histogram (and the percentage in memory) allow, and as was printed if that is within. Elsewhere a histogram that has more
than is free was damaged. One that has less may be of an old release, which leaves out what was freed last.

A text that ends within a histogram has less in it than is free. Where the others end with `smp_alloc`, that is seen.

A line `13: 8 ****` of a histogram counts the segments of 2^13 bytes or more, but less than 2^14. The size of a metaslab is
not printed. It is a power of two, and follows from offset and number. In the oldest form it follows from the distances
of offsets; of a metaslab 0 alone, from its free percentage. On dRAID a metaslab begins a little later, with a whole
stripe.
"""
import itertools
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

from model.devices.sectors import SECTOR_BYTES
from model.zfs.metaslab.new_pool import SMALLEST_SHIFT
from study.errors import UserError
from study.pools import pasted
from study.sizes import size_of

COUNT, OFFSET = r"\d{1,19}", "[0-9a-f]{1,16}"      # 64 bits
NUMBER = rf"{COUNT}(?:\.{COUNT})?[KMGTPE]?"
OF_GROUPS = re.compile(rf"\s*vdev\s+{COUNT}\s+metaslabs\s+{COUNT}\s+fragmentation", re.MULTILINE)     # of zdb -M
CANNOT_OPEN = re.compile(r"zdb: can't open '[^']*'", re.MULTILINE)
OF_ZPOOL_LIST = re.compile(r"\bSIZE\b.*\bFRAG\b.*\bCAP\b")
OF_A_DATASET = re.compile(r"\s*Dataset \S+ \[", re.MULTILINE)
OF_A_METASLAB = re.compile(rf"\bmetaslab\s+{COUNT}\s+offset\b|^\W*metaslab\s+{COUNT}\b")    # whatever became of the line
OF_LOG_SPACE_MAPS = re.compile(r".*\bms_unflushed_phys\b|\s*unflushed txg=")
HEADER = re.compile(rf"\s*metaslabs\s+({COUNT})\s+offset\b")
VDEV = re.compile(rf"\s*vdev\s+({COUNT})\b(?:\s+(special|dedup|log)\b)?")
SPACE_MAP_END = re.compile(r"\s*smp_alloc = 0x[0-9a-f]+$")       # since 0.8 the last line of a metaslab that has a space map
FLUSHED = re.compile(r"\s*unflushed txg=")                         # with log space maps the last line of any
SLAB = re.compile(rf"\s*metaslab\s+({COUNT})\s+offset\s+({OFFSET})\s+spacemap\s+({COUNT})\s+free\s+({NUMBER})\s*$")
BROKEN = re.compile(rf"\s*metaslab\s+{COUNT}\b")
OLD_SLAB = re.compile(rf"\s+({OFFSET})\s+({COUNT})\s+({NUMBER})\s*$")
STATISTICS = re.compile(rf"\s*segments\s+({COUNT})\s+maxsize\s+({NUMBER})\s+freepct\s+({COUNT})%")
HISTOGRAM = re.compile(rf"\s*(On-disk|In-memory) histogram:(?:\s*fragmentation\s+({COUNT}))?")
BUCKET = re.compile(rf"\s*({COUNT}):\s+({COUNT})\s*\**\s*$")
ROUNDED = 1.02      # zdb prints three digits
MAX_POWER = 63          # 64 bits
LARGEST_VDEV = 2**53
MAX_STRIPE = 2**22      # of dRAID: 255 sectors of 16 KiB


class Slab(NamedTuple):
    """A metaslab as zdb describes it; None is what was not printed."""
    vdev: int
    offset: int
    is_used: bool                   # it has a space map
    free_bytes: int
    size_bytes: int = 0             # 0 while it is being read, and of a vdev with a purpose
    n_segments: int | None = None
    largest_bytes: int | None = None
    free_pct: int | None = None
    fragmentation: float | None = None
    histogram: dict[int, int] | None = None     # of 2^key bytes and more: number of segments
    number: int | None = None       # in its vdev
    purpose: str = ""               # of the vdev: special, dedup, log; "" takes all data
    of_vdev: int | None = None      # metaslabs of the vdev, as its header says
    sector_bytes: int = 512         # of the vdev, where it is known
    is_in_memory: bool = False      # the histogram is
    has_log: bool = False           # changes may wait in log space maps, which are in the histogram and not in `free`
    has_header: bool = True         # a line above says which vdev it is of
    is_by_histogram: bool = False   # free_bytes, since what was printed does not fit
    is_whole: bool = False          # the line that ends a metaslab was read
    is_cut: bool = False            # its histogram was, and is left out


def read(path: Path) -> list[Slab]:
    """The metaslabs in a file. UserError, one sentence, if there are none or one cannot be."""
    return parse(pasted.read(path, "zdb -mm POOL"), str(path))


def parse(text: str, name: str) -> list[Slab]:
    """The metaslabs in what zdb printed; `name` is for errors."""
    slabs = _without_cut_histogram(list(_slabs(text.splitlines(), name)))
    if all(slab.purpose for slab in slabs):
        _refuse(text, name)
    of_data = [_by_own_account(slab) for slab in sized([slab for slab in slabs if not slab.purpose], name)]
    for slab in of_data:
        _check(slab, name)
    return of_data + [slab for slab in slabs if slab.purpose]


def _refuse(text: str, name: str) -> NoReturn:
    """What zdb prints when it is asked for something else, and zpool."""
    if opened := CANNOT_OPEN.search(text):
        raise UserError(f"{name} has no metaslab, but zdb's complaint \"{opened[0][5:]}\"; name its cache file by -U "
                        "(TrueNAS: /data/zfs/zpool.cache), or give -e for an exported pool")
    if OF_ZPOOL_LIST.search(text):
        raise UserError(f"{name} is what `zpool list` prints; give its CAP and FRAG by --fill and --fragmentation instead, "
                        "or a file with what `zdb -mm POOL` prints")
    complaint = ("is what `zdb -M` prints, of groups of metaslabs" if OF_GROUPS.search(text) else
            "is what `zdb` prints of a dataset" if OF_A_DATASET.search(text) else
            "has no line of a metaslab of a vdev for all data")
    raise UserError(f"{name} {complaint}; give what `zdb -mm POOL` prints")


def _slabs(lines: Iterable[str], name: str) -> Iterator[Slab]:
    """The metaslabs, each with what stands below it."""
    vdev, purpose, slab, source, of_vdev, has_log = 0, "", None, None, None, False
    seen: set[int] = set()
    for n, line in _joined(lines):
        started, headed = _start(line, vdev, purpose, of_vdev, has_log), VDEV.match(line)
        if not started and OF_A_METASLAB.search(line):
            raise UserError(f"{name}, line {n}: '{line.strip()[:100]}' is cut, wrapped or changed; give the "
                            "output unchanged")
        if counted := HEADER.match(line):
            of_vdev = int(counted[1])
        if started or headed:
            if slab:
                yield slab
            slab, source = started and started._replace(has_header=bool(seen)), None
            if headed and not started:
                vdev, purpose, of_vdev = int(headed[1]), headed[2] or "", None
                has_log = bool(OF_LOG_SPACE_MAPS.match(line))
                if vdev in seen:
                    raise UserError(f"{name} has vdev {vdev} twice, of two pools or of one at two times; give the output "
                                    "of one zdb")
                seen.add(vdev)
        elif slab and (match := HISTOGRAM.match(line)):
            source = match[1]
            slab = _with_histogram(slab, source, match[2])
        elif slab:
            slab = _with_line(slab, line, source)
    if slab:
        yield slab


def _joined(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, from 1; a metaslab's that a mail has wrapped, with the next."""
    held, held_at = "", 0
    for n, line in enumerate(lines, start=1):
        if held and SLAB.match(whole := f"{held.rstrip()} {line.strip()}"):
            yield held_at, whole
            held = ""
            continue
        if held:
            yield held_at, held
        held, held_at = (line, n) if BROKEN.match(line) and not SLAB.match(line) else ("", 0)
        if not held:
            yield n, line
    if held:
        yield held_at, held


def _start(line: str, vdev: int, purpose: str, of_vdev: int | None, has_log: bool) -> Slab | None:
    """A metaslab that begins with this line."""
    number = None
    if match := SLAB.match(line):
        number, offset, space_map, free = match.groups()
    elif match := OLD_SLAB.match(line):
        offset, space_map, free = match.groups()
    else:
        return None
    return Slab(vdev=vdev, offset=int(offset, 16), is_used=int(space_map) > 0, free_bytes=_bytes(free, "free space"),
                number=None if number is None else int(number), purpose=purpose, of_vdev=of_vdev, has_log=has_log)


def _bytes(printed: str, quantity: str) -> int:
    """Bytes. A number without a unit is exact, and so has whole sectors."""
    n_bytes = size_of(printed, quantity)
    if printed[-1].isdigit() and ("." in printed or n_bytes % SECTOR_BYTES):
        raise UserError(f"the {quantity} of a metaslab is '{printed}' without a unit, but that is no multiple of "
                        f"{SECTOR_BYTES} bytes. Its line is cut, so give the output unchanged")
    return n_bytes


def _with_histogram(slab: Slab, source: str, fragmentation: str | None) -> Slab:
    """A histogram of the metaslab begins; the one in memory comes first, if it comes, and stays."""
    if fragmentation and int(fragmentation) <= 100:      # zdb prints 2^64 - 1 where it is not known
        slab = slab._replace(fragmentation=int(fragmentation))
    if source == "In-memory" or slab.histogram is None:
        return slab._replace(histogram={}, is_in_memory=source == "In-memory")
    return slab


def _with_line(slab: Slab, line: str, source: str | None) -> Slab:
    """A line below a metaslab; what says nothing of it is passed over."""
    if match := STATISTICS.match(line):
        largest_bytes = _bytes(match[2], "largest segment")
        return slab._replace(n_segments=int(match[1]), largest_bytes=largest_bytes, free_pct=int(match[3]))
    if OF_LOG_SPACE_MAPS.match(line):
        return slab._replace(has_log=True, is_whole=slab.is_whole or bool(FLUSHED.match(line)))
    if SPACE_MAP_END.match(line):
        return slab._replace(is_whole=True)
    match = BUCKET.match(line)
    if match and source == "In-memory":
        return slab._replace(histogram=(slab.histogram or {}) | {int(match[1]): int(match[2])})
    if match and source == "On-disk" and not slab.is_in_memory and slab.n_segments is None:
        return slab._replace(histogram=(slab.histogram or {}) | {int(match[1]): int(match[2])})
    return slab


def _without_cut_histogram(slabs: list[Slab]) -> list[Slab]:
    """The metaslabs; the last without its histogram, if the text ends within that: the line that ends the others is
    missing, and the histogram has less than is free."""
    if not slabs or slabs[-1].is_whole or not any(slab.is_whole for slab in slabs) or not has_less(slabs[-1]):
        return slabs
    last = slabs[-1]
    smallest = min(power for power, count in (last.histogram or {}).items() if count)
    return [*slabs[:-1], last._replace(histogram=None, is_in_memory=False, is_cut=True,
                                       sector_bytes=max(SECTOR_BYTES, 2**smallest))]


def _by_own_account(slab: Slab) -> Slab:
    """The metaslab with as much free as its histogram says, if changes may be in that and not in what was printed."""
    if not (slab.is_in_memory or slab.has_log) or not any((slab.histogram or {}).values()):
        return slab
    low, high = _bounds(slab)
    if slab.is_in_memory and slab.free_pct is not None:
        low = max(low, slab.free_pct * slab.size_bytes // 100)
        high = min(high, (slab.free_pct + 1) * slab.size_bytes // 100)
    high = min(high, slab.size_bytes)
    if low > high or low <= slab.free_bytes <= high:
        return slab
    return slab._replace(free_bytes=math.isqrt(low * high), is_by_histogram=True)


def has_less(slab: Slab) -> bool:
    """Whether the histogram has less than is free."""
    return 0 < _bounds(slab)[1] * ROUNDED < slab.free_bytes


def _bounds(slab: Slab) -> tuple[int, int]:
    """B that are free at least, and less than which are, by its histogram."""
    counts = {power: count for power, count in (slab.histogram or {}).items() if count and power < MAX_POWER}
    return sum(count << power for power, count in counts.items()), sum(count << power + 1 for power, count in counts.items())


def sized(slabs: list[Slab], name: str) -> list[Slab]:
    """The metaslabs with their sizes."""
    sizes = {vdev: _size(sorted((slab for slab in slabs if slab.vdev == vdev), key=lambda slab: slab.offset), name)
             for vdev in {slab.vdev for slab in slabs}}
    return [slab._replace(size_bytes=sizes[slab.vdev]) for slab in slabs]


def _size(slabs: list[Slab], name: str) -> int:
    """Bytes of each metaslab of a vdev, of which only some may have been printed."""
    pairs = list(itertools.pairwise(slabs))
    for a, b in pairs:
        if a.offset == b.offset:
            raise UserError(f"{name} has the metaslab at offset {a.offset:x} of vdev {a.vdev} twice; give the output of one "
                            "zdb")
    last = slabs[-1]
    if not pairs and not last.number:
        return _size_of_single(last, name)
    distance = last.offset // last.number if last.number else min(b.offset - a.offset for a, b in pairs)
    size = 2 ** max(0, distance.bit_length() - 1)
    for slab in slabs:
        _check_place(slab, size, name)
    return size


def _check_place(slab: Slab, size: int, name: str) -> None:
    """A metaslab begins at its number times the size, on dRAID less than a stripe after it; the oldest zdb tells none."""
    where = f"{name}: the metaslab at offset {slab.offset:x} of vdev {slab.vdev}"
    number = slab.offset // size if slab.number is None else slab.number
    after = slab.offset - number * size
    if not 0 <= after <= (0 if slab.number is None else min(MAX_STRIPE, size // 2)):
        called = "" if slab.number is None else f" has number {number} and"
        raise UserError(f"{where}{called} does not begin at a multiple of {size} bytes, which the others are apart; give "
                        "the output unchanged")
    if slab.offset + size > LARGEST_VDEV:
        raise UserError(f"{where} ends at {slab.offset + size} bytes, but the model takes vdevs of at most 2^53; give the "
                        "output unchanged")


def _size_of_single(slab: Slab, name: str) -> int:
    """A metaslab is a power of two; the one between what freepct, rounded down, allows."""
    if slab.free_pct:
        high = slab.free_bytes * 100 // slab.free_pct
        size = 2 ** (max(1, round(high * ROUNDED)).bit_length() - 1)
        if size * (slab.free_pct + 1) * ROUNDED >= slab.free_bytes * 100:
            return size
    raise UserError(f"{name} has a single metaslab of vdev {slab.vdev}, so that its size is not known; give all of the vdev")


def _check(slab: Slab, name: str) -> None:
    where = f"{name}: the metaslab at offset {slab.offset:x} of vdev {slab.vdev}"
    if slab.free_bytes > slab.size_bytes * ROUNDED:
        raise UserError(f"{where} has {slab.free_bytes} bytes free of {slab.size_bytes}; give the output unchanged")
    if not 2**SMALLEST_SHIFT <= slab.size_bytes <= LARGEST_VDEV:
        raise UserError(f"{where} has {slab.size_bytes} bytes, but metaslabs have 2^{SMALLEST_SHIFT} to 2^53; give the "
                        "output unchanged")
    if (slab.n_segments or 0) * SECTOR_BYTES > slab.free_bytes * ROUNDED + SECTOR_BYTES:
        raise UserError(f"{where} has {slab.n_segments} free segments of {SECTOR_BYTES} bytes at least, but "
                        f"{slab.free_bytes} bytes are free; give the output unchanged")
    max_power = max((power for power, count in (slab.histogram or {}).items() if count), default=0)
    if max_power >= slab.size_bytes.bit_length():
        raise UserError(f"{where} has segments of 2^{max_power} bytes in its histogram, but {slab.size_bytes} bytes in all; "
                        "give the output unchanged")
    if slab.of_vdev is not None and (slab.number or 0) >= slab.of_vdev:
        raise UserError(f"{where} has number {slab.number}, but the header above it counts {slab.of_vdev} metaslabs from 0; "
                        "give the output unchanged")
    min_bytes, _ = _bounds(slab)
    if min_bytes > slab.free_bytes * ROUNDED:
        raise UserError(f"{where} has {min_bytes} bytes in its histogram at least, but {slab.free_bytes} are free; give the "
                        "output unchanged")
    if (slab.largest_bytes or 0) > slab.free_bytes * ROUNDED:
        raise UserError(f"{where} has a segment of {slab.largest_bytes} bytes, but {slab.free_bytes} are free; give the "
                        "output unchanged")

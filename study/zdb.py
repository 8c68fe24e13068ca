"""The free space of a user's own pool, from what `zdb -m`, `zdb -mm` or `zdb -mmm POOL` prints.

Three forms are known, all read the same way (formats: zdb.c of onnv_69 to onnv_147, illumos and OpenZFS):

    2006 to 2008    lines of offset (hexadecimal), space map object and free space below a vdev
    2009 and 2010   `metaslab N offset … spacemap … free …`; with -mm below each `segments N maxsize … freepct …%`
    today           the same; with -mm a histogram of the free segments on disk and the fragmentation, with -mmm segments,
                    largest and a histogram of those in memory, which is taken if there is one

A line `13: 8 ****` of a histogram counts the segments of 2^13 bytes or more, but less than 2^14. The size of a metaslab is
not printed; it follows from the distances of their offsets, or of a single one from its free percentage.
"""
import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from study.errors import UserError
from study.sizes import size_of

NUMBER = r"\d+(?:\.\d+)?[KMGTPE]?"
VDEV = re.compile(r"\s*vdev\s+(\d+)\b")
SLAB = re.compile(rf"\s*metaslab\s+(\d+)\s+offset\s+([0-9a-f]+)\s+spacemap\s+(\d+)\s+free\s+({NUMBER})\s*$")
OLD_SLAB = re.compile(rf"\s+([0-9a-f]+)\s+(\d+)\s+({NUMBER})\s*$")
STATISTICS = re.compile(rf"\s*segments\s+(\d+)\s+maxsize\s+({NUMBER})\s+freepct\s+(\d+)%")
HISTOGRAM = re.compile(r"\s*(On-disk|In-memory) histogram:(?:\s*fragmentation\s+(\d+))?")
BUCKET = re.compile(r"\s*(\d+):\s+(\d+)\s*\**\s*$")
ROUNDED = 1.02      # zdb prints three digits


class Slab(NamedTuple):
    """A metaslab as zdb describes it; None is what was not printed."""
    vdev: int
    offset: int
    is_used: bool                   # it has a space map
    free_bytes: int
    size_bytes: int | None = None   # None only while it is being read
    n_segments: int | None = None
    largest_bytes: int | None = None
    free_pct: int | None = None
    fragmentation: int | None = None
    histogram: dict[int, int] | None = None     # of 2^key bytes and more: number of segments


def read(path: Path) -> list[Slab]:
    """The metaslabs in a file. UserError, one sentence, if there are none or one cannot be."""
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        raise UserError(f"{path} is not text; give what `zdb -mm POOL` prints") from None
    return parse(text, str(path))


def parse(text: str, name: str) -> list[Slab]:
    """The metaslabs in what zdb printed; `name` is for errors."""
    slabs = sized(list(_slabs(text.splitlines())), name)
    for slab in slabs:
        _check(slab, name)
    return slabs


def _slabs(lines: Iterable[str]):
    """The metaslabs, each with what stands below it."""
    vdev, slab, source = 0, None, None
    for line in lines:
        started = _start(line, vdev)
        if started or VDEV.match(line):
            if slab:
                yield slab
            slab, source = started, None
            vdev = vdev if started else int(VDEV.match(line)[1])
        elif slab and (found := HISTOGRAM.match(line)):
            source = found[1]
            slab = _with_histogram(slab, source, found[2])
        elif slab:
            slab = _with_line(slab, line, source)
    if slab:
        yield slab


def _start(line: str, vdev: int) -> Slab | None:
    """A metaslab that begins with this line."""
    if found := SLAB.match(line):
        offset, space_map, free = found.groups()[1:]
    elif found := OLD_SLAB.match(line):
        offset, space_map, free = found.groups()
    else:
        return None
    return Slab(vdev, int(offset, 16), int(space_map) > 0, size_of(free, "free space"))


def _with_histogram(slab: Slab, source: str, fragmentation: str | None) -> Slab:
    """A histogram of the metaslab begins; the one in memory comes first, if it comes, and stays."""
    if fragmentation and int(fragmentation) <= 100:      # zdb prints 2^64 - 1 where it is not known
        slab = slab._replace(fragmentation=int(fragmentation))
    return slab._replace(histogram={}) if source == "In-memory" or slab.histogram is None else slab


def _with_line(slab: Slab, line: str, source: str | None) -> Slab:
    """A line below a metaslab; what says nothing of it is passed over."""
    if found := STATISTICS.match(line):
        largest_bytes = size_of(found[2], "largest segment")
        return slab._replace(n_segments=int(found[1]), largest_bytes=largest_bytes, free_pct=int(found[3]))
    found = BUCKET.match(line)
    if found and source == "In-memory":
        return slab._replace(histogram=slab.histogram | {int(found[1]): int(found[2])})
    if found and source == "On-disk" and slab.n_segments is None:
        return slab._replace(histogram=slab.histogram | {int(found[1]): int(found[2])})
    return slab


def sized(slabs: list[Slab], name: str) -> list[Slab]:
    """The metaslabs with their sizes."""
    if not slabs:
        raise UserError(f"{name} has no line of a metaslab; give what `zdb -mm POOL` prints")
    sizes = {}
    for vdev in sorted({slab.vdev for slab in slabs}):
        offsets = sorted(slab.offset for slab in slabs if slab.vdev == vdev)
        steps = [b - a for a, b in itertools.pairwise(offsets)]
        if steps and min(steps) == 0:
            raise UserError(f"{name} has the metaslab at offset {offsets[steps.index(0)]:x} of vdev {vdev} twice; give the "
                            "output of one zdb")
        sizes[vdev] = min(steps) if steps else _size_of_single(next(one for one in slabs if one.vdev == vdev), name)
    return [slab._replace(size_bytes=sizes[slab.vdev]) for slab in slabs]


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
    least = sum(count << power for power, count in (slab.histogram or {}).items())
    if least > slab.free_bytes * ROUNDED:
        raise UserError(f"{where} has {least} bytes in its histogram at least, but {slab.free_bytes} are free; give the "
                        "output unchanged")
    if (slab.largest_bytes or 0) > slab.free_bytes * ROUNDED:
        raise UserError(f"{where} has a segment of {slab.largest_bytes} bytes, but {slab.free_bytes} are free; give the "
                        "output unchanged")

"""The pool that `study pool` is asked about: what zdb printed of it, or a fill and a fragmentation in words."""
from pathlib import Path
from typing import NoReturn

from model.zfs.eras import era
from model.zfs.metaslab.new_pool import metaslab_shift
from study.errors import UserError
from study.pools import described_space, zdb
from study.pools.forecast import ERAS
from study.pools.zdb import Slab
from study.sizes import size_of

MAX_BYTES = 2**50     # of a disk that is described


def of_pool(file: Path | None = None, fill: str | None = None, fragmentation: str | None = None,
            disk: str | None = None) -> list[Slab]:
    """The metaslabs that zdb printed, or of a disk (of 1 TiB, if not given) that is filled and fragmented so much."""
    given = [name for name, value in (("--fill", fill), ("--fragmentation", fragmentation), ("--disk", disk))
             if value is not None]
    if file is not None:
        if given:
            raise UserError(f"{file} says what the pool is like, and {given[0]} does too; leave one of the two out")
        return zdb.read(file)
    if fill is None or fragmentation is None:
        _refuse_half(fill, fragmentation, given)
    disk_bytes = size_of(disk or "1T", "disk")
    metaslab = 1 << metaslab_shift(disk_bytes)
    if not metaslab <= disk_bytes <= MAX_BYTES:
        raise UserError(f"the disk has {disk_bytes} bytes, but must have a metaslab at least and {MAX_BYTES >> 50} PiB at "
                        "most; choose from 1M to 1P")
    share, percent = _share(fill, "fill", 1, "0.8 or 80%"), _share(fragmentation, "fragmentation", 100, "40 or 40%")
    return described_space.alike(share, percent, disk_bytes, metaslab)


def _refuse_half(fill: str | None, fragmentation: str | None, given: list[str]) -> NoReturn:
    """A pool in words has both."""
    if not given:
        raise UserError("give a file with what `zdb -mm POOL` prints, or both --fill and --fragmentation")
    missing = [name for name, value in (("--fill", fill), ("--fragmentation", fragmentation)) if value is None]
    raise UserError(f"{given[0]} is given and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; give "
                    "a pool in words both --fill and --fragmentation, as `zpool list` prints them")


def _share(text: str | None, quantity: str, whole: float, example: str) -> float:
    """A share as people write it, of a `whole`; with % it is of a hundred."""
    written = str(text).strip()
    try:
        number = float(written.removesuffix("%"))
    except ValueError:
        raise UserError(f"the {quantity} is '{text}', which is no share; write it like {example}") from None
    return number * whole / 100 if written.endswith("%") else number


def eras(name: str | None) -> tuple[str, ...]:
    """The rules of that name, or all that differ."""
    if name is not None:
        try:
            era(name)
        except ValueError as error:
            raise UserError(str(error)) from None
    return ERAS if name is None else (name,)

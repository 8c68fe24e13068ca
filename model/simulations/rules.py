"""The mechanisms that a simulation of disks runs under: those of one build of ZFS, and a drive."""

from collections.abc import Sequence
from typing import NamedTuple

from model.devices.command_queue import Drive
from model.devices.data_sheet import SheetParams, new_drive
from model.zfs.eras import era
from model.zfs.vdev.cache import VdevCacheParams
from model.zfs.vdev.queue import VdevQueueParams


class Rules(NamedTuple):
    """The mechanisms of a run."""

    cache: VdevCacheParams
    queue: VdevQueueParams
    disk: Drive
    moves_whole_lines: int = 0  # 1: a read of data that may not fill a line moves the whole line all the same, and
    #   leaves nothing behind: a rule that never was


def rules_of(name: str, sheet: SheetParams | None = None, drawn_ns: Sequence[int] = ()) -> Rules:
    """The rules of the build `name`, with disks of a data sheet."""
    build = era(name)
    return Rules(build.cache, build.queue, new_drive(sheet or SheetParams(), drawn_ns))

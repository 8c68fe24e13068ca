"""What a database can lie on: devices, pools of them, ZFS and UFS, as the sections of a scenario
(`study.machines.scenario`).

What cannot be is a ValueError of one sentence: no disk, a cache larger than its device, a record that no build has.
"""
import functools
from typing import Annotated, Literal

from pydantic import Field, model_validator

from model.zfs import eras
from study import errors
from study.machines import hardware
from study.machines.section import Section
from study.project import DATA

PARITY = {"raidz1": 1, "raidz2": 2, "raidz3": 3}
KIB, GIB = 2**10, 2**30
LARGEST_RECORD = max(era.records.most_bytes for era in eras.ERAS.values()) // KIB
MOST_DEVICES = 1024             # that there is room for in a simulation


@functools.cache
def sheet(name: str) -> hardware.Device:
    """A device of data/hardware. Raises ValueError if there is none of that name."""
    folder = DATA / "hardware"
    if not (folder / f"{name}.toml").is_file():
        known = sorted(path.stem for path in folder.glob("*.toml"))
        raise ValueError(f"there is no sheet '{name}' in data/hardware; " + errors.meant(
            name, known, f"it has {', '.join(known)}: name one of these or write its file"))
    return hardware.read(name)


class Devices(Section):
    """Some devices of one kind. `width`: disks of a mirror or RAID-Z group; all of them if it is left out."""
    sheet: str                              # data/hardware/<sheet>.toml
    count: int = 1
    layout: Literal["stripe", "mirror", "raidz1", "raidz2", "raidz3"] = "stripe"
    width: int | None = None
    use_gib: float | None = None            # only so much of each device
    write_cache: bool | None = None         # of a disk: on or off; as its sheet says if it is left out
    ashift: Literal[9, 12, 13] = 9          # of the vdev; OpenZFS takes 12 for disks with sectors of 4 KiB
    battery: bool = False                   # behind a controller whose cache survives a power cut

    @property
    def group(self) -> int:
        """Devices of a top-level vdev."""
        return 1 if self.layout == "stripe" else self.width or self.count

    @property
    def n_vdevs(self) -> int:
        return self.count // self.group

    @property
    def device_bytes(self) -> int:
        whole = sheet(self.sheet).params.disk_bytes
        return whole if self.use_gib is None else int(self.use_gib * GIB)

    @property
    def usable_bytes(self) -> int:
        """Data that all of them hold."""
        data = self.group - PARITY[self.layout] if self.layout in PARITY else 1
        return self.n_vdevs * data * self.device_bytes

    @model_validator(mode="after")
    def _can_be(self):
        whole = sheet(self.sheet).params.disk_bytes
        if self.count < 1:
            raise ValueError(f"count is {self.count}, but there is no pool without a disk; give 1 or more")
        if self.count > MOST_DEVICES:
            raise ValueError(f"count is {self.count}, but {MOST_DEVICES} devices are simulated at most; choose fewer")
        least = {"stripe": 1, "mirror": 2}.get(self.layout, PARITY.get(self.layout, 0) + 1)
        if self.layout == "stripe" and self.width not in (None, 1):
            raise ValueError(f"width is {self.width}, but a stripe has no groups; leave it out or choose another layout")
        if self.group < least:
            raise ValueError(f"{self.layout} of {self.group} device{'s' * (self.group > 1)} is none; it needs "
                             f"{least} at least, so raise count or width, or choose another layout")
        if self.count % self.group:
            raise ValueError(f"{self.count} devices are not divided by groups of {self.group}; choose a multiple of it")
        if self.use_gib is not None and not 0 < self.use_gib * GIB <= whole:
            raise ValueError(f"use_gib is {self.use_gib:g}, but the device holds {whole / GIB:.1f} GiB; choose more than 0 "
                             "and no more than that")
        return self


class Pool(Section):
    """Devices of a pool: of its data, of its separate intent log, of its cache (L2ARC)."""
    data: Devices
    log: Devices | None = None
    cache: Devices | None = None

    @model_validator(mode="after")
    def _can_be(self):
        for name, one, layouts in (("log", self.log, ("stripe", "mirror")), ("cache", self.cache, ("stripe",))):
            if one is not None and one.layout not in layouts:
                raise ValueError(f"the {name} device is laid out as {one.layout}, which ZFS does not do; choose "
                                 f"{' or '.join(layouts)}")
        return self


def _check_record(name: str, kib: int, era: str):
    """ValueError unless the build has such records."""
    most = eras.ERAS[era].records.most_bytes // KIB
    if kib < 1 or kib & (kib - 1):
        raise ValueError(f"{name} is {kib}, but a record is a power of two, of 1 to {most} KiB with era {era}; choose one")
    if kib > LARGEST_RECORD:
        raise ValueError(f"{name} is {kib}, but no ZFS has records of more than {LARGEST_RECORD} KiB (16 MiB); choose no "
                         "more than that")
    if kib > most:
        raise ValueError(f"{name} is {kib}, but a record has {most} KiB at most with era {era}; choose no more than that, "
                         "or a release with large blocks, as openzfs_2017 or openzfs")


class Zfs(Section):
    kind: Literal["zfs"] = "zfs"
    era: str = "b111"                       # a build of model.zfs.eras; if a scenario leaves it out: of the database's time
    record_kib: int = 128                   # recordsize of the tables
    log_record_kib: int | None = None       # of the database's log; as the tables' if it is left out
    primarycache: Literal["all", "metadata"] = "all"        # none is not modelled
    secondarycache: Literal["all", "none"] = "all"          # metadata is not modelled
    logbias: Literal["latency", "throughput"] = "latency"
    log_logbias: Literal["latency", "throughput"] | None = None     # of the database's log; as the tables' if it is left out
    compress_ratio: Annotated[float, Field(ge=1, le=100)] = 1.0     # of tables and indexes together; 1: compression=off
    compressed_arc: bool | None = None      # records are held as they are on disk; if left out: as its era does
    prefetch: bool = True
    zil: bool = True                        # False: zil_disable, or sync=disabled
    nocacheflush: bool = False
    arc_max_mib: float | None = None
    warm: bool | None = None                # whether the tables are in core at the start; not known if it is left out
    cache_warm: bool | None = None          # whether a cache device holds what hours put there; not known if it is left out
    to_scale: Annotated[float, Field(ge=1, le=10**4)] = 1.0         # tables are so many times smaller than they are, and
    groups_to_scale: Annotated[float, Field(ge=1, le=10**4)] = 1.0  # transaction groups shorter; run_length.py sets both

    @model_validator(mode="after")
    def _can_be(self):
        if self.era not in eras.ERAS:
            raise ValueError(f"era is '{self.era}', but the builds known are {', '.join(eras.ERAS)}; choose one of these")
        for name, value in (("record_kib", self.record_kib), ("log_record_kib", self.log_record_kib)):
            if value is not None:
                _check_record(name, value, self.era)
        if self.logbias == "throughput" and not eras.ERAS[self.era].zil.has_logbias:
            raise ValueError(f"logbias is throughput, but era {self.era} has no logbias; choose b141 or leave it out")
        if self.arc_max_mib is not None and self.arc_max_mib < 64:
            raise ValueError(f"arc_max_mib is {self.arc_max_mib:g}, but the ARC has 64 MiB at least; choose that or more")
        return self

    @property
    def holds_compressed(self) -> bool:
        said = self.compressed_arc
        return bool(eras.ERAS[self.era].records.stay_compressed) if said is None else said


class Ufs(Section):
    kind: Literal["ufs"] = "ufs"
    directio: bool = False
    throttle: bool = True                   # ufs_WRITES
    autoup_s: Annotated[int, Field(ge=1, le=86400)] = 30
    apart: bool = False                     # each device of the pool a file system: tables, indexes, all the rest
    warm: bool | None = None

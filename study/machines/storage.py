"""What a database can lie on: devices, pools of them, ZFS and UFS, as the sections of a scenario
(`study.machines.scenario`).

What cannot be is a ValueError of one sentence: no disk, a cache larger than its device, a record that no build has.
"""
import functools
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from model.zfs import eras
from study import errors
from study.machines import hardware
from study.machines.base_section import Section
from study.project import DATA

PARITY = {"raidz1": 1, "raidz2": 2, "raidz3": 3}
KIB, GIB = 2**10, 2**30
LARGEST_RECORD = max(era.records.max_bytes for era in eras.ERAS.values()) // KIB
WITH_SYNC = list(eras.ERAS)[list(eras.ERAS).index("b141"):]     # the property: PSARC 2010/108, onnv_140
SMALLEST_BLOCK = 512            # B of a zvol: SPA_MINBLOCKSIZE
WITH_WIDER_ZVOLS = ["openzfs"]  # of 16 KiB if nothing is said: OpenZFS 2.2, pull request 12406
MAX_DEVICES = 1024              # that there is room for in a simulation


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
    """Some devices of one kind."""
    sheet: str
    """The device's data sheet: a file of data/hardware, without its ending."""
    count: int = 1
    """How many devices."""
    layout: Literal["stripe", "mirror", "raidz1", "raidz2", "raidz3"] = "stripe"
    """How they are put together. A log device: stripe or mirror; a cache device: stripe."""
    width: int | None = None
    """Devices of a mirror or of a RAID-Z group. Left out: all of them."""
    use_gib: float | None = None
    """How much of each device is used, GiB. Left out: all of it."""
    write_cache: bool | None = None
    """Write cache of a disk, on or off. Left out: as its sheet says."""
    ashift: Literal[9, 12, 13] = 9
    """Sector size of the vdev, as a power of two. OpenZFS takes 12 for disks with sectors of 4 KiB."""
    battery: bool = False
    """The devices are behind a controller whose cache survives a power cut."""

    @property
    def group(self) -> int:
        """Devices of a top-level vdev."""
        return 1 if self.layout == "stripe" else self.width or self.count

    @property
    def n_vdevs(self) -> int:
        """How many vdevs the devices make."""
        return self.count // self.group

    @property
    def device_bytes(self) -> int:
        """How much of each device is used [B]."""
        whole = sheet(self.sheet).params.disk_bytes
        return whole if self.use_gib is None else int(self.use_gib * GIB)

    @property
    def usable_bytes(self) -> int:
        """Data that all of them hold."""
        data = self.group - PARITY[self.layout] if self.layout in PARITY else 1
        return self.n_vdevs * data * self.device_bytes

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        whole = sheet(self.sheet).params.disk_bytes
        if self.count < 1:
            raise ValueError(f"count is {self.count}, but there is no pool without a disk; give 1 or more")
        if self.count > MAX_DEVICES:
            raise ValueError(f"count is {self.count}, but {MAX_DEVICES} devices are simulated at most; choose fewer")
        minimum = {"stripe": 1, "mirror": 2}.get(self.layout, PARITY.get(self.layout, 0) + 1)
        if self.layout == "stripe" and self.width not in (None, 1):
            raise ValueError(f"width is {self.width}, but a stripe has no groups; leave it out or choose another layout")
        if self.group < minimum:
            raise ValueError(f"{self.layout} of {self.group} device{'s' * (self.group > 1)} is none; it needs "
                             f"{minimum} at least, so raise count or width, or choose another layout")
        if self.count % self.group:
            raise ValueError(f"{self.count} devices are not divided by groups of {self.group}; choose a multiple of it")
        if self.use_gib is not None and not 0 < self.use_gib * GIB <= whole:
            raise ValueError(f"use_gib is {self.use_gib:g}, but the device holds {whole / GIB:.1f} GiB; choose more than 0 "
                             "and no more than that")
        return self


class Pool(Section):
    """Devices of a pool: of its data, of its separate intent log, of its cache (L2ARC)."""
    data: Devices
    """The devices that hold the files."""
    log: Devices | None = None
    """A separate intent log (log device)."""
    cache: Devices | None = None
    """An L2ARC (cache device)."""
    fill: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Allocated share of the data devices, the database included: CAP of `zpool list`, 80 % as 0.8. 0: a new pool."""
    fragmentation: Annotated[float, Field(ge=0, le=100)] | None = None
    """FRAG of `zpool list`, %: how much free space is in pieces. Needed with `fill`, and refused without it."""

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        for name, device, layouts in (("log", self.log, ("stripe", "mirror")), ("cache", self.cache, ("stripe",))):
            if device is not None and device.layout not in layouts:
                raise ValueError(f"the {name} device is laid out as {device.layout}, which ZFS does not do; choose "
                                 f"{' or '.join(layouts)}")
        if self.fill and self.fragmentation is None:
            raise ValueError(f"fill is {self.fill:g}, but fragmentation is left out, and decides what the fill does; give "
                             "FRAG of `zpool list`, as fragmentation = 40")
        if self.fragmentation and not self.fill:
            raise ValueError(f"fragmentation is {self.fragmentation:g}, but nothing is in the pool; give fill, the share "
                             "that is allocated, as fill = 0.8")
        return self


def _check_record(name: str, kib: float, era: str) -> None:
    """ValueError unless the build has such records, or blocks of a zvol."""
    maximum = eras.ERAS[era].records.max_bytes // KIB
    if name.endswith("volblocksize_kib"):
        n_bytes = kib * KIB
        if not SMALLEST_BLOCK <= n_bytes <= maximum * KIB or n_bytes != int(n_bytes) or int(n_bytes) & (int(n_bytes) - 1):
            raise ValueError(f"{name} is {kib:g}, but a block of a zvol is a power of two, of 0.5 to {maximum} KiB with era "
                             f"{era}; choose one")
        return
    kib = int(kib)
    if kib < 1 or kib & (kib - 1):
        raise ValueError(f"{name} is {kib}, but a record is a power of two, of 1 to {maximum} KiB with era {era}; "
                         "choose one")
    if kib > LARGEST_RECORD:
        raise ValueError(f"{name} is {kib}, but no ZFS has records of more than {LARGEST_RECORD} KiB (16 MiB); choose no "
                         "more than that")
    if kib > maximum:
        raise ValueError(f"{name} is {kib}, but a record has {maximum} KiB at most with era {era}; choose less, or a "
                         "release with large blocks, as openzfs")


class Zfs(Section):
    """ZFS on pools of devices, with data sets for tables and for the log."""
    kind: Literal["zfs"] = "zfs"
    era: str = "b111"
    """Which ZFS; the builds and releases are listed below. Left out: that of the database's time."""
    record_kib: int = 128
    """Record size of the tables, KiB: a power of two up to 128; with an era of OpenZFS from 2017 on up to 16384."""
    log_record_kib: int | None = None
    """Record size of the database's log, KiB. Left out: as the tables'."""
    primarycache: Literal["all", "metadata"] = "all"
    """What the ARC holds. `none` is not modelled."""
    secondarycache: Literal["all", "none"] = "all"
    """What a cache device holds. `metadata` is not modelled."""
    logbias: Literal["latency", "throughput"] = "latency"
    """Where synchronous writes go first."""
    log_logbias: Literal["latency", "throughput"] | None = None
    """The same for the database's log. Left out: as the tables'."""
    compress_ratio: Annotated[float, Field(ge=1, le=100)] = 1.0
    """What `zfs get compressratio` says of tables and indexes together; 1: compression=off."""
    compressed_arc: bool | None = None
    """Records are held in memory compressed, as on disk. Left out: true from `openzfs_2017` on."""
    prefetch: bool = True
    """ZFS reads files ahead."""
    sync: Literal["standard", "always", "disabled"] = "standard"
    """Which writes wait for the intent log: those that ask for it, every single one, or none. `always` from b141 on."""
    zil: bool = True
    """False stands for zil_disable, which is older than `sync`. It has the effect of sync = "disabled"."""
    nocacheflush: bool = False
    """Devices are not told to flush their caches (zfs_nocacheflush)."""
    arc_max_mib: float | None = None
    """Largest ARC, MiB; 64 or more."""
    warm: bool | None = None
    """The tables are in memory at the start. Left out: not known, and drawn."""
    cache_warm: bool | None = None
    """The cache device holds what hours of work put there. Left out: not known, and drawn."""
    to_scale: Annotated[float, Field(ge=1, le=10**4)] = 1.0
    """How many times smaller the tables are than on the machine. The program sets it where the whole is too large."""
    groups_to_scale: Annotated[float, Field(ge=1, le=10**4)] = 1.0
    """How many times shorter transaction groups are. The program sets it, too."""

    @model_validator(mode="before")
    @classmethod
    def _of_its_kind(cls, content: object) -> object:
        """Sizes of records are a file system's, of blocks a zvol's. A zvol has those of its release if nothing is said."""
        if not isinstance(content, dict):
            return content
        for name in OF_A_ZVOL if cls is Zfs else OF_FILES:
            if content.get(name) is not None:
                raise ValueError(f"{name} is {content[name]}, but kind is {'zfs' if cls is Zfs else 'zvol'}; " + (
                    'a file system has record_kib, so leave it out or write kind = "zvol"' if cls is Zfs else
                    "all files of a zvol lie in blocks of volblocksize_kib, so leave it out"))
        is_wider = cls is Zvol and content.get("era") in WITH_WIDER_ZVOLS
        return {"volblocksize_kib": 16} | content if is_wider else content

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.era not in eras.ERAS:
            raise ValueError(f"era is '{self.era}', but the builds known are {', '.join(eras.ERAS)}; choose one of these")
        keys = OF_A_ZVOL if isinstance(self, Zvol) else OF_FILES
        for name, value in zip(keys, (self.record_kib, self.log_record_kib), strict=True):
            if value is not None:
                _check_record(name, value, self.era)
        if self.logbias == "throughput" and not eras.ERAS[self.era].zil.has_logbias:
            raise ValueError(f"logbias is throughput, but era {self.era} has no logbias; choose b141 or leave it out")
        if self.sync == "always" and self.era not in WITH_SYNC:
            raise ValueError(f"sync is always, but era {self.era} has no such property; choose b141 or leave it out")
        if self.sync == "always" and not self.zil:
            raise ValueError("sync is always and zil false, but nothing is logged without an intent log; leave one of them "
                             "out")
        if self.arc_max_mib is not None and self.arc_max_mib < 64:
            raise ValueError(f"arc_max_mib is {self.arc_max_mib:g}, but the ARC has 64 MiB at least; choose that or more")
        return self

    @property
    def has_zil(self) -> bool:
        """Whether commits wait for an intent log."""
        return self.zil and self.sync != "disabled"

    @property
    def holds_compressed(self) -> bool:
        """Whether the ARC holds blocks as they are compressed on disk."""
        stays = self.compressed_arc
        return bool(eras.ERAS[self.era].records.stay_compressed) if stays is None else stays


class Zvol(Zfs):
    """A guest's disk on ZFS, with the database's files on it. All other keys are those of `kind = "zfs"`."""
    kind: Literal["zvol"] = "zvol"      # type: ignore[assignment]
    record_kib: float = Field(default=8, alias="volblocksize_kib")      # type: ignore[assignment]
    """volblocksize of the zvol, KiB: a power of two from 0.5 to the size of a record. Left out: 8; 16 with era `openzfs`."""
    log_record_kib: float | None = Field(default=None, alias="log_volblocksize_kib")    # type: ignore[assignment]
    """Block size of the log's own zvol, KiB. Left out: the log is on the tables' zvol."""


OF_FILES, OF_A_ZVOL = ("record_kib", "log_record_kib"), ("volblocksize_kib", "log_volblocksize_kib")


class Ufs(Section):
    """UFS of Solaris, on a stripe."""
    kind: Literal["ufs"] = "ufs"
    directio: bool = False
    """Mounted with forcedirectio: no file cache."""
    throttle: bool = True
    """Writes under way to a file are limited (ufs_WRITES)."""
    autoup_s: Annotated[int, Field(ge=1, le=86400)] = 30
    """Age at which a dirty page is written (autoup), s."""
    apart: bool = False
    """Each device of the pool is a file system of its own: one for tables, one for indexes, one for all the rest."""
    warm: bool | None = None
    """The tables are in memory at the start. Left out: not known, and drawn."""

"""Steps of `study advise` below the database: deduplication, and where the partition of a LUN begins. *Don't* is an answer.

    asked = storage_steps.read(Path("mine.toml"))       sections [dedup] and [lun] of the file; None is not asked
    storage_steps.of(machine, asked, draws=8)           a StorageStep for each: answer, reason, numbers, lines to copy

Dedup is answered by the rule and the simulation of `study dedup` (`study.machines.dedup_pool`), for the table that the
expected duplicates would make. The LUN is simulated aligned and as it is (`study.machines.appliance_lun`). Its disks are of
the machine's sheet and layout. What the file does not say is drawn.
"""
from pathlib import Path
from typing import Annotated, NamedTuple, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from model.zfs.dmu import straddling
from study.documents import priors
from study.ensembles import intervals
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.machines import appliance_lun, dedup_pool, scenario
from study.machines import simulate as machines
from study.machines.base_section import Section
from study.machines.scenario import Scenario
from study.machines.storage import sheet
from study.pools import ddt
from study.pools.alignment import size_in_words

KIB, GIB = 2**10, 2**30
PAGE_KIB = {"postgres": 8, "innodb": 16, "oracle": 8}      # defaults of each: what its requests have
LUN_SECONDS = 20.0      # s of each run, of which the first quarter does not count
EXPERIMENT = "alignment"
LARGEST_KIB = 128       # of a block of a zvol, and of a request here
WORTH = 1.02            # a start that gains less is not worth making the partition anew
MOST_DISKS = 48         # that are simulated below a dedup table
DATA = "POOL/DATA"
DO, DONT, OPEN = "do", "don't", "open"
SECTIONS = ("dedup", "lun")
HOW_TO_ASK = {"dedup": "[dedup] with duplicates and data_gib", "lun": "[lun] with start_sectors"}


class Dedup(Section):
    """Asks `study advise` whether dedup pays. Memory is that of [host]."""
    duplicates: Annotated[float, Field(ge=0, lt=1)]
    """Share of the written blocks whose contents are stored already, as 0.5; `zdb -S POOL` estimates it."""
    data_gib: Annotated[float, Field(gt=0, le=2**30)]
    """All data that are written, duplicates included, GiB."""
    block_kib: Annotated[float, Field(ge=0.5, le=128)] | None = None
    """Blocks, KiB. Left out: records of [files]."""


class Lun(Section):
    """Asks `study advise` whether a partition should begin elsewhere. The disks below the LUN are those of [pool.data]."""
    start_sectors: Annotated[int, Field(ge=0, le=2**48)]
    """Where the partition begins, in sectors."""
    sector_bytes: Annotated[int, Field(ge=512, le=65536)] = 512
    """Size of a sector."""
    block_kib: float = 8
    """Blocks of the LUN, KiB: its volblocksize, or the sector of a disk that reports smaller sectors."""
    request_kib: float | None = None
    """Requests, KiB. Left out: the database's page."""

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        for name, kib in (("block_kib", self.block_kib), ("request_kib", self.request_kib)):
            n_bytes = 512 if kib is None else kib * KIB
            if not 512 <= n_bytes <= LARGEST_KIB * KIB or n_bytes != int(n_bytes) or int(n_bytes) & (int(n_bytes) - 1):
                raise ValueError(f"{name} is {kib:g}, but it is a power of two from 0.5 to {LARGEST_KIB} KiB; choose one")
        if self.sector_bytes & (self.sector_bytes - 1):
            raise ValueError(f"sector_bytes is {self.sector_bytes}, but a sector is a power of two from 512 to 65536 B; "
                             "choose one")
        return self


Kind = TypeVar("Kind", bound=Section)


class Asked(NamedTuple):
    """None is not asked."""
    dedup: Dedup | None = None
    lun: Lun | None = None


class StorageStep(NamedTuple):
    """`low`, `gain` and `high` are 5, 50 and 95 % of a factor: rate aligned over as it is. Of dedup `gain` is that with it
    over without, of one run. They are nan where nothing had to be simulated, or could be."""
    step: str
    answer: str                 # DO, DONT or OPEN
    reason: str
    lines: tuple[str, ...]      # to copy
    low: float = float("nan")
    gain: float = float("nan")
    high: float = float("nan")
    taken: tuple[str, ...] = ()     # what the simulation took for granted


def read(path: Path) -> Asked:
    """What a file asks. UserError, one sentence, with all that is wrong in both sections."""
    content, wrong = scenario.toml(path), list[str]()
    asked = Asked(_section(path.name, content, "dedup", Dedup, wrong), _section(path.name, content, "lun", Lun, wrong))
    if wrong:
        raise UserError("; ".join(wrong))
    return asked


def _section(file: str, content: dict, name: str, kind: type[Kind], wrong: list[str]) -> Kind | None:
    """The section of that name, None if there is none; what is wrong with it goes to `wrong`."""
    if name not in content:
        return None
    if not isinstance(content[name], dict):
        wrong.append(f"{file}: {name} is {content[name]!r}, but it must be a section; begin it with [{name}]")
        return None
    try:
        return kind.model_validate(content[name])
    except ValidationError as error:
        wrong.append(scenario.sentence(file, error, within=name))
        return None


def not_asked(asked: Asked) -> str:
    """One line on what the file does not ask, "" where it asks for all."""
    missing = [HOW_TO_ASK[name] for name in SECTIONS if getattr(asked, name) is None]
    return f"Not asked: {' or '.join(missing)} in the file would ask." if missing else ""


def of(machine: Scenario, asked: Asked, draws: int) -> tuple[StorageStep, ...]:
    """The steps that are asked. UserError where one cannot be."""
    steps = []
    if asked.dedup is not None:
        steps.append(of_dedup(machine, asked.dedup))
    if asked.lun is not None:
        steps.append(of_lun(machine, asked.lun, draws))
    return tuple(steps)


# --- dedup ----------------------------------------------------------------------------------------------------------------

def of_dedup(machine: Scenario, asked: Dedup) -> StorageStep:
    """Whether a pool with such data should have dedup."""
    if machine.files.kind == "ufs":
        return StorageStep(step="Dedup", answer=DONT, reason="dedup is ZFS's, but the file system is UFS", lines=())
    block_kib, data = asked.block_kib or machine.zfs.record_kib, machine.pool.data
    table = expected_table(asked, round(block_kib * KIB))
    release = "openzfs" if machine.zfs.era.startswith("openzfs") else "2010"
    room = dedup_pool.METADATA_SHARES[release] * machines.arc_max_bytes(machine)
    off = (f"zfs set dedup=off {DATA}",)
    name = f"Dedup of {data_in_words(asked.data_gib)} in blocks of {block_kib:g} KiB"
    if sheet(data.sheet).kind != "disk":
        pays, reason = dedup_pool.by_size(table, room)
        rest = f"writes on {data.sheet} with a dedup table are not simulated, only those on disks"
        return StorageStep(step=name, answer=OPEN if pays else DONT, reason=f"{reason}; {rest}" if pays else reason,
                           lines=() if pays else off)
    n_disks = min(MOST_DISKS, data.count // data.group)
    made = dedup_pool.forecast(table, machine.host.memory_gib * GIB, release, None, n_disks, data.sheet, room)
    gain = made.with_mb_per_s / made.without_mb_per_s
    taken = (f"{made.with_mb_per_s:.0f} MB/s are written with dedup, and {made.without_mb_per_s:.0f} without: {n_disks} of "
             f"{data.sheet}, all over the table, by the rules of 2010",
             "each duplicate has one twin, until all blocks have one")
    on = (f"zfs set dedup=on {DATA}", "# only what is written from now on is deduplicated")
    return StorageStep(step=name, answer=DO if made.pays else DONT, reason=made.reason, lines=on if made.pays else off,
                       gain=gain, taken=taken)


def expected_table(asked: Dedup, block_bytes: int) -> ddt.Ddt:
    """The table that these data make: as many entries as different blocks. Duplicates are twins while there are enough
    blocks for that, so that as few entries as may be are of one block alone."""
    written = max(1, round(asked.data_gib * GIB / block_bytes))
    entries = max(1, round(written * (1 - asked.duplicates)))
    shared = min(entries, written - entries)
    rows = [(1, entries - shared, entries - shared), (2, shared, written - (entries - shared))]
    buckets = [_bucket(references, blocks, owners, block_bytes) for references, blocks, owners in rows if blocks]
    return ddt.Ddt(entries=entries, in_core_bytes=None, on_disk_bytes=None, is_simulated=True, buckets=tuple(buckets),
                   printed_ratio=None)


def _bucket(references: int, blocks: int, owners: int, block_bytes: int) -> ddt.Bucket:
    """A row of the table: `blocks` neither compressed nor in copies, and `owners` that refer to them."""
    data, referenced = blocks * block_bytes, owners * block_bytes
    return ddt.Bucket(
        references=references, blocks=blocks, logical_bytes=data, physical_bytes=data, disk_bytes=data,
        referenced_blocks=owners, referenced_logical_bytes=referenced, referenced_physical_bytes=referenced,
        referenced_disk_bytes=referenced)


def data_in_words(gib: float) -> str:
    """An amount of data in GiB, or in TiB from 1024 GiB on."""
    return f"{gib:g} GiB" if gib < 1024 else f"{gib / 1024:.3g} TiB"


# --- the LUN --------------------------------------------------------------------------------------------------------------

def of_lun(machine: Scenario, asked: Lun, draws: int) -> StorageStep:
    """Whether the partition should begin elsewhere."""
    start, block = asked.start_sectors * asked.sector_bytes, round(asked.block_kib * KIB)
    request = round((asked.request_kib or PAGE_KIB[machine.database.kind]) * KIB)
    of, size = f"requests of {size_in_words(request)}", size_in_words(block)
    if not start % block or not straddling.straddles(start, request, block):
        where = f"a multiple of {size}" if not start % block else f"a place where {of} fit into blocks of {size}"
        return StorageStep(step="A partition elsewhere", answer=DONT, lines=(),
                           reason=f"it begins at byte {start}, {where}, so it is aligned")
    sector = straddling.next_aligned(start, max(block, asked.sector_bytes)) // asked.sector_bytes
    name = f"The partition at sector {sector} in place of {asked.start_sectors}"
    low, gain, high = intervals.interval(_gains(machine, asked, request, draws))
    data = machine.pool.data
    taken = (f"four disks of {data.sheet} under a LUN with blocks of {size}, the pool a {data.layout}, {of}. {draws} draws "
             "are of reads, synchronous writes, log device, memory and requests under way",)
    gains, reason = low > 1 and gain >= WORTH, f"{of} straddle blocks of {size}"
    return StorageStep(
        step=name, answer=DO if gains else DONT, low=low, gain=gain, high=high, taken=taken,
        lines=_lines_of_lun(machine, sector) if gains else (),
        reason=f"{reason}, and aligned {gain - 1:.0%} more are done" if gains else
        f"{reason}, but on this pool nothing is surely gained")


def _gains(machine: Scenario, asked: Lun, request: int, draws: int) -> list[float]:
    """Rate of requests aligned, over that of the partition as it is; for each draw."""
    data = machine.pool.data
    layout = "raidz2" if data.layout == "raidz3" else data.layout       # four disks have no room for three parities
    appliance = appliance_lun.described(data.sheet, layout, True, round(asked.block_kib * KIB), True, 0.2, 100.0)
    known = machines.known([appliance], EXPERIMENT)
    given = {"load": appliance_lun.DATABASE, "disk": data.sheet, "layout": layout, "request_kib": request / KIB}
    setups = [appliance_lun.with_values(LUN_SECONDS, row | given, asked.block_kib)._replace(
        start_bytes=asked.start_sectors * asked.sector_bytes % round(asked.block_kib * KIB))
        for row in priors.draws(known, draws, 1).to_dict("records")]
    runs = on_all_processors(appliance_lun.run, [(setup, is_misaligned, 1 + i) for i, setup in enumerate(setups)
                                                 for is_misaligned in (False, True)])
    rates = [appliance_lun.quantities(run, setups[i // 2])["requests.rate"] for i, run in enumerate(runs)]
    return [aligned / as_it_is for aligned, as_it_is in zip(rates[::2], rates[1::2], strict=True)]


def _lines_of_lun(machine: Scenario, sector: int) -> tuple[str, ...]:
    make = {"linux": f"parted DEVICE unit s mkpart data {sector}s 100%",
            "freebsd": f"gpart add -t freebsd-zfs -b {sector} DEVICE",
            "solaris": f"# in format(1M), partition, modify: let the slice begin at sector {sector}"}
    return "# save what is on the partition: it is made anew", make[machines.system(machine)]

"""What order entry and Exchange have in common: the disks and the pool of a Sun Storage 7000 of 2009 and 2010.

    disk = appliance_2010.disk(SheetParams(**drawn))     with the rates that follow from the one that is drawn
    vdevs = appliance_2010.vdevs("raidz2", 22)           top-level vdevs of that many disks
    rules = appliance_2010.scaled_rules(rules, 128)      on metaslabs that are so many times smaller than theirs

Nothing of this was published for the tests; what is drawn stands in `data/priors.toml`.
"""
from typing import NamedTuple

from model.data_sheet import SheetParams
from model.metaslab import MetaslabParams
from study.errors import UserError

SUSTAINED, INSTANT, INNERMOST = 64.8, 76.3, 36.5    # MB/s of the maker's 500 GB drive (data sheet, p. 31): the proportions
TERABYTE = SheetParams(
    disk_bytes=10**12,              # J4400: 24 disks of 1 TB
    buffer_bytes=32 * 2**20,        # Hitachi 7K1000, Seagate ES.2 (Computerworld, 2007)
    bus_rate=300_000_000,           # SATA, 3 Gbit/s, behind a SAS expander
    depth=32,                       # SATA NCQ
)


class Vdevs(NamedTuple):
    """Top-level vdevs, all alike."""
    n: int
    n_children: int
    n_parity: int       # 0: a mirror, or a single disk if it has one child


LAYOUTS = {             # children, parity; widths of RAID-Z as near to these as the disks allow
    "stripe": (1, 0), "mirror": (2, 0), "raidz1": (4, 1), "raidz2": (11, 2),
}


def disk(drawn: SheetParams) -> SheetParams:
    """`drawn` with the rates that follow from its sustained rate at the rim, and a window within its depth."""
    outer = round(drawn.outer_sustained * INSTANT / SUSTAINED)
    return drawn._replace(outer_rate=outer, inner_rate=round(outer * INNERMOST / INSTANT),
                          window=min(drawn.window, drawn.depth))


def vdevs(layout: str, n_disks: int) -> Vdevs:
    """As many vdevs of `layout` as `n_disks` give; disks that are left over are spares."""
    if layout not in LAYOUTS:
        raise UserError(f"layout is '{layout}', but pools are known as {', '.join(LAYOUTS)}; take one of these")
    n_disks, (width, n_parity) = int(n_disks), LAYOUTS[layout]
    least = width if n_parity == 0 else n_parity + 2
    if n_disks < least:
        raise UserError(f"{n_disks} disks make no vdev ({layout}); take {least} at least")
    width = min(width, n_disks)
    return Vdevs(n_disks // width, width, n_parity)


def scaled_rules(rules: MetaslabParams, scale: int) -> MetaslabParams:
    """Rules in which a length that is a share of a metaslab is divided by `scale`; what is as long as some blocks stays."""
    return rules._replace(picker=rules.picker._replace(sound_hole_bytes=max(1, rules.picker.sound_hole_bytes // scale)))

"""What `study pool` says of a forecast: its table, and what it takes for granted of the metaslabs."""
import pandas as pd

from study.pools import described_space, zdb
from study.pools.forecast import Forecast
from study.pools.zdb import Slab
from study.words import counted

COLUMNS = ["vdev", "rules", "records per write", "KiB per write", "writes of one record, %", "gangs, %",
           "metaslabs written to"]
ASSUMED = {     # of metaslabs without a histogram, by what was printed of them
    "segments": "no histogram is printed. Free segments are as many as printed, none is longer than printed, and their "
                "lengths are drawn",
    "fragmentation": "only the fragmentation is known. Lengths of free segments are drawn so that they have it",
    "nothing": "no histogram is printed, so that nobody knows how their free space is cut up. Ranges go from holes of one "
               "record each to one hole in each metaslab. `zdb -mm POOL` prints histograms",
}


def table(forecasts: list[Forecast], record_bytes: int) -> pd.DataFrame:
    """For readers."""
    alike: dict[tuple, list[Forecast]] = {}
    for forecast in forecasts:
        alike.setdefault((forecast.vdev, forecast.era), []).append(forecast)
    return pd.DataFrame([(str(vdev), era, *_cells(group, record_bytes)) for (vdev, era), group in alike.items()],
                        columns=COLUMNS)


def _cells(forecasts: list[Forecast], record_bytes: int) -> list[str]:
    """Of one vdev and era: a number each, or from the lowest to the highest."""
    numbers = [(f"{forecast.blocks_per_io:.1f}", f"{forecast.blocks_per_io * record_bytes / 1024:.0f}",
                f"{100 * forecast.single:.0f}", f"{100 * forecast.gangs:.0f}", str(forecast.n_metaslabs))
               for forecast in forecasts]
    return [" to ".join(sorted({*cells}, key=float)) for cells in zip(*numbers, strict=True)]


def notes(slabs: list[Slab]) -> list[str]:
    """What was read of each vdev, and what is not known of it, in sentences."""
    of_data = [slab for slab in slabs if not slab.purpose]
    lines = []
    for vdev in sorted({slab.vdev for slab in of_data}):
        metaslabs = [slab for slab in of_data if slab.vdev == vdev]
        free = sum(slab.free_bytes for slab in metaslabs)
        total = metaslabs[0].of_vdev or max(len(metaslabs), 1 + max(slab.number or 0 for slab in metaslabs))
        lines.append(f"vdev {vdev}: {counted(len(metaslabs), 'metaslab')} of "
                     f"{in_words(metaslabs[0].size_bytes)}, {in_words(free)} free")
        if n := total - len(metaslabs):
            lines.append(f"vdev {vdev} has {total} metaslabs{'' if metaslabs[0].of_vdev else ' or more'}, of which {n} "
                         f"{'is' if n == 1 else 'are'} missing here. The forecast is of a vdev with no others. ZFS prefers "
                         "the emptiest, which may be among the missing: give all of the output")
        if n := sum(slab.is_by_histogram for slab in metaslabs):
            lines.append(f"{_which(n, metaslabs)} the histogram's free space is taken. What is printed as free leaves out "
                         "changes that wait in log space maps")
        if n := sum(map(zdb.has_less, metaslabs)):
            lines.append(f"{_which(n, metaslabs)} the histogram has less than is free. Rows may be missing, or an old "
                         "release left out what was freed last")
        lines += [f"the text ends within the histogram of metaslab {slab.number} of vdev {vdev}, so that this histogram "
                  "is not taken: give all of the output" for slab in metaslabs if slab.is_cut]
        described = [described_space.described_by(slab) for slab in metaslabs]
        lines += [f"{_which(described.count(kind), metaslabs)} {sentence}" for kind, sentence in ASSUMED.items()
                  if kind in described]
    if not all(slab.has_header for slab in of_data):
        lines.append("no line says which vdev the metaslabs are of, so that all are taken as of one")
    return [*lines, *filter(None, [left_out(slabs)])]


def _which(n: int, metaslabs: list[Slab]) -> str:
    """How many of a vdev's metaslabs a sentence is about."""
    of_vdev = f"{counted(len(metaslabs), 'metaslab')} of vdev {metaslabs[0].vdev}"
    if n == len(metaslabs):
        return f"For {'the' if n == 1 else 'all'} {of_vdev}"
    return f"For {n} of the {of_vdev}"


def in_words(n_bytes: int) -> str:
    """As zfs does, three digits."""
    power = min(5, max(0, (n_bytes.bit_length() - 1) // 10))
    number = n_bytes / 1024**power
    return f"{number:.{3 if number < 999.5 else 4}g} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[power]}"


def left_out(slabs: list[Slab]) -> str:
    """Which vdevs `of_slabs` passes over, in a sentence; "" for none."""
    purposes = {slab.vdev: slab.purpose for slab in slabs if slab.purpose}
    names = ", ".join(f"vdev {vdev} ({purpose})" for vdev, purpose in sorted(purposes.items()))
    return f"left out, as having a purpose of their own: {names}" if names else ""

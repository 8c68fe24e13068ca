"""Figures of a trace of the reader's own: miss ratios by size of a cache, sizes of I/Os before and after a queue."""
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLUE, GREEN, GREY, ORANGE, canvas

MIB = 2**20


def miss_ratios(curve: Any) -> Figure:
    """Of an LRU of every size, and of ARCs of some, against size. `curve`: see `study.traces.arcs`."""
    figure, axes = canvas(0.75)
    unit = curve.block_bytes / MIB if curve.block_bytes else 1
    axes.plot(curve.sizes * unit, 100 * curve.lru, color=GREY, label="LRU, exact", drawstyle="steps-post")
    arcs = curve.of_arcs
    axes.plot(arcs["blocks"] * unit, 100 * arcs["published"], "s", color=BLUE, ms=4, label="ARC as published")
    if arcs["zfs"].notna().any():
        axes.plot(arcs["blocks"] * unit, 100 * arcs["zfs"], "o", color=ORANGE, ms=4, mfc="none", label="ARC of ZFS")
    axes.set_xscale("log")
    axes.set_ylim(0, 103)
    axes.set_xlabel("size of the cache (MiB)" if curve.block_bytes else "size of the cache (objects)")
    axes.set_ylabel("misses of reads (%)")
    figure.legend(loc="outside lower center", ncols=3, columnspacing=1, handletextpad=0.4)
    return figure


def sizes(table: pd.DataFrame) -> Figure:
    """I/Os by size, as they came and as units on the device; a panel for reads and for writes. See `study.traces.vdevs`."""
    figure, panels = canvas(0.75, 1, len(table), squeeze=False, sharey=True)
    for panel, row in zip(panels[0], table.itertuples(), strict=True):
        powers = sorted({int(size) for size in (*row.requests_by_size, *row.units_by_size)})
        for shift, of_size, colour, label in ((-0.2, row.requests_by_size, BLUE, "requests"),
                                              (0.2, row.units_by_size, ORANGE, "units on the device")):
            counts = [of_size.get(str(power), 0) for power in powers]
            panel.bar(np.arange(len(powers)) + shift, counts, 0.4, color=colour,
                      label=label if panel is panels[0][0] else "_")
        panel.set_xticks(range(len(powers)), [_short(power) for power in powers], rotation=90)
        panel.set_title(f"{row.kind}s", fontsize=8)
        panel.set_xlabel("size, at least (B)")
    panels[0][0].set_ylabel("I/Os")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1)
    return figure


def shares(table: pd.DataFrame) -> Figure:
    """Where reads of an ARC with a cache device are answered, against the size of the device. See `study.traces.arcs`."""
    figure, axes = canvas(0.7)
    places, low = np.arange(len(table)), np.zeros(len(table))
    for name, colour, label in (("arc", BLUE, "ARC"), ("device", ORANGE, "cache device"), ("pool", GREY, "pool")):
        axes.bar(places, 100 * table[name], 0.6, low, color=colour, label=label)
        low = low + 100 * table[name].to_numpy()
    axes.set_xticks(places, [_short(size) for size in table["bytes"]])
    axes.set_xlabel("size of the cache device (B)")
    axes.set_ylabel("reads answered (%)")
    figure.legend(loc="outside lower center", ncols=3, columnspacing=1)
    return figure


def bytes_read(table: pd.DataFrame) -> Figure:
    """What reads want and what the disks move for them, against the size of the vdev cache. See `study.traces.vdevs`."""
    figure, axes = canvas(0.7)
    places = np.arange(len(table))
    for shift, name, colour, label in ((-0.2, "wanted_bytes", BLUE, "wanted"),
                                       (0.2, "taken_bytes", ORANGE, "moved by disks")):
        if name in table:
            axes.bar(places + shift, table[name] / MIB, 0.4, color=colour, label=label)
    axes.set_xticks(places, [_short(size) for size in table["bytes"]])
    axes.set_xlabel("zfs_vdev_cache_size (B)")
    axes.set_ylabel("bytes of reads (MiB)")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1)
    return figure


def records(table: pd.DataFrame) -> Figure:
    """Records in a write by the rules of each build, over all groups and the last tenth. See `study.traces.allocations`."""
    figure, axes = canvas(0.7)
    places = np.arange(len(table))
    for shift, name, colour, label in ((-0.2, "records_per_write", BLUE, "all groups"),
                                       (0.2, "records_per_write_last", GREEN, "last tenth")):
        axes.bar(places + shift, table[name], 0.4, color=colour, label=label)
    axes.set_xticks(places, table["era"])
    axes.set_xlabel("rules of")
    axes.set_ylabel("records per write")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1)
    return figure


def _short(n_bytes: int) -> str:
    """4K, 10M: as zfs has them."""
    power = max(0, (int(n_bytes).bit_length() - 1) // 10)
    return f"{n_bytes / 1024**power:.3g}{'BKMGTPE'[power] if power else ''}"

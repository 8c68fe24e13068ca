"""Figure of the disk model against measured drives."""
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, GREEN, ORANGE, canvas
from study.replays.disk_record import VERSIONS

LOOKS = {"specified": (BLUE, "o"), "estimated": (GREEN, "s"), "data_sheet": (ORANGE, "^")}


def demerits(table: pd.DataFrame) -> Figure:
    """Demerit of the second half of each drive's trace under three versions of the model, with DiskSim's own."""
    figure, axes = canvas(aspect=0.62)
    names = list(dict.fromkeys(table.drive))
    for version, (colour, marker) in LOOKS.items():
        rows = table[table.version == version]
        axes.plot(rows.second_half_percent, rows.drive.map(names.index), marker, color=colour, ms=4, label=VERSIONS[version])
    first = table.drop_duplicates("drive")
    axes.plot(first.disksim_percent, first.drive.map(names.index), "|", color=BLACK, ms=11, label="DiskSim (whole trace)")
    axes.set_yticks(range(len(names)), [f"{row.drive}, {row.year}" for row in first.itertuples()])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.set_xlabel("demerit (% of the mean)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7)
    return figure

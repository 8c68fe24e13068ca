"""Figures of the allocator against its recordings."""
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLUE, ORANGE, canvas


def heaviest_metaslab(states: pd.DataFrame) -> Figure:
    """Number of the heaviest metaslab after each txg, a panel for each build (frame: build, txg, recorded, modelled)."""
    builds = list(states["build"].unique())
    figure, panels = canvas(aspect=1.15, rows=len(builds), sharex=True, sharey=True)
    for axes, build in zip(panels, builds, strict=True):
        rows = states[states["build"] == build]
        axes.step(rows["txg"], rows["recorded"], where="mid", color=ORANGE, lw=2.4, label="recorded from the ZFS code")
        axes.plot(rows["txg"], rows["modelled"], ".", color=BLUE, ms=3, label="model")
        axes.set_title(build, loc="left", fontsize=7, pad=2)
    panels[0].set_ylim(0, 200)
    panels[-1].set_xlabel("transaction group")
    figure.supylabel("number of the heaviest of 200 metaslabs", fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, handlelength=1.2, columnspacing=0.8)
    return figure

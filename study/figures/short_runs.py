"""Rates in each second of a run of a few seconds: dots, with room around them."""
import numpy as np
from matplotlib.axes import Axes

FEW = 5         # seconds that are drawn as dots, too
ROOM = 1.1      # of an axis, over the largest rate: an end cuts no dot


def line_of(n_seconds: int) -> str:
    """The line of a run, as matplotlib names it."""
    return "o-" if n_seconds < FEW else "-"


def with_room(axes: Axes, n_seconds: int) -> None:
    """From 0 on, time and rates. Dots of few seconds keep clear of the ends, and time has whole seconds."""
    axes.set_ylim(0, None)
    if n_seconds < FEW:
        axes.set_xlim(0, n_seconds + 1)
        axes.set_xticks(range(n_seconds + 2))
        axes.set_ylim(0, ROOM * max(float(np.max(np.asarray(line.get_ydata()))) for line in axes.lines) or 1)

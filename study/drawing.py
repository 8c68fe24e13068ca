"""One look for all figures. Each function in `study.figures` takes data and returns a matplotlib Figure.

Figures are drawn without pyplot (no global state) on a `canvas` whose width is the paper's column or page. Colour-blind
readers can tell the colours apart (Okabe and Ito 2008). Fonts have at least 7 pt at that width.
"""
import contextlib
import contextvars
import hashlib
import io
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import rcsetup
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.ticker import MaxNLocator
from PIL import Image

WIDTHS_IN = {"column": 3.4, "page": 7.0}
SCREEN = "screen"       # as wide as a page, where only the height of maps differs
FORMATS = ("svg", "pdf", "png")

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
GREY = "#7F7F7F"
FRAME_MS = 180      # of a film

STYLE: dict[Any, Any] = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 7, "legend.frameon": False, "axes.spines.top": False, "axes.spines.right": False,
    "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "lines.linewidth": 1.2,
    "axes.prop_cycle": rcsetup.cycler(color=[BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK]),
    "pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "zfs-database-study", "savefig.dpi": 200,
}
SCREEN_PX = int(WIDTHS_IN["page"] * STYLE["savefig.dpi"])     # the width of a picture on a screen that has room for it
# what would otherwise carry the time of drawing
METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
MADE_BY = {"svg": "Source", "pdf": "Subject", "png": "Source"}      # the field that names the run

_width = contextvars.ContextVar("width", default="column")


def canvas(aspect: float = 0.68, rows: int = 1, columns: int = 1, is_map: bool = False,
           **options: Any) -> tuple[Figure, Any]:
    """An empty figure of the present width and its axes (an array of them where there are several). `aspect` is height over
    width at column width. A page-wide figure keeps the height, so that its panels get wider, not taller. A map keeps its
    shape, and on a screen that has room for it becomes taller, too."""
    width = WIDTHS_IN["page" if _width.get() == SCREEN else _width.get()]
    height = aspect * (width if is_map and _width.get() == SCREEN else WIDTHS_IN["column"])
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def ratio_ticks(axis: Axis, decades: float = 2) -> None:
    """Ticks of a logarithmic axis, two or more, and few enough not to touch each other. Where there are more than so many
    decades (fewer in a narrow panel) they are powers of ten, else 1, 2 and 5 of each. Where that gives fewer than two: 1 and
    3 of each decade, or else round steps of one size."""
    low, high = axis.get_view_interval()
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for steps in ((1, 2, 5),) if high <= 10 ** decades * low else ((1,), (1, 3)):
        if len(ticks) < 2:
            ticks = [tick for power in powers for step in steps if low <= (tick := float(f"{step}e{power}")) <= high]
    if len(ticks) < 2:
        ticks = [tick for tick in MaxNLocator(4, steps=(1, 2, 5, 10), min_n_ticks=2).tick_values(low, high)
                 if low <= tick <= high]
    axis.set_ticks([], minor=True)
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])


@contextlib.contextmanager
def _drawing(width: str) -> Iterator[None]:
    token = _width.set(width)
    try:
        with matplotlib.rc_context(STYLE):
            yield
    finally:
        _width.reset(token)


def render(draw: Callable[..., Figure], *data: object, width: str = "column", formats: Iterable[str] = FORMATS,
           made_by: str = "", **options: object) -> dict[str, bytes]:
    """The figure `draw(*data, **options)` at a width ('column' or 'page'), as bytes by format. The same data give the
    same bytes. `made_by`, if given, stands in their metadata."""
    with _drawing(width):
        figure = draw(*data, **options)
        drawn = {}
        for name in formats:
            buffer = io.BytesIO()
            source = {MADE_BY[name]: made_by} if made_by else {}
            figure.savefig(buffer, format=name, metadata=METADATA[name] | source)
            drawn[name] = buffer.getvalue()
    return drawn


def on_screen(draw: Callable[..., Figure], *data: object, **options: object) -> bytes:
    """The figure `draw(*data, **options)` as a column of a notebook shows it, as PNG. It is drawn once: `render` draws each
    twice, as matplotlib saves figures."""
    with _drawing(SCREEN):
        pixels = _pixels(draw(*data, **options))
    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "png", compress_level=1)
    return png.getvalue()


def film(draw: Callable[..., Iterator[Figure]], *data: object) -> bytes:
    """The frames that `draw(*data)` gives, which may be one figure that it changes, again and again as an animated PNG for
    the screen. The layout is that of the first frame."""
    frames = []
    with _drawing(SCREEN):
        for figure in draw(*data):
            frames.append(Image.fromarray(_pixels(figure)))
            figure.set_layout_engine("none")
    png = io.BytesIO()
    frames[0].save(png, "png", compress_level=1, save_all=True, append_images=frames[1:], duration=FRAME_MS, loop=0)
    return png.getvalue()


def _pixels(figure: Figure) -> np.ndarray:
    """Of a figure for the screen, (height, width, 4)."""
    figure.set_dpi(STYLE["savefig.dpi"])
    drawn = FigureCanvasAgg(figure)
    drawn.draw()
    return np.array(drawn.buffer_rgba())


def same_pixels(first: Path, second: Path) -> bool:
    """Whether two PNG files show the same, whatever runs made them."""
    return np.array_equal(imread(first), imread(second))


def digest(svg: bytes, made_by: str = "") -> str:
    """Of a picture, whatever run made it."""
    return hashlib.sha256(svg.replace(made_by.encode(), b"")).hexdigest()

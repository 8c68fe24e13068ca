"""What a notebook says of its run: numbers, figures, predictions. In a batch they go to the run's folder, interactively
nowhere.

    record.metric("replay.rows", 1234, "rows")
    record.frame(table)                     # columns name, value, unit and, for series, t in seconds
    record.runs("old-rules", table)         # a series of benchmark runs: columns run, name, value, unit
    record.figure("lines_over_time", pictures.lines_over_time, data, caption="…")
    record.prediction("oltp-gain", unfitted, fitted)        # intervals; graded by rule, outside of the notebook
    record.not_modelled("oltp-cpu", "why")
"""
import json
import math
import os
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.display import HTML, Image, display

from study.errors import UserError
from study.runs.folder import FIGURES, METRICS, NAME, PREDICTIONS

if TYPE_CHECKING:       # pandas takes half a second to import, and who records by `metric` alone needs none
    import pandas as pd
    from matplotlib.figure import Figure

Quantiles = tuple[float, float, float]       # 5, 50 and 95 %
CAPTION_WIDTH = "65em"      # longer lines are hard to read


def folder() -> Path | None:
    """The folder of the batch run that this process is, or None."""
    return Path(os.environ["STUDY_RUN"]) if "STUDY_RUN" in os.environ else None


def metric(name: str, value: float, unit: str, t: float | None = None) -> None:
    """One number; `unit` "1" for a pure one; `t` in seconds when it is a point of a series."""
    value = float(value)
    if not NAME.fullmatch(name):
        raise UserError(f"metric name '{name}' is not of the form subject.quantity in small letters, digits, - and _")
    if not math.isfinite(value) or not unit:
        raise UserError(f"metric {name} is {value} with unit '{unit}'; record a finite number with its unit, or '1'")
    _say(METRICS, {"t": None if t is None else float(t), "name": name, "value": value, "unit": unit})


def frame(table: "pd.DataFrame") -> None:
    """Many numbers: a frame with columns name, value, unit and perhaps t."""
    for row in table.to_dict("records"):
        metric(row["name"], row["value"], row["unit"], row.get("t"))


def runs(series: str, table: "pd.DataFrame") -> None:
    """The statistics of each run of a series of benchmark runs: a frame with columns run, name, value, unit. They go to the
    store's table `samples`; results are what the notebook says of them by `metric` and `frame`."""
    from study.runs import samples  # brings pandas along
    kept = samples.checked(series, table)
    if (run := folder()) is not None:
        samples.write(run, series, kept)


def figure(name: str, draw: Callable[..., "Figure"], *data: object, caption: str, **options: Any) -> None:
    """Draw a figure, keep it in all formats and widths when in a batch, and show it below the cell, wherever in it this
    stands."""
    from study import drawing  # brings matplotlib along
    run = folder()
    if run is not None:
        write_figure(run, name, draw, *data, caption=caption, **options)
    show(drawing.on_screen(draw, *data, **options), caption)


def film(draw: Callable[..., "Iterator[Figure]"], *data: object, caption: str) -> None:
    """Show the frames that `draw(*data)` gives below the cell, one after the other. A film is for the screen, and is kept
    nowhere else."""
    from study import drawing
    show(drawing.film(draw, *data), caption)


def write_figure(run: Path, name: str, draw: Callable[..., "Figure"], *data: object, caption: str, **options: Any) -> None:
    """Draw a figure into the record `run`, in all formats and widths."""
    from study import drawing
    (run / "figures").mkdir(exist_ok=True)
    made_by = f"run {run.name}"
    for width in drawing.WIDTHS_IN:
        drawn = drawing.render(draw, *data, width=width, made_by=made_by, **options)
        for form, content in drawn.items():
            (run / "figures" / f"{name}-{width}.{form}").write_bytes(content)
        if width == "column":
            _append(run, FIGURES, {"name": name, "caption": caption, "drawn_by": f"{draw.__module__}.{draw.__name__}",
                                   "digest": drawing.digest(drawn["svg"], made_by)})


def prediction(claim: str, unfitted: Quantiles, fitted: Quantiles | None = None, identified: bool = True,
               draws: int | None = None, reach: tuple[float, float] | None = None,
               left: dict[str, Any] | None = None) -> None:
    """What is predicted of a claim: (5 %, 50 %, 95 %) before and after fitting one constant on a baseline, in the unit of
    the claim's target. `identified` is False when conditions that were not published decide. If it is of an ensemble,
    `draws`: from how many the unfitted interval is taken. `reach`: the least and the most in all of its cases. `left`: what
    is left of them by the baseline (`study.grades.remaining_draws.Left.as_row`)."""
    intervals = {"unfitted": unfitted, "fitted": fitted}
    for kind, ends in intervals.items():
        if ends is not None and not (len(ends) == 3 and all(map(math.isfinite, ends)) and ends[0] <= ends[1] <= ends[2]):
            raise UserError(f"the {kind} prediction of {claim} is {ends}; give three finite numbers in rising order")
        if ends is not None and reach and not reach[0] <= ends[0] <= ends[2] <= reach[1]:
            raise UserError(f"the {kind} prediction of {claim} is {ends}, but all of its cases are from {reach[0]} to "
                            f"{reach[1]}; give the least and the most")
    reach_low, reach_high = reach or (None, None)
    _say(PREDICTIONS, {"claim_id": claim, "identified": identified, "draws": draws, "reason": None,
                       "reach_low": reach_low, "reach_high": reach_high} | (left or {}) | {
        f"{kind}_{name}": None if value is None else float(value) for kind, ends in intervals.items()
        for name, value in zip(("low", "middle", "high"), ends or (None,) * 3, strict=True)})


def not_modelled(claim: str, reason: str) -> None:
    """The claim is about something that the model leaves out: it gets no grade."""
    _say(PREDICTIONS, {"claim_id": claim, "reason": reason})


def show(png: bytes, caption: str = "") -> None:
    """A picture below the cell, as wide as the column of the notebook, and its caption below it. A page of JupyterLab or of
    `study export` makes it no wider than its column."""
    display(Image(png))
    if caption:
        display(HTML(f'<p style="max-width: {CAPTION_WIDTH}"><small><em>{escape(caption)}</em></small></p>'))


def _say(name: str, row: dict) -> None:
    """A row for the record of the batch run that this process is; nowhere if it is none."""
    run = folder()
    if run is not None:
        _append(run, name, row)


def _append(run: Path, name: str, row: dict) -> None:
    with open(run / name, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")

"""Sliders for a notebook, made of the very schema that the runner checks.

    sliders.explore("90_model_vs_zfs", simulate, pictures.lines_over_time, record_bytes=record_bytes, seed=seed)

calls `simulate(record_bytes=…, seed=…)` again whenever a slider is let go, and draws what it returns.
"""
import time
from collections.abc import Callable

import ipywidgets as widgets

from study import drawing
from study.errors import UserError
from study.runs import catalogue
from study.runs.parameters import Parameter, Value

WIDE = {"description_width": "11em"}


def explore(notebook: str, simulate: Callable, draw: Callable, most: dict[str, float] | None = None,
            **values: Value) -> widgets.VBox:
    """One slider for each of `values`, named and bounded as in `study/runs/catalogue.py`, or up to `most` of it where more
    takes too long to wait for, above the figure that `draw(simulate(**values))` gives. A value that the model refuses is
    answered by its sentence."""
    known = catalogue.STUDY[notebook].parameters
    for name, high in (most or {}).items():
        known = known | {name: known[name].model_copy(update={"high": max(high, values[name])})}
    controls = {name: _control(name, value, known[name]) for name, value in values.items()}
    picture = widgets.Image(format="png", width=int(drawing.WIDTHS_IN["column"] * 160))
    word = widgets.HTML()

    def redraw(_=None):
        started = time.perf_counter()
        word.value = "<small>computing; above is what there was before …</small>" if picture.value else ""
        try:
            data = simulate(**{name: control.value for name, control in controls.items()})
            picture.value = drawing.render(draw, data, formats=("png",))["png"]
            word.value = f"<small>computed and drawn in {time.perf_counter() - started:.2f} s</small>"
        except (UserError, ValueError) as error:
            word.value = f"<b>{error}</b>"

    for control in controls.values():
        control.observe(redraw, names="value")
    redraw()
    return widgets.VBox([*controls.values(), picture, word])


def _control(name: str, value: Value, parameter: Parameter) -> widgets.Widget:
    """A slider over the choices or the bounds; a field where there are none."""
    label = f"{name} [{parameter.unit}]" if parameter.unit else name
    common = {"value": value, "description": label, "style": WIDE, "continuous_update": False, "layout": {"width": "34em"}}
    if parameter.choices is not None:
        return widgets.SelectionSlider(options=[(f"{choice}", choice) for choice in parameter.choices], **common)
    if parameter.kind == "bool":
        return widgets.Checkbox(value=value, description=label, style=WIDE)
    if parameter.low is None or parameter.high is None:
        raise ValueError(f"parameter {name} has no bounds, which a slider needs; give it low and high, or choices, in "
                         "study/runs/catalogue.py")
    if parameter.kind == "int":
        return widgets.IntSlider(min=int(parameter.low), max=int(parameter.high), **common)
    return widgets.FloatSlider(min=parameter.low, max=parameter.high, step=(parameter.high - parameter.low) / 100, **common)

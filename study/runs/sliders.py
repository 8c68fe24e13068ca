"""Sliders for a notebook, made of the very schema that the runner checks.

    sliders.explore("90_model_vs_zfs", simulate, pictures.lines_over_time, numbers=metrics, record_bytes=record_bytes)

calls `simulate(record_bytes=…)` again whenever a slider is let go, and draws what it returns. Between sliders and picture
stands what the picture is of. One that is not of the present values is grey, and the line says so.

In a batch nobody slides: the cell shows the picture alone.
"""
import contextlib
import itertools
import math
import textwrap
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets as widgets
import pandas as pd
from matplotlib.figure import Figure

from study import drawing, errors
from study.errors import UserError
from study.runs import catalogue, progress, record
from study.runs.notebook_names import in_own_names
from study.runs.parameters import Parameter, Value

LABEL = {"description_width": "13em"}
WIDE = {"width": "34em"}
# A short redraw does not flicker: the picture turns grey only after a third of a second.
STYLE = ("<style>.study-picture img, img.study-picture {transition: opacity 0.1s} "
         "img.study-old, .study-old img {opacity: 0.25; filter: grayscale(1); transition: opacity 0.1s 0.3s}</style>")
OLD, PICTURE = "study-old", "study-picture"
TICK_S = 0.5
NOTE_COLUMNS_AN_IN, NOTE_LINE_IN = 18, 0.12

DIGITS = 12         # of a number that a slider gives
N_TRIED = 100       # values of a slider of decimals that are tried for what is possible


def explore(notebook: str, simulate: Callable, draw: Callable[..., Figure], max_values: Mapping[str, float] | None = None,
            numbers: Callable[[Any], pd.DataFrame] | None = None, note: str = "", possible: Callable | None = None,
            within: Sequence[str] = (), **values: Value) -> "Explorer | None":
    """A control for each of `values`, named and bounded as in `study/runs/catalogue.py`, above the figure that
    `draw(simulate(**values))` gives.

    `max_values`: where a slider ends, if all that the catalogue allows takes too long to wait for.

    `numbers`: from what `simulate` returns, the numbers (name, value, unit) that *Keep this run* records.

    `note`: what tells the picture from the run above, written on it.

    `possible`: makes the machine of the values, and refuses one that cannot be. Of the sliders those `within` offer only
    what it accepts beside the other values. Lists of choices may be `within`, too.
    """
    noted = _noted(draw, note)
    known = _listed(notebook, values)
    if record.folder() is not None:
        _show_alone(simulate, noted, values, known)
        return None
    for name, high in (max_values or {}).items():
        known = known | {name: known[name].model_copy(update={"high": max(high, values[name])})}
    explorer = Explorer(notebook, simulate, noted, numbers, {name: known[name] for name in values}, values)
    explorer.offer(possible or (lambda **_: None), within)
    return explorer


def _listed(notebook: str, values: Collection[str]) -> dict[str, Parameter]:
    """The parameters of a notebook. UserError if it is none of the study's, or has none of such a name."""
    if notebook not in catalogue.STUDY:
        raise UserError(f"'{notebook}' is no notebook of the study, so nothing says how far its sliders go; "
                        + errors.meant(notebook, catalogue.STUDY, "list it in study/runs/catalogue.py"))
    known = catalogue.STUDY[notebook].parameters
    for name in values:
        if name not in known:
            raise UserError(f"{notebook} has no parameter '{name}'; "
                            + errors.meant(name, known, f"it has {', '.join(known)}"))
    return known


def _noted(draw: Callable[..., Figure], note: str) -> Callable[..., Figure]:
    """`draw`, with the note above what it draws."""
    def noted(data: Any) -> Figure:
        figure = draw(data)
        if note:
            text = textwrap.fill(note, int(NOTE_COLUMNS_AN_IN * figure.get_figwidth()))
            figure.set_figheight(figure.get_figheight() + NOTE_LINE_IN * (1 + text.count("\n")))
            figure.suptitle(text, fontsize=7, x=0.01, ha="left", style="italic")
        return figure
    noted.__module__, noted.__name__ = draw.__module__, draw.__name__
    return noted


def _show_alone(simulate: Callable, draw: Callable, values: dict[str, Value], known: Collection[str]) -> None:
    try:
        data = simulate(**values)
    except (UserError, ValueError) as error:
        print(in_own_names(str(error), known))
        return
    record.show(drawing.on_screen(draw, data))
    print("In JupyterLab sliders stand here: make lab")


class Explorer(widgets.VBox):
    """Controls, two buttons, a line that says what the picture is of, and the picture."""

    def __init__(self, notebook: str, simulate: Callable, draw: Callable, numbers: Callable | None,
                 known: dict[str, Parameter], values: dict[str, Value]):
        self.notebook, self.simulate, self.draw, self.numbers = notebook, simulate, draw, numbers
        self.within: Sequence[str] = ()
        self.first = values
        self.drawn_of: dict[str, Value] | None = None       # the values that the picture is of
        self.data: Any = None
        self.seconds: float | None = None       # that the last picture took
        self.seconds_of: dict[tuple[Value, ...], float] = {}        # by values of which a picture was drawn
        self.is_setting = False
        self.controls = {name: _control(name, value, known[name]) for name, value in values.items()}
        self.reset = widgets.Button(description="Reset", icon="undo", tooltip="All values as the notebook has them")
        self.keep = widgets.Button(description="Keep this run", icon="save",
                                   tooltip="Write values, numbers and picture to the run store")
        self.status = widgets.HTML()
        self.picture = widgets.Image(format="png",
                                     layout={"width": "100%", "max_width": f"{drawing.SCREEN_PX}px", "margin": "0"})
        self.picture.add_class(PICTURE)
        super().__init__([widgets.HTML(STYLE), *(_row(self.controls[name], known[name]) for name in values),
                          widgets.HBox([self.reset, self.keep]), self.status, self.picture])
        for control in self.controls.values():
            control.observe(self._moved, names="value")
        self.reset.on_click(lambda _: self._set(self.first))
        self.keep.on_click(lambda _: self._keep())

    def offer(self, possible: Callable, within: Sequence[str]) -> None:
        """Draw the first picture; from now on the sliders `within` offer what `possible` accepts."""
        self.possible, self.within = possible, within
        self._moved()

    def values(self) -> dict[str, Value]:
        """Of the controls, now."""
        return {name: _written(control.value) for name, control in self.controls.items()}

    def _set(self, values: dict[str, Value]) -> None:
        """All at once, with one redraw."""
        with self._quietly():
            for name in self.within:        # bounds that other values had set hold no longer
                self._bound(name, self.controls[name].of_schema)
            for name, value in values.items():
                self.controls[name].value = value
        self._moved()

    def _moved(self, _: object = None) -> None:
        if self.is_setting:
            return
        with self._quietly():
            for name in (*self.within, *self.within):       # what one leaves may hang on what another takes
                self._bound(name, self._accepted(name) or self.controls[name].of_schema)
        if self.values() != self.drawn_of or self.data is None:
            self._redraw()
        else:
            self._say_drawn()

    @contextlib.contextmanager
    def _quietly(self) -> Iterator[None]:
        """Without a redraw for each control that is set."""
        self.is_setting = True
        try:
            yield
        finally:
            self.is_setting = False

    def _accepted(self, name: str) -> list[Value]:
        """What of a slider is possible beside the values of the other controls."""
        others = self.values()
        return [value for value in self.controls[name].of_schema if self._is_possible(others | {name: value})]

    def _is_possible(self, values: dict[str, Value]) -> bool:
        try:
            self.possible(**values)
        except (UserError, ValueError):
            return False
        return True

    def _bound(self, name: str, numbers: Sequence[Any]) -> None:
        """Let a slider take these numbers alone, and go to the nearest; let a list have these choices alone."""
        slider = self.controls[name]
        value = slider.value
        if isinstance(slider, widgets.Dropdown):
            if tuple(numbers) != slider.options:
                slider.options = tuple(numbers)
                slider.value = value if value in numbers else numbers[0]
            return
        if isinstance(slider, widgets.IntSlider):
            value = min(numbers, key=lambda number: abs(number - slider.value))
            slider.step = min((after - before for before, after in itertools.pairwise(numbers)), default=1)
        slider.min, slider.max = min(slider.min, numbers[0]), max(slider.max, numbers[-1])      # never a least over a most
        slider.value = min(max(value, numbers[0]), numbers[-1])
        slider.min, slider.max = numbers[0], numbers[-1]

    def _redraw(self) -> None:
        values, started = self.values(), time.perf_counter()
        self._set_old(True)
        self.data = None        # the next run takes its memory: fresh memory costs more time than a short run
        try:
            with self._progress(started), progress.telling(progress.silent):
                data = self.simulate(**values)
                png = drawing.on_screen(self.draw, data)
        except (UserError, ValueError) as error:
            refused = in_own_names(str(error), catalogue.STUDY[self.notebook].parameters).rstrip(".")
            self.status.value = f"<b>{escape(refused)}.</b>{self._of_others()}"
            return
        except KeyboardInterrupt:
            self.status.value = f"<b>It was interrupted. Move a slider to go on.</b>{self._of_others()}"
            raise
        except Exception as error:
            self.status.value = f"<b>It failed: {escape(str(error))}.</b>{self._of_others()}"
            raise
        self.picture.value, self.data, self.drawn_of = png, data, values
        self.seconds = self.seconds_of[tuple(values.values())] = time.perf_counter() - started
        self._say_drawn()

    def _say_drawn(self) -> None:
        self._set_old(False)
        self.status.value = f"<small>The picture is of these values. It took {self.seconds:.2f} s.</small>"

    def _set_old(self, is_old: bool) -> None:
        self.keep.disabled = is_old
        (self.picture.add_class if is_old else self.picture.remove_class)(OLD)

    def _of_others(self) -> str:
        """What the picture is of, where that is not the present values."""
        if self.drawn_of is None:
            return ""
        now = self.values()
        others = ", ".join(f"{name} {value}" for name, value in self.drawn_of.items() if value != now[name])
        return f" <small>The grey picture is still of {escape(others)}.</small>"

    @contextlib.contextmanager
    def _progress(self, started: float) -> Iterator[None]:
        """Tell the time passed while something is computed; kernels leave other threads the interpreter."""
        done = threading.Event()
        others, before = self._of_others(), self.seconds_of.get(tuple(self.values().values()))

        def tick() -> None:
            while True:
                self.status.value = _computing(time.perf_counter() - started, self.seconds, before) + others
                if done.wait(TICK_S):
                    return
        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join(timeout=10 * TICK_S)

    def _keep(self) -> None:
        from study.runs import slider_records  # brings papermill along
        if self.data is None or self.drawn_of != self.values():
            self.status.value = f"<b>There is no picture of these values to keep; choose others.</b>{self._of_others()}"
            return
        self.status.value = "<progress></progress> <small>Writing the run.</small>"
        numbers = self.numbers(self.data) if self.numbers else pd.DataFrame(columns=["name", "value", "unit"])
        try:
            run_id = slider_records.keep(self.notebook, self.drawn_of, numbers, self.draw, self.data, self.seconds or 0.0)
        except UserError as error:
            self.status.value = f"<b>{escape(str(error))}</b>"
            return
        self.status.value = f"<small>Kept as run {run_id}. <code>study query</code> has its values and numbers.</small>"


def of_one_unit(values: Mapping[str, float], unit: str) -> pd.DataFrame:
    """Numbers as a run keeps them: name, value, unit."""
    return pd.DataFrame([(name, value, unit) for name, value in values.items()], columns=["name", "value", "unit"])


def _written(value: Value) -> Value:
    """0.036 for 0.036000000000000004, which the step of a slider gives."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _computing(passed: float, last: float | None, before: float | None = None) -> str:
    """A bar, the time passed, and a time to compare with: that of these values `before`, else of the `last` picture. A bar
    that would be full moves to and fro."""
    expected, whose = (before, "these values took") if before else (last, "the last picture took")
    if not expected or expected <= TICK_S:
        return f"<progress></progress> <small>Computing for {passed:.0f} s.</small>"
    bar = f' value="{passed:.1f}" max="{expected:.1f}"' if passed < expected else ""
    longer = "" if passed < expected else "; this one takes longer"
    return f"<progress{bar}></progress> <small>Computing for {passed:.0f} s; {whose} {expected:.0f} s{longer}.</small>"


def _row(control: widgets.Widget, parameter: Parameter) -> widgets.HBox:
    return widgets.HBox([control, widgets.HTML(f"<small>{escape(parameter.help)}</small>")])


def _control(name: str, value: Value, parameter: Parameter) -> widgets.Widget:
    """A slider for numbers, over the choices or the bounds; a list to choose a text from; a box to tick."""
    label = f"{name} [{parameter.unit}]" if parameter.unit else name
    common = {"value": value, "description": label, "tooltip": parameter.help, "style": LABEL, "layout": WIDE}
    if parameter.kind == "bool":
        return widgets.Checkbox(indent=True, **common)
    if parameter.choices is not None and parameter.kind == "str":
        choose = widgets.Dropdown(options=parameter.choices, **common)
        choose.of_schema = parameter.choices
        return choose
    common["continuous_update"] = False
    if parameter.choices is not None:
        return widgets.SelectionSlider(options=[(f"{choice}", choice) for choice in parameter.choices], **common)
    if parameter.low is None or parameter.high is None:
        raise ValueError(f"parameter {name} has no bounds, which a slider needs; give it low and high, or choices, in "
                         "study/runs/catalogue.py")
    return _slider_of_numbers(parameter, common)


def _slider_of_numbers(parameter: Parameter, common: dict[str, Any]) -> widgets.Widget:
    """`of_schema`: the numbers to try for what is possible, from the least to the most."""
    low, high = parameter.low or 0.0, parameter.high or 0.0
    if parameter.kind == "int":
        slider = widgets.IntSlider(min=int(low), max=int(high), **common)
        slider.of_schema = range(slider.min, slider.max + 1)
        return slider
    digits = -math.floor(math.log10((high - low) / N_TRIED))
    slider = widgets.FloatSlider(min=low, max=high, step=10.0 ** -digits, readout_format=f".{max(digits, 0)}f", **common)
    slider.of_schema = [_written(low + (high - low) * i / N_TRIED) for i in range(N_TRIED)] + [high]
    return slider

"""Sliders come from the schema, call the very simulation, and say what their picture is of."""
import threading
import time
import weakref

import ipywidgets as widgets
import pandas as pd
import pytest

from study import drawing
from study.errors import UserError
from study.experiments.vdev_cache_2007.cache_lines import lines_under_each_rule, metrics
from study.figures import vdev_cache
from study.project import NOTEBOOKS
from study.runs import catalogue, sliders
from study.runs.catalogue import Notebook
from study.runs.parameters import Parameter

SETTINGS = {"record_kib": 8, "line_kib": 64, "cache_mib": 10, "leaf_gib": 0.1, "reads_per_s": 50.0, "seconds": 5.0,
            "l1_bytes": 7168, "l1_place": "L1_APART", "fill_ticks": 1, "seed": 1}
HERE = "90_model_vs_zfs"


def explore(**values):
    def simulate(**changed):
        return lines_under_each_rule(**(SETTINGS | changed))
    return sliders.explore(HERE, simulate, vdev_cache.lines_over_time, numbers=metrics, **values)


def bars(data):
    figure, axes = drawing.canvas()
    axes.bar(range(len(data)), data)
    return figure


@pytest.fixture
def listed(monkeypatch):
    """A notebook of the study with these parameters."""
    def make(**parameters):
        known = {name: Parameter(**entries) for name, entries in parameters.items()}
        monkeypatch.setitem(catalogue.STUDY, HERE, Notebook(parameters=known))
    return make


def is_grey(box):
    return sliders.OLD in box.picture._dom_classes


def test_a_moved_slider_redraws():
    box = explore(record_kib=8, line_kib=64, cache_mib=10)
    before, statuses = box.picture.value, []
    box.status.observe(lambda change: statuses.append(change.new), names="value")
    box.controls["cache_mib"].value = 1
    assert box.picture.value != before
    assert "Computing" in statuses[0]
    assert "of these values" in statuses[-1] == box.status.value
    assert not is_grey(box)


def test_the_status_stands_between_sliders_and_picture():
    box = explore(record_kib=8)
    places = [box.children.index(part) for part in (box.status, box.picture)]
    assert places == [len(box.children) - 2, len(box.children) - 1]


def test_bounds_choices_unit_and_help_are_those_of_the_schema():
    box = explore(record_kib=8, line_kib=64, cache_mib=10)
    known = catalogue.STUDY[HERE].parameters
    assert tuple(value for _, value in box.controls["record_kib"].options) == known["record_kib"].choices
    assert box.controls["line_kib"].description == "line_kib [KiB]"
    for name, control in box.controls.items():
        row = next(row for row in box.children if control in getattr(row, "children", ()))
        assert known[name].help in row.children[1].value
        assert control.tooltip == known[name].help


def test_numbers_get_sliders_and_texts_a_list(listed):
    listed(n={"kind": "int", "low": 1, "high": 9}, x={"kind": "float", "low": 0, "high": 1}, on={"kind": "bool"},
           kib={"kind": "int", "choices": (1, 2)}, drive={"kind": "str", "choices": ("a", "b")})
    box = sliders.explore(HERE, lambda **values: [1], bars, n=3, x=0.5, on=True, kib=2, drive="b")
    assert {name: type(control) for name, control in box.controls.items()} == {
        "n": widgets.IntSlider, "x": widgets.FloatSlider, "on": widgets.Checkbox, "kib": widgets.SelectionSlider,
        "drive": widgets.Dropdown}


def test_every_parameter_that_a_notebook_slides_has_help():
    for path in catalogue.books():
        for name, parameter in catalogue.STUDY[path.stem].parameters.items():
            assert parameter.help, f"{path.stem}: {name}"


@pytest.mark.parametrize("n_leaves", [46, 100])
def test_a_slider_ends_where_more_takes_too_long_but_not_below_its_value(n_leaves):
    box = sliders.explore("01_vdev_cache_oltp", lambda n_leaves: [1], bars, {"n_leaves": 64}, n_leaves=n_leaves)
    assert (box.controls["n_leaves"].value, box.controls["n_leaves"].max) == (n_leaves, max(64, n_leaves))


def test_what_is_refused_has_the_notebooks_own_names_and_units(listed):
    listed(file_gib={"kind": "int", "low": 1, "high": 20})

    def simulate(file_gib):
        if file_gib > 10:
            raise ValueError(f"file_bytes is {file_gib * 2**30}, but a disk has 10737418240; choose smaller files")
        return [file_gib]
    box = sliders.explore(HERE, simulate, bars, file_gib=2)
    box.controls["file_gib"].value = 12
    assert "<b>file_gib is 12, but a disk has 10 GiB; choose smaller files.</b>" in box.status.value


@pytest.mark.parametrize("error", [UserError, ValueError])
def test_what_is_refused_is_said_and_the_picture_of_other_values_is_grey(listed, error):
    listed(x={"kind": "float", "low": -1, "high": 10})

    def simulate(x):
        if x < 0:
            raise error("x is negative & wrong; choose more")
        return [x]
    box = sliders.explore(HERE, simulate, bars, x=1.0)
    box.controls["x"].value = -0.5
    assert "x is negative &amp; wrong" in box.status.value
    assert "still of x 1.0" in box.status.value
    assert is_grey(box)
    assert box.keep.disabled
    box.controls["x"].value = 1.0
    assert not is_grey(box)
    assert not box.keep.disabled
    assert "of these values" in box.status.value


def test_a_run_has_the_memory_of_the_last_one(listed):
    """Kept beside each other they would need twice as much, and the first slide would wait for it."""
    listed(x={"kind": "float", "low": -1, "high": 10})
    kept = []

    class Data(list):
        """A list that may be referred to weakly."""

    def simulate(x):
        assert [last() for last in kept] == [None] * len(kept)
        if x < 0:
            raise UserError("x is negative")
        data = Data([x])
        kept.append(weakref.ref(data))
        return data
    box = sliders.explore(HERE, simulate, bars, x=1.0)
    for value in (2.0, -0.5, 2.0, 3.0):
        box.controls["x"].value = value
    assert len(kept) == 4
    assert box.data == [3.0]
    assert "of these values" in box.status.value


def test_the_picture_is_grey_and_time_is_told_while_it_is_computed(listed, monkeypatch):
    listed(x={"kind": "float", "low": 0, "high": 10})
    monkeypatch.setattr(sliders, "TICK_S", 0.01)
    was_told = threading.Event()
    seen = []

    def simulate(x):
        if x > 1:       # the first picture has none before it
            seen.append((is_grey(box), was_told.wait(20)))
        else:
            time.sleep(0.05)
        return [x]
    box = sliders.explore(HERE, simulate, bars, x=1.0)

    def look(change):
        if "still of x 1.0" in change.new and "the last picture took" in change.new and "<progress value" in change.new:
            was_told.set()
    box.status.observe(look, names="value")
    box.controls["x"].value = 2.0
    assert seen == [(True, True)]


@pytest.mark.parametrize(("passed", "before", "bar", "words"), [
    (2.0, None, 'value="2.0" max="5.0"', "Computing for 2 s; the last picture took 5 s."),
    (7.0, None, "", "Computing for 7 s; the last picture took 5 s; this one takes longer."),
    (7.0, 250.0, 'value="7.0" max="250.0"', "Computing for 7 s; these values took 250 s.")])
def test_a_bar_is_not_full_before_the_picture_is_there(passed, before, bar, words):
    """A slow end of a slider showed a full bar for minutes."""
    shown = sliders._computing(passed, 5.0, before)
    assert words in shown
    assert f"<progress{' ' * bool(bar)}{bar}>" in shown


def test_values_that_were_drawn_before_say_how_long_they_took(listed, monkeypatch):
    listed(x={"kind": "int", "low": 1, "high": 5})
    monkeypatch.setattr(sliders, "TICK_S", 0.02)
    box = sliders.explore(HERE, lambda x: time.sleep(0.1 * x) or [x], bars, x=3)
    box.controls["x"].value = 1
    statuses = []
    box.status.observe(lambda change: statuses.append(change.new), names="value")
    box.controls["x"].value = 3
    assert any("these values took" in status for status in statuses)


def test_a_slider_gives_numbers_as_they_are_written(listed):
    """Not 0.036000000000000004."""
    listed(x={"kind": "float", "low": 0.0, "high": 0.9})
    drawn = []
    box = sliders.explore(HERE, lambda x: drawn.append(x) or [x], bars, possible=lambda x: None, within=["x"], x=0.1)
    box.controls["x"].value = 0.036000000000000004
    assert drawn == [0.1, 0.036]
    assert 0.036 in box.controls["x"].of_schema
    box.simulate = lambda x: [][x]
    with pytest.raises(TypeError):
        box.controls["x"].value = 0.30000000000000004
    assert "still of x 0.036." in box.status.value


def test_a_slider_takes_only_what_is_possible_beside_the_others(listed):
    listed(n={"kind": "int", "low": 1, "high": 9}, layout={"kind": "str", "choices": ("stripe", "mirror", "raidz2")})
    asked = []

    def simulate(**values):
        asked.append(values)
        return [1]
    def machine(n, layout):
        if (layout == "mirror" and n % 2) or (layout == "raidz2" and n < 4):
            raise UserError("no such pool")
    box = sliders.explore(HERE, simulate, bars, possible=machine, within=["n"], n=3, layout="stripe")
    slider = box.controls["n"]
    for layout, bounds, value in (("mirror", (2, 8, 2), 2), ("raidz2", (4, 9, 1), 4), ("stripe", (1, 9, 1), 4)):
        box.controls["layout"].value = layout
        assert (slider.min, slider.max, slider.step, slider.value) == (*bounds, value)
    assert asked == [{"n": 3, "layout": "stripe"}, {"n": 2, "layout": "mirror"}, {"n": 4, "layout": "raidz2"},
                     {"n": 4, "layout": "stripe"}]
    box.controls["layout"].value = "raidz2"
    asked.clear()
    box.reset.click()
    assert asked == [{"n": 3, "layout": "stripe"}]


def test_a_list_offers_only_what_is_possible_beside_the_others(listed):
    listed(disk={"kind": "str", "choices": ("slow", "fast")}, log={"kind": "str", "choices": ("none", "slow", "fast")})

    def machine(disk, log):
        if log not in ("none", disk):
            raise UserError("disks of two kinds")
    box = sliders.explore(HERE, lambda **values: [1], bars, possible=machine, within=["log"], disk="slow", log="slow")
    assert (box.controls["log"].options, box.controls["log"].value) == (("none", "slow"), "slow")
    box.controls["disk"].value = "fast"
    assert (box.controls["log"].options, box.drawn_of) == (("none", "fast"), {"disk": "fast", "log": "none"})
    box.reset.click()
    assert box.drawn_of == {"disk": "slow", "log": "slow"}


def test_a_slider_of_decimals_ends_where_the_machine_does(listed):
    listed(fill={"kind": "float", "low": 0, "high": 1}, size={"kind": "int", "choices": (1, 2)})

    def machine(fill, size):
        if not 0.25 <= fill <= 1 / size:
            raise ValueError("too full")
    box = sliders.explore(HERE, lambda **values: [1], bars, possible=machine, within=["fill"], fill=0.75, size=1)
    slider = box.controls["fill"]
    assert (slider.min, slider.max, slider.value) == (0.25, 1, 0.75)
    box.controls["size"].value = 2
    assert (slider.min, slider.max, slider.value) == (0.25, 0.5, 0.5)
    assert box.drawn_of == {"fill": 0.5, "size": 2}


def test_what_tells_the_picture_from_the_run_above_stands_on_it(listed):
    listed(x={"kind": "float", "low": 0, "high": 10})
    note = "Two seconds; the run above has 120 s and gains 23.6 %. " * 2
    box = sliders.explore(HERE, lambda x: [x], bars, note=note, x=1.0)
    plain = sliders.explore(HERE, lambda x: [x], bars, x=1.0)
    assert box.picture.value != plain.picture.value
    with drawing._drawing("column"):
        figure = box.draw([1])
        figure.canvas.draw()
        title = figure._suptitle.get_window_extent()
    assert figure._suptitle.get_text().replace("\n", " ") == note.strip()
    assert 0 <= title.x0 < title.x1 <= figure.bbox.x1
    assert figure.axes[0].get_window_extent().y1 <= title.y0


@pytest.mark.slow
def test_a_kept_run_is_in_the_store_with_values_numbers_and_picture(runs):
    from study.store import store
    box = explore(record_kib=8, cache_mib=10)
    box.controls["cache_mib"].value = 5
    for _ in range(2):      # the same again is the same run
        box.keep.click()
    assert "Kept as run" in box.status.value
    with store.open() as connection:
        (run_id, notebook, status), = connection.execute(
            "SELECT run_id, name, status FROM runs WHERE origin = 'simulated'").fetchall()
        values = dict(connection.execute("SELECT name, value FROM params WHERE run_id = ?", [run_id]).fetchall())
        numbers = connection.execute("SELECT name, value, unit FROM metrics WHERE run_id = ?", [run_id]).df()
        figures = connection.execute("SELECT name FROM figures WHERE run_id = ?", [run_id]).fetchall()
    assert run_id in box.status.value
    assert (notebook, status, values) == (f"{HERE}-try-it", "ok", {"record_kib": "8", "cache_mib": "5"})
    pd.testing.assert_frame_equal(numbers.sort_values("name", ignore_index=True),
                                  metrics(box.data).astype({"value": float}).sort_values("name", ignore_index=True),
                                  check_dtype=False)
    assert figures == [("try_it",)]
    assert (runs / f"{HERE}-try-it" / run_id / "figures" / "try_it-column.png").exists()


def test_in_a_batch_the_picture_stands_alone(listed, monkeypatch, tmp_path, capsys):
    listed(x={"kind": "float", "low": 0, "high": 10})
    monkeypatch.setenv("STUDY_RUN", str(tmp_path))
    shown = []
    monkeypatch.setattr("study.runs.record.display", shown.append)
    assert sliders.explore(HERE, lambda x: [x], bars, x=1.0) is None
    assert [image.format for image in shown] == ["png"]
    assert "make lab" in capsys.readouterr().out


def test_an_interrupted_slider_says_so(listed):
    """*Interrupt the kernel* while it computes; the next value is computed again."""
    def simulate(n):
        if n == 2:
            raise KeyboardInterrupt
        return [n]
    listed(n={"kind": "int", "low": 1, "high": 9, "help": "how many"})
    box = sliders.explore(HERE, simulate, bars, n=1)
    with pytest.raises(KeyboardInterrupt):
        box.controls["n"].value = 2
    assert "It was interrupted" in box.status.value
    assert is_grey(box)
    box.controls["n"].value = 3
    assert "of these values" in box.status.value
    assert not is_grey(box)


def test_a_parameter_without_bounds_gets_no_slider(listed):
    listed(n={"kind": "int"})
    with pytest.raises(ValueError, match="n has no bounds"):
        sliders.explore(HERE, lambda n: [n], bars, n=1)


@pytest.mark.parametrize(("notebook", "parameter", "message"), [
    ("my_own", "x", r"'my_own' is no notebook of the study, .*; list it in study/runs/catalogue.py"),
    ("90_model_vs_zf", "x", "did you mean '90_model_vs_zfs'"), (HERE, "y", f"{HERE} has no parameter 'y'; it has x")])
def test_sliders_of_a_notebook_or_a_name_that_is_not_listed_are_refused(listed, notebook, parameter, message):
    listed(x={"kind": "int", "low": 0, "high": 5})
    with pytest.raises(UserError, match=message):
        sliders.explore(notebook, lambda **_: [1], bars, **{parameter: 3})


def test_each_notebook_that_slides_records_numbers():
    slide = [path.name for path in NOTEBOOKS.glob("[0-9]*.ipynb") if "sliders.explore" in path.read_text()
             and "numbers=" not in path.read_text()]
    assert slide == []

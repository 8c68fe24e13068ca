"""Sliders come from the schema and call the very simulation."""
import pytest

from study.experiments.vdev_cache_2007.cache_lines import lines_under_each_rule
from study.figures import vdev_cache as pictures
from study.runs import catalogue, sliders
from study.runs.catalogue import Notebook
from study.runs.parameters import Parameter

SETTINGS = {"leaf_gib": 0.1, "reads_per_s": 50.0, "seconds": 5.0, "l1_bytes": 7168, "l1_place": "L1_APART", "fill_ticks": 1,
            "seed": 1}


def explore(**values):
    def simulate(**changed):
        return lines_under_each_rule(**(SETTINGS | changed))
    return sliders.explore("90_model_vs_zfs", simulate, pictures.lines_over_time, **values)


def test_a_moved_slider_redraws():
    box = explore(record_kib=8, line_kib=64, cache_mib=10)
    *controls, picture, word = box.children
    before, said = picture.value, []
    word.observe(lambda change: said.append(change.new), names="value")
    controls[2].value = 1
    assert picture.value != before
    assert "computing" in said[0]
    assert "computed and drawn in" in said[-1] == word.value


def test_bounds_and_choices_are_those_of_the_schema():
    record, line, _, _, _ = explore(record_kib=8, line_kib=64, cache_mib=10).children
    known = catalogue.STUDY["90_model_vs_zfs"].parameters
    assert tuple(value for _, value in record.options) == known["record_kib"].choices
    assert line.description == "line_kib [KiB]"


def test_a_slider_ends_where_more_takes_too_long_but_not_below_its_value():
    for value in (46, 100):
        box = sliders.explore("01_vdev_cache_oltp", lambda n_leaves: lines_under_each_rule(8, 64, 10, **SETTINGS),
                              pictures.lines_over_time, {"n_leaves": 64}, n_leaves=value)
        assert (box.children[0].value, box.children[0].max) == (value, max(64, value))


def test_what_the_model_refuses_is_said_in_its_sentence(monkeypatch):
    wide = Parameter(kind="float", low=-1, high=10)
    monkeypatch.setitem(catalogue.STUDY, "90_model_vs_zfs", Notebook(parameters={"reads_per_s": wide}))

    def simulate(reads_per_s):
        if reads_per_s < 0:
            raise ValueError("reads_per_s is negative; choose more")
        return lines_under_each_rule(8, 64, 10, **(SETTINGS | {"reads_per_s": 10.0}))
    slider, _, word = sliders.explore("90_model_vs_zfs", simulate, pictures.lines_over_time, reads_per_s=1.0).children
    slider.value = -0.5
    assert "reads_per_s is negative" in word.value


def test_a_parameter_without_bounds_gets_no_slider(monkeypatch):
    monkeypatch.setitem(catalogue.STUDY, "90_model_vs_zfs", Notebook(parameters={"n": Parameter(kind="int")}))
    with pytest.raises(ValueError, match="n has no bounds"):
        sliders.explore("90_model_vs_zfs", lambda n: n, pictures.lines_over_time, n=1)

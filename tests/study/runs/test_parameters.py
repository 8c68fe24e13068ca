"""Parameters are what the schema says, whichever way they come in."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from study.errors import UserError
from study.runs import parameters
from study.runs.parameters import Parameter, checked, from_command_line, from_yaml, resolve, schema

INT, FLOAT, BOOL, TEXT = (Parameter(kind=kind) for kind in ("int", "float", "bool", "str"))


@pytest.mark.parametrize(("value", "parameter", "expected"), [
    ("42", INT, 42), (np.int64(42), INT, 42), ("007", INT, 7), ("-3", INT, -3),
    ("1e5", FLOAT, 1e5), (3, FLOAT, 3.0), (np.float32(0.5), FLOAT, 0.5), (".5", FLOAT, 0.5),
    ("true", BOOL, True), ("False", BOOL, False), (True, BOOL, True),
    ("007", TEXT, "007"), ("0x10", TEXT, "0x10"), ("true", TEXT, "true"),
])
def test_a_value_is_read_by_the_type_asked_for(value, parameter, expected):
    plain = checked("x", value, parameter)
    assert plain == expected
    assert type(plain) is type(expected)


@pytest.mark.parametrize(("value", "parameter"), [
    ("abc", INT), ("1e5", INT), (1.5, INT), ("0x10", INT), (True, INT), ("", INT), (None, INT),
    ("nan", FLOAT), (float("inf"), FLOAT), ("1_000", FLOAT), (True, FLOAT), ([1], FLOAT),
    ("on", BOOL), (1, BOOL), ("1", BOOL), (True, TEXT), (8, TEXT), (("a",), TEXT),
])
def test_what_is_not_of_the_type_is_refused(value, parameter):
    with pytest.raises(UserError, match=r"parameter 'x' is .* which is not"):
        checked("x", value, parameter)


@given(st.integers(-10**6, 10**6), st.integers(-1000, 0), st.integers(1, 1000))
def test_bounds_are_inclusive_and_hold(value, low, high):
    bounded = Parameter(kind="int", low=low, high=high)
    if low <= value <= high:
        assert checked("x", value, bounded) == value
    else:
        with pytest.raises(UserError, match=r"below the least|above the most"):
            checked("x", value, bounded)


def test_choices_hold():
    line = Parameter(kind="int", unit="B", choices=(4096, 8192))
    assert checked("line", "8192", line) == 8192
    with pytest.raises(UserError, match="parameter 'line' is 5000 B, which is none of 4096, 8192"):
        checked("line", 5000, line)


@pytest.mark.parametrize(("cell", "why"), [
    ("n = 3\nb = n * 2", "derived"), ("n = 3\nb = [1, 2]", "list"), ("import os\nn = 3", "not 'name = value'"),
    ("n = 3\nn = 4", "set twice"), ("n = = 3", "line 1 of the parameters cell is not Python"),
    ("n: int = 3\nb = f'{n}'", "derived"),
])
def test_the_parameters_cell_holds_plain_assignments_only(notebook, cell, why):
    """A derived value would keep its old result when the parameter is overridden."""
    with pytest.raises(UserError, match=why):
        schema(notebook("derived", parameters=cell), None)


def test_an_unknown_name_is_refused_and_the_near_one_suggested(notebook):
    path = notebook("near", parameters="record_bytes = 8192\nseed = 1")
    with pytest.raises(UserError, match="no parameter 'record_byte'; did you mean 'record_bytes'"):
        resolve(path, None, {"record_byte": 4096})


def test_cell_and_list_must_name_the_same_parameters(notebook):
    with pytest.raises(UserError, match="disagree about m, n"):
        schema(notebook("disagree", parameters="n = 3"), {"m": INT})


def test_a_default_out_of_bounds_is_refused(notebook):
    with pytest.raises(UserError, match="above the most of 2"):
        schema(notebook("default", parameters="n = 3"), {"n": Parameter(kind="int", high=2)})


def test_without_a_list_the_types_of_the_defaults_hold(notebook):
    path = notebook("own", parameters="n = 3\nname = 'a'\nratio = 0.5\nfast = True")
    assert resolve(path, None, {"n": "4", "fast": "false"}) == {"n": 4, "name": "a", "ratio": 0.5, "fast": False}
    with pytest.raises(UserError, match="'n' is 'abc', which is not a whole number"):
        resolve(path, None, {"n": "abc"})


@pytest.mark.parametrize("pairs", [["n"], ["=3"], ["n=1", "n=2"]])
def test_malformed_command_line_pairs_are_refused(pairs):
    with pytest.raises(UserError):
        from_command_line(pairs)


def test_what_yaml_makes_of_words_is_caught(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("mode: on\nsize: 1e5\n")
    given_values = from_yaml(file)
    with pytest.raises(UserError, match="put text in quotes"):
        checked("mode", given_values["mode"], TEXT)
    assert checked("size", given_values["size"], FLOAT) == 1e5      # YAML leaves it text


@pytest.mark.parametrize("content", ["- 1\n- 2\n", "a: [unclosed", "just words"])
def test_a_parameter_file_that_is_none_is_refused(tmp_path, content):
    file = tmp_path / "p.yaml"
    file.write_text(content)
    with pytest.raises(UserError, match=r"p\.yaml"):
        from_yaml(file)


def test_a_file_that_is_no_notebook_is_refused(tmp_path):
    file = tmp_path / "broken.ipynb"
    file.write_text("{")
    with pytest.raises(UserError, match="is not a notebook"):
        parameters.cells(file)

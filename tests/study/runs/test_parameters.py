"""Parameters are what the schema says, whichever way they come in."""
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from study.errors import UserError
from study.runs import notebook_file
from study.runs.parameters import Parameter, checked, from_command_line, from_yaml, resolve, schema
from study.runs.scalars import Plain

INT, FLOAT, BOOL, TEXT = (Parameter(kind=kind) for kind in ("int", "float", "bool", "str"))


@pytest.mark.parametrize(("value", "parameter", "expected"), [
    ("42", INT, 42), (np.int64(42), INT, 42), ("007", INT, 7), ("-3", INT, -3), ("0x10", INT, 16), ("0o17", INT, 15),
    ("1e5", FLOAT, 1e5), (3, FLOAT, 3.0), (np.float32(0.5), FLOAT, 0.5), (".5", FLOAT, 0.5),
    ("true", BOOL, True), ("False", BOOL, False), (True, BOOL, True),
    ("007", TEXT, "007"), ("0x10", TEXT, "0x10"), ("true", TEXT, "true"),
])
def test_a_value_is_read_by_the_type_asked_for(value, parameter, expected):
    plain = checked("x", value, parameter)
    assert plain == expected
    assert type(plain) is type(expected)


@pytest.mark.parametrize(("value", "parameter"), [
    ("abc", INT), ("1e5", INT), (1.5, INT), ("0b1", INT), ("1:30", INT), (True, INT), ("", INT), (None, INT),
    ("nan", FLOAT), ("1_000", FLOAT), (True, FLOAT), ([1], FLOAT),
    ("on", BOOL), ("yes", BOOL), ("tRUE", BOOL), (1, BOOL), ("1", BOOL), (True, TEXT), (8, TEXT), (("a",), TEXT),
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
    ("n = 3\nb = n * 2", "derived"), ("n = 3\nb = [1, n]", "derived"), ("b = (1, 2)", "is a tuple"),
    ("b = {1: 2}", "names that are no text"), ("b = {1, 2}", "is a set"), ("b = 2**9999999", "power"),
    ("b = 1 / 0", "no number"),
    ("b = b'x'", "is a bytes"), ("print(3)", "not 'name = value'"), ("n = 3\nif n:\n    m = 4", "not 'name = value'"),
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


def test_all_that_is_wrong_with_parameters_is_told_at_once(notebook):
    path = notebook("own", parameters="n = 3\nratio = 0.5\nname = 'a'")
    with pytest.raises(UserError) as caught:
        resolve(path, None, {"n": "abc", "zzz": "1", "ratio": "b", "name": "c"}, ["n", "name"])
    assert str(caught.value) == (
        "parameter 'n' is given and is secret; give it by --secret alone; own has no parameter 'zzz'; "
        "it has n, ratio, name; parameter 'name' is given and is secret; give it by --secret alone; "
        "parameter 'ratio' is 'b', which is not a number; give a number")
    assert resolve(path, None, {"n": 4}, ["name"]) == {"n": 4, "ratio": 0.5}


@pytest.mark.parametrize("pairs", [["n"], ["=3"], ["n=1", "n=2"]])
def test_malformed_command_line_pairs_are_refused(pairs):
    with pytest.raises(UserError):
        from_command_line(pairs)


ANY, LIST, TABLE = (Parameter(kind=kind, optional=kind == "any") for kind in ("any", "list", "dict"))
MAYBE = Parameter(kind="float", optional=True)


@pytest.mark.parametrize(("text", "parameter", "expected"), [
    ("010", INT, 10), ("010", TEXT, "010"), ("010", ANY, 10), ("1:30", TEXT, "1:30"), ("1:30", ANY, "1:30"),
    ("0x1F", INT, 31), ("0o17", ANY, 15), ("1e5", FLOAT, 1e5), ("1e5", ANY, 1e5), ("1_000", ANY, "1_000"),
    ("on", TEXT, "on"), ("yes", ANY, "yes"), ("true", BOOL, True), ("true", TEXT, "true"), ("null", ANY, None),
    ("~", MAYBE, None), ("2", MAYBE, 2.0), ("2019-01-01", TEXT, "2019-01-01"), ("2019-01-01", ANY, "2019-01-01"),
    ("[1, a, 010]", LIST, [1, "a", 10]), ("{a: 1, b: {c: on}}", TABLE, {"a": 1, "b": {"c": "on"}}), ("[]", ANY, [])])
def test_a_file_and_the_command_line_are_read_alike_by_yaml_1_2(tmp_path, text, parameter, expected):
    file = tmp_path / "p.yaml"
    file.write_text(f"x: {text}\n")
    read = [checked("x", source["x"], parameter) for source in (from_yaml(file), from_command_line([f"x={text}"]))]
    assert read == [expected, expected]
    assert [type(value) for value in read] == [type(expected)] * 2


def test_what_is_quoted_in_a_file_is_text(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("a: '010'\nb: \"null\"\nc: |\n  12\n")
    read = {name: checked(name, value, ANY) for name, value in from_yaml(file).items()}
    assert read == {"a": "010", "b": "null", "c": "12\n"}


HUGE = "9" * 400


@pytest.mark.parametrize(("value", "kind", "message"), [
    (".inf", "float", "must be finite"), (float("inf"), "float", "must be finite"), (".nan", "float", "must be finite"),
    (Plain("{a: 1, a: 2}"), "dict", "'a' stands twice"), (Plain("{a: 1, a: 2}"), "any", "'a' stands twice"),
    (Plain("[{b: {c: 1, c: 1}}]"), "list", "'c' stands twice"), (Plain("{a: .inf}"), "dict", "must be finite"),
    (Plain("[1, .nan]"), "list", "must be finite"), (Plain("{a: {1: 2}}"), "any", "holds {1: 2}, which is no"),
    (f"-{HUGE}", "int", "from -1.8e.308 to 1.8e.308")])
def test_what_cannot_be_kept_is_refused_for_its_true_reason(value, kind, message):
    with pytest.raises(UserError, match=message):
        checked("x", value, Parameter(kind=kind))


@pytest.mark.parametrize("kind", ["float", "any"])
@pytest.mark.parametrize("text", ["1e-400", "-2.5E-324000", "0." + "0" * 330 + "1"])
def test_a_number_that_would_become_0_is_refused(tmp_path, text, kind):
    """It was read as 0. Within a list too, on the command line and in a file."""
    with pytest.raises(UserError, match=r"'x' is '.*, but no number nearer to 0 than 4.94e-324 can be kept; mend it"):
        checked("x", Plain(text), Parameter(kind=kind))
    with pytest.raises(UserError, match=r"'x' is .*no number nearer to 0"):
        checked("x", Plain(f"[1, {text}]"), Parameter(kind="list"))
    file = tmp_path / "mine.yaml"
    file.write_text(f"x: {{a: {text}}}\n")
    with pytest.raises(UserError, match=r"mine.yaml has a list or a table with a number that is too small"):
        from_yaml(file)


@pytest.mark.parametrize(("text", "value"), [("0e-999", 0.0), ("-0.000", 0.0), ("5e-324", 5e-324), ("0", 0)])
def test_zero_and_the_least_number_are_read(text, value):
    assert checked("x", Plain(text), FLOAT) == value


@pytest.mark.parametrize("text", [HUGE, f"-{HUGE}", "9" * 5000, "1e999", "0x" + "f" * 300])
@pytest.mark.parametrize("parameter", [INT, FLOAT, ANY], ids=lambda parameter: parameter.kind)
def test_a_number_beyond_all_bounds_is_one_sentence(tmp_path, text, parameter):
    if parameter == INT and text == "1e999":
        pytest.skip("that is no whole number")
    file = tmp_path / "p.yaml"
    file.write_text(f"x: {text}\n")
    for source in (from_yaml(file), from_command_line([f"x={text}"])):
        with pytest.raises(UserError, match=r"parameter 'x' is .{1,90}, but numbers go from -1\.8e\+308 to 1"):
            checked("x", source["x"], parameter)
    with pytest.raises(UserError, match="but numbers go from"):
        checked("x", int(HUGE), parameter)


def test_large_seeds_are_kept():
    assert checked("x", str(2**128), INT) == 2**128


@pytest.mark.parametrize(("content", "message"), [
    ("a: 1\nb: 2\na: 3\n", r"line 3: the name 'a' stands twice"), ("a: {b: 1, b: 2}", "'b' stands twice"),
    ("? [1]\n: 2", "a name is no text"), ("a: !!python/name:os.system x", "is not known"), ("a: &x [*x]", "is not YAML"),
    ("a: " + "[" * 3000, "nested too deeply|is not YAML"), (f"a: [{HUGE}]", "beyond 1.8e")])
def test_a_parameter_file_that_says_two_things_or_none_is_refused(tmp_path, content, message):
    file = tmp_path / "p.yaml"
    file.write_text(content)
    with pytest.raises(UserError, match=message):
        from_yaml(file)


OF_THE_FIELD = '''"""What is run."""
import os
from pathlib import Path
lr: float = 1            # learning rate
n: int = 3
ratio: "float" = 2
size = 4                 # type: float  of a part
big: int = 10**6
neg = -1
table = None
maybe: float | None = None
perhaps: Optional[int] = 7
names: list[str] = ["a", "b"]
sizes = [1, [2.5, None]]
options: dict = {"a": {"b": 1}}
größe = "naïve – 数据 🐘"
'''


def test_a_parameters_cell_as_papermill_users_write_it(notebook):
    path = notebook("field", parameters=OF_THE_FIELD)
    defaults = resolve(path, None, {})
    assert defaults == {
        "lr": 1.0, "n": 3, "ratio": 2.0, "size": 4.0, "big": 10**6, "neg": -1, "table": None, "maybe": None, "perhaps": 7,
        "names": ["a", "b"], "sizes": [1, [2.5, None]], "options": {"a": {"b": 1}}, "größe": "naïve – 数据 🐘"}
    assert [type(defaults[name]) for name in ("lr", "ratio", "size", "big")] == [float, float, float, int]
    words = ["lr=0.01", "ratio=1.5", "table={a: [1]}", "maybe=0.5", "perhaps=null", "names=[c]", "options={d: 2}"]
    values = resolve(path, None, from_command_line(words))
    assert {name: value for name, value in values.items() if value != defaults[name]} == {
        "lr": 0.01, "ratio": 1.5, "table": {"a": [1]}, "maybe": 0.5, "perhaps": None, "names": ["c"], "options": {"d": 2}}
    assert {name: parameter.help for name, (_, parameter) in schema(path, None).items() if parameter.help} == {
        "lr": "learning rate", "size": "of a part"}
    for word, message in (("n=0.5", "not a whole number"), ("names=3", "not a list"), ("lr=null", "not a number"),
                       ("options=[1]", "not a table"), ("perhaps=x", "not a whole number or null")):
        with pytest.raises(UserError, match=message):
            resolve(path, None, from_command_line([word]))


@pytest.mark.parametrize(("metadata", "language"), [
    ({"kernelspec": {"name": "ir", "display_name": "R"}}, "the kernel ir"),
    ({"kernelspec": {"name": "julia-1.9", "display_name": "Julia 1.9"}}, "the kernel julia-1.9"),
    ({"kernelspec": {"name": "bash", "display_name": "Bash"}}, "the kernel bash"),
    ({"kernelspec": {"name": "ir", "language": "R"}}, "R"), ({"language_info": {"name": "julia"}}, "julia"),
    ({"kernelspec": {"name": "mine", "display_name": "Mine", "language": "python"}}, None),
    ({"kernelspec": {"name": "conda-env-analysis_1-py", "display_name": "Python [conda env]"}}, None),
    ({"kernelspec": {"name": "mine", "display_name": "Python (mine)"}}, None), ({}, None)])
def test_a_notebook_of_another_language_is_refused_by_what_it_names(tmp_path, metadata, language):
    path = tmp_path / "other.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": []}))
    if language is None:
        notebook_file.refuse_other_languages(path)
        return
    with pytest.raises(UserError, match=f"other.ipynb is of {language}, but only notebooks in Python are run"):
        notebook_file.refuse_other_languages(path)


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
        notebook_file.cells(file)


def test_all_that_is_wrong_in_the_parameters_cell_is_told_at_once(notebook):
    with pytest.raises(UserError) as caught:
        schema(notebook("own", parameters="n = 3\nb = 2 * n\nc = (1, 2)\nn = 4\nif n:\n    m = 4"), None)
    sentence = str(caught.value)
    assert sentence.startswith("own.ipynb: 'b = 2 * n'")
    assert all(part in sentence for part in ("derived", "is a tuple", "'n' is set twice", "'if n:'"))
    assert "\n" not in sentence


def test_magics_of_a_parameters_cell_are_passed_over(notebook):
    path = notebook("own", parameters="%matplotlib inline\nn = 3   # how many\n!ls\nm = 4")
    assert resolve(path, None, {"m": 5}) == {"n": 3, "m": 5}
    assert resolve(notebook("plain", parameters="text = '''a\n%b'''"), None, {}) == {"text": "a\n%b"}


@pytest.mark.parametrize(("line", "name", "value"), [
    ('text = """\n%no\n!magic\n"""', "text", "\n%no\n!magic\n"), ("x = (10\n % 3\n)", "x", 1), ("x = 1  # %no", "x", 1)])
@pytest.mark.parametrize("magic", ["%matplotlib inline\n", "!ls\n", "\n%%time\n%pwd\n", "%%capture out\n"])
def test_beside_a_magic_values_of_several_lines_stay_as_they_are(notebook, magic, line, name, value):
    assert resolve(notebook("own", parameters=magic + line), None, {}) == {name: value}


def test_a_magic_that_makes_no_python_of_its_cell_is_refused(notebook):
    with pytest.raises(UserError, match="the parameters cell begins with %%bash, so it sets no parameters; take that line"):
        resolve(notebook("own", parameters="%%bash\nn=3"), None, {})


@pytest.mark.parametrize(("annotation", "default", "choices"), [
    ("Literal['fast', 'very slow']", "'fast'", ("fast", "very slow")), ("typing.Literal[1, 2]", "1", (1, 2)),
    ("Literal['one']", "'one'", ("one",)), ("Optional[Literal['a', 'b']]", "None", ("a", "b")),
    ("Literal['a'] | Literal['b'] | None", "'a'", ("a", "b")), ("Union[None, typing.Literal['a', 'b']]", "'a'", ("a", "b")),
    ("Literal['(a)', 'b)']", "'b)'", ("(a)", "b)")),
    ("Literal[1, 'a']", "1", None), ("list[int]", "[1]", None)])
def test_what_literal_lists_are_the_choices(notebook, annotation, default, choices):
    path = notebook("own", parameters=f"a: {annotation} = {default}")
    (_, parameter), = schema(path, None).values()
    assert parameter.choices == choices
    if choices:
        assert resolve(path, None, {"a": choices[-1]}) == {"a": choices[-1]}
        with pytest.raises(UserError, match=r"none of|not a whole number"):
            resolve(path, None, {"a": "another"})


@pytest.mark.parametrize(("annotation", "default"), [
    ('list[Literal["a", "b"]]', ["a"]), ('dict[str, Literal["a", "b"]]', {"x": "a"}), ('Literal["a"] | int', 3),
    ('Optional[list[Literal["a"]]]', ["a"])])
def test_what_literal_lists_within_another_type_are_no_choices(notebook, annotation, default):
    path = notebook("own", parameters=f"a: {annotation} = {default!r}")
    assert resolve(path, None, {}) == {"a": default}
    assert schema(path, None)["a"][1].choices is None


@pytest.mark.parametrize(("source", "tag", "hint"), [
    ('# + tags=["parameters"]\na = 1', "", "a line of jupytext in an .ipynb is a comment"),
    ('# %% tags=["parameters"]\na = 1', "", "a line of jupytext in an .ipynb is a comment"),
    ("a = 1", "Parameters", "its tag 'Parameters' is not 'parameters'"), ("a = 1", "", "no cell has the tag 'parameters'"),
    ("# nothing", "parameters", "its cell for them is empty")])
def test_why_a_notebook_has_no_parameters_is_said(tmp_path, source, tag, hint):
    path = tmp_path / "own.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "source": source, "metadata": {"tags": [tag] if tag else []}, "outputs": []}]}))
    with pytest.raises(UserError, match="own has no parameter 'a'; ") as caught:
        resolve(path, None, {"a": 2})
    assert hint in str(caught.value)

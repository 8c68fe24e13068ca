"""Published measurements: every number keeps its digits and its unit, and a wrong entry is one sentence."""
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from study.documents import published
from study.errors import UserError
from study.project import DATA

FILES = sorted((DATA / "published").glob("*.toml"))
RIGHT = """
[document]
id = "somebody-2007"
author = "S."
title = "t"
date = "2007"
[shared.machine]
disks = 9
[[run]]
id = "one"
label = "l"
place = "p"
shared = "machine"
figures = [["disk.price", 0.20, "$/GB"]]
series = [["read.bandwidth", 0, 13, "MB/s"], ["read.bandwidth", 1500, 9e4, "KB/s"]]
columns = [["rate", "op/s"], ["response", "ms"]]
rows = [["reader", 42, 0.0]]
"""


def dump(value) -> str:
    """TOML of what `published.parse` reads."""
    return "\n".join(line for key, inner in value.items() for line in _table(key, inner)) + "\n"


def _table(key, inner):
    if isinstance(inner, dict):
        return [f"[{key}]", *(f"{name} = {_value(value)}" for name, value in inner.items())]
    if inner and isinstance(inner, list) and isinstance(inner[0], dict):
        return [line for entry in inner for line in ["[[" + key + "]]", *(f"{k} = {_value(v)}" for k, v in entry.items())]]
    return [f"{key} = {_value(inner)}"]


def _value(value) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + " }"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


@pytest.fixture
def file(tmp_path):
    """Write the right file with one thing replaced; its path."""
    def make(old: str = "", new: str = ""):
        assert old in RIGHT
        path = tmp_path / "somebody-2007.toml"
        path.write_text(RIGHT.replace(old, new, 1))
        return path
    return make


def test_a_file_becomes_runs_with_tidy_metrics(file):
    run, = published.read(file())
    assert run.run_id == "somebody-2007/one"
    assert run.conditions["disks"] == 9
    metrics = {(t if t == t else None, name): (value, unit) for t, name, value, unit in run.metrics.itertuples(index=False)}
    assert metrics == {(None, "disk.price"): (0.2, "$/GB"), (None, "reader.rate"): (42.0, "op/s"),
                       (None, "reader.response"): (0.0, "ms"), (0.0, "read.bandwidth"): (13.0, "MB/s"),
                       (1500.0, "read.bandwidth"): (90000.0, "KB/s")}
    assert run.conditions["printed_step"] == {"disk.price": 0.01, "reader.rate": 1.0, "reader.response": 0.1,
                                              "read.bandwidth@0": 1.0, "read.bandwidth@1500": 10000.0}


@given(st.integers(0, 10**6), st.integers(-4, 4))
def test_the_step_is_one_of_the_last_digit(digits, exponent):
    number = Decimal(digits).scaleb(exponent)
    assert Decimal(str(published.step(number))) == Decimal(10) ** exponent
    assert published.step(published.parse(f"x = {digits}e{exponent}")["x"]) == published.step(number)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_published_files_round_trip(path, tmp_path):
    raw = published.parse(path.read_text())
    copy = tmp_path / path.name
    shared = {f"shared.{name}": table for name, table in raw.pop("shared", {}).items()}
    copy.write_text(dump({"document": raw["document"], **shared, "run": raw["run"]}))
    for ours, theirs in zip(published.read(path), published.read(copy), strict=True):
        assert ours.metrics.equals(theirs.metrics)
        assert ours._replace(metrics=None) == theirs._replace(metrics=None)


def test_every_published_number_has_a_unit_and_a_step():
    runs = published.runs()
    assert len({run.run_id for run in runs}) == len(runs)
    for run in runs:
        assert set(run.metrics["unit"]) <= set(published.UNITS)
        assert len(run.conditions["printed_step"]) == len(run.metrics)
        assert json.loads(json.dumps(run.conditions)) == run.conditions


def test_the_four_transcripts_are_complete():
    rows = {run.run_id: set(run.metrics["name"]) for run in published.runs() if run.document == "kustarz-2007"}
    assert len(rows) == 4
    for names in rows.values():
        subjects = {name.removesuffix(".cpu") for name in names if name.endswith(".cpu")} - {"summary"}
        assert len(subjects) in (8, 12)
        for column in ("rate", "bandwidth", "response", "cpu"):
            assert names >= {f"{subject}.{column}" for subject in subjects}


@pytest.mark.parametrize(("old", "new", "expected"), [
    ('0.20, "$/GB"', '0.20, "gold"', ["'gold'", "use one of", "op/s"]),
    ('"disk.price"', '"price"', ["'price'", "subject.quantity"]),
    ('"disk.price"', '"reader.rate"', ["'reader.rate'", "2 times"]),
    ("0.20", '"cheap"', ["'cheap'", "must be a number"]),
    ("42, 0.0", "42", ["'reader'", "1 values", "2 columns"]),
    ('"machine"', '"engine"', ["'engine'", "machine"]),
    ('id = "one"', 'id = "One!"', ["'One!'", "small letters"]),
    ('place = "p"', 'place = "p"\ncolour = "red"', ["colour", "not known here"]),
    ('id = "somebody-2007"', 'id = "nobody-2007"', ["nobody-2007", "somebody-2007"]),
    ("\n[document]", "\n[document", ["not TOML"]),
])
def test_a_wrong_entry_is_one_sentence(file, old, new, expected):
    with pytest.raises(UserError) as error:
        published.read(file(old, new))
    message = str(error.value)
    assert message.startswith("somebody-2007.toml")
    assert "\n" not in message
    for part in expected:
        assert part.lower() in message.lower()


def test_a_run_that_stands_there_twice_is_refused(file):
    path = file()
    path.write_text(path.read_text() + path.read_text()[path.read_text().index("[[run]]"):])
    with pytest.raises(UserError, match="run 'one' stands there 2 times"):
        published.read(path)


def test_what_is_read_may_be_changed():
    runs = published.runs()
    before = runs[0].metrics.value.tolist(), dict(runs[0].conditions["printed_step"])
    runs[0].metrics.loc[:, "value"] = 0.0
    runs[0].metrics["more"] = 1
    runs[0].conditions["printed_step"].clear()
    again = published.runs()[0]
    assert (again.metrics.value.tolist(), again.conditions["printed_step"]) == before
    assert "more" not in again.metrics

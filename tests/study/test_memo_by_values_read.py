"""Runs that are not made again: which values a run depends on is what it asks for, present or not, in every way there is."""
import pytest

from study import memo
from study.experiments.postgres_2008 import setups as checkpoints

VALUES = checkpoints.known().central()
WAYS = {"index": lambda values: values["a"], "get": lambda values: values.get("a"), "in": lambda values: "a" in values,
        "default": lambda values: values.get("missing", 0), "joined": lambda values: (values | {"c": 1})["a"],
        "spread": lambda values: {**values}["a"], "copy": lambda values: dict(values)["a"], "for": sorted,
        "items": lambda values: dict(values.items())["a"], "values": lambda values: sum(values.values()),
        "equal": lambda values: values == {"a": 1, "b": 2}, "joined to": lambda values: ({"c": 1} | values)["a"],
        "copied": lambda values: values.copy()["a"], "said": repr}
REFUSED = (lambda values: values.pop("a"), lambda values: values.popitem(), lambda values: values.setdefault("a", 1),
           lambda values: values.update(a=1), lambda values: values.clear(), lambda values: values.__setitem__("a", 1),
           lambda values: values.__delitem__("a"))


@pytest.fixture(autouse=True)
def nothing_was_run():
    memo.forget()
    yield
    memo.forget()


def runs_of(way, first, then):
    """How many runs two calls make."""
    made = []
    for values in (first, then):
        memo.by_values_read(("test",), values, lambda read: made.append(WAYS[way](read)))
    return len(made)


@pytest.mark.parametrize("way", WAYS)
def test_the_same_values_are_run_once(way):
    assert runs_of(way, {"a": 1, "b": 2}, {"a": 1, "b": 2}) == 1


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("in", "default")])
def test_another_value_that_is_asked_for_is_another_run(way):
    values = {"a": 1, "b": 2}
    assert runs_of(way, values, {"a": 3, "b": 2} if way != "for" else {"c": 1, "b": 2}) == 2


@pytest.mark.parametrize(("way", "name"), [("in", "a"), ("get", "a"), ("default", "missing")])
def test_what_is_asked_for_and_not_there_counts(way, name):
    assert runs_of(way, {"b": 2}, {"b": 2, name: 5}) == 2


@pytest.mark.parametrize("way", ["index", "get", "in", "default"])
def test_what_nobody_asks_for_does_not_count(way):
    assert runs_of(way, {"a": 1, "b": 2}, {"a": 1, "b": 3}) == 1


@pytest.mark.parametrize("change", REFUSED)
def test_values_are_not_changed_by_a_run(change):
    with pytest.raises(TypeError, match="take a copy"):
        memo.by_values_read(("test",), {"a": 1}, change)


def test_whether_there_are_any_values_counts_and_asks_for_none_of_them():
    made = []
    for values in ({}, {"a": 1}, {"a": 2}):
        memo.by_values_read(("test",), values, lambda read: made.append(bool(read)))
    assert made == [False, True]


def test_no_more_than_so_many_machines_are_remembered(monkeypatch):
    memo.forget()
    monkeypatch.setattr(memo, "MAX_MACHINES", 3)
    made = []
    for name in "abcdba":
        memo.by_values_read((name,), {}, lambda read, name=name: made.append(name))
    assert made == [*"abcd", "a"]


def test_another_machine_is_another_run():
    assert [memo.by_values_read((name,), {"a": 1}, lambda read, name=name: name) for name in "xyx"] == ["x", "y", "x"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "other", "runs_again"), [
    ("zfs-300s-15", {"interlace_kib": 16}, False), ("ufs-nine-disks", {"interlace_kib": 16}, True),
    ("ufs-nine-disks", {"zfs_era": "b103"}, False), ("zfs-300s-15", {"zfs_era": "b103"}, True),
    ("zfs-300s-15", {"first_load_pct": 50}, False), ("zfs-nine-disks-128k", {"first_load_pct": 50}, True)])
def test_a_condition_of_another_set_up_is_no_reason_to_run_again(name, other, runs_again):
    first = checkpoints.run(name, VALUES, 64, 1)
    assert (checkpoints.run(name, VALUES | other, 64, 1) is not first) == runs_again


@pytest.mark.parametrize("name", ["ufs-nine-disks", "zfs-300s-15"])
def test_what_is_not_run_again_would_have_come_out_the_same(name):
    first = checkpoints.run(name, VALUES, 64, 1)
    memo.forget()
    again = checkpoints.run(name, VALUES | ({"zfs_era": "b103"} if name.startswith("ufs") else {"interlace_kib": 16}), 64, 1)
    assert first.tpm.tolist() == again.tpm.tolist()
    assert first.counts == again.counts

"""Points of a sweep: grids, samples and seeds, each checked before anything runs."""
import itertools

import pytest

from study.errors import UserError
from study.sweeps.points import between, grid, over

CELL = "n = 3\nx = 1.5\nname = 'a'\nseed = 7"


def values_of(plans, *names):
    return [tuple(planned.parameters[name] for name in names) for planned in plans]


def test_every_value_of_a_grid_meets_every_other_and_every_seed(notebook):
    plans = over(notebook("own", parameters=CELL), {"x": 2.5}, [grid("n=1,2"), grid("name=a,b")], [], 0, 3, 1)
    assert values_of(plans, "n", "name", "seed") == list(itertools.product((1, 2), ("a", "b"), (7, 8, 9)))
    assert {planned.parameters["x"] for planned in plans} == {2.5}
    assert len({planned.run_id for planned in plans}) == len(plans)


def test_seeds_go_on_from_the_given_one(notebook):
    plans = over(notebook("own", parameters=CELL), {"seed": 40}, [], [], 0, 2, 1)
    assert values_of(plans, "seed") == [(40,), (41,)]


@pytest.mark.parametrize(("text", "ends"), [("x=1:9", [1, 3, 5, 7, 9]), ("x=1:16:log", [1, 2, 4, 8, 16])])
def test_samples_are_a_latin_hypercube(notebook, text, ends):
    plans = over(notebook("own", parameters=CELL), {}, [], [between(text)], 4, 1, 1)
    drawn = sorted(planned.parameters["x"] for planned in plans)
    assert all(low <= value <= high for value, (low, high) in zip(drawn, itertools.pairwise(ends), strict=True))


def test_samples_of_whole_numbers_are_whole(notebook):
    plans = over(notebook("own", parameters=CELL), {}, [], [between("n=1:50")], 5, 1, 1)
    assert all(isinstance(planned.parameters["n"], int) for planned in plans)


def test_the_same_seed_samples_the_same(notebook):
    path = notebook("own", parameters=CELL)
    first, again, other = (values_of(over(path, {}, [], [between("x=1:2")], 3, 1, seed), "x") for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(("make", "text", "words"), [
    (grid, "n", "is not NAME=VALUE,VALUE"), (grid, "n=", "is not NAME=VALUE,VALUE"), (grid, "n=1,,2", "is not NAME"),
    (grid, "n=1,2,1", "has a value twice"), (between, "x=1", "is not NAME=LOW:HIGH"), (between, "x=1:2:3", "is not NAME"),
    (between, "x=a:b", "is not NAME=LOW:HIGH"), (between, "x=1:2:lin", "is not NAME"), (between, "x=2:1", "is no range"),
    (between, "x=0:1:log", "give the lower end first, above 0"), (between, ":=:", "is not NAME=LOW:HIGH")])
def test_what_is_no_axis_is_refused_in_a_sentence(make, text, words):
    with pytest.raises(UserError, match=words):
        make(text)


@pytest.mark.parametrize(("grids", "ranges", "samples", "seeds", "words"), [
    (["m=1,2"], [], 0, 1, "has no parameter 'm'"), (["n=1,two"], [], 0, 1, "is 'two', which is not a whole number"),
    (["n=1,2", "n=3,4"], [], 0, 1, "'n' is given twice"), (["x=1,2"], ["x=1:2"], 3, 1, "'x' is given twice"),
    ([], ["x=1:2"], 0, 1, "needs --samples"), (["n=1,2"], [], 3, 1, "needs --between"),
    (["seed=1,2"], [], 0, 2, "'seed' is given twice"), ([], ["x=1:2"], 200_000, 1, "more than 100000")])
def test_a_sweep_that_cannot_be_is_refused_before_anything_runs(notebook, grids, ranges, samples, seeds, words):
    with pytest.raises(UserError, match=words):
        over(notebook("own", parameters=CELL), {}, list(map(grid, grids)), list(map(between, ranges)), samples, seeds, 1)

"""Which reading of a ladder comes nearest, by rates that are made up."""
import numpy as np
import pandas as pd
import pytest

from study.experiments.ladders_2009 import nearest
from study.experiments.ladders_2009.readings import LADDERS, is_safe, readings

LADDER = LADDERS["pgbench"]
PUBLISHED = [72.0, 241.0, 2026.0, 2603.0, 4372.0, 5003.0]


def every(changed):
    """Two draws of every reading with ten times all that was published, but for `changed`: (reading, draw) -> factors."""
    rows = []
    for reading in range(len(readings(LADDER))):
        for draw in range(2):
            factors = changed.get((reading, draw), [10.0] * 6)
            rows += [(reading, rung, draw, factor * rate)
                     for rung, (factor, rate) in enumerate(zip(factors, PUBLISHED, strict=True))]
    return pd.DataFrame(rows, columns=["reading", "rung", "draw", "transactions.rate"])


def test_the_nearest_reading_is_that_of_the_nearest_draw():
    runs = every({(7, 1): [3.0, 1, 1, 1, 1, 1.3], (7, 0): [30.0] * 6, (11, 0): [2.0] * 6})
    table = nearest.nearest(LADDER, runs, PUBLISHED)
    assert len(table) == len(readings(LADDER))
    first, second = table.iloc[0], table.iloc[1]
    assert {name: first[name] for name in readings(LADDER)[7] if name in table}.items() <= readings(LADDER)[7].items()
    assert first[nearest.FACTOR] == pytest.approx(np.exp(np.sqrt((np.log(3) ** 2 + np.log(1.3) ** 2) / 6)))
    assert (first["rungs met"], second["rungs met"]) == (4, 0)
    assert [first[f"rung {i}"] for i in range(1, 7)] == pytest.approx([216, 241, 2026, 2603, 4372, 1.3 * 5003])
    assert second[nearest.FACTOR] == pytest.approx(2)
    assert first["survives power cut"] == is_safe(LADDER, readings(LADDER)[7])
    assert "4 of 6 are within 1.25" in (words := nearest.sentence(LADDER, table, PUBLISHED))
    assert "make 216, 241, 2026, 2603, 4372, 6504 transactions a second; published are 72, 241, 2026" in words


def test_twice_as_much_is_as_far_as_half():
    runs = every({(3, 0): [2.0] * 6, (4, 0): [0.5] * 6})
    assert nearest.nearest(LADDER, runs, PUBLISHED)[nearest.FACTOR][:2].tolist() == pytest.approx([2, 2])


def test_how_far_the_rungs_are_in_order():
    """All pairs have the published order, but one pair up to its fourth rung, and one in no step."""
    runs = every({(0, 0): [1.0, 1, 1, 1, 0.1, 9], (1, 1): [100.0, 1, 1, 1, 1, 1]})
    n = 2 * len(readings(LADDER))
    assert nearest.in_order_up_to(runs) == pytest.approx([(n - 1) / n] * 3 + [(n - 2) / n] * 2)
    numbers = nearest.metrics(LADDER, nearest.nearest(LADDER, runs, PUBLISHED), runs).set_index("name").value
    assert numbers["pgbench.nearest.in-order-6"] == pytest.approx(100 * (n - 2) / n)
    assert numbers["pgbench.nearest.rung-1"] == pytest.approx(72)

"""The ladder of `study advise`: which steps are taken together, and what each gains there."""
import json

import pandas as pd
import pytest
from hypothesis import given, strategies
from hypothesis.extra.numpy import arrays

from study.commands.result import in_json
from study.ensembles import intervals
from study.machines import run_length
from study.machines import simulate as machines
from study.predictions import (
    advise,
    bounds,
    ladder,
    sizes,
    tuning_steps,
)
from support.advised_machine import HERE, the

KNOWN = machines.known([advise.read(HERE, "postgres")[0]])


def of_one_size(monkeypatch):
    """All machines are as large as described."""
    monkeypatch.setattr(sizes, "own", lambda *_: 1.0)
    monkeypatch.setattr(sizes, "of_pair", lambda *_: 1.0)


def ladder_of(monkeypatch, ids, rates):
    """The ladder of these steps, and what was run: the first makes 120 TPS instead of 100, the others on top of it such."""
    of_one_size(monkeypatch)
    tried, to_come = [], iter(rates)
    monkeypatch.setattr(ladder.predict, "compare", lambda scenarios, *_, **__: tried.extend(scenarios) or pd.DataFrame(
        {"tps": 2 * [next(to_come)]}))
    machine, spare = advise.read(HERE, "postgres")
    chosen = [(the(tuning_steps.steps(machine, spare), recipe)[0], pd.Series([120.0, 120.0])) for recipe in ids]
    return ladder.of(machine, pd.Series([100.0, 100.0]), chosen, ladder.Common(KNOWN, draws=2)), tried


def rungs_of(monkeypatch, ids, rates):
    made, tried = ladder_of(monkeypatch, ids, rates)
    return [rung.split(" (")[0] for rung in made.rungs.rung], tried, made.left_out


def test_a_ladder_uses_a_device_once(monkeypatch):
    """The log device and the cache device are the same SSD: only the first can be a rung."""
    names, tried, left_out = rungs_of(monkeypatch, ("log-device", "cache-device", "shared-buffers"), [130.0])
    assert [why for (name, _), why in left_out.items() if "cache device" in name.lower() or "L2ARC" in name] == [
        "a rung below takes the device: A separate intent log on an SSD (x25-e)"]
    assert names == ["as it is", "+ A separate intent log on an SSD", "+ Shared buffers of 1 GB"]
    assert tried[-1].pool.log
    assert not tried[-1].pool.cache


def test_a_rung_is_compared_with_the_one_below_in_one_size_and_its_rate_is_that_gain_times_the_rate_below(monkeypatch):
    """In a quarter of the size the rung below makes 60 TPS and the higher one 90: half as much again, of 120 TPS."""
    tried, rates = [], iter([60.0, 90.0])
    monkeypatch.setattr(sizes, "own", lambda *_: 1.0)
    monkeypatch.setattr(sizes, "of_pair", lambda *_: 4.0)
    monkeypatch.setattr(ladder.predict, "compare", lambda scenarios, *_, smaller_by, **__: tried.append(
        (*scenarios, smaller_by)) or pd.DataFrame({"tps": 2 * [next(rates)]}))
    machine, spare = advise.read(HERE, "postgres")
    chosen = [(the(tuning_steps.steps(machine, spare), recipe)[0], pd.Series([120.0, 120.0]))
              for recipe in ("log-device", "shared-buffers")]
    made = ladder.of(machine, pd.Series([100.0, 100.0]), chosen, ladder.Common(KNOWN, draws=2))
    assert [size for _, size in tried] == [4.0, 4.0]
    assert tried[0][0] == chosen[0][0].after
    assert [*made.rungs.tps] == pytest.approx([100, 120, 180])


def test_what_gains_nothing_on_top_is_no_rung(monkeypatch):
    names, tried, left_out = rungs_of(monkeypatch, ("log-device", "shared-buffers", "recordsize-8k"), [121.0, 150.0])
    assert [*left_out.values()] == ["on top of the rungs below it, it gains too little: +0.8% in the middle of 2 draws"]
    assert names == ["as it is", "+ A separate intent log on an SSD", "+ Records of 8 KiB, the database's page"]
    assert "shared_buffers" not in tried[-1].database.conf


def test_a_step_that_surely_is_no_rung_is_not_run_to_its_end(monkeypatch):
    """Draws 5 and 2, under which it gains least alone, gain nothing: the other six can change nothing."""
    asked = []
    of_one_size(monkeypatch)
    monkeypatch.setattr(ladder.predict, "compare", lambda *_, only, **__: asked.append(only) or pd.DataFrame(
        {"tps": [100.0 if draw in (2, 5) else 300.0 for draw in only]}))
    machine, spare = advise.read(HERE, "postgres")
    alone = pd.Series([200.0, 210, 120, 230, 240, 110, 250, 260])
    made = ladder.of(machine, pd.Series([100.0] * 8), [
        (the(tuning_steps.steps(machine, spare), recipe)[0], alone) for recipe in ("log-device", "shared-buffers")],
        ladder.Common(KNOWN, draws=8))
    assert asked == [[2, 5]]
    assert [*made.left_out.values()] == [
        "on top of the rungs below it, its gain is not sure: under at least 2 of 8 draws it gains nothing"]


@given(arrays(float, 8, elements=strategies.floats(0.5, 2)), strategies.integers(2, 8))
def test_no_draw_that_is_left_out_could_make_a_rung(gain, n):
    if ladder.why_none(gain[:n], 8):
        assert ladder.why_none(gain, 8)


def test_a_step_that_gains_more_on_the_ladder_says_what_waits_below_it(monkeypatch):
    """Alone it makes 120 of 100 TPS, on top of the log device 240 of 120: a log that is waited for hid what it gives."""
    below, machine = [], advise.read(HERE, "postgres")[0]
    made = ladder_of(monkeypatch, ("log-device", "shared-buffers"), [240.0])[0]
    (more,) = made.gain_more
    assert (more.alone, more.on_top) == pytest.approx((1.2, 2.0))
    assert more.below.pool.log
    monkeypatch.setattr(bounds, "of", lambda machine, *_: below.append(machine) or [bounds.Share("data devices", 0.7)])
    advice = advise.Advice(None, pd.DataFrame(), made.rungs, intervals.Interval(1, 2, 3), gain_more=made.gain_more)
    (why,) = advise.why_more(machine, advice, [bounds.Share("commits", 0.6)], run_length.BUDGET)
    assert below == [more.below]
    assert "+100% on the ladder, and +20% by itself" in why
    assert why.index("data devices 70%") < why.index("commits 60%")
    assert json.loads(in_json(advice))["gain_more"][0]["below"]["pool"]["log"]["sheet"] == "x25-e"


def test_a_step_that_gains_as_much_on_the_ladder_needs_no_reason(monkeypatch):
    assert ladder_of(monkeypatch, ("log-device", "shared-buffers"), [144.0])[0].gain_more == ()

"""The odds of conditions: each entry names what the priors have, and weighs draws as it says."""
import tomllib

import numpy as np
import pandas as pd
import pytest

from study.documents import odds, priors
from study.documents.priors import Known, Switch
from study.errors import UserError
from study.experiments.ladders_2009 import rungs as ladders_2009
from study.experiments.ladders_2009.readings import LADDERS
from study.project import DATA

ENTRIES = tomllib.loads((DATA / odds.FILE).read_text())["odds"]


def known_of(experiment):
    return ladders_2009.known(LADDERS[experiment]) if experiment in LADDERS else priors.read(experiment)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry['condition']}-{entry['experiments'][0]}")
def test_choices_are_those_of_the_priors(entry):
    for experiment in entry["experiments"]:
        switch, = (switch for switch in known_of(experiment).switches if switch.name == entry["condition"])
        assert list(map(repr, switch.choices)) == list(map(repr, entry["choices"])), experiment


def test_weights_bring_the_shares_of_choices_to_their_odds():
    switch = Switch(name="mode", of="x", experiments=(), source="made up", choices=("a", "b", "c"), central="a")
    prior = priors.Prior(name="size", of="x", experiments=(), source="made up", low=1, central=2, high=3, unit="B",
                         shape="uniform")
    draws = priors.draws(Known((prior,), (switch,)), 300, 1)
    weight = odds.weights({"mode": {"a": 0.6, "b": 0.3, "c": 0.1}}, draws)
    assert weight.mean() == pytest.approx(1)
    assert (weight.groupby(draws["mode"]).sum() / 300).to_dict() == pytest.approx({"a": 0.6, "b": 0.3, "c": 0.1})


def test_draws_of_equal_weight_count_as_many_as_they_are():
    assert odds.effective(pd.Series(np.full(40, 2.5))) == pytest.approx(40)
    assert odds.effective(pd.Series([1.0] + [1e-9] * 39)) == pytest.approx(1)


def test_a_choice_without_odds_is_refused():
    with pytest.raises(ValueError, match=r"odds\.toml does not have"):
        odds.weights({"mode": {"a": 1.0}}, pd.DataFrame({"mode": ["a", "b"]}))


@pytest.mark.parametrize(("text", "words"), [
    ("odds = [0.5, 0.6]", "add up to 1.1"), ("odds = [1.0]", "1 odds of 2 choices"), ("odds = [1.2, -0.2]", "above 0"),
    ("odds = ", "not TOML"), ("odds = [0.5, 0.5]\nreason = ' '", "no reason")])
def test_a_damaged_file_is_one_sentence(tmp_path, monkeypatch, text, words):
    monkeypatch.setattr(odds, "data_file", tmp_path.joinpath)
    reason = "" if "reason" in text else "reason = 'made up'\n"
    (tmp_path / odds.FILE).write_text(
        f"[[odds]]\ncondition = 'mode'\nexperiments = ['x']\nchoices = ['a', 'b']\nsource = 'made up'\n{reason}{text}\n")
    with pytest.raises(UserError, match=words):
        odds.read("x")

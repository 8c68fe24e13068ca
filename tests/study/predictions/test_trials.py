"""Set-ups that others have measured: scenarios that can be built, results with a source, and a comparison that can fail."""
import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest

from model.events.streams import stream
from model.filesystems.zfs.file_layout import core_bytes_of, psize_of
from study import project
from study.errors import UserError
from study.machines import simulate as machines
from study.machines import storage as scenario_storage
from study.predictions import trial_scores, trials
from study.runs import record

NAMES = trials.names()


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_a_machine_and_differs_from_the_others_in_what_it_is_named_for(name):
    trial = trials.read(name)
    assert trial.source
    assert trial.left_out
    assert len({cell.model_dump_json() for cell in trial.cells.values()}) == len(trial.cells)
    for cell in trial.cells.values():
        values = machines.known([cell]).central()
        machines.zfs_settings(machines.checked(cell), values)
    assert {cell for _, *two in trial.ratios for cell in two} <= set(trial.cells)


@pytest.mark.parametrize("name", trials.opened())
def test_results_have_a_source_and_every_prediction_one_to_meet(name):
    results = trials.published(name)
    assert "github.com" in results["source"]
    assert results["used"]
    assert set(trials.blind(name)) <= set(results["tps"])
    assert min(results["tps"].values()) > 0


@pytest.mark.parametrize("name", [name for name in trials.opened() if trials.read(name).sealed])
def test_results_are_those_that_were_sealed_before_they_were_predicted(name):
    """`sealed.toml` is the file as it was; what published.toml has of a cell stands in it."""
    text = project.data_file(f"trials/{name}/sealed.toml").read_bytes()
    assert hashlib.sha256(text).hexdigest() == trials.read(name).sealed
    numbers = {float(word) for word in re.findall(r"\d+(?:\.\d+)?", text.decode())}
    assert set(trials.published(name)["tps"].values()) <= numbers


def test_what_was_predicted_blind_is_not_made_anew():
    """Their digests of model and study are of another day: whoever replaces them by runs of today is no longer blind."""
    assert {trials.interval(trials.blind("nihr43-hdd12-8g"), "t1").middle,
            trials.interval(trials.blind("nihr43-ssd2"), "t40").middle} == {264.91, 552.92}


def test_a_set_up_that_is_not_there_is_one_sentence():
    with pytest.raises(UserError, match="there is no set-up 'nobodys' in data/trials; name one of"):
        trials.read("nobodys")


def table(published, middle):
    rows = [("one", str(i), value, 0.5 * predicted, predicted, 1.5 * predicted)
            for i, (value, predicted) in enumerate(zip(published, middle, strict=True))]
    return trial_scores._judged(pd.DataFrame(rows, columns=["setup", "what", "published", "low", "middle", "high"]))


def test_a_prediction_that_is_right_has_no_factor():
    score = trial_scores.score(table([10, 20, 400], [10, 20, 400]))
    assert score == (3, 3, 1.0, 1.0, 1.0)


def test_a_factor_counts_either_way_and_a_bias_does_not():
    score = trial_scores.score(table([10, 40], [20, 20]))
    assert score.within == 1    # half of 20 is the end of its interval, twice is not in it
    assert score.off == pytest.approx(2)
    assert score.worst == pytest.approx(2)
    assert score.bias == pytest.approx(1)


def test_only_ratios_that_say_something_have_a_side():
    assert trial_scores.directions(table([2.0, 0.5, 1.05, 0.9], [1.5, 1.2, 0.2, 0.95])) == (3, 2)


def test_a_side_by_less_than_a_twentieth_is_none():
    assert trial_scores.directions(table([3.0, 0.5], [1.01, 0.96])) == (2, 0)


# ---- how it is graded ----


@pytest.mark.parametrize("n", [2, 5, 12, 24])
def test_a_model_that_knows_what_it_does_not_know_is_met_as_often_as_is_expected(n):
    """By chance: results drawn like the predictions, in an interval of `n` of these."""
    draws, results = stream(1, "draws").random((20_000, n)), stream(1, "results").random(20_000)
    low, high = np.quantile(draws, (0.05, 0.95), axis=1)
    assert np.mean((low <= results) & (results <= high)) == pytest.approx(trial_scores.expected_within(n), abs=0.015)


def test_intervals_are_wide_enough_if_chance_would_not_have_met_more():
    min_within = trial_scores.fewest_within([12] * 40)
    met = stream(1, "met").binomial(40, trial_scores.expected_within(12), 20_000)
    assert 0.05 <= np.mean(met <= min_within) <= 0.15
    assert np.mean(met < min_within) <= 0.05


def test_the_first_trial_is_too_narrow():
    first = trial_scores.compared({name: trials.blind(name) for name in trials.opened(1)})
    assert trial_scores.width_grade(first) == "too narrow"
    everything = first.assign(within=True)
    assert trial_scores.width_grade(everything) == "wide enough"


# ---- what can be in a set-up ----

CONTENT = {"source": "a page", "left_out": "", "budget": 2000, "scenario": {
    "pool": {"data": {"sheet": "savvio-10k2"}}, "database": {"kind": "postgres", "scale": 2, "clients": 2,
                                                             "transactions": 200}},
    "cell": [{"name": "one", "changes": {}}, {"name": "two", "changes": {"database.clients": 1}}],
    "ratio": [{"name": "two clients for one", "of": "one", "to": "two"}]}


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"source": ""}, "source"), ({"budget": 0}, "must be 1000 or more"), ({"cell": []}, "at least 1 item"),
    ({"cells": []}, "is not known here"),
    ({"cell": [{"name": "one", "changes": {}}] * 2}, "cell 'one' stands there 2 times"),
    ({"cell": [{"name": "one", "changes": {"database.clients": 0}}], "ratio": []}, "clients is 0"),
    ({"cell": [{"name": "one", "changes": {"database.speed": 1}}], "ratio": []}, "nothing that a scenario has"),
    ({"ratio": [{"name": "none", "of": "one", "to": "three"}]}, "is of 'three', but there is no such cell; name one of")])
def test_a_set_up_that_cannot_be_is_one_sentence(changes, sentence):
    assert len(trials.setup_of("mine", CONTENT).cells) == 2
    with pytest.raises(UserError, match=sentence):
        trials.setup_of("mine", CONTENT | changes)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """data/ with one set-up of its own, among what the study has."""
    for path in project.DATA.iterdir():
        if path.name != "trials":
            (tmp_path / path.name).symlink_to(path)
    mine = tmp_path / "trials" / "mine"
    mine.mkdir(parents=True)
    head = [line for line in (f'{name} = {json.dumps(CONTENT[name])}' for name in ("source", "left_out", "budget"))]
    (mine / "setup.toml").write_text("\n".join(head) + """
[scenario.pool.data]
sheet = "savvio-10k2"
[scenario.database]
kind = "postgres"
scale = 2
clients = 2
transactions = 200
[[cell]]
name = "one"
changes = {}
""")
    for module in (project, trials, scenario_storage):
        monkeypatch.setattr(module, "DATA", tmp_path)
    return mine


def test_a_new_set_up_is_a_folder_and_says_what_it_was_predicted_by(folder):
    assert trials.names() == ["mine"]
    assert trials.predict_blind("mine", draws=2) == folder / "blind.json"
    header = json.loads((folder / "blind.json").read_text())
    assert header["n_draws"] == 2
    assert min(len(header[name]) for name in ("model", "study", "priors", "hardware", "setup")) >= 20
    assert header["commit"] == "unknown" or len(header["commit"].split(",")[0]) == 40
    assert len(trials.blind("mine")["one"]["draws"]["tps"]) == 2
    with pytest.raises(UserError, match="it has been predicted; a prediction would not be blind"):
        trials.predict_blind("mine")
    (folder / "setup.toml").write_text((folder / "setup.toml").read_text().replace("scale = 2", "scale = 3"))
    with pytest.raises(UserError, match="was made from another setup"):
        trials.blind("mine")


def test_nothing_is_predicted_whose_results_lie_open(folder):
    (folder / "published.toml").write_text("")
    with pytest.raises(UserError, match="its results lie open beside it"):
        trials.predict_blind("mine")
    with pytest.raises(UserError, match="metric"):
        trials.published("mine")


# ---- records in core ----


def core_bytes(cell):
    """Of a record in the ARC."""
    s = machines.zfs_settings(cell, machines.known([cell]).central())
    packed = np.array([psize_of(s.record_bytes, s.compress_pct)])
    return core_bytes_of(np.array([s.record_bytes]), packed, s.compressed_arc, cell.pool.data.ashift)[0]


def test_a_cell_compressed_in_memory_holds_more_records():
    cells = trials.read("nihr43-hdd12-8g").cells
    assert core_bytes(cells["t1"]) == 2**17
    assert 2**17 / core_bytes(cells["t13"]) == pytest.approx(9, rel=0.05)


def test_a_sector_is_the_least_that_a_record_takes():
    cell = trials.read("vondra-sata6").cells["stripe/default/250/ro"]
    assert core_bytes(cell) == 4096      # a quarter of 8 KiB, on sectors of 4


def test_names_of_results_are_names():
    metrics = trial_scores.metrics(trial_scores.compared(), "TPS")
    assert all(record.NAME.fullmatch(name) for name in metrics.name)
    assert np.isfinite(metrics.value).all()

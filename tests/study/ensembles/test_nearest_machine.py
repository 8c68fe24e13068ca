"""The machine nearest to all printed numbers: kept as text, simulated again, and one condition changed."""
import numpy as np
import pandas as pd
import pytest

from study.documents.priors import Known, Prior, Switch
from study.ensembles import kept, nearest_machine
from study.ensembles.effects import Effect
from study.errors import UserError
from study.experiments.protocol import Drawn
from study.project import DATA
from study.runs import catalogue

KNOWN = Known(
    (Prior(name="size", of="x", experiments=(), source="made up", low=1.0, central=2.0, high=16.0, unit="B", shape="log"),),
    (Switch(name="mode", of="x", experiments=(), source="made up", choices=("plain", "double", "odd"), central="plain"),))
FACTOR = {"plain": 1.0, "double": 2.0, "odd": 0.5}
MACHINE = nearest_machine.Machine(of="", values={"size": 4.0, "mode": "double"}, seeds=(1, 2, 3), factor=1.1, n_draws=30,
                                  after_waves=(1.5, 1.2))
FACTS = pd.DataFrame({"column": ["before/rate", "after/rate"], "printed": [4.0, 10.0], "low": [3.9, 10.0],
                      "high": [4.1, 10.0]})
GAIN = Effect("rate", "gain", {})


def simulate(values, seed, variant):
    return {"rate": values["size"] * (FACTOR[values["mode"]] if variant == "after" else 1.0) * (1 + (seed % 10 - 2) / 100)}


DRAWN = Drawn(known=KNOWN, variants=("before", "after"), simulate=simulate, printed_runs={},
              ensemble=kept.Ensemble("made-up", "study.ensembles.nearest_machine", 7))


@pytest.fixture(scope="module")
def around():
    return nearest_machine.around(DRAWN, MACHINE)


def test_it_is_simulated_with_seeds_that_did_not_choose_it_and_with_each_condition_changed(around):
    seeds = around[around.part == "seed"].seed
    assert len(seeds) == len(MACHINE.seeds)
    assert min(seeds) > nearest_machine.FRESH >= 10 * MACHINE.n_draws
    assert around[around.part == "structure"]["mode"].tolist() == ["plain", "odd"]
    assert (around["size"] == 4.0).all()


def test_each_printed_number_stands_beside_those_of_its_seeds(around):
    beside = nearest_machine.beside(around, FACTS).set_index("number")
    assert beside.index.tolist() == ["after/rate", "before/rate"]
    assert beside.loc["before/rate", "off by"] == 1.0           # within what would be printed so
    mean = 8 * np.exp(np.mean(np.log([0.99, 1, 1.01])))
    assert beside.loc["after/rate", ["least", "mean", "most"]].tolist() == pytest.approx([7.92, mean, 8.08])
    assert beside.loc["after/rate", "off by"] == pytest.approx(10 / mean)


def test_a_number_that_one_seed_does_not_have_is_not_met(around):
    without = around.astype({"after/rate": float})
    without.loc[without[without.part == "seed"].index[0], "after/rate"] = np.nan
    assert nearest_machine.beside(without, FACTS).set_index("number").loc["after/rate", "off by"] == np.inf


def test_what_one_condition_does(around):
    table = nearest_machine.changed(around, GAIN.of(around), FACTS, KNOWN)
    assert table["is"].tolist() == ["", "plain", "odd"]
    assert table.effect.tolist() == pytest.approx([100, 0, -50])
    assert table["off by"].tolist() == pytest.approx([10 / 7.92, 10 / 3.96, 10 / 1.98])


def test_it_says_where_in_its_range_a_number_is():
    assert nearest_machine.described(MACHINE, KNOWN).set_index("what").place["size"] == pytest.approx(50)


def test_it_says_that_it_was_looked_for_with_other_parameters():
    own = MACHINE.model_copy(update={"of": nearest_machine.digest_of(DRAWN)})
    assert nearest_machine.OTHER not in nearest_machine.sentence(DRAWN, own)
    other = DRAWN._replace(ensemble=DRAWN.ensemble._replace(of=8))
    assert nearest_machine.sentence(other, own).endswith(nearest_machine.OTHER)


def test_what_is_written_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(nearest_machine, "DATA", tmp_path)
    monkeypatch.setattr(nearest_machine, "data_file", tmp_path.joinpath)
    odd = MACHINE.model_copy(update={"values": MACHINE.values | {"x25-e.flush_ns": 5.0, 'data on "SSD"': "with the log"}})
    for machine in (MACHINE, odd):
        nearest_machine.write("a", machine)
        assert nearest_machine.read("a") == machine


@pytest.mark.parametrize(("text", "words"), [
    ("of = ", "is not TOML"), ("of = 'a'", "values"), ("odd = 1", "entry of is missing")])
def test_a_damaged_file_is_one_sentence(tmp_path, monkeypatch, text, words):
    monkeypatch.setattr(nearest_machine, "data_file", tmp_path.joinpath)
    (tmp_path / nearest_machine.FOLDER).mkdir()
    (tmp_path / nearest_machine.FOLDER / "a.toml").write_text(text)
    with pytest.raises(UserError, match=words):
        nearest_machine.read("a")


@pytest.mark.parametrize("file", sorted((DATA / nearest_machine.FOLDER).glob("*.toml")), ids=lambda file: file.stem)
def test_each_kept_machine_is_of_a_notebook_that_reads_it(file):
    assert f"{nearest_machine.FOLDER}/{file.name}" in catalogue.STUDY[file.stem].reads
    assert 60 < nearest_machine.read(file.stem).n_draws < nearest_machine.FRESH

"""From a notebook's prediction to a grade."""
import numpy as np
import pandas as pd
import pytest

from study.documents import claims, priors
from study.ensembles import effects, ensembles
from study.errors import UserError
from study.experiments.allocator_2010 import exchange, order_entry, slabs
from study.experiments.postgres_2008 import setups as checkpoints
from study.experiments.vdev_cache_2007 import filebench_oltp, sequential_reads
from study.grades import claim_predictions, grading
from study.runs import record
from study.runs.catalogue import find
from study.runs.plan import plan
from study.runs.runner import run
from study.store import store
from study.words import counted

PREDICTS = """from study.runs import record
record.prediction('oltp-gain', (1.19, 1.22, 1.25), (1.15, 1.2, 1.25))
record.prediction('seqread-loss', (0.95, 0.97, 0.99), (0.7, 0.75, 0.8))
record.prediction('oltp-response', (2.0, 2.0, 2.0))
record.prediction('seqread-stream4', (0.7, 0.8, 0.9), identified=False, reach=(0.1, 2.0))
record.prediction('seqread-stream3', (0.7, 0.8, 0.81), identified=False, reach=(0.7, 0.82))
record.prediction('aggregation-bad', (1.0, 1.1, 1.2), identified=False, reach=(1.0, 1.4), draws=20)
record.not_modelled('oltp-cpu', 'no processors')"""


def graded(notebook, code):
    outcome = run(plan(notebook("predicting", code)))
    assert outcome.status == "ok", outcome.reason
    with store.open() as connection:
        return grading.of_runs(connection, [outcome.plan.run_id])


def test_predictions_are_graded_by_rule(runs, notebook):
    assert graded(notebook, PREDICTS) == {
        "oltp-gain": grading.PREDICTED, "seqread-loss": grading.CONSISTENT, "oltp-response": grading.NOT_REPRODUCED,
        "seqread-stream4": grading.NOT_IDENTIFIED,
        "seqread-stream3": grading.NOT_REPRODUCED, "aggregation-bad": grading.PREDICTED,    # missed by all, met by all
        "oltp-cpu": grading.NOT_MODELLED}


def test_runs_that_are_not_asked_for_grade_nothing(runs, notebook):
    graded(notebook, PREDICTS)
    with store.open() as connection:
        assert grading.of_runs(connection, []) == {}


@pytest.mark.parametrize(("code", "words"), [
    ("record.prediction('oltp-disks', (1, 1, 1))", "'oltp-disks'"),
    ("record.not_modelled('nothing-known', 'why')", "'nothing-known'")])
def test_what_cannot_be_predicted_is_one_sentence(runs, notebook, code, words):
    with pytest.raises(UserError, match=words):
        graded(notebook, f"from study.runs import record\n{code}")


@pytest.mark.parametrize("interval", [(1, 2), (2, 1, 3), (1, 2, float("inf")), (1, float("nan"), 2)])
def test_an_interval_has_three_numbers_in_order(interval):
    with pytest.raises(UserError, match="three finite numbers in rising order"):
        record.prediction("oltp-gain", interval)


def test_a_claim_is_predicted_once(runs, notebook):
    twice = "from study.runs import record\n" + 2 * "record.prediction('oltp-gain', (1, 1, 1))\n"
    outcome = run(plan(notebook("predicting", twice)))
    assert outcome.status == "failed"
    assert "prediction of oltp-gain is recorded twice" in outcome.reason


OLTP_GAIN = next(claim for claim in claims.read() if claim.id == "oltp-gain")


def sizes(notebook, known, share_of_numbers=1.0):
    """How many cases of each part the ensemble of a notebook has."""
    values = plan(find(notebook)).parameters
    return ensembles.cases(known, values["draws"], values["seeds"], 1, share_of_numbers).part.value_counts().to_dict()


CASES = {name: sizes(name, *of) for name, of in {
    "01": (priors.read("oltp"),), "04": (priors.read("order_entry"), ensembles.NUMBERS),
    "06": (priors.read("exchange"), ensembles.NUMBERS), "09": (checkpoints.known(), ensembles.NUMBERS)}.items()}


def cases(**gains):
    return pd.DataFrame([{"part": part, "fitted": False, "reached": True, "before/summary.rate": 1.0,
                          "after/summary.rate": gain} for part, of_part in gains.items() for gain in of_part])


@pytest.mark.parametrize(("of_conditions", "of_seeds", "identified"), [
    ([1.25], [], True), ([1.45], [], False), ([0.95], [], False),
    ([1.1, 1.3], [], True),             # none of the two by itself
    ([1.45], [1.25], False), ([1.45], [1.1, 1.25], True),    # as far as numbers and other seeds move it
    ([], [], True), ([1.45, float("nan")], [], False), ([float("nan")], [], True), ([1.2], [float("nan")], False)])
def test_a_condition_that_moves_more_than_all_numbers_and_chance_leaves_a_claim_unidentified(of_conditions, of_seeds,
                                                                                             identified):
    results = cases(central=[1.2], seed=of_seeds, structure=of_conditions, parameter=[1.1, 1.3], all=[1.15, 1.25])
    assert claim_predictions.identified(results, OLTP_GAIN) is identified


def test_what_decides_is_said_by_name_and_value():
    """One end of a range and one choice of a switch move the gain too far; the other end does not."""
    known = priors.read("order_entry")
    of_range = next(condition for condition in known.conditions if isinstance(condition, priors.Prior))
    of_switch = next(condition for condition in known.conditions if isinstance(condition, priors.Switch))
    (low, high), (choice, *_) = ensembles.others(of_range), ensembles.others(of_switch)
    changes = [{}, {}, {}, {}, {of_range.name: low}, {of_range.name: high}, {of_switch.name: choice}]
    results = cases(central=[1.2], seed=[1.2], parameter=[1.1, 1.3], structure=[1.25, 2.0, 0.9])
    results = pd.concat([results, pd.DataFrame([known.central() | case for case in changes])], axis=1)
    of, labels = OLTP_GAIN.notebook, {(of_switch.name, choice): "another choice"}
    table = claim_predictions.what_decides(results, known, of, labels).set_index("claim")["decided by"]
    assert table["oltp-gain"] == f"{of_range.condition}: {high:.2g}; another choice"
    calm = claim_predictions.what_decides(results.assign(**{"after/summary.rate": 1.2}), known, of, labels)
    assert calm.to_numpy().tolist() == [[f"all {counted(len(table), 'claim')}", "no condition by itself"]]


@pytest.mark.parametrize(("experiment", "of", "value", "text"), [
    ("seqread", "file_gib", 17.4, "GiB of each file: 17"),
    ("dedup-costs", "memory_gib", 421, "memory of the machine: 420 GiB"),
    ("dedup-costs", "table_entries", 6.3e8, "entries of the table: 630,000,000"),
    ("dedup-costs", "clock_ghz", 2.71, "clock of the processor: 2.7 GHz"),
    ("checkpoints", "row_bytes", 88.4, "bytes of a row: 88 B")])
def test_a_range_that_decides_has_its_unit_once_and_no_exponent(experiment, of, value, text):
    known = priors.read(experiment)
    assert effects.changed(known.central() | {of: value}, known, {}) == text


@pytest.mark.parametrize(("experiment", "labels"), [
    ("oltp", filebench_oltp.EFFECT.labels), ("seqread", sequential_reads.EFFECT.labels),
    ("aggregation", slabs.CONDITIONS), ("order_entry", order_entry.EFFECT.labels), ("exchange", exchange.EFFECT.labels),
    ("checkpoints", checkpoints.CONDITIONS)])
def test_every_choice_of_every_condition_has_words(experiment, labels):
    switches = [condition for condition in priors.read(experiment).conditions if isinstance(condition, priors.Switch)]
    choices = {(switch.name, choice) for switch in switches for choice in ensembles.others(switch)}
    assert choices
    assert choices <= labels.keys()


@pytest.mark.slow
@pytest.mark.parametrize("size", CASES.values(), ids=CASES)
def test_where_there_is_nothing_but_chance_seldom_a_condition_decides(size):
    draws, n = np.random.default_rng(1), 300
    decided = sum(not claim_predictions.identified(
        cases(**{part: draws.normal(1.2, 0.1, n_cases) for part, n_cases in size.items()}), OLTP_GAIN) for _ in range(n))
    assert decided / n < 0.15       # by the rule before it was more than 0.5


def test_a_grade_for_readers_heeds_what_was_reached():
    results = cases(central=[1.2], seed=[1.2], structure=[2.0], parameter=[1.1, 1.3], all=[1.15, 1.25])
    graded = claim_predictions.scores(results, OLTP_GAIN.notebook).set_index("claim").grade
    assert graded["oltp-gain"] == grading.NOT_IDENTIFIED
    faster = results.assign(**{"after/summary.rate": results["after/summary.rate"] + 1})
    missed = claim_predictions.scores(faster, OLTP_GAIN.notebook)
    assert missed.set_index("claim").grade["oltp-gain"] == grading.NOT_REPRODUCED


@pytest.mark.parametrize("reach", [(1.22, 1.6), (1.1, 1.24), (2.0, 1.0), (1.1, float("nan"))])
def test_what_was_reached_holds_the_intervals(reach):
    with pytest.raises(UserError, match="the least and the most"):
        record.prediction("oltp-gain", (1.19, 1.22, 1.25), reach=reach)
    with pytest.raises(UserError, match=r"the fitted prediction of oltp-gain .* the least and the most"):
        record.prediction("oltp-gain", (1.19, 1.22, 1.25), (1.0, 1.2, 1.25), reach=(1.1, 1.3))


def test_what_was_reached_is_of_all_cases():
    results = cases(central=[1.2], seed=[1.1], structure=[0.9], parameter=[1.1, 1.6], all=[1.15, 1.25, float("nan")])
    assert claim_predictions.reach(results, OLTP_GAIN) == (0.9, 1.6)


def test_a_verdict_is_a_sentence_also_where_nothing_could_be_fitted():
    row = {"claim": "oltp-gain", "published": 1.2, "unfitted 5 %": 1.1, "unfitted 95 %": 1.3, "fitted 5 %": None,
           "fitted 95 %": None, "grade": "consistent"}
    sentence = claim_predictions.verdict(pd.DataFrame([row]), "oltp-gain")
    assert sentence == ("consistent: published 1.200, unfitted 1.100 to 1.300, fitted: no draw met the baseline "
                        "(after over before)")
    row |= {"fitted 5 %": 1.15, "fitted 95 %": 1.2}
    assert "fitted 1.150 to 1.200" in claim_predictions.verdict(pd.DataFrame([row]), "oltp-gain")

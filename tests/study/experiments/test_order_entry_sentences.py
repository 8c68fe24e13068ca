"""Sentences of notebook 04: made of its tables, and other ones of other tables."""
import pandas as pd
import pytest

from study.ensembles.ensembles import AFTER
from study.experiments.allocator_2010 import order_entry_sentences


def cycles(*values):
    return pd.DataFrame([(f"age-{age:g}.{name}", number, "1") for age, value in zip((0, 0.5, 1.5), values, strict=True)
                         for name, number in (("falls", 9.0), ("skewness", value))], columns=["name", "value", "unit"])


def drawn(*values):
    return pd.DataFrame({"part": "all", "fitted": False, "reached": True, f"{AFTER}/cycle.skewness": values})


@pytest.mark.parametrize(("by_age", "draws", "where"), [
    ((0.4, -0.5, 0.8), (0.0, -0.2, 0.6), "sudden returns appear nowhere. "),
    ((0.4, 1.3, 0.8), (0.0, -0.2, 0.6), "appear by best guess after 0.5 turnovers. "),
    ((0.4, 1.5, 0.8), (1.2, 0.0, 0.6), "appear by best guess after 0.5 turnovers and in 1 of 3 draws. ")])
def test_the_cycle_is_where_changes_are_skewed_enough(by_age, draws, where):
    sentence = order_entry_sentences.cycle(cycles(*by_age), drawn(*draws), 1.2)
    assert where in sentence
    assert f"0.40 after 0, {by_age[1]:.2f} after 0.5, 0.80 after 1.5. " in sentence
    assert "a skewness of 1.2" in sentence


def test_a_change_stands_out_if_no_seed_says_otherwise():
    steps = pd.DataFrame([(key, key.upper(), seed, reduction) for key, both in (
        ("old", (0, 0)), ("worse", (-130, -110)), ("bad", (-60, -40)), ("mixed", (-50, 1)), ("good", (60, 80)),
        ("all-coded", (80, 90))) for seed, reduction in enumerate(both)], columns=["key", "label", "seed", "reduction"])
    assert order_entry_sentences.ablation(steps).startswith(
        "Some changes alone act on the variability in the same way under every seed. Runs vary more with *WORSE* (by "
        "120 %), *BAD* (by 50 %). They vary less with *GOOD* (by 70 %). ")
    assert "vary more with none. They vary less with none." in order_entry_sentences.ablation(steps[steps.key == "mixed"])


def test_published_changes_are_nearest_somewhere_and_between_levels():
    disks = (("10", 20.0), ("22", 49.0), ("88", 90.0))
    table = pd.DataFrame([("n_disks", "disks", level, True, gain, 80.0) for level, gain in disks]
                         + [("layout", "layout", "raidz2", False, 70.0, 71.0),
                            ("layout", "layout", "stripe", False, 30.0, 80.0)],
                         columns=["factor", "label", "level", "is_number", "gain", "reduction"])
    assert order_entry_sentences.over_unpublished(table, (50.0, 70.0)) == (
        "A gain of +50 % is published. Nearest to it is disks 22 (+49 %). Lines cross it between disks 22 and 88. "
        "A change of variability of -70 % is published. Nearest to it is layout raidz2 (-71 %). No line crosses it between "
        "two neighbouring numbers")

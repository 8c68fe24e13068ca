"""The rule that grades, at every boundary, and the scoreboard."""
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from study.documents import audit, claims
from study.grades import grading
from study.grades.grading import CONSISTENT, NOT_IDENTIFIED, NOT_REPRODUCED, PREDICTED
from study.grades.remaining_draws import Left
from study.predictions import model_error
from study.store import store


def at(number):
    return number, number


@pytest.mark.parametrize(("published_range", "unfitted", "fitted", "no_effect", "grade"), [
    # a point
    (at(1.2), (1.15, 1.25), None, 1, PREDICTED),
    (at(1.25), (1.15, 1.25), None, 1, PREDICTED),         # an end belongs to the interval
    (at(1.15), (1.15, 1.25), None, 1, PREDICTED),
    (at(1.2), (1.1, 1.3), None, 1, CONSISTENT),           # an effect of a tenth to three tenths is no sharp one
    (at(1.2), (1.0, 1.3), None, 1, CONSISTENT),           # "no effect" at the end is not excluded
    (at(0.8), (0.7, 1.0), None, 1, CONSISTENT),
    (at(0.8), (0.75, 0.85), None, 1, PREDICTED),          # a loss is an effect too
    (at(4.0), (3.0, 5.0), None, 1, PREDICTED),            # half-width exactly a third of the effect
    (at(4.0), (2.99, 5.01), None, 1, CONSISTENT),         # a little wider
    (at(50.0), (30.0, 60.0), None, 0, PREDICTED),
    (at(50.0), (29.0, 61.0), None, 0, CONSISTENT),
    (at(-50.0), (-60.0, -30.0), None, 0, PREDICTED),
    (at(5.0), (4.0, 6.0), None, None, PREDICTED),         # nothing would mean "no effect"
    (at(1.26), (1.15, 1.25), (1.2, 1.4), 1, CONSISTENT),  # only the fitted one holds it
    (at(1.26), (1.15, 1.25), (1.2, 1.26), 1, CONSISTENT),
    (at(1.26), (1.15, 1.25), (1.2, 1.25), 1, NOT_REPRODUCED),
    (at(1.26), (1.15, 1.25), None, 1, NOT_REPRODUCED),
    (at(1.2), (1.15, 1.25), (2.0, 2.1), 1, PREDICTED),    # fitting cannot take away what was predicted without it
    # printed rounding
    ((1.25, 1.35), (1.15, 1.25), None, 1, PREDICTED),
    ((1.25, 1.35), (1.35, 1.5), None, 1, PREDICTED),
    ((1.25, 1.35), (1.36, 1.5), None, 1, NOT_REPRODUCED),
    ((1.25, 1.35), (1.1, 1.24), (1.1, 1.25), 1, CONSISTENT),
    # no end: 8 or more
    ((8, math.inf), (10, 14), None, 1, PREDICTED),
    ((8, math.inf), (100, 100), None, 1, PREDICTED),
    ((8, math.inf), (6, 8), None, 1, PREDICTED),
    ((8, math.inf), (2, 8), None, 1, CONSISTENT),         # reaches it, and much else
    ((8, math.inf), (6, 7.99), None, 1, NOT_REPRODUCED),
    # two ends: 2 to 4
    ((2, 4), (2.5, 3.5), None, 1, PREDICTED),
    ((2, 4), (4, 5), None, 1, PREDICTED),
    ((2, 4), (0.9, 3), None, 1, CONSISTENT),
    ((2, 4), (4.1, 5), None, 1, NOT_REPRODUCED),
    # a claim that allows zero has no scale but itself: less than 40, none
    ((0, 40), (0, 40), None, None, PREDICTED),
    ((0, 40), (5, 30), None, None, PREDICTED),
    ((0, 40), (5, 41), None, None, CONSISTENT),
    ((0, 40), (-1, 30), None, None, CONSISTENT),
    ((0, 40), (41, 50), None, None, NOT_REPRODUCED),
    ((-0.5, 0.5), (0, 0), None, None, PREDICTED),
    ((-0.5, 0.5), (0, 0.6), None, None, CONSISTENT),
    (at(0), (0, 0), None, None, PREDICTED),
    (at(0), (0, 0.1), None, None, CONSISTENT),
    # no width
    (at(5), at(5), None, 1, PREDICTED),
    (at(5), at(5), None, 5, CONSISTENT),
    (at(5), at(4.9), at(5), 1, CONSISTENT),
])
def test_grades_at_every_boundary(published_range, unfitted, fitted, no_effect, grade):
    assert grading.grade(published_range, unfitted, fitted, no_effect) == grade
    assert grading.grade(published_range, unfitted, fitted, no_effect, identified=False) == NOT_IDENTIFIED
    assert grading.grade(published_range, unfitted, fitted, no_effect, draws=20) == grade
    assert grading.grade(published_range, unfitted, fitted, no_effect, draws=19) == (
        CONSISTENT if grade == PREDICTED else grade)


@pytest.mark.parametrize(("reach", "grade"), [
    (None, NOT_IDENTIFIED), ((0.9, 1.3), NOT_IDENTIFIED), ((0.9, 1.26), NOT_IDENTIFIED), ((0.9, 1.259), NOT_REPRODUCED)])
def test_what_no_condition_comes_to_is_not_for_conditions_to_decide(reach, grade):
    assert grading.grade(at(1.26), (1.15, 1.25), None, 1, identified=False, reach=reach) == grade


@pytest.mark.parametrize(("reach", "grade"), [
    ((9, 16), PREDICTED), ((8, 16), PREDICTED), ((7.9, 16), NOT_IDENTIFIED), (None, NOT_IDENTIFIED)])
def test_what_is_met_under_every_condition_is_not_for_conditions_to_decide(reach, grade):
    assert grading.grade((8, math.inf), (9, 16), None, 1, identified=False, reach=reach) == grade


@pytest.mark.parametrize(("published_range", "unfitted"), [
    (at(1), (2, 1)), ((2, 1), (1, 2)), (at(1), (math.nan, 2)), ((1, math.nan), (1, 2))])
def test_an_interval_that_runs_backwards_is_refused(published_range, unfitted):
    with pytest.raises(ValueError, match="runs backwards"):
        grading.grade(published_range, unfitted)


value = st.floats(0.01, 100)
span = st.tuples(value, value).map(lambda pair: (min(pair), max(pair)))


@given(span, span, st.none() | span, st.sampled_from([None, 0, 1]), value, value)
def test_a_wider_prediction_is_never_upgraded_from_predicted(allowed, unfitted, fitted, no_effect, below, above):
    low, high = unfitted
    wider = grading.grade(allowed, (low / (1 + below), high * (1 + above)), fitted, no_effect)
    if grading.grade(allowed, unfitted, fitted, no_effect) == PREDICTED:
        assert wider in (PREDICTED, CONSISTENT)


@given(span, span, st.sampled_from([None, 0, 1]))
def test_a_claim_that_allows_more_is_met_by_all_that_met_it_before(allowed, unfitted, no_effect):
    wider = (allowed[0] / 2, math.inf)
    if grading.grade(allowed, unfitted, None, no_effect) == PREDICTED:
        assert grading.grade(wider, unfitted, None, no_effect) == PREDICTED


def test_grades_fall_in_their_order_only():
    for place, worse in enumerate(grading.GRADES):
        for better in grading.GRADES[:place]:
            assert grading.fell({"a": better}, {"a": worse}) == [f"a: was {better}, is {worse}"]
            assert grading.fell({"a": worse}, {"a": better}) == []
        assert grading.fell({"a": worse}, {"a": worse}) == []
        assert grading.fell({"a": worse}, {}) == [f"a: was {worse}, is {grading.NOT_YET}"]
        assert grading.fell({"a": grading.NOT_YET}, {"a": worse}) == []
    assert grading.fell({}, {"a": NOT_REPRODUCED}) == []


# --- the model's own error ----------------------------------------------------------------------------------------------

def _case(published, unfitted, no_effect, **others):
    return grading.Case(**dict(published=at(published), unfitted=unfitted, fitted=None, no_effect=no_effect, identified=True,
                               draws=100, reach=None, is_effect=True) | others)


def test_the_factor_of_the_own_error_is_that_of_the_blind_trials():
    assert round(model_error.beyond_ranges_of_effects(), 2) == grading.OWN_ERROR


@pytest.mark.parametrize(("published", "unfitted", "no_effect", "with_error"), [
    (1.3, (0.95, 1.05), 1, CONSISTENT),         # 1.05 times 1.42 is 1.49
    (1.5, (0.95, 1.05), 1, NOT_REPRODUCED),
    (0.7, (0.95, 1.05), 1, CONSISTENT),
    (30.0, (-5.0, 5.0), 0, CONSISTENT),         # the same in per cent
    (50.0, (-5.0, 5.0), 0, NOT_REPRODUCED),
    (-30.0, (-5.0, 5.0), 0, CONSISTENT),
    (1.3, (0.95, 1.05), None, NOT_REPRODUCED),
])
def test_a_miss_smaller_than_the_own_error_is_none_with_it(published, unfitted, no_effect, with_error):
    case = _case(published, unfitted, no_effect)
    assert grading.given(case) == NOT_REPRODUCED
    assert grading.with_own_error(case) == with_error


def test_of_what_is_no_effect_of_a_change_trials_say_nothing():
    case = _case(1.15, (-1.0, 0.5), 0, is_effect=False)
    assert grading.with_own_error(case) == NOT_REPRODUCED
    assert grading.with_own_error(case._replace(is_effect=True)) == CONSISTENT


def test_the_own_error_widens_groups_of_draws_too():
    of_left = Left(draws=100, of=100, low=1.0, middle=1.1, high=1.2, told_by="ncq", share=0.9,
                   groups=((1.0, 1.05), (1.15, 1.2)))
    case = _case(1.1, (1.0, 1.2), 1, left=of_left)
    assert grading.given(case) == NOT_REPRODUCED          # it lies between the groups
    assert grading.with_own_error(case) == CONSISTENT


# --- the scoreboard -------------------------------------------------------------------------------------------------------

def test_the_scoreboard_has_every_claim_once_with_finding_and_grade(runs):
    with store.open() as connection:
        graded = {"oltp-gain": grading.Grades(PREDICTED, single_changes=NOT_IDENTIFIED, own_error=CONSISTENT)}
        board = grading.scoreboard(connection, graded).set_index("claim_id")
    assert sorted(board.index) == sorted(claim.id for claim in claims.read())
    assert set(board["audit"]) == {audit.AGREES, audit.DIFFERS, audit.DEPENDS, audit.CANNOT}
    assert board.loc["oltp-gain", ["audit", "grade"]].tolist() == [audit.AGREES, PREDICTED]
    assert board.loc["seqread-loss", ["audit", "grade"]].tolist() == [audit.DIFFERS, grading.NOT_YET]
    assert board.loc["seqread-loss", "differs"] == "loss, loss-reversed"
    assert board.loc["pgbench-1", "grade"] == grading.BASELINE
    assert board.loc["pgbench-3", ["audit", "differs"]].tolist() == [audit.DEPENDS, ""]
    assert board.loc["oltp-response", "follows_from"] == "oltp-gain"
    assert board.loc["oltp-disks", ["audit", "grade"]].tolist() == [audit.CANNOT, grading.NOTHING]

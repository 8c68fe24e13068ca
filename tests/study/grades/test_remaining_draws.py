"""What the draws that show a baseline say of a claim, and when one condition decides."""
import numpy as np
import pandas as pd
import pytest

from study.documents import claims
from study.grades import claim_predictions, grading, remaining_draws
from study.grades.grading import CONSISTENT, NOT_IDENTIFIED, NOT_REPRODUCED, PREDICTED
from study.predictions import model_error

OLTP_GAIN = next(claim for claim in claims.read() if claim.id == "oltp-gain")
PRINTED = 8533.0        # its baseline: 8533 operations a second before the change
AT_LEAST_A_FIFTH = (1.2, np.inf)


def ensemble(before, after, **conditions):
    """Draws with these rates and conditions, a best guess, and each condition changed by itself."""
    draws = pd.DataFrame({"part": "all", **conditions, "before/summary.rate": before, "after/summary.rate": after})
    first = draws.iloc[0]
    rows = [{**first, "part": "central"}]
    rows += [{**first, "part": "structure", name: value} for name, values in conditions.items()
             for value in dict.fromkeys(values) if value != first[name]]
    return pd.concat([pd.DataFrame(rows), draws], ignore_index=True).assign(fitted=False, reached=True)


def of(results):
    return remaining_draws.of(results, OLTP_GAIN, results["after/summary.rate"] / results["before/summary.rate"])


def test_the_tolerance_is_what_blind_predictions_were_off():
    assert pytest.approx(model_error.beyond_ranges_on_disks(), abs=0.05) == remaining_draws.TOLERANCE


def test_only_draws_that_show_the_baseline_are_left():
    before = np.array([PRINTED / 1.41, PRINTED / 1.39, PRINTED, 1.39 * PRINTED, 1.41 * PRINTED])
    outcome = of(ensemble(before, before * np.array([9, 1.1, 1.2, 1.3, 9])))
    assert outcome[:2] == (3, 5)
    assert (outcome.low, outcome.middle, outcome.high) == pytest.approx((1.1, 1.2, 1.3))


def test_the_outcome_is_never_looked_at_to_choose_draws():
    """What is left is the same for any numbers after the change; what was printed of these is read by no part of it."""
    rng = np.random.default_rng(1)
    before = PRINTED * rng.uniform(0.5, 2, 80)
    chosen = [of(ensemble(before, before * gain)) for gain in (1.0, 7.0, 1000.0)]
    assert len({outcome.draws for outcome in chosen}) == 1
    assert [outcome.middle for outcome in chosen] == pytest.approx([1.0, 7.0, 1000.0])


def test_a_draw_that_is_not_simulated_whole_counts_as_the_draw_that_it_is():
    """Draws of the part `near` give what they gave among all draws, whether those far from the baseline are whole or not."""
    before = PRINTED * np.linspace(0.5, 2, 40)
    whole = ensemble(before, 1.2 * before)
    is_near = np.arange(len(whole)) % 2 == 1
    sparse = whole.assign(part=whole.part.where(~is_near | (whole.part != "all"), "near"))
    factor = np.maximum(whole["before/summary.rate"] / PRINTED, PRINTED / whole["before/summary.rate"])
    sparse.loc[(sparse.part == "near") & (factor > remaining_draws.TOLERANCE), "after/summary.rate"] = np.nan
    assert sparse["after/summary.rate"].isna().any()
    assert of(sparse) == of(whole)


def test_of_many_draws_the_tails_are_left_out_and_of_fewer_none():
    gains = np.linspace(1.0, 2.0, remaining_draws.MANY)
    many, fewer = of(ensemble(PRINTED, PRINTED * gains)), of(ensemble(PRINTED, PRINTED * gains[1:]))
    assert (many.low, many.high) == pytest.approx((1.05, 1.95))
    assert (fewer.low, fewer.high) == pytest.approx((gains[1], 2.0))


def test_a_claim_without_a_baseline_keeps_all_draws():
    claim = next(claim for claim in claims.read() if claim.id == "lutz-gain")
    assert claim.baseline == ()
    results = ensemble(PRINTED * np.ones(30), np.ones(30))
    assert remaining_draws.of(results, claim, results["after/summary.rate"])[:2] == (30, 30)


@pytest.mark.parametrize(("share_of_switch", "grade"), [(1.0, NOT_IDENTIFIED), (0.0, CONSISTENT)])
def test_a_condition_that_tells_half_and_splits_the_claim_decides(share_of_switch, grade):
    rng = np.random.default_rng(2)
    ncq = np.arange(80) % 2
    gain = 1.2 + share_of_switch * 0.2 * (ncq - 0.5) + (1 - share_of_switch) * rng.normal(0, 0.1, 80)
    outcome = of(ensemble(PRINTED, PRINTED * gain, ncq=ncq, window=rng.permutation(ncq)))
    assert grading.grade_left(AT_LEAST_A_FIFTH, outcome, 1) == grade
    assert outcome.decided_by(AT_LEAST_A_FIFTH) == ("ncq" if grade == NOT_IDENTIFIED else "")


def test_a_condition_that_tells_all_decides_nothing_where_all_groups_meet_or_miss():
    ncq = np.arange(80) % 2
    outcome = of(ensemble(PRINTED, PRINTED * (1.3 + 0.1 * ncq), ncq=ncq))
    assert outcome.share == pytest.approx(1.0)
    assert grading.grade_left(AT_LEAST_A_FIFTH, outcome, 1) == PREDICTED
    assert grading.grade_left((1.6, 1.7), outcome, 1) == NOT_REPRODUCED


@pytest.mark.parametrize("n", [remaining_draws.MANY, 400, 4000])
def test_more_draws_do_not_take_a_deciding_condition_away(n):
    """Two groups whose bulks lie apart, with tails that meet the claim sooner or later."""
    rng = np.random.default_rng(3)
    is_on = np.arange(2 * n) % 2
    gains = np.where(is_on, 1.3, 1.05) + rng.normal(0, 0.055, 2 * n)
    gains[:4] = 1.25     # of each group two
    outcome = of(ensemble(np.full(2 * n, PRINTED), PRINTED * gains, switch=is_on))
    assert outcome.decided_by(AT_LEAST_A_FIFTH) == "switch"


def test_a_claim_between_two_groups_is_not_reproduced():
    """The range of all draws holds it, and that of no choice does."""
    is_on = np.arange(60) % 2
    results = ensemble(np.full(60, PRINTED), PRINTED * (np.where(is_on, 1.4, 1.05) + np.linspace(0, 0.05, 60)), switch=is_on)
    outcome = of(results)
    assert outcome.low < 1.2 < outcome.high
    assert grading.grade_left((1.2, 1.25), outcome, 1.0) == NOT_REPRODUCED
    assert grading.grade_left((1.2, 1.42), outcome, 1.0) == NOT_IDENTIFIED
    alone = outcome._replace(groups=outcome.groups[:1])
    assert not alone.is_missed((1.2, 1.25))     # the other draws are too few for a group


@pytest.mark.slow
def test_by_chance_alone_no_condition_decides():
    rng, decided = np.random.default_rng(3), 0
    for _ in range(100):
        conditions = {f"switch{number}": rng.permutation(np.arange(20) % 2) for number in range(12)}
        outcome = of(ensemble(PRINTED, PRINTED * rng.normal(1.2, 0.1, 20), **conditions))
        decided += bool(outcome.decided_by(AT_LEAST_A_FIFTH))
    assert decided <= 2


@pytest.mark.parametrize(("draws", "n", "grade"), [
    (0, 60, NOT_REPRODUCED), (0, 59, None), (19, 60, None), (20, 60, CONSISTENT)])
def test_too_few_draws_grade_nothing_but_none_of_many_does(draws, n, grade):
    of_few = remaining_draws.Left(draws, n, 1.1, 1.2, 1.3, "", 0.0, ())
    assert grading.grade_left(AT_LEAST_A_FIFTH, of_few, 1) == grade


def test_the_grade_by_single_changes_stands_where_too_few_are_left():
    few = remaining_draws.Left(3, 20, 1.1, 1.2, 1.3, "", 0.0, ())
    case = grading.Case((1.2, 1.2), (1.5, 1.6), None, 1, True, 20, (1.0, 2.0), few)
    assert grading.given(case) == grading.by_single_changes(case) == NOT_REPRODUCED
    assert grading.why(case).endswith("too few to grade by")


def test_what_is_left_comes_back_from_a_record():
    outcome = of(ensemble(PRINTED, PRINTED * np.linspace(1, 2, 40), ncq=np.arange(40) % 2))
    assert remaining_draws.Left.from_row(list(outcome.as_row().values())) == outcome
    none = of(ensemble(9 * PRINTED, np.ones(40)))
    assert none.draws == 0
    assert none.as_row()["left_low"] is None


def test_readers_see_both_grades():
    results = ensemble(PRINTED, PRINTED * np.linspace(1.19, 1.31, 80), ncq=np.arange(80) % 2)
    results = pd.concat([results, results[results.part == "all"].assign(part="parameter")], ignore_index=True)
    row = claim_predictions.scores(results, OLTP_GAIN.notebook).set_index("claim").loc["oltp-gain"]
    assert row["draws left"] == 80
    assert {row["grade"], row["by single changes"]} <= set(grading.GRADES)

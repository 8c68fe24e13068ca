"""The intervals that `paper/results.json` has of claims: all of them are there, and agree with the grades beside them."""
import math

import pytest

from study.documents import claims
from study.grades import committed_intervals, grading
from study.store import results

COMMITTED = results.committed()
TARGETS = claims.targets().set_index("claim_id")


@pytest.mark.parametrize("claim", committed_intervals.RECORDED)
def test_an_interval_rises_and_is_of_the_unit_of_its_claim(claim):
    """Of a wrong unit it would not lie about what was published as its grade tells."""
    unfitted, fitted, left = committed_intervals.of(claim, COMMITTED["numbers"]).values()
    for interval in filter(None, (unfitted, fitted, left)):
        known = [end for end in interval if end is not None]
        assert known == sorted(known)
        assert all(map(math.isfinite, known))
    low, _, high = unfitted
    meets = low <= TARGETS.high[claim] and TARGETS.low[claim] <= high
    grades = COMMITTED["claims"][claim]
    by_interval = grades.get("single_changes", grades["grade"])     # of all draws, as the interval is
    assert meets or by_interval not in (grading.PREDICTED, grading.CONSISTENT)
    assert not (meets and by_interval == grading.NOT_REPRODUCED)


def test_a_gain_and_a_loss_in_per_cent_become_ratios():
    ends = ("low", "middle", "high")
    numbers = {f"01_vdev_cache_oltp/unfitted.gain-{end}": value for end, value in zip(ends, (10, 20, 25), strict=True)}
    numbers |= {f"02_vdev_cache_seqread/fitted.loss-{end}": value for end, value in zip(ends, (-5, 0, 50), strict=True)}
    assert committed_intervals.of("oltp-gain", numbers)["unfitted"] == (1.1, 1.2, 1.25)
    assert committed_intervals.of("seqread-loss", numbers)["fitted"] == (0.5, 1.0, 1.05)


def test_what_is_not_recorded_is_none():
    nothing = dict.fromkeys(committed_intervals.KINDS)
    assert committed_intervals.of("oltp-bandwidth", COMMITTED["numbers"]) == nothing
    assert committed_intervals.of("oltp-gain", {}) == nothing
    assert committed_intervals.of("exchange-gain", COMMITTED["numbers"])["unfitted"][1] is None


@pytest.mark.parametrize("claim", [claim for claim, recorded in committed_intervals.RECORDED.items() if recorded.left])
def test_what_draws_at_full_size_grade_has_their_range(claim):
    low, _, high = committed_intervals.of(claim, COMMITTED["numbers"])["left"]
    assert committed_intervals.n_left(claim, COMMITTED["numbers"]) == 20
    meets = low <= TARGETS.high[claim] and TARGETS.low[claim] <= high
    assert meets == (COMMITTED["claims"][claim]["grade"] != grading.NOT_REPRODUCED)
    assert committed_intervals.n_left("lutz-cycle", COMMITTED["numbers"]) is None

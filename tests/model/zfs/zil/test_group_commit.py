"""Group commit is the machine repairman with batches: PostgreSQL's log and the intent log, within confidence limits."""

import json

import numpy as np
import pytest

from drivers.group_commit import postgres_commits, zil_commits
from support.processes import interpreted
from support.queueing_theory import rate_limits, repairman_with_batches

POSTGRES = [(1, 0.5e-3, 1e-3), (4, 1e-3, 1e-3), (10, 2e-3, 0.5e-3), (16, 0.5e-3, 4e-3), (30, 10e-3, 2e-3)]
ZIL = [(1, 0.01, 0.008), (4, 0.01, 0.008), (10, 0.02, 0.008), (20, 0.01, 0.002)]


def agrees(times, n_services, n, think, service):
    """Rate within limits of one in a thousand, which are narrow; batches within a fiftieth."""
    rate, batch = repairman_with_batches(n, think, service)
    low, high = rate_limits(times)
    return low <= rate <= high and high - low < 0.11 * rate and len(times) / n_services == pytest.approx(batch, rel=0.02)


@pytest.mark.parametrize(("n", "think", "flush"), POSTGRES)
def test_commits_of_postgresql_share_flushes_as_the_repairman_says(n, think, flush):
    assert agrees(*postgres_commits(n, think, flush, 20_000), n, think, flush)


@pytest.mark.parametrize("wakes_all", [0, 1])
def test_it_does_not_matter_who_wakes_whom(wakes_all):
    assert agrees(*postgres_commits(10, 2e-3, 1e-3, 20_000, wakes_all=wakes_all), 10, 2e-3, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "think", "service"), ZIL)
def test_passes_of_the_intent_log_are_the_same_if_the_last_who_came_takes_all_along(n, think, service):
    assert agrees(*zil_commits(n, think, service, 8000), n, think, service)


# ---- the theory itself ----


def test_one_client_waits_for_nobody():
    assert repairman_with_batches(1, 3.0, 2.0) == pytest.approx((1 / 5, 1))


@pytest.mark.parametrize("n", [2, 7, 40])
def test_without_thinking_two_batches_in_a_row_are_all_clients(n):
    rate, batch = repairman_with_batches(n, 1e-9, 1.0)
    assert rate == pytest.approx(n / 2)
    assert batch == pytest.approx(n / 2)


@pytest.mark.parametrize("n", [2, 7, 40])
def test_without_service_everybody_thinks(n):
    rate, batch = repairman_with_batches(n, 1.0, 1e-9)
    assert rate == pytest.approx(n)
    assert batch == pytest.approx(1)


def test_the_chain_is_what_a_plain_simulation_does():
    """A batch of k; of the others, and of those just served, whoever thinks shorter than the service is in the next."""
    rng, n, think, service = np.random.default_rng(1), 6, 1.0, 0.7
    ready = rng.exponential(think, n)
    now, served, sizes = 0.0, 0, []
    for _ in range(20_000):
        now = max(now, ready.min())
        batch = ready <= now
        now += service
        sizes.append(int(batch.sum()))
        ready[batch] = now + rng.exponential(think, n)[batch]
        served += sizes[-1]
    rate, mean = repairman_with_batches(n, think, service)
    assert served / now == pytest.approx(rate, rel=0.02)
    assert np.mean(sizes) == pytest.approx(mean, rel=0.02)


def test_limits_of_a_rate_hold_it_and_shrink_with_the_root_of_time():
    rng = np.random.default_rng(2)
    widths = []
    for n in (4000, 64_000):
        low, high = rate_limits(np.cumsum(rng.exponential(0.5, n)))
        assert low < 2 < high
        widths.append(high - low)
    assert 2 < widths[0] / widths[1] < 8


@pytest.mark.slow
def test_defects_are_noticed():
    """Run without the compiler, so that one function can be replaced."""
    assert json.loads(interpreted("defects.group_commit")) == ["none of PostgreSQL", "none of the intent log"]

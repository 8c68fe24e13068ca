"""What users of the order entry go to when they have worked for longer than was drawn: the same law, other records."""

import numpy as np
import pytest

from drivers.order_entry_pools import SECOND, SMALL, site_of
from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.series import window
from model.simulations.order_entry.workload import FROM_MEMORY, N_DRAWS, WITHOUT_ABOVE, draws, n_hot, nth

ROUNDS = 8
MANY = SMALL._replace(n_users=1, n_records=2**20)


def all_rounds():
    """A user's records [round, i], and the first of them as drawn: reads, with what is in memory and what lacks the block
    above."""
    drawn = draws(MANY._replace(misses_indirect=0.2, cached=0.3), 1)[0]
    return np.array([nth(MANY, drawn, 0, n) for n in range(ROUNDS * N_DRAWS)]).reshape(ROUNDS, N_DRAWS), drawn[0]


@pytest.fixture(scope="module")
def rounds():
    return all_rounds()


def test_the_first_round_is_as_drawn(rounds):
    met, drawn = rounds
    assert (met[0] == drawn).all()


def test_what_is_in_memory_or_lacks_the_block_above_or_is_hot_stays_so(rounds):
    met, drawn = rounds
    assert ((met == FROM_MEMORY) == (drawn == FROM_MEMORY)).all()
    assert ((met >= WITHOUT_ABOVE) == (drawn >= WITHOUT_ABOVE)).all()
    records, first = met % WITHOUT_ABOVE, drawn % WITHOUT_ABOVE
    is_read = drawn != FROM_MEMORY
    assert ((records < n_hot(MANY)) == (first < n_hot(MANY)))[:, is_read].all()
    assert (records < MANY.n_records)[:, is_read].all()


def test_a_round_meets_other_records_than_those_before(rounds):
    """Of records drawn anew as many would be distinct; of the same ones, an eighth."""
    met, drawn = rounds
    records = (met % WITHOUT_ABOVE)[:, drawn != FROM_MEMORY]
    is_hot, distinct = records[0] < n_hot(MANY), 0.0
    for piece, size in ((is_hot, n_hot(MANY)), (~is_hot, MANY.n_records - n_hot(MANY))):
        distinct += size * (1 - np.exp(-records[:, piece].size / size))
    assert len(np.unique(records)) == pytest.approx(distinct, rel=0.03)
    assert all(len(np.intersect1d(later, records[0])) < 0.2 * records.shape[1] for later in records[1:])


def test_who_works_for_long_changes_all_of_the_database_and_not_the_same_part_again():
    """Of 2^14 records, as many as are changed by independent draws; those of one round would be half of them."""
    orders = SMALL._replace(n_users=1, cached=1.0, cpu_ns=10_000, op_ns=1000)
    site = site_of(orders, drawn_ns=[100_000])
    before = site.machine.record_at.copy()
    while (n := int(site.machine.tally[order_columns.DIRTYINGS])) < 6 * N_DRAWS:
        window(site, 0, SECOND)
    hot = n_hot(orders)
    untouched = (hot * np.exp(-n * orders.hot_hits / hot)
                 + (orders.n_records - hot) * np.exp(-n * (1 - orders.hot_hits) / (orders.n_records - hot)))
    changed = (site.machine.record_at != before).mean()
    assert changed == pytest.approx(1 - untouched / orders.n_records, abs=0.02)

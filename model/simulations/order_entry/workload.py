"""What the users of the order entry do: which blocks they read and change, how many, how long they think.

Drawn in advance, for each user by itself, so that a user under one set of rules does what the same user does under another.
After N_DRAWS of a kind a user begins again with the first; but of records, of which it does not meet the same again (`nth`).

Records are hot or cold: a piece of the database, `hot_share` of it, gets `hot_hits` of all reads and changes. Of what is
read, a share is in the memory of the appliance; of the rest, a share lacks even the indirect block above.
"""

from functools import lru_cache

import numpy as np

from model.events.streams import stream
from model.jit import kernel

ROUND_SHIFT = 14
N_DRAWS = 1 << ROUND_SHIFT  # of each kind and user
GOLDEN = 0.6180339887498949  # part of a piece by which a round is moved: no two of the first thousands come near each other
AT_ONCE = 2**15  # draws, for which the processor has room near by
FROM_MEMORY = -1  # in place of a record
WITHOUT_ABOVE = 2**40  # added to a record whose indirect block has to be read first


@kernel
def n_hot(orders):
    """The first records are hot, so many."""
    return max(1, int(orders.hot_share * orders.n_records))


@kernel
def nth(orders, drawn, user, n):
    """The `n`-th record that a user reads or changes, `drawn` [user, i] as by `draws`. From N_DRAWS on it is what it was a
    round before. It is moved by the same stretch within the piece, hot or cold, that it lies in. So the law stays. Whoever
    works for days goes through the database and not through the same records over and over."""
    record, rounds = drawn[user, n & (N_DRAWS - 1)], n >> ROUND_SHIFT
    if rounds == 0 or record < 0:
        return record
    above = WITHOUT_ABOVE if record >= WITHOUT_ABOVE else 0
    hot = n_hot(orders)
    first, size = (0, hot) if record - above < hot else (hot, orders.n_records - hot)
    return above + first + (record - above - first + rounds * int(GOLDEN * size)) % size


def draw_records(orders, shape, seed, name):
    """Records, by the law above."""
    where, is_hot = stream(seed, name), stream(seed, f"{name}: hot")
    drawn = np.empty(shape, np.int64)
    flat, buffers = drawn.reshape(-1), np.empty((2, AT_ONCE))
    for first in range(0, len(flat), AT_ONCE):
        part = flat[first:first + AT_ONCE]
        shares = [draw.random(out=buffer[:len(part)]) for draw, buffer in zip((where, is_hot), buffers, strict=True)]
        _draw(part, *shares, orders)
    return drawn


@kernel
def _draw(drawn, where, is_hot, orders):
    hot = n_hot(orders)
    for i in range(len(drawn)):
        place = where[i] * hot if is_hot[i] < orders.hot_hits else hot + where[i] * (orders.n_records - hot)
        drawn[i] = min(np.int64(place), orders.n_records - 1)


def draw_changes(orders, shape, seed, name):
    """Records by the same law, but for a share of them, which lie right behind the one before."""
    records = draw_records(orders, shape, seed, name)
    if orders.neighbours == 0:
        return records
    place = np.broadcast_to(np.arange(records.shape[-1]), records.shape)
    goes_on = stream(seed, f"{name}: the next one").random(records.shape) < orders.neighbours
    drawn = np.maximum.accumulate(np.where(goes_on, 0, place), axis=-1)
    changed = np.take_along_axis(records, drawn, axis=-1) + place - drawn
    return np.minimum(changed, orders.n_records - 1)


def _numbers(shape, seed, name, mean):
    """From 0 to about twice the mean, all as likely."""
    return (stream(seed, name).random(shape) * (2 * mean + 1)).astype(np.int64)


@lru_cache(maxsize=2)
def draws(orders, seed):
    """(records read, records changed, reads, changes, ns of thought), each [user, i]. They are only to be read: they are the
    same for all who have the same orders and seed. As long as these alternate they are drawn once."""
    shape = orders.n_users, N_DRAWS
    read = draw_records(orders, shape, seed, "records read")
    read[stream(seed, "indirect block missing").random(shape) < orders.misses_indirect] += WITHOUT_ABOVE
    read[stream(seed, "answered from memory").random(shape) < orders.cached] = FROM_MEMORY
    think = -np.log1p(-stream(seed, "think").random(shape)) * orders.think_ns
    return (read, draw_changes(orders, shape, seed, "records changed"), _numbers(shape, seed, "reads", orders.reads),
            _numbers(shape, seed, "changes", orders.dirtied), think.astype(np.int64))

"""Numbers for the keys of a stream, in the order in which they first come: 1, 2, 3, ...

Tables of the model are indexed by small whole numbers. The blocks of somebody else's trace have keys of 64 bits, few of all
that there could be. A hash table (`model.structures.lru`) gives each its number. It holds as many keys as it has room for;
`larger` makes a roomier one that gives the same numbers.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.lru import bucket_of, enter, find, n_buckets_for
from model.structures.sentinels import NIL


class Numbering(NamedTuple):
    """Numbers that were given to keys, and a hash table that finds them."""

    key: np.ndarray  # int64, per number: whose it is
    chain: np.ndarray  # int32, hash table: the next number in the same chain, or NIL
    first: np.ndarray  # int32, hash table: the first number of each chain, or NIL
    n: np.ndarray  # one element: numbers given


@kernel
def number_all(numbering, keys, numbers):
    """Writes the number of each of `keys` (int64[n]) to `numbers` (int32[n]), up to the first that there is no room for. How
    many were written."""
    n_buckets = len(numbering.first)
    for i in range(len(keys)):
        bucket = bucket_of(keys[i], n_buckets)
        number = find(numbering, bucket, keys[i])
        if number == NIL:
            number = numbering.n[0] + 1
            if number == len(numbering.key):
                return i
            enter(numbering, bucket, keys[i], number)
            numbering.n[0] = number
        numbers[i] = number
    return len(keys)


@kernel
def _enter_all(numbering, keys):
    """Numbers 1 .. n, of which none has been given, are those of `keys` (int64[n])."""
    for i in range(len(keys)):
        enter(numbering, bucket_of(keys[i], len(numbering.first)), keys[i], i + 1)
    numbering.n[0] = len(keys)


def new_numbering(n_keys: int) -> Numbering:
    """With room for so many keys (1 to 2^30)."""
    return Numbering(key=np.zeros(n_keys + 1, np.int64), chain=np.zeros(n_keys + 1, np.int32),
                     first=np.zeros(n_buckets_for(n_keys), np.int32), n=np.zeros(1, np.int64))


def larger(numbering: Numbering) -> Numbering:
    """With the same numbers, and room for twice as many."""
    roomier = new_numbering(2 * (len(numbering.key) - 1))
    _enter_all(roomier, numbering.key[1:numbering.n[0] + 1])
    return roomier

"""A database and the files it is on, together: whoever's event is next goes on, at equal times the database.

Which database and which store is settled when this is compiled (`model.jit.either`): of the fields of `Both` that are None
nothing is compiled.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel


class Both(NamedTuple):
    """One database and one store; all others are None."""

    postgres: object = None  # model.postgres_machine.Machine
    innodb: object = None  # its machine: calendar, calls
    zfs: object = None  # model.zfs_files.Store
    ufs: object = None  # model.ufs.Store
    device: object = None  # model.file_calls.Device


def postgres_files(database, s):
    """What a store has to know of a database of `model.postgres` under settings `s`: see `new_store` of model.zfs_files."""
    raise NotImplementedError


@kernel
def run(both, until):
    """Until the database has done what it is to do, or `until` (ns). Returns how it ended."""
    raise NotImplementedError


def simulate_postgres(database, s, store, seed=0):
    """Run the transactions of `database` on `store`, a Both without a database: a Result of model.postgres_run."""
    raise NotImplementedError


NO_FILES = np.zeros((0, 3), np.int64)

"""Defects in the buffers that a run begins with; the comparison with a long run must notice each. Run without the compiler:
prints which were not noticed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.postgres_at_work
"""

import json

from drivers.postgres_at_work import dirty_of_one_table
from model.databases.postgres import at_work
from model.databases.postgres import columns as pg
from support.defects import unnoticed

TOLERANCE = 0.05
SLOW = 10**8  # ns of a write: ten a second, beside a hundred updates


def changes_nothing(m, page, is_changed, real=at_work._visit):
    real(m, page, False)


def writes_nothing(flags, state, end, pace):
    state[pg.AT_FRAME] = end


def keeps_up(flags, state, end, pace, real=at_work._write_up_to):
    real(flags, state, end, 0.0)


DEFECTS = {
    "none": (at_work, "_visit", at_work._visit),
    "a change leaves no page dirty": (at_work, "_visit", changes_nothing),
    "no checkpoint is written": (at_work, "_write_up_to", writes_nothing),
    "a checkpoint always keeps up": (at_work, "_write_up_to", keeps_up),
    "no checkpoint begins": (at_work, "_mark", lambda flags: None),
}


def is_noticed():
    return any(abs(begins - long) > TOLERANCE for begins, long in (
        dirty_of_one_table(120, 60, 100), dirty_of_one_table(200, 150, 100),
        dirty_of_one_table(200, 150, 100, write_ns=SLOW)))


def main():
    print(json.dumps(unnoticed(DEFECTS, lambda _: is_noticed())))


if __name__ == "__main__":
    main()

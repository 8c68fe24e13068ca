"""Defects in the published ARC; its twin must notice each. Run without the compiler: prints which were not noticed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.arc_textbook
"""

import json
from functools import partial

from defects.arc import STEPS, differs, enlist_at_tail, newest_first, other_ghost
from drivers.arc import OF_TEXTBOOK, long_requests
from model.zfs.arc import columns as header
from model.zfs.arc import lists as arc_lists
from model.zfs.arc import textbook
from model.zfs.arc.lists import MFU, MFU_GHOST, MRU, MRU_GHOST
from support.defects import unnoticed


def moves_p_by(step, a, c, state):
    step(a, c, state, 1)


def ties_go(of_mru, real=textbook._replace):
    return lambda a, is_second_ghost: real(a, of_mru)


def never_asks_for_p(a, is_second_ghost):
    state = MRU if a.n_bytes[MRU] else MFU
    arc_lists.move(a, int(a.nodes[2 * state, header.NEWER]), state + arc_lists.GHOST)


def moves(state_of, real=arc_lists.move):
    """`state_of`: what becomes of a block, of what it was and what it should become."""
    return lambda a, node, state: real(a, node, state_of(int(a.nodes[node, header.STATE]), state))


def forgets_only_if_all_are_2c(a, c):
    everything = a.n_bytes.sum()
    if everything == 2 * c:
        textbook._oldest_gone(a, MFU_GHOST if a.n_bytes[MFU_GHOST] else MRU_GHOST)
    if everything >= c:
        textbook._replace(a, False)


def makes_room_too_soon(a, c, real=textbook._trim_textbook):
    is_soon = 0 < a.n_bytes.sum() < c
    real(a, c)
    if is_soon and a.n_bytes[MRU] + a.n_bytes[MFU]:
        textbook._replace(a, False)


def becomes_a_ghost(a, state, real=textbook._oldest_gone):
    if state == MRU:
        arc_lists.move(a, int(a.nodes[2 * MRU, header.NEWER]), MRU_GHOST)
    else:
        real(a, state)


def keeps_ghosts_of(state_kept, real=textbook._oldest_gone):
    return lambda a, state: None if state == state_kept else real(a, state)


DEFECTS = {
    "none": (textbook, "_replace", textbook._replace),
    **{name: (textbook, "_adapt_textbook", partial(moves_p_by, step)) for name, step in STEPS.items()},
    "a tie is MFU's loss": (textbook, "_replace", ties_go(False)),
    "a tie is MRU's loss": (textbook, "_replace", ties_go(True)),
    "p is not asked": (textbook, "_replace", never_asks_for_p),
    "the newest is replaced": (textbook, "_replace", newest_first(textbook._replace)),
    "ghosts go to the other side": (
        textbook, "move", moves(lambda was, state: other_ghost(state) if state > MFU else state)),
    "a ghost becomes MRU": (textbook, "move", moves(lambda was, state: MRU if was > MFU else state)),
    "a hit stays on its side": (textbook, "move", moves(lambda was, state: state if max(was, state) > MFU else was)),
    "a hit moves nothing in MFU": (textbook, "move", lambda a, node, state, real=arc_lists.move:
        None if a.nodes[node, header.STATE] == state else real(a, node, state)),
    "the newest stands at the tail": (textbook, "enlist", enlist_at_tail),
    "MRU and its ghosts may exceed c": (textbook, "_trim_textbook", forgets_only_if_all_are_2c),
    "room is made before c are in core": (textbook, "_trim_textbook", makes_room_too_soon),
    "nothing makes room": (textbook, "_trim_textbook", lambda a, c: None),
    "a full MRU leaves ghosts": (textbook, "_oldest_gone", becomes_a_ghost),
    "ghosts of MRU are not forgotten": (textbook, "_oldest_gone", keeps_ghosts_of(MRU_GHOST)),
    "ghosts of MFU are not forgotten": (textbook, "_oldest_gone", keeps_ghosts_of(MFU_GHOST)),
    "the newest is forgotten": (textbook, "_oldest_gone", newest_first(textbook._oldest_gone)),
}


def main():
    print(json.dumps(unnoticed(DEFECTS, lambda _: differs(long_requests, OF_TEXTBOOK))))


if __name__ == "__main__":
    main()

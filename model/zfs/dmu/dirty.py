"""Transaction groups: what has been dirtied, and the order in which it is written.

A record that is dirtied is put into the list of its L1. The L1, if it was clean, goes into that of its L2, and so on up to
the file. Every list is in the order in which its members were first dirtied. A group is written by going through these
lists, children before their parent (spec 2.12, 5.3). A group is *open*, then *quiesced*, then *syncing*; there is at most
one of each kind. What is dirtied again in a later group is in both.

    file -- L3 -- L2 a -- L1 x -- record 7, record 3        written: 7 3 x 5 y a ...
               |       '- L1 y -- record 5
               '- L2 b -- ...

Entries of four groups lie side by side, group t in quarter t mod 4. Entry 0 is none.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.jit.lent_memory import empty, in_lines
from model.structures.sentinels import NIL
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu.layout import level_block
from model.zfs.shared_numbers import TXG_SIZE

WRITTEN = -1


class Txgs(NamedTuple):
    """Entries are rows of the first array."""

    room: int  # entries of a group at most
    entries: np.ndarray  # [entry, column]; see model.zfs.dmu.columns
    quarters: np.ndarray  # [quarter, column]: likewise
    dirtied_in: np.ndarray  # per indirect block: the last group that it was dirtied in, 0 for none
    entry_of: np.ndarray  # per indirect block: its entry there; both stand in one row
    open_txg: np.ndarray  # one element, as all that follow: the number of the open group
    quiesced: np.ndarray  # of the quiesced group, or 0
    syncing: np.ndarray  # of the syncing group, or 0
    overdue: np.ndarray  # 1: the open group's time is over, but it cannot be quiesced yet
    cursor: np.ndarray  # the entry to be written next, or NIL
    n_pending: np.ndarray  # I/Os of the syncing group under way


@kernel
def has_room(txgs, n_blocks):
    """Whether the open group can take `n_blocks` more blocks."""
    return txgs.quarters[txgs.open_txg[0] % TXG_SIZE, dirtied.N_USED] + n_blocks < txgs.room


@kernel
def _new_entry(txgs, block, above):
    quarter = txgs.open_txg[0] % TXG_SIZE
    txgs.quarters[quarter, dirtied.N_USED] += 1
    entry = quarter * txgs.room + txgs.quarters[quarter, dirtied.N_USED]
    entries = txgs.entries
    entries[entry, dirtied.BLOCK], entries[entry, dirtied.ABOVE] = block, above
    entries[entry, dirtied.FIRST] = entries[entry, dirtied.LAST] = entries[entry, dirtied.FOLLOWING] = NIL
    entries[entry, dirtied.WRITING] = entries[entry, dirtied.NODE] = 0
    if above == NIL:
        _append(entries, entry, txgs.quarters, quarter)
    else:
        _append(entries, entry, entries, above)
    return entry


@kernel
def _append(entries, entry, lists, place):
    """Put `entry` at the end of the list that begins and ends as row `place` of `lists` says."""
    if lists[place, dirtied.FIRST] == NIL:
        lists[place, dirtied.FIRST] = entry
    else:
        entries[lists[place, dirtied.LAST], dirtied.FOLLOWING] = entry
    lists[place, dirtied.LAST] = entry


@kernel
def dirty(txgs, files, file, record):
    """`record` of `file`, clean in the open group, is dirtied. Returns its entry."""
    above, top = NIL, files.n_levels[file] - 1
    if top > 0:
        i = level_block(files, file, record, 1) - files.n_records
        if txgs.dirtied_in[i] == txgs.open_txg[0]:  # and so has been all above
            above, top = txgs.entry_of[i], 0
    for level in range(top, 0, -1):
        block = level_block(files, file, record, level)
        i = block - files.n_records
        if txgs.dirtied_in[i] != txgs.open_txg[0]:
            txgs.dirtied_in[i] = txgs.open_txg[0]
            txgs.entry_of[i] = _new_entry(txgs, block, above)
        above = txgs.entry_of[i]
    return _new_entry(txgs, level_block(files, file, record, 0), above)


@kernel
def _bottom(txgs, entry):
    """The first entry written of those below `entry`."""
    while entry != NIL and txgs.entries[entry, dirtied.FIRST] != NIL:
        entry = txgs.entries[entry, dirtied.FIRST]
    return entry


@kernel
def quiesce(txgs):
    """The open group's time is over. True if another one is open now; otherwise this is made up for by `hand_over`."""
    txgs.overdue[0] = txgs.quiesced[0] != 0
    if txgs.overdue[0]:
        return False
    txgs.quiesced[0] = txgs.open_txg[0]
    txgs.open_txg[0] += 1
    quarter = txgs.open_txg[0] % TXG_SIZE
    txgs.quarters[quarter, dirtied.N_USED] = txgs.quarters[quarter, dirtied.FIRST] = txgs.quarters[quarter, dirtied.LAST] = 0
    return True


@kernel
def hand_over(txgs):
    """The quiesced group, if there is one and none is syncing, becomes the syncing one. True if it did."""
    if txgs.syncing[0] != 0 or txgs.quiesced[0] == 0:
        return False
    txgs.syncing[0], txgs.quiesced[0] = txgs.quiesced[0], 0
    txgs.cursor[0] = _bottom(txgs, txgs.quarters[txgs.syncing[0] % TXG_SIZE, dirtied.FIRST])
    return True


@kernel
def advance(txgs):
    """The entry at the cursor has been written: go to the next one."""
    entry = txgs.cursor[0]
    following = txgs.entries[entry, dirtied.FOLLOWING]
    txgs.cursor[0] = _bottom(txgs, following) if following != NIL else txgs.entries[entry, dirtied.ABOVE]


def new_txgs(n_indirect, room):
    """Group 1 is open; `room` entries for each group."""
    indirect = in_lines((max(2, n_indirect), 2), np.int64)  # so that both columns of a block stand in one row
    entries = in_lines((TXG_SIZE * room + 1, dirtied.N_COLUMNS), np.int64, empty)
    entries[NIL] = 0
    return Txgs(
        room=room, entries=entries, quarters=np.zeros((TXG_SIZE, dirtied.N_QUARTER_COLUMNS), np.int64),
        dirtied_in=indirect[:, 0], entry_of=indirect[:, 1], open_txg=np.ones(1, np.int64),
        quiesced=np.zeros(1, np.int64), syncing=np.zeros(1, np.int64), overdue=np.zeros(1, np.int64),
        cursor=np.zeros(1, np.int64), n_pending=np.zeros(1, np.int64))

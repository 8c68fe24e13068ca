"""What the ARC holds when the OLTP run begins: files that were just written have left in core what it kept of them.

`preallocate`: every block comes in, is written and accessed, in order. Left out: what was written when the ARC could have
been filled again since. Left out, too: that a block is dirty for some seconds before it is accessed. `warm`: indirect blocks
only. What happens then: `model.zfs.dmu.dbuf`.
"""

from model.jit import kernel
from model.structures.sentinels import NIL
from model.zfs.arc.arc import access, adjust, new_block
from model.zfs.arc.lists import INDIRECT, hold_above, release
from model.zfs.dmu.layout import begin_of, level_block

RECORDS_IN_A_SECOND = 2**15  # that preallocation writes: about 300 MB/s, of 8 KiB; the second is that of the reclaim thread


@kernel
def write_new(arc, params, files, file, record, record_bytes, tick):
    """A record of a new file has been written, and if it is the first one below them, the indirect blocks above."""
    above = NIL
    for level in range(files.n_levels[file] - 1, -1, -1):
        block = level_block(files, file, record, level)
        node = int(arc.node_of[block])
        if node == NIL:
            n_bytes, marks = (files.indirect_core_bytes, INDIRECT) if level > 0 else (record_bytes, 0)
            node = new_block(arc, params, block, 1 if level > 0 else 0, n_bytes, marks, tick)
            hold_above(arc, node, above)
            access(arc, params, node, tick)
            release(arc, node)
        above = node


@kernel
def preallocate(arc, params, files, record_bytes):
    """What the writing of all files, one after the other, leaves in core. Ticks end with 0."""
    to_come = files.n_records
    reach = params.c_bytes // record_bytes * 5 // 4
    for file in range(len(files.n_levels)):
        for record in range(files.n_records_of[file]):
            to_come -= 1
            if to_come < reach:
                tick = -(to_come * params.lifespan_ticks // RECORDS_IN_A_SECOND)
                write_new(arc, params, files, file, record, record_bytes, tick)
                if to_come % RECORDS_IN_A_SECOND == 0:
                    adjust(arc, params, tick)


@kernel
def warm(arc, params, files):
    """All indirect blocks come into core, from the top down."""
    for file in range(len(files.n_levels)):
        for level in range(files.n_levels[file] - 1, 0, -1):
            below, begin = files.shift * level, begin_of(files, file)
            for i in range(begin >> below, (begin + files.n_records_of[file] - 1 >> below) + 1):
                if arc.node_of[files.base[file, level] + i] != NIL:  # of the range before it as well
                    continue
                node = new_block(arc, params, files.base[file, level] + i, 1, files.indirect_core_bytes, INDIRECT, 0)
                if level + 1 < files.n_levels[file]:
                    hold_above(arc, node, int(arc.node_of[files.base[file, level + 1] + (i >> files.shift)]))
                access(arc, params, node, 0)
                release(arc, node)

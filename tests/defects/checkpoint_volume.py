"""Defects in what is written between and by checkpoints; the replay must notice each. Run without the compiler: prints which
were not noticed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.checkpoint_volume
"""

import json

from drivers.checkpoint_volume import differences
from model.databases.postgres import buffers as postgres_buffers
from model.databases.postgres import columns as pg
from model.databases.postgres import step as postgres_step
from model.databases.postgres.buffers import DIRTY
from support.defects import unnoticed


def forgets_earlier_images(m, now, p, real=postgres_step.begin_copy):
    m.pages.lsn[:] = 0
    real(m, now, p)


def marks_without_redo(m, now, p, real=postgres_step.mark):
    redo = int(m.wal[pg.REDO])
    real(m, now, p)
    m.wal[pg.REDO] = redo


def marks_the_clean(m, now, p, real=postgres_step.mark):
    m.buffers.flags[1:][m.buffers.page[1:] >= 0] |= DIRTY
    real(m, now, p)


def leaves_it_dirty(m, now, p, real=postgres_step.page_written):
    m.buffers.flags[m.process[p, pg.FRAME]] |= DIRTY
    return real(m, now, p)


def drops_the_victim(buffers, real=postgres_buffers.take):
    frame = real(buffers)
    buffers.flags[frame] &= ~DIRTY
    return frame


def comes_back_without_its_image(m, now, p, real=postgres_step.loaded):
    m.pages.lsn[m.buffers.page[m.process[p, pg.FRAME]]] = 0
    real(m, now, p)


def comes_back_dirty(m, now, p, real=postgres_step.loaded):
    m.buffers.flags[m.process[p, pg.FRAME]] |= DIRTY
    real(m, now, p)
    m.buffers.usage[:] = 0


DEFECTS = {
    "none": (postgres_step, "step", postgres_step.step),
    "every change logs its page": (postgres_step, "begin_copy", forgets_earlier_images),
    "a checkpoint does not move the place of images": (postgres_step, "mark", marks_without_redo),
    "a checkpoint writes what is clean": (postgres_step, "mark", marks_the_clean),
    "a checkpoint leaves what it wrote dirty": (postgres_step, "page_written", leaves_it_dirty),
    "a dirty victim is not written": (postgres_buffers, "take", drops_the_victim),
    "a page that comes back is logged again": (postgres_step, "loaded", comes_back_without_its_image),
    "usage does not count": (postgres_step, "loaded", comes_back_dirty),
}


def is_noticed():
    return any(differences(60, n_frames, 1600) for n_frames in (100, 30))


def main():
    print(json.dumps(unnoticed(DEFECTS, lambda _: is_noticed())))


if __name__ == "__main__":
    main()

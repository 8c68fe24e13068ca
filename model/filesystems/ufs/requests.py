"""From what UFS wants read and written to I/Os, and what is put off: rules 2 and 8 of `model.filesystems.ufs.state`.

A *request* is of one file, in order. It is cut where a piece of the file ends, and where the interlace of its volume does.
All requests become I/Os at one place, `issue`.
"""

from model.devices.command_queue import WRITE
from model.filesystems.ufs import columns as ufs
from model.filesystems.ufs import volume_columns as volume
from model.filesystems.ufs.page_cache import touch
from model.filesystems.ufs.state import GROUP_SHARE, JOURNAL_BYTES, OF_JOURNAL
from model.filesystems.ufs.volumes import PAGE_BYTES, member_of, new_io
from model.jit import kernel, part
from model.structures.sentinels import NONE


@kernel
def request(u, file, at, n_bytes, kind, process, page):
    """What is to be read or written, when `issue` comes to it. `page`: of the page cache."""
    n, row = u.n[ufs.N_REQUESTS], u.request
    row[n, ufs.OF_FILE], row[n, ufs.PLACE], row[n, ufs.LENGTH] = file, at, n_bytes
    row[n, ufs.KIND], row[n, ufs.WAITER], row[n, ufs.REQUEST_PAGE] = kind, process, page
    u.n[ufs.N_REQUESTS] = n + 1


@part
def _place(u, dense):
    """As `model.filesystems.ufs.state.place_of`: (where a byte lies, B up to the end of its piece)."""
    piece = u.s.piece_bytes
    return JOURNAL_BYTES + dense // piece * (GROUP_SHARE * piece) + dense % piece, piece - dense % piece


@part
def issue(u, file, at, n_bytes, kind, process, page):
    """One request: an I/O for all of it that lies together on one member."""
    v, stripe = u.volumes, u.file[file, ufs.STRIPE]
    while n_bytes > 0:
        place, length = at, n_bytes
        if page != OF_JOURNAL:
            place, length = _place(u, u.file[file, ufs.BASE] + at)
        unit, offset, up_to = member_of(v, stripe, place)
        length = min(n_bytes, length, up_to)
        io = new_io(v, stripe, unit, offset, length, kind)
        v.io[io, volume.FILE], v.io[io, volume.PROCESS] = file if page > 0 else NONE, process
        v.io[io, volume.EPOCH], v.io[io, volume.PAGE] = u.file[file, ufs.FILE_EPOCH], page
        if page > 0:
            u.file[file, ufs.UNDER_WAY] += 1
            u.file[file, ufs.UNDER_WAY_BYTES] += length
            page += length // PAGE_BYTES
        else:
            u.task[process, ufs.AWAITED] += 1
        at += length
        n_bytes -= length


@kernel
def get_ready(u, process):
    """`process` can go on: see `_work` of model.filesystems.ufs.calls."""
    u.ready[u.n[ufs.N_READY]] = process
    u.n[ufs.N_READY] += 1


# ---- rule 2: writes that are put off ----


@kernel
def page_of(u, file, offset):
    """The number of the page at `offset` [B] of `file`, counted over all files."""
    return u.file[file, ufs.FIRST_PAGE] + offset // PAGE_BYTES


@kernel
def page_at(offset):
    """Where the page begins that `offset` is in."""
    return offset // PAGE_BYTES * PAGE_BYTES


@part
def is_in_core(u, file, offset, n_bytes):
    """Whether all pages of a read are; from now on they are."""
    there = True
    for at in range(page_at(offset), offset + n_bytes, PAGE_BYTES):
        there &= touch(u.cache, page_of(u, file, at))
    return there


@kernel
def send_off(u, file):
    """The run that is put off goes to disk."""
    if u.file[file, ufs.RUN_BYTES]:
        at = u.file[file, ufs.RUN_AT]
        request(u, file, at, u.file[file, ufs.RUN_BYTES], WRITE, NONE, page_of(u, file, at))
        u.file[file, ufs.RUN_BYTES] = 0


@part
def put_off(u, file, offset):
    """Rule 8: a page is written later, with those before it, as one cluster."""
    page = page_of(u, file, offset)
    touch(u.cache, page)
    u.cache.held[page] += 1
    run, length = u.file[file, ufs.RUN_AT], u.file[file, ufs.RUN_BYTES]
    if length and (length >= u.s.cluster_bytes or run + length != offset):
        send_off(u, file)
    if not u.file[file, ufs.RUN_BYTES]:
        u.file[file, ufs.RUN_AT] = offset
    u.file[file, ufs.RUN_BYTES] += PAGE_BYTES

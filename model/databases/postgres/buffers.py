"""PostgreSQL's shared buffers: frames, a clock that sweeps them, and who writes what it finds dirty.

 1. *A page that is here* is pinned while a statement works with it, and each pin adds one to its usage count, up to 5.
 2. *A page that is not* gets a frame never used, or else the clock turns. A frame that is pinned is passed over, one with a
    usage count loses one of it, the first that has none is taken.
 3. *A victim that is dirty* is written by the backend itself. First the log must be stable up to the page's last
    change. If the victim was pinned or changed meanwhile, look for another.
 4. A client that wants a page that another one is reading waits until it is there.
 5. *The background writer*, every `bgwriter_delay`, goes ahead of the clock and writes dirty frames that are next to be
    taken. These are twice what it expects to be taken until it comes back (`bgwriter_lru_multiplier`), at most
    `bgwriter_lru_maxpages`. It expects what was taken since it came last, or, after a fall, a moving average. It knows from
    a moving average how many frames the clock passes for each that it takes. The whole pool it visits every two minutes at
    least.

Sources: bufmgr.c (BufferAlloc, FlushBuffer, BgBufferSync, SyncOneBuffer), freelist.c (StrategyGetBuffer), buf_internals.h
(BM_MAX_USAGE_COUNT). Left out: rings of buffers for large scans, and content locks. With these, who wants to change a page
while another waits for its log to be stable would wait too.
"""

from model.databases.postgres import columns as pg
from model.databases.postgres import phases as phase
from model.databases.postgres import stats as stat
from model.databases.postgres.pgbench import FILE_SHIFT, PAGE_BYTES
from model.databases.postgres.wal import DIRTY, flush
from model.events.calendar import set_time
from model.events.clock import MS
from model.events.queues import NOBODY
from model.events.servers import count, wake
from model.filesystems.calls import EXTEND, READ, WRITE, ask
from model.jit import kernel, part

MAX_USAGE = 5  # BM_MAX_USAGE_COUNT
NEEDED, LOADING = 2, 4  # with DIRTY, in Buffers.flags: to be written by the checkpoint; being read


SMOOTHING = 16.0
FIRST_DENSITY = 10.0
WHOLE_POOL_NS = 120_000 * MS


@kernel
def pin(buffers, frame):
    """Rule 1: one pin more, and a usage count that grows up to 5."""
    buffers.pins[frame] += 1
    if buffers.usage[frame] < MAX_USAGE:
        buffers.usage[frame] += 1


@kernel
def claim(m, p, frame, then):
    """`p` will write the page in `frame` as it is now, when its log is stable. What is changed later is dirty again."""
    m.buffers.pins[frame] += 1
    m.buffers.flags[frame] &= ~(DIRTY | NEEDED)
    m.process[p, pg.FRAME] = frame
    flush(m, p, m.pages.lsn[m.buffers.page[frame]], then)


@kernel
def write_page(m, now, p, kind, then):
    """Hand the page to the file system."""
    page = m.buffers.page[m.process[p, pg.FRAME]]
    m.process[p, pg.PHASE] = then
    m.unsynced[page >> FILE_SHIFT] += 1
    count(m, kind, 1, now)
    ask(m.calls, p, WRITE, page >> FILE_SHIFT, (page & ((1 << FILE_SHIFT) - 1)) * PAGE_BYTES, PAGE_BYTES)


@kernel
def written(m, p):
    """`p` lets go of the frame that it has written."""
    m.buffers.pins[m.process[p, pg.FRAME]] -= 1
    m.process[p, pg.FRAME] = 0


# ---- a statement and its pages ----


@part
def access(m, p):
    """Pin the pages of the statement, one after the other. True if all are here."""
    process = m.process
    while process[p, pg.STEP] < process[p, pg.N_TOUCHED]:
        page = m.touched[p, process[p, pg.STEP]]
        frame = m.pages.frame_of[page]
        if frame == 0:
            process[p, pg.PHASE] = phase.EVICT
            return False
        if m.buffers.flags[frame] & LOADING:
            process[p, pg.WANTED] = page
            return False
        pin(m.buffers, frame)
        process[p, pg.STEP] += 1
    return True


@kernel
def unpin_all(m, p):
    """The statement of `p` lets go of all its pages."""
    for step in range(m.process[p, pg.N_TOUCHED]):
        m.buffers.pins[m.pages.frame_of[m.touched[p, step]]] -= 1
    m.process[p, pg.N_TOUCHED] = m.process[p, pg.STEP] = 0


@kernel
def _sweep(buffers):
    """Rule 2."""
    clock, n_frames = buffers.clock, len(buffers.page) - 1
    while True:
        clock[pg.HAND] += 1
        if clock[pg.HAND] > n_frames:
            clock[pg.HAND] = 1
            clock[pg.PASSES] += 1
        frame = clock[pg.HAND]
        if buffers.pins[frame] == 0:
            if buffers.usage[frame] == 0:
                return frame
            buffers.usage[frame] -= 1


@kernel
def take(buffers):
    """A frame for another page: one never used as long as there is any, else the clock's next victim (rule 2)."""
    buffers.clock[pg.N_TAKEN] += 1
    if buffers.clock[pg.N_USED] < len(buffers.page) - 1:
        buffers.clock[pg.N_USED] += 1
        return buffers.clock[pg.N_USED]
    return _sweep(buffers)


@kernel
def _is_new(m, p, page):
    """Whether the statement adds `page` to its table. Then it needs no image: the first record makes it."""
    relation = m.database.statements[m.process[p, pg.STATEMENT], pg.RELATION]
    columns = m.database.relations[relation]
    if not columns[pg.FIRST_PAGE] <= page <= columns[pg.LAST_PAGE] or page < m.tail[relation, pg.ON_DISK]:
        return False
    m.tail[relation, pg.ON_DISK] = page + 1
    m.pages.lsn[page] = m.wal[pg.REDO] + 1
    return True


@kernel
def _load(m, now, p, frame):
    """Let the page that `p` is at take the place of whatever is in `frame`."""
    page, buffers = m.touched[p, m.process[p, pg.STEP]], m.buffers
    if buffers.page[frame] >= 0 and m.pages.frame_of[buffers.page[frame]] == frame:
        m.pages.frame_of[buffers.page[frame]] = 0
    buffers.page[frame], m.pages.frame_of[page] = page, frame
    buffers.usage[frame], buffers.pins[frame], buffers.flags[frame] = 1, 1, LOADING
    is_new = _is_new(m, p, page)
    count(m, stat.EXTENSIONS if is_new else stat.READS, 1, now)
    file, offset = page >> FILE_SHIFT, (page & ((1 << FILE_SHIFT) - 1)) * PAGE_BYTES
    if is_new:
        m.unsynced[file] += 1
    m.process[p, pg.FRAME], m.process[p, pg.PHASE] = frame, phase.LOADED
    ask(m.calls, p, EXTEND if is_new else READ, file, offset, PAGE_BYTES)


@part
def evict(m, now, p):
    """Rules 2 and 3. True if `p` can go on at once."""
    frame = take(m.buffers)
    if not m.buffers.flags[frame] & DIRTY:
        _load(m, now, p, frame)
        return False
    claim(m, p, frame, phase.VICTIM_WRITE)
    return True


@part
def victim_written(m, now, p):
    """Rule 3: true if `p` has to look again, since its page has come meanwhile, or the victim is in use or dirty again."""
    frame = m.process[p, pg.FRAME]
    written(m, p)
    is_here = m.pages.frame_of[m.touched[p, m.process[p, pg.STEP]]] != 0
    if is_here or m.buffers.pins[frame] or m.buffers.flags[frame] & DIRTY:
        m.process[p, pg.PHASE] = phase.ACCESS
        return True
    _load(m, now, p, frame)
    return False


@part
def loaded(m, now, p):
    """Rule 4: the page has come, and who waits for it goes on."""
    frame = m.process[p, pg.FRAME]
    m.buffers.flags[frame] &= ~LOADING
    for waiter in range(m.s.n_clients):
        if m.process[waiter, pg.WANTED] == m.buffers.page[frame]:
            m.process[waiter, pg.WANTED] = NOBODY
            wake(m, now, waiter)
    m.process[p, pg.STEP] += 1
    m.process[p, pg.FRAME], m.process[p, pg.PHASE] = 0, phase.ACCESS


# ---- the background writer ----


@kernel
def _learn_density(cleaner, n_passed, n_found):
    if n_passed > 0 and n_found > 0:
        cleaner[pg.DENSITY] += (n_passed / n_found - cleaner[pg.DENSITY]) / SMOOTHING


@kernel
def _frames_before_lapping(cleaner, clock, n_frames):
    """How far the cleaner can go until it meets the clock from behind; one that fell back starts again at the clock."""
    ahead = cleaner[pg.NEXT] - clock[pg.HAND] + (cleaner[pg.NEXT_PASS] - clock[pg.PASSES]) * n_frames
    if cleaner[pg.HAS_COME] == 0 or ahead < 0:
        cleaner[pg.NEXT], cleaner[pg.NEXT_PASS] = clock[pg.HAND], clock[pg.PASSES]
        ahead = 0
    return n_frames - ahead


@part
def clean(m, p):
    """Rule 5: how far to go this time."""
    cleaner, clock, n_frames = m.cleaner, m.buffers.clock, len(m.buffers.page) - 1
    if cleaner[pg.HAS_COME] == 0:
        cleaner[pg.DENSITY], cleaner[pg.LAST_HAND], cleaner[pg.LAST_PASS] = FIRST_DENSITY, clock[pg.HAND], clock[pg.PASSES]
    taken, clock[pg.N_TAKEN] = clock[pg.N_TAKEN], 0
    lap = _frames_before_lapping(cleaner, clock, n_frames)
    turned = clock[pg.HAND] - cleaner[pg.LAST_HAND] + (clock[pg.PASSES] - cleaner[pg.LAST_PASS]) * n_frames
    cleaner[pg.LAST_HAND], cleaner[pg.LAST_PASS], cleaner[pg.HAS_COME] = clock[pg.HAND], clock[pg.PASSES], 1
    _learn_density(cleaner, turned, taken)
    cleaner[pg.SMOOTHED_TAKEN] += max(taken - cleaner[pg.SMOOTHED_TAKEN], (taken - cleaner[pg.SMOOTHED_TAKEN]) / SMOOTHING)
    cleaner[pg.TO_SCAN], cleaner[pg.N_SCANNED], cleaner[pg.N_WRITTEN] = lap, 0, 0
    cleaner[pg.REUSABLE] = cleaner[pg.WERE_REUSABLE] = (n_frames - lap) // cleaner[pg.DENSITY]
    min_scanned = n_frames * m.s.bgwriter_delay_ns // WHOLE_POOL_NS
    expected = cleaner[pg.SMOOTHED_TAKEN] * m.s.bgwriter_lru_multiplier // 1
    cleaner[pg.WANTED_REUSABLE] = max(expected, min_scanned + cleaner[pg.REUSABLE])
    m.process[p, pg.PHASE] = phase.CLEAN_SCAN


@part
def clean_scan(m, now, p):
    """On to the next frame to be written. True if there is one."""
    cleaner, buffers = m.cleaner, m.buffers
    while cleaner[pg.N_SCANNED] < cleaner[pg.TO_SCAN] and cleaner[pg.REUSABLE] < cleaner[pg.WANTED_REUSABLE] \
            and cleaner[pg.N_WRITTEN] < m.s.bgwriter_lru_maxpages:
        frame = int(cleaner[pg.NEXT]) + 1
        if frame > len(buffers.page) - 1:
            frame = 1
            cleaner[pg.NEXT_PASS] += 1
        cleaner[pg.NEXT] = frame
        cleaner[pg.N_SCANNED] += 1
        if buffers.pins[frame] == 0 and buffers.usage[frame] == 0:
            cleaner[pg.REUSABLE] += 1
            if buffers.flags[frame] & DIRTY:
                cleaner[pg.N_WRITTEN] += 1
                claim(m, p, frame, phase.CLEAN_WRITE)
                return True
    _learn_density(cleaner, cleaner[pg.N_SCANNED], cleaner[pg.REUSABLE] - cleaner[pg.WERE_REUSABLE])
    m.process[p, pg.PHASE] = phase.CLEAN
    set_time(m.calendar, p, now + m.s.bgwriter_delay_ns)
    return False


@part
def clean_written(m, p):
    """The background writer lets go of its page and goes on to the next."""
    written(m, p)
    m.process[p, pg.PHASE] = phase.CLEAN_SCAN

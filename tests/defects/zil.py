"""Defects in the intent log; random scripts must notice each. Run without the compiler: prints which were not noticed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.zil
"""

import json

from drivers.zil import Differs, Machine
from model.events.streams import stream
from model.zfs.eras import ERAS
from model.zfs.zil import columns as intent
from model.zfs.zil import commit as zil_commit
from model.zfs.zil import log as zil_log
from model.zfs.zil import writer as zil_writer
from model.zfs.zil.log import ZilSettings
from support.defects import unnoticed


def fits_over_the_trailer(log_, log, n_bytes):
    slot = zil_log.last_block(log_, log)
    return log_.chain[log, slot, intent.USED] + n_bytes <= log_.chain[log, slot, intent.BYTES]


def rides_in_an_empty_block(log_, params, log, entry):
    if log_.entries[entry, intent.SEQUENCE] <= log_.logs[log, intent.WRITER_UP_TO]:
        return True
    n_bytes = zil_log.listed_bytes(params, log_.entries[entry, intent.WAY], log_.entries[entry, intent.DATA])
    return zil_writer._fits(log_, log, n_bytes)


def lets_go_of_the_next(log_, params, log, real=zil_commit._let_go):
    real(log_, params._replace(strict=0), log)


def forgets_the_last_commit(log_, params, log, real=zil_log.next_block_bytes):
    log_.logs[log, intent.BEFORE_USED] = 0
    return real(log_, params, log)


def chooses_anew(log_, params, log, real=zil_log.next_block_bytes):
    log_.choices[log] = 0
    return real(log_, params, log)


def frees_a_block_in_flight(log_, params, log, txg, real=zil_commit.group_synced):
    log_.chain[log, :, intent.IS_WRITTEN] = 1
    return real(log_, params, log, txg)


def writes_whole_slim_blocks(log_, params, settings, log, txg, real=zil_writer._write_out):
    row = log_.n_out[0]
    n_bytes = log_.chain[log, zil_log.last_block(log_, log), intent.BYTES]
    real(log_, params, settings, log, txg)
    log_.outbox[row, 1] = n_bytes


def skips_what_is_gone(log_, log, before, entry, real=zil_writer.unlink):
    skipped = log_.logs[log, intent.SKIPPED]
    real(log_, log, before, entry)
    log_.logs[log, intent.SKIPPED] = skipped


DEFECTS = {
    "none": (zil_writer, "TRAILER", zil_writer.TRAILER),
    "entries go over the trailer": (zil_writer, "_fits", fits_over_the_trailer),
    "neighbours ride alone": (zil_writer, "_goes_along", rides_in_an_empty_block),
    "a rename waits for its own file": (zil_writer, "OTHER", -1),
    "one file's entries are skipped for all": (zil_writer, "_skipped", lambda z, log: z.logs[log, intent.SKIPPED]),
    "an entry that is gone is skipped": (zil_commit, "unlink", skips_what_is_gone),
    "every file's entries are written": (zil_writer, "_is_relevant", lambda *a: True),
    "a block of a file is written twice": (zil_writer, "_cover", lambda *a: None),
    "who waits is let go one entry early": (zil_commit, "_let_go", lets_go_of_the_next),
    "who waits is let go at once": (zil_commit, "_let_go", lambda z, p, log: (
        [zil_commit._release(z, t) for t in z.waiting[log, :z.logs[log, intent.N_WAITING], 0]],
        z.logs[log].__setitem__(intent.N_WAITING, 0))),
    "sizes forget the last commit": (zil_writer, "next_block_bytes", forgets_the_last_commit),
    "sizes forget earlier choices": (zil_writer, "next_block_bytes", chooses_anew),
    "slim blocks are written whole": (zil_writer, "_write_out", writes_whole_slim_blocks),
    "no cache is flushed": (zil_commit, "touch", lambda *a: None),
    "a group does not wait for the chain": (zil_commit, "may_sync", lambda *a: True),
    "a block in flight is freed": (zil_commit, "group_synced", frees_a_block_in_flight),
    "synced entries stay": (zil_commit, "_clean", lambda *a: None),
    "data to be fetched takes no room": (zil_writer, "log_bytes", lambda way, data: 192 if way == zil_log.NEED_COPY else
                                         zil_log.log_bytes(way, data)),
    "a log device is not used": (zil_writer, "device_of_next", lambda *a: zil_log.MAIN),
}


def script(random, n):
    sizes = (1, 3800, 8192, 8192, 8192, 32_768, 32_769, 131_072)
    for _ in range(n):
        kind = random.random()
        if kind < 0.35:
            n_bytes = sizes[random.integers(8)]
            yield "write", random.integers(1, 4), random.integers(0, 3), 131_072, n_bytes, random.integers(3)
        elif kind < 0.4:
            yield "record_other", random.integers(0, 100)
        elif kind < 0.6:
            yield "commit", random.integers(0, 4), random.integers(0, 6)
        elif kind < 0.95:
            yield "complete", random.integers(0, 6), random.integers(0, 3)
        else:
            yield ("sync",)


def is_noticed(n_scripts=120):
    random = stream(1, "scripts")
    for i in range(n_scripts):
        params = ERAS[("onnv_69", "b103", "b141")[i % 3]].zil
        machine = Machine(params, ZilSettings(*(int(x) for x in random.integers(0, 2, 2)), 0, int(i % 5 == 0)), (i % 4 - 1,))
        try:
            for operation, *arguments in script(random, 60):
                getattr(machine, operation)(*map(int, arguments))
            machine.drain()
        except Differs:
            return True
    return False


def main():
    print(json.dumps(unnoticed(DEFECTS, lambda _: is_noticed())))


if __name__ == "__main__":
    main()

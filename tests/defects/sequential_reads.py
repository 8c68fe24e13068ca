"""Defects in the run of sequential readers, and the law that must notice each. Run without the compiler: prints the laws
that failed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.sequential_reads
"""

import json

from laws.sequential_reads import LAWS
from model.events import accounts, clock
from model.simulations.sequential_reads import columns as reader
from model.simulations.sequential_reads import events as seqread_events
from model.simulations.sequential_reads import run as sequential_run
from model.simulations.sequential_reads import state as sequential_state
from model.simulations.sequential_reads import watch_columns as watched
from model.simulations.sequential_reads.state import FRESH, IN_CORE, Readers, Settings, new_recorder, new_site, rules_of
from model.zfs.dmu import fetch_columns as to_fetch
from model.zfs.vdev import leaves

READERS = Readers(n_streams=3, file_bytes=2**28)
SETTINGS = Settings(n_leaves=4, duration_ns=1_500_000_000)


def late_area(account, now, n):
    account[accounts.N_NOW] += n
    account[accounts.AREA] += account[accounts.N_NOW] * (now - account[accounts.UNTIL])
    account[accounts.UNTIL] = now


def forgets_time(threads, spent, recorder, now, thread, activity, real=seqread_events.turn_to):
    if threads[thread, reader.ACTIVITY] == sequential_state.STALLED:
        threads[thread, reader.SINCE] = now
    real(threads, spent, recorder, now, thread, activity)


def calls_stalls_waiting(threads, spent, recorder, now, thread, activity, real=seqread_events.turn_to):
    real(threads, spent, recorder, now, thread, activity)
    last = recorder.n[watched.ACTIVITIES] - 1
    if last >= 0 and recorder.activities[last, watched.ACTIVITY] == sequential_state.STALLED:
        recorder.activities[last, watched.ACTIVITY] = sequential_state.WAITING


def takes_for_old(m, now, block, real=seqread_events._came):
    real(m, now, block)
    if m.status[block] == FRESH:
        m.status[block] = IN_CORE


def shows_the_next(zfetch, params, file, record, *rest, real=seqread_events.show_block):
    return real(zfetch, params, file, record + (record > 20), *rest)


def skips_the_last(threads, fetches, thread, real=seqread_events._next_fetch):
    row = threads[thread, reader.ROW]
    in_row = row < threads[thread, reader.N_ROWS]
    if in_row and threads[thread, reader.FETCHED] == fetches[thread, row, to_fetch.N_BLOCKS] - 1:
        threads[thread, reader.FETCHED] += 1
    return real(threads, fetches, thread)


def reads_half(pool_, now, place, n_bytes, *rest, real=seqread_events.read_at):
    return real(pool_, now, place, n_bytes // 2, *rest)


def records_the_end_late(recorder, pool_, now, leaf, ends, real=sequential_run.record_command):
    real(recorder, pool_, now, leaf, ends + 1)


DEFECTS = {
    "none": (sequential_run, "SECOND_NS", clock.SECOND_NS, None),
    "counts a block before its time": (seqread_events, "change_by", late_area, "little"),
    "a stall is not counted": (seqread_events, "turn_to", forgets_time, "time"),
    "a stall is recorded as waiting": (seqread_events, "turn_to", calls_stalls_waiting, "timeline"),
    "a pause is not noticed": (leaves, "pause", lambda drives, unit, now: None, "utilisation"),
    "a command is recorded too long": (sequential_run, "record_command", records_the_end_late, "commands"),
    "what came is taken for used": (seqread_events, "_came", takes_for_old, "conservation"),
    "half of each block is read": (seqread_events, "read_at", reads_half, "conservation"),
    "zfetch is shown another record": (seqread_events, "show_block", shows_the_next, "replays"),
    "the last record is not fetched": (seqread_events, "_next_fetch", skips_the_last, "fetched"),
}


def main():
    site, rules = new_site(READERS, 4), rules_of("onnv_70")
    failed = {}
    for name, (module, attribute, defect, _) in DEFECTS.items():
        real = getattr(module, attribute)
        setattr(module, attribute, defect)
        try:
            x = sequential_run.simulate(site, rules, SETTINGS, recorder=new_recorder(1, 2, 20_000))
            failed[name] = [law for law, holds in LAWS.items() if not holds(x)]
        except (StopIteration, AssertionError, IndexError) as error:
            failed[name] = [*LAWS, repr(error)]
        finally:
            setattr(module, attribute, real)
    print(json.dumps(failed))


if __name__ == "__main__":
    main()

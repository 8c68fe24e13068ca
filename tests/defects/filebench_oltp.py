"""Defects in the simulation, and the law that must notice each. Run without the compiler: prints the laws that failed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.filebench_oltp
"""

import json

from laws.filebench_oltp import LAWS
from model.events import accounts
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp import disks as oltp_disks
from model.simulations.filebench_oltp import filebench, processors
from model.simulations.filebench_oltp import run as filebench_run
from model.simulations.filebench_oltp import threads as oltp_threads
from model.simulations.filebench_oltp import txgs as oltp_txgs
from model.simulations.filebench_oltp.state import Settings, new_site
from model.simulations.rules import rules_of
from model.zfs.arc import arc
from model.zfs.arc import columns as header
from model.zfs.arc import lists as arc_lists
from model.zfs.arc import scalars as scalar
from model.zfs.dmu import dbuf
from model.zfs.vdev import leaves
from model.zfs.vdev.cache import filled
from model.zfs.vdev.leaves import new_recorder

WORKLOAD = filebench.Workload(file_bytes=2**24, n_files=2, n_shadows=30, n_writers=2, writes_per_burst=50,
                              writer_posts=100, writer_high_water=200, log_posts=320)
SETTINGS = Settings(n_leaves=3, duration_ns=700_000_000, txg_ns=200_000_000, memory_bytes=2**22, n_cpus=1)


def late_area(account, now, n):
    account[accounts.N_NOW] += n
    account[accounts.AREA] += account[accounts.N_NOW] * (now - account[accounts.UNTIL])
    account[accounts.UNTIL] = now


def forgets_joiners(m, now, task, real=oltp_disks.block_came):
    m.tasks.rows[task, oltp.JOINED] = -1
    real(m, now, task)


def forgets_second_copy(m, pool_, now, real=filebench_run.sync_event):
    real(m, pool_, now)
    pool_.n_out[0] = min(pool_.n_out[0], 1)


def takes_half(semaphores, taker):
    semaphores.posts[taker] += semaphores.wants[taker] // 2
    return filebench.take(semaphores, taker)


def forgets_some(queue, after, i, real=processors.leave):
    following = real(queue, after, i)
    while following % 7 == 3:
        following = real(queue, after, i)
    return following


def pays_for_one_write(threads, writer, real=oltp_threads._next_in_library):
    real(threads, writer)
    return 1


def evicts_and_keeps_hold(arc_, node):
    if arc_.nodes[node, header.IS_METADATA]:
        arc_.scalars[scalar.META] -= arc_.nodes[node, header.N_BYTES]
    arc_.nodes[node, header.ABOVE] = arc_lists.NIL


DEFECTS = {
    "none": (filebench_run, "SECOND_NS", filebench_run.SECOND_NS, None),
    "counts a read before its time": (oltp_threads, "change_by", late_area, "little"),
    "a pause is not noticed": (leaves, "pause", lambda drives, unit, now: None, "utilisation"),
    "who joined is never told": (oltp_disks, "block_came", forgets_joiners, "conservation"),
    "the second copy is never sent": (filebench_run, "sync_event", forgets_second_copy, "conservation"),
    "posts count one and a half": (oltp_threads, "take", takes_half, "one_to_one"),
    "fills complete an hour late": (leaves, "filled", lambda c, leaf, tick, i: filled(c, leaf, tick + 360_000, i),
                                "replays"),
    "who is evicted keeps its hold": (arc, "lose_data", evicts_and_keeps_hold, "holds_are_accounted_for"),
    "a second buffer is never given back": (dbuf, "shrink", lambda arc_, n_bytes: None, "bytes_are_accounted_for"),
    "what was written stays anonymous": (dbuf, "access", lambda *a: None, "only_dirty_blocks_are_anonymous"),
    "dirtying leaves a block where it is": (dbuf, "make_anonymous", lambda *a: None, "only_dirty_blocks_are_anonymous"),
    "a block holds nothing": (dbuf, "hold_above", lambda *a: None, "what_is_in_core_holds_what_is_above"),
    "who waits for a processor is forgotten": (processors, "leave", forgets_some, "who_computes_has_a_processor"),
    "the kernel's work costs nobody anything": (oltp_txgs, "kernel_work", lambda m, now, ns: now + ns,
                                                "processors_are_accounted_for"),
    "the library writes for nothing": (oltp_threads, "_library_ns", lambda m, writer, n: 0, "processors_are_accounted_for"),
    "the library pays for what was there": (oltp_threads, "_next_in_library", pays_for_one_write,
                                            "processors_are_accounted_for"),
    "reads interrupt nobody": (oltp_disks, "_interrupt", lambda m, now, is_write: None, "each_command_interrupts_once"),
    "interrupts cost nobody anything": (oltp_disks, "kernel_work", lambda m, now, ns: now + ns,
                                        "processors_are_accounted_for"),
    "/proc is read in no time": (oltp_threads, "with_proc", lambda m, n, ns: ns, "operations_fill_the_time"),
    "nothing is ever evicted": (arc, "_evict", lambda *a: None, "core_is_no_larger_than_c"),
}


def main():
    site, rules = new_site(WORKLOAD, 3), rules_of("onnv_69")
    rules = rules._replace(cache=rules.cache._replace(cache_bytes=2**18))
    failed = {}
    for name, (module, attribute, defect, _) in DEFECTS.items():
        real = getattr(module, attribute)
        setattr(module, attribute, defect)
        try:
            x = filebench_run.simulate(site, rules, SETTINGS, recorder=new_recorder(1, 20_000))
        finally:
            setattr(module, attribute, real)
        failed[name] = [law for law, holds in LAWS.items() if not holds(x)]
    print(json.dumps(failed))


if __name__ == "__main__":
    main()

"""The tasks of a ZFS under a database: who waits for I/Os, and goes on when they are done.

A task is a number. Which it is says its kind, from the first task on:

    kind        how many                  what goes on
    PROCESS     one for each process      its call: `model.filesystems.zfs.calls`
    LOG_ROW     N_ROWS                    a row of an intent log: `model.filesystems.zfs.intent_logs`
    CHAIN       one for each intent log   a chain of log blocks that waited for a group: likewise
    AHEAD       N_AHEAD                   a record that is read ahead: `model.filesystems.zfs.read_ahead`
    ROUND       1                         a round of the L2ARC's feed thread: `model.filesystems.zfs.cache_devices`
"""

from model.jit import kernel, part

PROCESS, LOG_ROW, CHAIN, AHEAD, ROUND = range(5)


@kernel
def _kind_of(task, n_processes, n_rows, first_ahead, n_ahead):
    if task < n_processes:
        return PROCESS
    if task < n_processes + n_rows:
        return LOG_ROW
    if task < first_ahead:
        return CHAIN
    return AHEAD if task < first_ahead + n_ahead else ROUND


@part
def kind_of(m, task):
    """PROCESS to ROUND."""
    return _kind_of(task, len(m.process), len(m.row_of), m.first_ahead, len(m.ahead))


@part
def chain_task(m, log):
    """The task of the chain of an intent log."""
    return len(m.process) + len(m.row_of) + log


@part
def log_of_chain(m, task):
    """The intent log whose chain this task is."""
    return task - len(m.process) - len(m.row_of)

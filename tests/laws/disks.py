"""Laws of the disks of a simulation, exactly; each is a function of a result that says whether it holds."""

import numpy as np

from model.devices import drive_columns as queued


def utilisation(x):
    """Each disk has been busy for just the service times of what it has served."""
    m, drives = x.machine, x.leaves.drives
    n = m.settings.n_leaves
    rest = np.where(drives.units[:, queued.N_COMMANDS] > 0, m.calendar.time[:n] - m.settings.duration_ns, 0)
    return (x.busy_ns == drives.units[:, queued.SERVICE_NS] - rest).all() and (x.busy_ns <= m.settings.duration_ns).all()

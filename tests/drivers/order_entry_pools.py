"""Small pools for the tests of the order entry. Run by itself: the places of all blocks under both engines of the allocator,
as digests, without the compiler.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m drivers.order_entry_pools
"""

import hashlib
import json

import numpy as np

from model.devices.data_sheet import SheetParams, new_drive
from model.simulations.order_entry.series import begin, rewrite, window
from model.simulations.order_entry.state import Orders
from model.zfs.eras import era
from model.zfs.metaslab.new_pool import new_pool
from model.zfs.metaslab.state import EXACT, FAST, TopVdev
from model.zfs.vdev.raid import vdev_params

SECOND = 10**9
METASLAB_BYTES, N_METASLABS = 2**21, 64
SMALL = Orders(n_users=16, n_records=2**14, n_redo_records=8, n_vdevs=2, vdev=vdev_params("mirror", 2), dirty_target=100,
               max_dirty=400, writes_per_batch=32, txg=Orders().txg._replace(timeout_ns=SECOND // 4))
SHEET = SheetParams(disk_bytes=N_METASLABS * METASLAB_BYTES + 2**23, depth=32, window=8)


def space_of(orders, rules, engine=FAST, unit=4096, n_metaslabs=N_METASLABS, max_segments=2**17):
    vdevs = [TopVdev(orders.vdev, asize=n_metaslabs * METASLAB_BYTES)] * orders.n_vdevs
    return new_pool(vdevs, rules, engine, unit, METASLAB_BYTES, max_segments)


def site_of(orders=SMALL, name="b117", seed=1, engine=FAST, sheet=SHEET, drawn_ns=(), n_other=0, queue=None, unit=4096,
            max_segments=2**17):
    rules = era(name)
    space = space_of(orders, rules.metaslab, engine, unit, max_segments=max_segments)
    return begin(orders, new_drive(sheet, drawn_ns), queue or era("b117").queue, space, seed, n_other)


def digest(site):
    m = site.machine
    places = np.concatenate([m.record_at, m.indirect_at.ravel(), m.redo_at])
    return hashlib.sha256(places.tobytes()).hexdigest()


if __name__ == "__main__":
    tiny = SMALL._replace(n_records=2**10, n_users=4, dirty_target=8, max_dirty=60, writes_per_batch=8)
    outcomes = {}
    for name in ("b117", "b141_df", "b141"):
        for engine in (EXACT, FAST):
            site = site_of(tiny, name, engine=engine)
            seen = window(site, 0, SECOND // 4)
            rewrite(site, 700, seen, 1, "ageing")
            outcomes[f"{name} {engine}"] = [digest(site), seen.tally["transactions"]]
    print(json.dumps(outcomes))

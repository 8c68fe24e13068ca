"""Which numbers a line of zpool iostat has, by how many there are: releases and options."""

BASE = ["space.allocated", "space.free", "reads", "writes", "read_bandwidth", "write_bandwidth"]
WAITS = [
    "read.wait",
    "write.wait",
    "read.disk_wait",
    "write.disk_wait",
    "read.sync_queue_wait",
    "write.sync_queue_wait",
    "read.async_queue_wait",
    "write.async_queue_wait",
    "scrub.wait",
    "trim.wait",
    "rebuild.wait",
]
NAMES_OF_QUEUES = ("sync_read", "sync_write", "async_read", "async_write", "scrub", "trim", "rebuild")
QUEUES = [f"{queue}.{state}" for queue in NAMES_OF_QUEUES for state in ("pending", "active")]
SIZES = [f"{queue}.{kind}" for queue in NAMES_OF_QUEUES for kind in ("individual", "aggregated")]
OF_WAITS, OF_QUEUES = {"0.7": 9, "0.8 to 2.1": 10, "2.2 or later": 11}, {"0.7": 10, "0.8 to 2.1": 12, "2.2 or later": 14}
OF_SIZES = {"0.7": 10, "0.8 to 2.1": 12, "2.2 or later": 14}
LAYOUTS = {
    len(BASE) + (n_waits if waits else 0) + (n_queues if queues else 0): (
        release,
        BASE + (WAITS[:n_waits] if waits else []) + (QUEUES[:n_queues] if queues else []),
    )
    for release, n_waits, n_queues in ((release, OF_WAITS[release], OF_QUEUES[release]) for release in OF_WAITS)
    for waits in (False, True)
    for queues in (False, True)
    if waits or queues
}
LAYOUTS[len(BASE)] = ("any", BASE)
EITHER = 16  # numbers: -q of 0.7, or -l of 0.8 to 2.1
OLD_QUEUES = ("0.7", BASE + QUEUES[: OF_QUEUES["0.7"]])

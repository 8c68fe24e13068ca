"""A PostgreSQL on two disks, which tests of predictions change and run."""


from study.machines import scenario
from study.machines import simulate as machines

DISKS = scenario.of({
    "host": {"memory_gib": 4}, "files": {"era": "b141", "record_kib": 8},
    "pool": {"data": {"sheet": "savvio-10k2", "count": 2}},
    "database": {"kind": "postgres", "scale": 20, "clients": 8, "transactions": 3000, "conf": {
        "shared_buffers": "64MB", "checkpoint_segments": 8, "wal_buffers": "1MB"}}})


def run(changes, base=DISKS, seed=1):
    machine = scenario.changed(base, changes)
    return machines.simulate(machine, machines.known([machine]).central(), seed)

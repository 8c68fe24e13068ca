"""The three ladders of 2009, rung by rung, under every reading of the words that describe them.

    rungs(PGBENCH, central(PGBENCH))            a list of scenarios (`study.scenario`)
    climb(PGBENCH, reading, values, seed)       what each rung does, one run of each
    predict(PGBENCH, draws=4, seeds=2, seed=1)  the ensemble (`study.ensembles`): its variants are the rungs
    enumerate_readings(PGBENCH, draws, seed)    every rung under every reading

What a rung could be is in `study.ladder_readings`, which was committed before any rung was simulated. A rung differs from
the one before it in hardware and switches; the values of priors are those of the machine, drawn once for a whole ladder.
"""
from study import scenario
from study.ladder_readings import Ladder, changes
from study.scenario import Devices, Scenario

STANDING = ("disks", "devices")     # first parts of paths that hold for whatever disks or devices there are


# --- from readings to machines ------------------------------------------------------------------------------------------

def rungs(ladder: Ladder, reading: dict[str, str]) -> list[Scenario]:
    """A scenario for each rung."""
    one, standing, found = scenario.of(ladder.base | {"title": ladder.name}), {}, []
    for sets in changes(ladder, reading):
        standing |= {path: value for path, value in sets.items() if path.split(".")[0] in STANDING}
        one = scenario.changed(one, {path: value for path, value in sets.items() if path not in standing})
        found.append(_with_standing(one, standing))
    return found


def _with_standing(one: Scenario, standing: dict) -> Scenario:
    """The scenario with what holds for all its disks, or for all devices that data or a log are on."""
    sets = {}
    for path, devices in _devices(one).items():
        for name, value in standing.items():
            kind, _, field = name.partition(".")
            if kind == "devices" or scenario.sheet(devices.sheet).kind == "disk":
                sets[f"{path}.{field}"] = value
    return scenario.changed(one, sets)


def _devices(one: Scenario) -> dict[str, Devices]:
    """By their path; but for cache devices, which nothing has to survive on."""
    places = {"pool.data": one.pool.data, "pool.log": one.pool.log, "log_pool.data": one.log_pool and one.log_pool.data}
    return {path: devices for path, devices in places.items() if devices is not None}

"""The ladders of 2009: every reading is a machine that can be, and no rung has a constant of its own."""
import itertools

import pytest

from study import ladder_readings, scenario
from study.ladder_readings import LADDERS
from study.ladders_2009 import rungs

# What a step of a ladder may change: hardware, properties of ZFS, settings of the database. Nothing else of a machine.
MAY_CHANGE = ("pool.", "log_pool", "database.conf.", "files.record_kib", "files.log_record_kib", "files.primarycache",
              "files.prefetch", "files.nocacheflush", "files.warm")
ALL = [pytest.param(ladder, reading, id=f"{name}-{i}") for name, ladder in LADDERS.items()
       for i, reading in enumerate(ladder_readings.readings(ladder)) if i % 7 == 0]


@pytest.mark.parametrize(("ladder", "reading"), ALL)
def test_neighbouring_rungs_differ_in_switches_and_hardware_only(ladder, reading):
    machines = rungs(ladder, reading)
    for one, other in itertools.pairwise(machines):
        assert [path for path in scenario.differences(one, other) if not path.startswith(MAY_CHANGE)] == []


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
def test_what_a_choice_sets_stays_set(ladder):
    """No setting of the database or of ZFS holds for a rung and not for those after it."""
    for reading in ladder_readings.readings(ladder)[::11]:
        seen = {}
        for sets, machine in zip(ladder_readings.changes(ladder, reading), rungs(ladder, reading), strict=True):
            seen |= {path: value for path, value in sets.items() if path.startswith(("database.", "files."))}
            assert seen.items() <= scenario.fields(machine).items()


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
def test_the_likeliest_choice_is_a_choice_and_all_have_reasons(ladder):
    for switch in ladder.switches:
        names = [one.name for one in switch.choices]
        assert switch.central in names
        assert len(set(names)) == len(names) > 1
        assert switch.words
        assert all(len(one.reason) > 10 for one in switch.choices if one.name != "honest")


def test_readings_are_all_combinations_and_all_different():
    for ladder in LADDERS.values():
        found = [tuple(one.items()) for one in ladder_readings.readings(ladder)]
        assert len(set(found)) == len(found)
        assert tuple(ladder_readings.central(ladder).items()) in found


def test_the_devices_are_those_of_the_slide():
    """Three disks and three SSDs at most, at every rung of every reading."""
    for ladder in LADDERS.values():
        for reading in ladder_readings.readings(ladder)[::5]:
            for machine in rungs(ladder, reading):
                used = [one for pool in (machine.pool, machine.log_pool) if pool
                        for one in (pool.data, pool.log, pool.cache) if one]
                for kind in ("disk", "ssd"):
                    assert sum(one.count for one in used if scenario.sheet(one.sheet).kind == kind) <= 3


def test_a_battery_is_behind_every_device_that_something_must_survive_on():
    ladder = LADDERS["pgbench"]
    for machine in rungs(ladder, ladder_readings.central(ladder) | {"flush": "battery", "drive": "savvio-10k1"}):
        assert machine.pool.data.battery
        assert (machine.log_pool is None or machine.log_pool.data.battery)
        assert machine.pool.data.sheet in ("savvio-10k1", "x25-e")

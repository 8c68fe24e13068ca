"""What each line of the three ladders of 2009 could mean, before any of them is simulated.

The slides give a machine, a command line, and a few words for each rung ("general postgres optimization"). What the words
say is `rungs`: changes of a scenario that every reading shares. What they leave open is a `Switch`, with every choice that
is consistent with the words, and a reason for each. A *reading* is one choice of every switch.

    readings(PGBENCH)           all combinations of the switches that are multiplied
    changes(PGBENCH, reading)   per rung: the changes of the scenario that it adds, {path: value}

A choice changes the scenario from one rung on and for good: nothing can be set for one rung only. Paths are those of
`study.machines.scenario`; "disks.", "devices." stand for all disks, and for all devices that data or a log lie on. A switch
that is not multiplied (`aside`) is thrown by itself, with all others at the likeliest choice. In an ensemble it is drawn
with all the rest. `central` is the likeliest by the words of the slides, which print recipes (16 to 19) in front of the
ladders. Whether it gives the published numbers has no say. No reading is dropped because of its numbers.

`safe` is False where a power cut could lose what a client was told is committed.
"""
import itertools
from typing import NamedTuple

import pandas as pd

DISK, OTHER_DISK, SSD = "savvio-10k2", "savvio-10k1", "x25-e"


class Choice(NamedTuple):
    """`since`: the rung from which on it holds."""
    name: str
    since: int
    sets: dict
    reason: str
    safe: bool = True


class Switch(NamedTuple):
    """A reading that the slides leave open: all choices that it has, and the one taken by best guess."""
    name: str
    words: str              # of the slides, that leave it open
    central: str
    choices: tuple[Choice, ...]
    aside: bool = False


class Rung(NamedTuple):
    """A step of a ladder: its published run, its words, and what it sets."""
    run: str                # of data/published
    words: str
    sets: dict              # against the rung before


class Ladder(NamedTuple):
    """Steps of tuning on one machine, each against the one before, and what is open of them."""
    name: str
    base: dict              # a scenario, the first rung
    rungs: tuple[Rung, ...]
    switches: tuple[Switch, ...]


MACHINE = {
    "host": {"cpus": 8, "memory_gib": 12, "cpu": 1.0, "cpu_source": "slide 21: two Xeons of four cores, 2.3 GHz"},
    "files": {"kind": "zfs", "era": "b111"},    # OpenSolaris 2009.06 is build 111
    "pool": {"data": {"sheet": DISK, "count": 1}},
}
TWO_DISKS = {"pool.data": {"sheet": DISK, "count": 2}}
SSD_CACHE = {"pool.cache": {"sheet": SSD, "count": 1}}
ONE_SSD = {"sheet": SSD, "count": 1}


# --- of all three ladders -----------------------------------------------------------------------------------------------

DRIVE = Switch("drive", "3 x 10000 rpm drives", DISK, (
    Choice(DISK, 1, {}, "Drives of 2.5 inch and this speed were few; this is the generation of 2007."),
    Choice(OTHER_DISK, 1, {"disks.sheet": OTHER_DISK}, "The generation before it, of 2005."),
), aside=True)

WRITE_CACHE = Switch("write_cache", "3 x 10000 rpm drives", "on", (
    Choice("on", 1, {"disks.write_cache": True}, "ZFS switches it on where it is given a whole disk."),
    Choice("off", 1, {"disks.write_cache": False}, "SAS drives come with it off, and ZFS leaves it so on a slice; one of "
           "three drives holds the system."),
), aside=True)


# --- pgbench ------------------------------------------------------------------------------------------------------------

MEMORY = {"database.conf.shared_buffers": "2GB"}
CHECKPOINTS = MEMORY | {"database.conf.checkpoint_segments": 128, "database.conf.wal_buffers": "1MB"}
SYNC_METHOD = CHECKPOINTS | {"database.conf.wal_sync_method": "fdatasync"}

TUNING = Switch("tuning", "general postgres optimization", "asynchronous commits", (
    Choice("memory", 3, MEMORY, "Four of the six settings that slide 19 names are sizes of memory. temp_buffers, "
           "work_mem and maintenance_work_mem mean nothing to pgbench. shared_buffers then hold the whole database."),
    Choice("and checkpoints", 3, CHECKPOINTS, "The slide's list ends in etc. What guides of 8.3 add first are more segments "
           "between checkpoints, 3 by default, and larger wal_buffers, 64 kB by default."),
    Choice("and the sync method", 3, SYNC_METHOD, "wal_sync_method is in the slide's list. On Solaris the default is "
           "open_datasync. Only fdatasync remains to be chosen: one call more, but for all writes of a commit at once."),
    Choice("and commit_delay", 3, SYNC_METHOD | {"database.conf.commit_delay": "1ms"},
           "The setting of 8.3 that makes commits wait for company; part of the etc., perhaps."),
    Choice("asynchronous commits", 3, SYNC_METHOD | {"database.conf.synchronous_commit": "off"},
           "synchronous_commit is in the slide's list, among the huge gains. Commits then wait for nothing.", safe=False),
))

PGBENCH_RECORD = Switch("record", "Single disk ZFS; Set recordsize to 8k", "8K with the tuning", (
    Choice("128K", 1, {}, "The default. None of the words of the ladder says that it was changed."),
    Choice("8K with the tuning", 3, {"files.record_kib": 8},
           "The first hint for PostgreSQL on slide 19; a first rung that is named Single disk ZFS is ZFS as it comes."),
    Choice("8K", 1, {"files.record_kib": 8}, "The slides say to set it before loading any data, and data are loaded first."),
))

PGBENCH_FLUSH = Switch("flush", "zfs_nocacheflush, of slide 18", "honest", (
    Choice("honest", 1, {}, "The default: what is committed is on the platter, or in the flash."),
    Choice("not asked for since the tuning", 3, {"files.nocacheflush": True},
           "Slide 18 has it among the tuning of ZFS. On drives with volatile caches it is fast and wrong.", safe=False),
    Choice("battery", 1, {"devices.battery": True},
           "Slide 18 speaks of battery-backed caches. A controller with one of 256 MB could be ordered with this "
           "server. Then all devices are behind it, from the first rung on."),
))

DATA_ON_SSD = Switch("data on SSD", "+ all the data on SSD", "with the log", (
    Choice("with the log", 4, {}, "All the data: the whole cluster on a pool of one SSD, its log too."),
    Choice("log left on disks", 4, {"log_pool": {"data": {"sheet": DISK, "count": 2}}},
           "Slide 19 creates a tablespace for the data on a pool of their own; the log stays where initdb had put it."),
))

LOG_ON_SSD = Switch("log on SSD", "+ data on hdd & log on SSD", "a pool of its own", (
    Choice("a pool of its own", 5, {"log_pool": {"data": ONE_SSD}, "files.log_record_kib": 128},
           "Slide 19: use separate pool for log, preferably one with SSD (initdb -X). The words set data against log. A new "
           "file system has records of 128K."),
    Choice("intent log", 5, {"log_pool": None, "pool.log": ONE_SSD}, "Slide 19: zpool add poolname log ssd-name."),
))

PGBENCH_START = Switch("memory", "pgbench -c 10 -s 10 -t 10000 pgbench", "loaded just before", (
    Choice("loaded just before", 1, {"files.warm": True}, "pgbench -i has just written the 160 MB; the ARC has them."),
    Choice("after a reboot", 1, {"files.warm": False},
           "Settings of /etc/system ask for one; so few data are read again within seconds of a run."),
), aside=True)

PGBENCH = Ladder(
    "pgbench",
    MACHINE | {"database": {"kind": "postgres", "version": 8.3, "scale": 10, "clients": 10, "transactions": 100_000}},
    (Rung("pgbench-1", "Single disk ZFS", {}),
     Rung("pgbench-2", "2 Raid 0 disk + SSD as level 2 cache", TWO_DISKS | SSD_CACHE),
     Rung("pgbench-3", "Above + general postgres optimization", {}),
     Rung("pgbench-4", "+ all the data on SSD", {"pool.data": ONE_SSD}),
     Rung("pgbench-5", "+ data on hdd & log on SSD", TWO_DISKS),
     Rung("pgbench-6", "+ primarycache=metadata", {"files.primarycache": "metadata"})),
    (TUNING, PGBENCH_RECORD, PGBENCH_FLUSH, DATA_ON_SSD, LOG_ON_SSD, PGBENCH_START, DRIVE, WRITE_CACHE))


# --- sysbench -----------------------------------------------------------------------------------------------------------

SYSBENCH_RECORD = Switch("record", "Single disk ZFS; Set recordsize to 16k", "16K with the optimization", (
    Choice("128K", 1, {}, "The default; no words of the ladder say that it was changed."),
    Choice("16K with the optimization", 5, {"files.record_kib": 16, "files.log_record_kib": 128},
           "Slide 17 has it in its recipe, and the first rung is ZFS as it comes."),
    Choice("16K", 1, {"files.record_kib": 16, "files.log_record_kib": 128},
           "Slide 17: do this before you load any data. Data were loaded before the first rung."),
))

NOTHING_IN_MEMORY = {"files.warm": False, "database.start": "cold"}     # ARC, buffers of InnoDB

START = Switch("memory", "--max-time=300 ... run", "loaded just before", (
    Choice("loaded just before", 1, {"files.warm": True},
           "Every pool has to be loaded before it can be run on. The 2.4 GB that were just written fit in 12 GB of memory: "
           "the ARC has them."),
    Choice("after a reboot", 1, NOTHING_IN_MEMORY, "Settings of /etc/system (slides 17, 18) ask for a reboot. A "
           "careful comparison lets all runs begin alike: with nothing in memory."),
    Choice("each after the other", 3, {"files.warm": True, "database.start": "warm"},
           "The first two rungs are pools made anew and rebooted into. Later a cache or log device is added to a running "
           "pool. Then each run finds what the last one left, in the ARC and in the server's own buffers."),
))

SYSBENCH_FLUSH = Switch("flush", "zfs_nocacheflush, of slide 18", "honest", (
    Choice("honest", 1, {}, "The default."),
    Choice("battery", 1, {"devices.battery": True},
           "Slide 18 speaks of battery-backed caches. A controller with one of 256 MB could be ordered with this "
           "server. Then all devices are behind it, from the first rung on."),
))

SYSBENCH_LOG = Switch("log", "+ Separate intent log [on SSD]", "intent log", (
    Choice("intent log", 4, {"pool.log": ONE_SSD}, "The words, and slide 13: zpool add poolname log ssd-device."),
    Choice("the database's log", 4, {"log_pool": {"data": ONE_SSD}},
           "Slide 17 separates logs by another pool, zpool create logpool ssd-disk3, and innodb_log_group_home_dir."),
    Choice("its data as well", 4, {"pool.data": ONE_SSD},
           "The same line of slide 17 sets innodb_data_home_dir along with it. Unless every table has a file of its own, "
           "all data are there."),
))

MYSQL_MEMORY = {"database.conf.innodb_buffer_pool_size": "8G", "files.primarycache": "metadata"}
MYSQL_RECIPE = MYSQL_MEMORY | {"files.prefetch": False, "database.conf.innodb_doublewrite": False}

OPTIMIZATION = Switch("optimization", "+ With optimization", "the recipe", (
    Choice("memory", 5, MYSQL_MEMORY, "The first lines of slide 17: cache in InnoDB rather than in the ARC."),
    Choice("the recipe", 5, MYSQL_RECIPE,
           "What slides 17 and 18 say for every installation: no prefetch and no double writes besides. What "
           "primarycache leaves out is never prefetched, so half of it changes nothing. Compression is left out, since "
           "how far these pages compress is not known."),
    Choice("and fewer flushes", 5, MYSQL_RECIPE | {
        "files.nocacheflush": True, "database.conf.innodb_flush_log_at_trx_commit": 2},
        "zfs_nocacheflush is on slide 18. innodb_flush_log_at_trx_commit = 2 is on no slide. It is what InnoDB has in "
        "place of PostgreSQL's synchronous_commit, which is on one.", safe=False),
))

INNODB = {"kind": "innodb", "rows": 10_000_000, "clients": 20, "seconds": 300, "distribution": "special"}


def _sysbench(name: str, read_only: bool, words: tuple, switches: tuple) -> Ladder:
    steps: tuple[dict, ...] = ({}, TWO_DISKS, SSD_CACHE, {}, {})
    rungs = tuple(Rung(f"{name}-{i + 1}", phrase, step) for i, (phrase, step) in enumerate(zip(words, steps, strict=True)))
    return Ladder(name, MACHINE | {"database": INNODB | {"read_only": read_only}}, rungs, switches)


SYSBENCH_RW = _sysbench(
    "sysbench-rw", False,
    ("Single disk ZFS", "raid0 ZFS", "+ SSD cache", "+ Separate intent log", "+ With optimization"),
    (SYSBENCH_RECORD, START, SYSBENCH_FLUSH, SYSBENCH_LOG, OPTIMIZATION, DRIVE, WRITE_CACHE))

SYSBENCH_RO = _sysbench(
    "sysbench-ro", True,
    ("Single disk ZFS", "2 disk raid0 ZFS", "+ SSD cache", "+ Separate intent log on SSD", "+ optimization"),
    (SYSBENCH_RECORD, START, SYSBENCH_LOG,
     OPTIMIZATION._replace(choices=OPTIMIZATION.choices[:2]), DRIVE))

LADDERS = {ladder.name: ladder for ladder in (PGBENCH, SYSBENCH_RW, SYSBENCH_RO)}


# --- from switches to readings --------------------------------------------------------------------------------------------

def central(ladder: Ladder) -> dict[str, str]:
    """The likeliest reading by the words."""
    return {switch.name: switch.central for switch in ladder.switches}


def readings(ladder: Ladder) -> list[dict[str, str]]:
    """Every combination of the switches that are multiplied; the others at their likeliest."""
    names = [[switch.central] if switch.aside else [choice.name for choice in switch.choices] for switch in ladder.switches]
    return [dict(zip(central(ladder), chosen, strict=True)) for chosen in itertools.product(*names)]


def chosen(ladder: Ladder, reading: dict[str, str]) -> list[Choice]:
    """The choices of a reading."""
    return [next(choice for choice in switch.choices if choice.name == reading[switch.name]) for switch in ladder.switches]


def changes(ladder: Ladder, reading: dict[str, str]) -> list[dict]:
    """Per rung what it changes: its own words first, then the choices that begin there."""
    choices = chosen(ladder, reading)
    steps = [dict(rung.sets) for rung in ladder.rungs]
    if any(choice.name == "each after the other" for choice in choices):    # its first run
        steps[0] |= NOTHING_IN_MEMORY
    for choice in choices:
        steps[choice.since - 1] |= choice.sets
    return steps


def is_safe(ladder: Ladder, reading: dict[str, str]) -> bool:
    """Whether a power cut leaves every commit that was reported, at every rung."""
    return all(choice.safe for choice in chosen(ladder, reading))


def table_of_words(ladder: Ladder) -> pd.DataFrame:
    """For readers: every switch, its choices, from which rung on, and why."""
    rows = [(switch.name, switch.words, choice.name + (" *" if choice.name == switch.central else ""), choice.since,
             choice.reason, "yes" if choice.safe else "no") for switch in ladder.switches for choice in switch.choices]
    return pd.DataFrame(rows, columns=["switch", "words", "choice", "from rung", "reason", "keeps commits"])

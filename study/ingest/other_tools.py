"""Outputs that are not read, told apart by how they begin, so that a refusal says what a file is and what to do instead."""

import re
from typing import NamedTuple

BY_MAPPING = "put its numbers into a CSV with a heading and import that by --mapping"


class Other(NamedTuple):
    """How an output begins, whose it is, and what the user does instead."""

    pattern: re.Pattern[str]
    name: str
    instead: str


def _other(pattern: str, name: str, instead: str = BY_MAPPING) -> Other:
    return Other(re.compile(pattern, re.MULTILINE), name, instead)


OTHERS = (
    _other(r"^(creating tables\.\.\.|dropping old tables\.\.\.|NOTICE:  table \"pgbench_)", "pgbench -i",
           "give that of the run that follows"),
    _other(r"^FATAL: (--|unable to|invalid|option|Cannot)", "sysbench that did not start", "do as its message says"),
    _other(r"^ *r/s .*(Device|util)$|^ *tps .* Device$", "iostat for people (-h or --pretty)", "record without it"),
    _other(r"^avg-cpu: ", "iostat without devices (-c)", "record with -x"),
    _other(r"^ +tty +cpu$\s+tin +tout +", "iostat without devices"),
    _other(r"^ +tty .* cpu$\s+tin +tout +", "iostat of another system"),
    _other(r"^r/s,w/s,kr/s,kw/s,", "iostat -r of Solaris, with commas", "record without -r"),
    _other(r"^ *r/s +w/s +[kMG]r/s +[kMG]w/s +ractv", "vfsstat of SmartOS"),
    _other(r"^Total DISK READ *:", "iotop"),
    _other(r"^fio Disk Speed Tests|^FIO Benchmark Summary", "a script around fio (YABS, kbench)",
           "give what fio itself printed"),
    _other(r"^FSYNCS/SECOND: ", "pveperf of Proxmox"),
    _other(r"L\(q\) +ops/s", "gstat of FreeBSD"),
    _other(r"^-*procs -*memory|^ *procs? +memory", "vmstat"),
    _other(r"^----*total-.*usage----|^---*procs---", "dstat"),
    _other(r"^\d\d:\d\d:\d\d.* DEV +tps ", "sar -d", "record iostat -x beside the run, or " + BY_MAPPING),
    _other(r"^Linux .*\n\n.* (CPU|UID) ", "sar, mpstat or pidstat of sysstat",
           "record iostat -x beside the run, or " + BY_MAPPING),
    _other(r"^1\.9\d[a-z]?,[\d.]+[a-z]*,|^Version +[\d.]+[a-z]* +-+Sequential Output", "bonnie++"),
    _other(r"Iozone: Performance Test", "IOzone"),
    _other(r"^Compare file sync methods|usecs/op$", "pg_test_fsync"),
    _other(r"<<< .* request=\d+ time=|^--- .* ioping statistics ---", "ioping"),
    _other(r"^\d+\+\d+ records (in|out)$", "dd"),
    _other(r"^Vuser \d+:|^Hammerdb Log|System achieved \d+ NOPM", "HammerDB"),
    _other(r"Microsoft Exchange.* Jetstress|<title>.*Jetstress", "Jetstress"),
    _other(r"^\[OVERALL\], (RunTime|Throughput)", "YCSB"),
    _other(r"TPC-C Load Generator|^<TpmC>", "tpcc-mysql"),
    _other(r"^Vdbench distribution", "Vdbench"),
    _other(r"^Command Line: .*diskspd|<Profile>\s*<Progress>", "DiskSpd"),
    _other(r"^ORION version|^Orion version", "Orion"),
    _other(r"<Results? .*xmlns=.*swingbench", "Swingbench"),
    _other(r"^\s*Benchmark\s*$\s*(Running for engine|Average number of seconds)", "mysqlslap"),
    _other(r"^ *time +(hits|read|ioread|ddread|reads) +\w+%? ", "arcstat"),
    _other(r"^ZFS Subsystem Report|^ARC (Summary|status):", "arc_summary"),
    _other(r"^ +pool: .*\n +state: ", "zpool status", "record zpool iostat -T u -y -p -v POOL 1"),
    _other(r"^NAME +PROPERTY +VALUE", "zfs get", "its values go into [files] of a scenario"),
    _other(r"^txg +birth +state +ndirty", "the kstat txgs of ZFS"),
    _other(r"^NAME +SIZE +ALLOC +FREE", "zpool list", "record zpool iostat -T u -y -p -v POOL 1"),
    _other(r"^fio version [23] iolog", "fio --write_iolog", "a trace goes to study replay requests"),
    _other(r"^ *\d+,\d+ +\d+ +\d+ +\d+\.\d+ +\d+ +[A-Z] ", "blkparse", "a trace goes to study replay requests"),
)


def whose(head: str) -> Other | None:
    """Whose output begins with `head`; None if that is not known."""
    return next((other for other in OTHERS if other.pattern.search(head)), None)

"""From a scenario to a machine of the model: the only way by which one is made.

    known = machines.known([scenario, other])           what is not known: priors, and the ranges of all device sheets
    outcome = machines.simulate(scenario, known.central(), seed=1)
    outcome.tps, outcome.p95_ms, outcome.devices["data"]["writes"], …

`values`, a draw of `study.documents.priors`, says all that a scenario leaves open; scenarios that are compared take the same
draw. CPU times are of a processor of speed 1 and are divided by the host's.
"""
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from model.databases.innodb import tables as innodb_tables
from model.databases.oracle import state as oracle_state
from model.databases.postgres import pgbench
from model.databases.postgres import state as postgres_state
from model.databases.postgres.toolkit import kinds_of_files
from model.events.clock import MS, SECOND_NS
from model.filesystems.zfs import store as zfs_store
from model.filesystems.zfs.state import DEVICE_COUNTS
from model.simulations import database_server
from model.simulations.database_server import Both, Result, n_processes_of, postgres_files, simulate_postgres
from model.zfs import eras
from model.zfs.arc.primarycache import policy
from model.zfs.txg.throttle import to_scale
from study.documents import priors
from study.documents.priors import Known
from study.errors import UserError
from study.machines import compression, pool_fill, ufs
from study.machines.devices import devices_of, of_device, of_pool, of_sheet
from study.machines.scenario import Scenario
from study.machines.servers import (
    buffer_bytes,
    in_own_names,
    innodb_settings,
    innodb_test,
    max_tps,
    oracle_settings,
    postgres_database,
    postgres_settings,
    speed,
    system,
)
from study.machines.storage import GIB, Zvol, sheet

PAGES_OF_A_BRANCH = 100_000 // 61 + 274      # of accounts and of their index: see model.databases.postgres.pgbench
SEGMENT_BYTES = postgres_state.SEGMENT_BYTES
LOG_OF_TRANSACTION = 5 * pgbench.PAGE_BYTES        # images of the pages that one of pgbench changes
GROUPS = ("data", "log", "cache")
LOG_POOL_GROUPS = ("log pool", "log pool's log", "log pool's cache")
MAX_TPS, MAX_TPS_SHORT = 20_000, 200_000        # of InnoDB: room for transactions, of a run that is short as well
MAX_SHORT = 2**20               # transactions of a short one
OF_THE_SLIDES = ("5.4.0", "5.4.2")              # versions of MySQL of which CPU times are
OTHER_BYTES = GIB               # of memory: kernel and processes, besides the database's buffers
HALF = -1                       # as `since`: the second by which half of the transactions are done
MANY_SECONDS = 3600             # that are recorded then, at first
CPU_TIMES = ("read_ns", "write_ns", "commit_ns", "miss_ns", "checksum_ps", "unpack_ps", "pack_ps", "sync_serial_ns",
             "sync_io_ns", "sync_indirect_ns")     # of a processor of speed 1
IOS, IOS_WITH_CACHE = 2**14, 2**16     # at a time; a round of a cache device may write records of 512 B
MAX_PIECES = 32                 # of a record on RAID-Z: of 128 KiB in sectors of 4 KiB


class Outcome(NamedTuple):
    """A run. Times of response in ms; `devices`: per group (data, log, cache, log_data …) reads, writes and their bytes."""
    tps: float
    seconds: float
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    wal_bytes: float            # of the database's log, for a transaction
    counts: dict
    per_second: dict            # count -> array, of as many seconds as were asked for
    devices: dict
    result: Result | None       # of the model, for what is not here; None where rates and counts alone are kept
    devices_per_second: dict    # as `devices`, an array for each count, of as many seconds as were asked for


def known(scenarios: list[Scenario], experiment: str = "predict") -> Known:
    """Priors of the experiment and of every device of the scenarios."""
    all_known = priors.read(experiment)
    if any(getattr(machine.database, "prepared", False) for machine in scenarios):
        all_known = Known((*all_known.priors, *priors.read("prepared").priors), all_known.switches)
    if any(map(compression.differs, scenarios)):
        all_known = Known((*all_known.priors, *priors.read("packed").priors), all_known.switches)
    if any(machine.database.kind == "innodb" and machine.database.version not in (None, *OF_THE_SLIDES)
           for machine in scenarios):
        all_known = Known((*all_known.priors, *priors.read("releases").priors), all_known.switches)
    sheets = sorted({devices.sheet for machine in scenarios for devices in devices_of(machine)})
    if any(sheet(name).collects for name in sheets):
        all_known = Known((*all_known.priors, *priors.read("scattered").priors), all_known.switches)
    return Known((*all_known.priors, *(prior for name in sheets for prior in of_sheet(name))), all_known.switches)


# --- file systems ---------------------------------------------------------------------------------------------------------

def arc_max_bytes(machine: Scenario, values: dict | None = None) -> int:
    """What is left of memory for the ARC: zfs_arc_max, or all but 1 GiB and at least 3/4 (Solaris), or half (Linux), of it.
    It is less if buffers and processes need the rest."""
    memory, buffers = machine.host.memory_gib * GIB, buffer_bytes(machine, values)
    others = OTHER_BYTES / (values or {}).get("time_scale", 1)      # as the rest of a machine that is smaller
    limit = memory / 2 if system(machine) == "linux" else max(memory * 3 / 4, memory - GIB)
    if machine.zfs.arc_max_mib is not None:
        limit = machine.zfs.arc_max_mib * 2**20
    return int(max(2**26, min(limit, memory - buffers - others)))


def shares_cpus(machine: Scenario) -> bool:
    """Whether threads of a transaction group want the database's processors."""
    return system(machine) != "solaris" if machine.host.shares_cpus is None else machine.host.shares_cpus


def _n_ios(machine: Scenario) -> int:
    """I/Os at a time: a read of each client may be one of each disk, besides what groups and cache devices have."""
    reads = machine.database.clients * min(MAX_PIECES, machine.pool.data.count)
    return max(IOS if machine.pool.cache is None else IOS_WITH_CACHE, IOS // 2 + reads)


def zfs_settings(machine: Scenario, values: dict, n_seconds: int = 0) -> zfs_store.FileSettings:
    """Settings of the model's ZFS for a scenario, with the `values` of a draw."""
    files, faster = machine.zfs, speed(machine, values)
    times = {name: round(values[name] / faster) for name in CPU_TIMES}
    is_warm = int(values.get("is_warm", 1) if files.warm is None else files.warm)
    cache_is_warm = values.get("cache_is_warm", 0) and is_warm if files.cache_warm is None else files.cache_warm
    own = files.log_record_kib is not None and machine.log_pool is None
    disks = [part for part in devices_of(machine) if sheet(part.sheet).kind == "disk"]    # alike, to the model
    return zfs_store.FileSettings(
        record_bytes=round(files.record_kib * 1024),
        log_record_bytes=round((files.log_record_kib or files.record_kib) * 1024), on_zvol=int(isinstance(files, Zvol)),
        own_log_system=int(own or machine.log_pool is not None), compress_pct=round(100 / files.compress_ratio),
        primarycache=policy(files.primarycache), secondarycache=policy(files.secondarycache),
        logbias_throughput=int(files.logbias == "throughput"),
        log_logbias_throughput=int((files.log_logbias or files.logbias) == "throughput"),
        zil_disabled=int(not files.has_zil), sync_always=int(files.sync == "always"),
        no_cache_flush=int(files.nocacheflush), prefetch=int(files.prefetch),
        cpus=machine.host.cpus, shares_cpus=int(shares_cpus(machine)),
        memory_bytes=max(2**26, int(machine.host.memory_gib * GIB / files.groups_to_scale)),
        arc_max_bytes=arc_max_bytes(machine, values), compressed_arc=int(files.holds_compressed),
        is_warm=is_warm, cache_is_warm=int(cache_is_warm), n_ios=_n_ios(machine),
        disk_cache_is_volatile=int(not all(part.battery for part in disks)),
        region_bytes=int(machine.pool.data.device_bytes / values["region_share"]), spread_pct=round(values["spread_pct"]),
        scale_pct=round(100 * files.to_scale), n_seconds=n_seconds, **times)


def build(machine: Scenario, values: dict) -> eras.Era:
    """The rules of its era; without the vdev cache but on Solaris, as it has been off since 2011 (see data/advice.toml). Of
    groups to scale, or of all of a machine, times and limits are smaller by that much."""
    era = eras.era(machine.zfs.era)
    era = era._replace(txg=to_scale(era.txg, machine.zfs.groups_to_scale * values.get("time_scale", 1)))
    return era._replace(cache=era.cache._replace(cache_bytes=0)) if system(machine) != "solaris" else era


def store(machine: Scenario, values: dict, files: np.ndarray, n_processes: int, seed: int, n_seconds: int = 0,
          kinds: list[int] | None = None) -> Both:
    """What the database's files are on. `files`: see model.simulations.database_server; `kinds`: see
    model.databases.postgres.toolkit."""
    if machine.files.kind == "ufs":
        pools = {"pool": of_device(machine.pool.data, values),
                 "log_pool": machine.log_pool and of_device(machine.log_pool.data, values)}
        return Both(ufs=ufs.store(machine, values, pools, files, kinds or [], n_processes, seed, n_seconds))
    pool, log_pool = of_pool(machine.pool, values), None if machine.log_pool is None else of_pool(machine.log_pool, values)
    settings = zfs_settings(machine, values, n_seconds)
    ratios = compression.ratios(machine, values, kinds or [], files[1:, 0])
    rules = build(machine, values)
    spaces = (pool_fill.of_pool(each, rules, seed + i) for i, each in enumerate((machine.pool, machine.log_pool)))
    return Both(zfs=zfs_store.new_store(files, settings, rules, pool, n_processes, seed, log_pool, ratios, *spaces))


# --- runs -----------------------------------------------------------------------------------------------------------------

def simulate(machine: Scenario, values: dict, seed: int, n_seconds: int = 0, since: float = 0) -> Outcome:
    """One run. `n_seconds`: so many are recorded one by one. `since`: what comes before this second does not count (of a
    second that it divides, counts are divided); it may be HALF. Raises UserError, one sentence, for what cannot be."""
    if since:
        n_seconds = MANY_SECONDS if since == HALF else max(n_seconds, math.ceil(machine.database.seconds or MANY_SECONDS))
    try:
        run = _RUNS[machine.database.kind]
        outcome = run(checked(machine), values, seed, n_seconds, since)
        assert outcome.result is not None
        if since == HALF and outcome.result.seconds > n_seconds:
            outcome = run(machine, values, seed, math.ceil(outcome.result.seconds), since)
        return outcome
    except ValueError as error:
        message = in_own_names(machine.database.kind, str(error))
        raise UserError(f"{machine.title or 'the scenario'}: {message}") from None


def checked(machine: Scenario) -> Scenario:
    """The scenario itself; UserError if its database does not go on its disks."""
    if machine.database.kind == "postgres":
        fits(machine, pgbench.PAGE_BYTES * PAGES_OF_A_BRANCH * machine.database.scale)
    elif machine.database.kind == "innodb":
        fits(machine, innodb_bytes(machine))
    else:
        fits(machine, int(machine.database.gib * GIB))
    return machine


def innodb_bytes(machine: Scenario) -> int:
    """Of its table."""
    return innodb_tables.PAGE_BYTES * innodb_tables.new_table(machine.innodb.rows).n_pages


def _of_postgres(machine: Scenario, values: dict, seed: int, n_seconds: int, since: float) -> Outcome:
    n = machine.postgres.transactions or round((machine.postgres.seconds or 60) * max_tps(machine, values))
    database, settings = postgres_database(machine, values, n), postgres_settings(machine, values, n, n_seconds=n_seconds)
    files = postgres_files(database, settings)
    files[0, :2] = np.minimum(files[0, :2], max_log(n))
    place = store(machine, values, files, n_processes_of(settings), seed, n_seconds, kinds_of_files(database))
    return outcome_of(simulate_postgres(database, settings, place, seed), place, since)


def max_log(n_transactions: int) -> int:
    """About as much log as they can write, in whole segments; a run sees little more of a longer ring of files."""
    return -(-n_transactions * LOG_OF_TRANSACTION // SEGMENT_BYTES) * SEGMENT_BYTES + 4 * SEGMENT_BYTES


def innodb_room(seconds: float) -> int:
    """More transactions than a run has."""
    return round(max(seconds * MAX_TPS, min(seconds * MAX_TPS_SHORT, MAX_SHORT)))


def _of_innodb(machine: Scenario, values: dict, seed: int, n_seconds: int, since: float) -> Outcome:
    test = innodb_test(machine, values)
    settings = innodb_settings(machine, values, innodb_room(machine.innodb.seconds), n_seconds=n_seconds)
    files = database_server.innodb_files(test, settings)
    fits(machine, innodb_bytes(machine), int(files[0, 0]))
    place = store(machine, values, files, database_server.innodb_processes(settings), seed, n_seconds)
    return outcome_of(database_server.simulate_innodb(test, settings, place, seed), place, since)


def _of_oracle(machine: Scenario, values: dict, seed: int, n_seconds: int, since: float) -> Outcome:
    settings = oracle_settings(machine, values, innodb_room(machine.oracle.seconds), n_seconds=n_seconds)
    files = database_server.oracle_files(settings)
    fits(machine, int(files[1, 0]), int(files[0, 0]))
    place = store(machine, values, files, oracle_state.n_processes_of(settings), seed, n_seconds)
    return outcome_of(database_server.simulate_oracle(settings, place, seed), place, since)


_RUNS: dict[str, Callable[[Scenario, dict, int, int, float], Outcome]] = {
    "postgres": _of_postgres, "innodb": _of_innodb, "oracle": _of_oracle}


def outcome_of(result: Result, place: Both, since: float = 0) -> Outcome:
    """Of a run of PostgreSQL, from second `since` on."""
    since = half_of(result) if since == HALF else since
    counted = result.ended_at >= since * SECOND_NS
    response = result.response_ns[counted] / MS
    seconds, n = result.seconds - since, int(counted.sum())
    p50, p95, p99 = np.quantile(response, (0.5, 0.95, 0.99)) if n else (np.nan,) * 3
    per_second = dict(zip(result.counts, result.per_second, strict=True))
    counts = {name: int(since_second(row, since)) for name, row in per_second.items()} if since else result.counts
    log = counts["log_bytes"] * (pgbench.PAGE_BYTES / postgres_state.PAYLOAD if "images" in counts else 1)
    return Outcome(
        tps=n / seconds, seconds=seconds, mean_ms=float(response.mean()) if n else np.nan, p50_ms=p50, p95_ms=p95,
        p99_ms=p99, wal_bytes=log / max(1, n), counts=counts, per_second=per_second,
        devices=device_counts(place, since), result=result, devices_per_second=device_series(place))


def since_second(per_second: np.ndarray, since: float) -> np.ndarray:
    """The sum of what is counted by the second, from `since` on; the second that it divides counts in part."""
    whole = math.ceil(since)
    return per_second[..., whole:].sum(axis=-1) + (whole - since) * per_second[..., whole - 1:whole].sum(axis=-1)


def half_of(result: Result) -> float:
    """The second by which half of its transactions are done."""
    return float(np.median(result.ended_at)) / SECOND_NS if len(result.ended_at) else 0.0


def device_series(place: Both) -> dict:
    """Per group of devices and count, an array over the seconds that were recorded."""
    if place.ufs:
        return ufs.device_series(place.ufs)
    pools = ((place.zfs.data, GROUPS), (place.zfs.log, LOG_POOL_GROUPS)) if place.zfs else ()
    return {name: dict(zip(DEVICE_COUNTS, rows, strict=True)) for zfs, names in pools if zfs is not None
            for name, rows in zip(names, zfs.tally.devices_per_second, strict=True)}


def device_counts(place: Both, since: float = 0) -> dict:
    """What each group of devices served, {reads, read_bytes, writes, written_bytes}. The groups are data, log, cache, and of
    the database's own log its data, its log, its cache."""
    if place.ufs:
        return {group: {name: int(since_second(row, since)) for name, row in rows.items()}
                for group, rows in ufs.device_series(place.ufs).items()}
    counts: dict[str, dict] = {}
    for zfs, names in ((place.zfs.data, GROUPS), (place.zfs.log, LOG_POOL_GROUPS)) if place.zfs else ():
        if zfs is not None:
            tally = zfs.tally
            numbers = since_second(tally.devices_per_second, since) if since else tally.devices
            counts |= {name: dict(zip(DEVICE_COUNTS, row.tolist(), strict=True))
                      for name, row in zip(names, numbers, strict=True) if tally.devices[names.index(name)].any()}
    return counts


def fits(machine: Scenario, table_bytes: int, log_bytes: int = 0) -> None:
    """UserError unless tables and log go on their disks. (PostgreSQL's log has no size that it must have.)"""
    tables = table_bytes / machine.files.compress_ratio if machine.files.kind != "ufs" else table_bytes
    on_pool = tables if machine.log_pool else tables + log_bytes
    for content, pool, n_bytes in (("database", machine.pool, on_pool), ("database's log", machine.log_pool, log_bytes)):
        if pool is not None and n_bytes > 0.95 * pool.data.usable_bytes:
            raise UserError(f"the {content} takes {n_bytes / GIB:.1f} GiB, but the disks hold "
                            f"{pool.data.usable_bytes / GIB:.1f}; choose a smaller one or more disks")
        if pool is not None and 0 < pool.fill * pool.data.usable_bytes < n_bytes:
            raise UserError(f"the {content} takes {n_bytes / GIB:.1f} GiB, but fill = {pool.fill:g} of the disks is "
                            f"{pool.fill * pool.data.usable_bytes / GIB:.1f} GiB; give the fill with the {content} in "
                            "it")

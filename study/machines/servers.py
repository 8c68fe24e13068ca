"""Database servers of scenarios in the model: settings by version and `conf`, CPU times by processor and draw."""
import re
from collections.abc import Callable
from typing import Any

from model.databases.innodb import state as innodb_state
from model.databases.innodb import sysbench
from model.databases.oracle import state as oracle_state
from model.databases.postgres import columns as pg
from model.databases.postgres import pgbench, toolkit
from model.databases.postgres import state as postgres_state
from model.events.clock import SECOND_NS
from study.machines import conf
from study.machines.database import Postgres, Script
from study.machines.scenario import Scenario
from study.machines.storage import GIB

# A transaction's CPU by statement of pgbench: measured with PostgreSQL 15, us of a backend for each by itself, less those of
# a BEGIN and an END; see transaction_cpu_ns of data/priors.toml. select-only has both in one statement.
STATEMENT_US = {"begin": 4.5, "update accounts": 35, "select": 21, "update tellers": 25, "update branches": 25,
                "insert history": 13, "end": 30.5}
SCRIPTS = {"tpc-b": tuple(STATEMENT_US), "select-only": ("select",),
           "simple-update": ("begin", "update accounts", "select", "insert history", "end")}


def speed(machine: Scenario, values: dict) -> float:
    """Of a processor of the host, against that of which CPU times are."""
    return machine.host.cpu * values["cpu_speed"]


def system(machine: Scenario) -> str:
    """As the scenario says; if it does not, of its time: Linux with OpenZFS or PostgreSQL from 9.5 on, Solaris before."""
    version = getattr(machine.database, "version", None)
    on_openzfs = machine.files.kind != "ufs" and machine.files.era.startswith("openzfs")
    of_linux = on_openzfs or (isinstance(version, float) and version >= 9.5)
    return machine.host.system or ("linux" if of_linux else "solaris")


def buffer_bytes(machine: Scenario, values: dict | None = None) -> float:
    """Memory that the database takes for itself."""
    settings = conf.check(machine.database.kind, machine.database.conf)
    if machine.database.kind == "oracle":
        return settings.get("db_cache_size", (values or _ANY_CACHE)["cache_share"] * machine.host.memory_gib * GIB)
    if machine.database.kind == "innodb":
        return settings.get("innodb_buffer_pool_size", (values or {}).get("innodb_buffer_pool_size", GIB))
    return settings.get("shared_buffers", (128 if machine.database.version >= 9.3 else 32) * 2**20)


def postgres_settings(machine: Scenario, values: dict, n_transactions: int, n_seconds: int = 0) -> postgres_state.Settings:
    """Settings of the model's PostgreSQL for a scenario, with the `values` of a draw."""
    server, faster = machine.postgres, speed(machine, values)
    settings = conf.check("postgres", server.conf)
    chosen = {name: change(settings[key]) for key, (name, change) in _POSTGRES.items() if key in settings}
    if "wal_sync_method" not in settings and system(machine) != "solaris":
        chosen["wal_sync_method"] = postgres_state.FDATASYNC
    if server.log_files is not None:
        chosen["ready_segments"] = server.log_files
    if not settings.get("fsync", True):
        chosen["wal_sync_method"] = postgres_state.NO_FSYNC
    if "time_scale" in values:      # shorter than PostgreSQL would allow
        chosen["checkpoint_timeout_ns"] = round(chosen["checkpoint_timeout_ns"] / values["time_scale"])
    if server.seconds is not None:
        chosen["duration_ns"] = round(server.seconds * SECOND_NS)
    return postgres_state.settings_of(
        server.version, server.clients, n_transactions, int(settings.get("max_wal_size", GIB)),
        n_client_threads=server.threads or 1, n_cpus=machine.host.cpus, trip_ns=round(values["trip_ns"] / faster),
        handoff_ns=round(values["handoff_ns"] / faster), spread_cpu=int(values["spread_cpu"]),
        is_warm=_STARTED[server.start], interval_transactions=server.interval_transactions or 0,
        checkpoint_pace=server.checkpoint_pace, n_seconds=n_seconds, **chosen)


def postgres_database(machine: Scenario, values: dict, n_transactions: int) -> pgbench.Database:
    """Tables and transactions of a scenario's test, with the `values` of a draw."""
    server = machine.postgres
    if server.script == "toolkit":
        return _toolkit(machine, values, n_transactions)
    unit = values["transaction_cpu_ns"] / speed(machine, values) / sum(STATEMENT_US.values())
    names = statements_of(server)
    extra = STATEMENT_US["begin"] if len(names) == 1 else 0
    cpu = [round(unit * (STATEMENT_US[name] * _planned(name, server, values) + extra)) for name in names]
    compresses = conf.check("postgres", server.conf).get("wal_compression", "off") != "off"
    script = server.script.counts if isinstance(server.script, Script) else server.script
    return pgbench.pgbench(server.scale, n_transactions, cpu, script, fillfactor=server.fillfactor,
                            record_format=postgres_state.format_of(server.version),
                            image_pct=round(values.get("image_pct", 100)) if compresses else 100)


def statements_of(server: Postgres) -> tuple[str, ...]:
    """Of a transaction, in order, by their names in `STATEMENT_US`."""
    if not isinstance(server.script, Script):
        return SCRIPTS[server.script]
    counts, names = server.script.counts, []
    for i in range(counts.updates):
        names += ["update accounts"] + ["select"] * (i < counts.rereads)
    names += (["select"] * counts.reads + ["update tellers"] * counts.tellers + ["update branches"] * counts.branches
              + ["insert history"] * counts.inserts)
    return tuple(names) if counts.is_bare else ("begin", *names, "end")


def _planned(name: str, server: Postgres, values: dict) -> float:
    """What is left of a statement's CPU if it is not parsed and planned anew."""
    return values["prepared_share"] if server.prepared and name not in ("begin", "end") else 1


def _toolkit(machine: Scenario, values: dict, n_transactions: int) -> pgbench.Database:
    """A statement costs as much as the average one of pgbench, times a factor that is not known."""
    if "statement_factor" not in values:
        raise ValueError("the script toolkit is that of the tests of June 2008, since no range is given for it elsewhere; "
                         "choose tpc-b, simple-update or select-only")
    statement_ns = values["transaction_cpu_ns"] / len(STATEMENT_US) * values["statement_factor"] / speed(machine, values)
    n_reads, n_updates = round(values["n_reads"]), round(values["n_updates"])
    return toolkit.toolkit(
        int(values["working_gib"] * GIB), n_reads, n_updates, round(values["row_bytes"]),
        round(statement_ns * (n_reads + n_updates + 3)), n_transactions, fillfactor=machine.postgres.fillfactor,
        record_format=postgres_state.format_of(machine.postgres.version))


def max_tps(machine: Scenario, values: dict) -> float:
    """More than there can be: no lock, no log, no I/O; as fast as clients, their program and processors are. (CPU times may
    be drawn, so a fifth more.)"""
    server = machine.postgres
    statements = postgres_database(machine, values, 1).statements
    n, cpu = len(statements), statements[:, pg.CPU_NS].sum() / SECOND_NS
    trips = n * values["trip_ns"] / speed(machine, values) / SECOND_NS
    return 1.2 * min(machine.host.cpus / cpu, (server.threads or 1) / trips, server.clients / (cpu + trips))


_STARTED = {"cold": 0, "warm": 1, "at work": postgres_state.AT_WORK}


def _ns(value: float) -> int:
    return round(value * SECOND_NS)


_METHODS = {"open_datasync": postgres_state.OPEN_DATASYNC, "open_sync": postgres_state.OPEN_DATASYNC,
            "fdatasync": postgres_state.FDATASYNC, "fsync": postgres_state.FDATASYNC,
            "fsync_writethrough": postgres_state.FDATASYNC}
_POSTGRES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "shared_buffers": ("shared_buffers_bytes", int), "wal_buffers": ("wal_buffers_bytes", int),
    "full_page_writes": ("full_page_writes", int),
    "synchronous_commit": ("synchronous_commit", lambda word: int(word != "off")),
    "wal_sync_method": ("wal_sync_method", _METHODS.get), "commit_delay": ("commit_delay_ns", _ns),
    "commit_siblings": ("commit_siblings", int), "wal_writer_delay": ("wal_writer_delay_ns", _ns),
    "checkpoint_timeout": ("checkpoint_timeout_ns", _ns), "checkpoint_segments": ("checkpoint_segments", float),
    "checkpoint_completion_target": ("checkpoint_completion_target", float), "bgwriter_delay": ("bgwriter_delay_ns", _ns),
    "bgwriter_lru_maxpages": ("bgwriter_lru_maxpages", int), "bgwriter_lru_multiplier": ("bgwriter_lru_multiplier", float),
}


# --- InnoDB ---------------------------------------------------------------------------------------------------------------

_STARTS = {"as loaded": innodb_state.AS_LOADED, "warm": innodb_state.WARM, "cold": innodb_state.COLD,
           "at work": innodb_state.AT_WORK}
# CPU of a statement apart from its changes, and of a change, against MySQL 5.4. One thread, all in memory: 5.6 has 9 % less
# point selects a second than 5.1. 5.7 and 8.0 have 10 and 30 % less than 5.6, and 10 to 20 and 40 to 50 % less writes.
# Little changed since. 5.5 is taken between. M. Callaghan, "MySQL 5.6: single-threaded, read-only" (2013), "Using sysbench
# to measure how MySQL performance changes over time" (November 2025). A write is 38 us of statement for 54 of changes: as in
# priors.toml.
RELEASES = {"5.4.0": (1, 1), "5.4.2": (1, 1), "5.5": (1.05, 1.05), "5.6": (1.10, 1.15), "5.7": (1.22, 1.41),
            "8.0": (1.57, 2.4), "8.4": (1.57, 2.4)}
_INNODB: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "innodb_buffer_pool_size": ("buffer_pool_bytes", int), "innodb_log_file_size": ("log_file_bytes", int),
    "innodb_log_files_in_group": ("n_log_files", int), "innodb_log_buffer_size": ("log_buffer_bytes", int),
    "innodb_flush_log_at_trx_commit": ("flush_log_at_trx_commit", int), "innodb_doublewrite": ("doublewrite", int),
    "innodb_io_capacity": ("io_capacity", int), "innodb_max_dirty_pages_pct": ("max_dirty_pages_pct", float),
    "innodb_write_io_threads": ("write_io_threads", int), "innodb_thread_concurrency": ("thread_concurrency", int),
    "innodb_adaptive_flushing": ("adaptive_flushing", int), "log_bin": ("log_bin", int),
    "innodb_io_capacity_max": ("io_capacity_max", int), "innodb_flush_neighbors": ("flush_neighbors", int),
    "innodb_max_dirty_pages_pct_lwm": ("max_dirty_pages_pct_lwm", float), "sync_binlog": ("sync_binlog", int),
    "innodb_adaptive_flushing_lwm": ("adaptive_flushing_lwm", float), "innodb_lru_scan_depth": ("lru_scan_depth", int),
    "innodb_change_buffering": ("change_buffering", lambda word: int(word == "all")),
}


def innodb_settings(machine: Scenario, values: dict, n_transactions: int, n_seconds: int = 0) -> innodb_state.Settings:
    """Settings of the model's InnoDB for a scenario, with the `values` of a draw."""
    settings = {"innodb_buffer_pool_size": values["innodb_buffer_pool_size"]} | conf.check("innodb", machine.innodb.conf)
    chosen = {name: change(settings[key]) for key, (name, change) in _INNODB.items() if key in settings}
    if chosen["buffer_pool_bytes"] >= innodb_state.MIN_BYTES_FOR_INSTANCES:
        chosen["lru_scan_depth"] = chosen.get("lru_scan_depth", innodb_state.INSTANCE_DEPTH) * settings.get(
            "innodb_buffer_pool_instances", innodb_state.INSTANCES)
    return innodb_state.settings_of(
        mysql(machine, values), machine.innodb.clients, n_transactions, n_cpus=machine.host.cpus,
        duration_ns=_ns(machine.innodb.seconds), handoff_ns=round(values["handoff_ns"] / speed(machine, values)),
        spread_cpu=int(values["spread_cpu"]), start=_STARTS[machine.innodb.start or values["start"]],
        log_factor=float(values["log_factor"]), transactions_a_second=machine.innodb.transactions_a_second or 0,
        n_seconds=n_seconds, **chosen)


def mysql(machine: Scenario, values: dict) -> str:
    """Its version."""
    return machine.innodb.version or values["mysql"]


def innodb_test(machine: Scenario, values: dict) -> sysbench.Oltp:
    """The sysbench test of a scenario, with the `values` of a draw."""
    version, faster = mysql(machine, values), speed(machine, values)
    of_statement, of_change = (factor ** values.get("release_power", 1) for factor in RELEASES[version])
    server = sysbench.Cpu(*(values[f"{name}_cpu_ns"] / faster for name in ("statement", "client", "row", "sort", "change")))
    cpu = server._replace(statement=server.statement * of_statement, row=server.row * of_statement,
                          sort=server.sort * of_statement, change=server.change * of_change)
    none: dict[str, Any] = {"point_selects": 0, "ranges": (0, 0, 0, 0)} if machine.innodb.write_only else {}
    program = machine.innodb.sysbench or ("0.4" if version < "5.6" else "1.0")
    return sysbench.oltp(machine.innodb.rows, cpu, machine.innodb.read_only, machine.innodb.distribution, version=program,
                         **none)


# --- Oracle ---------------------------------------------------------------------------------------------------------------

_ANY_CACHE = {"cache_share": 0.25}      # of memory, where nothing is drawn


def oracle_settings(machine: Scenario, values: dict, n_transactions: int, n_seconds: int = 0) -> oracle_state.Settings:
    """Settings of the model's Oracle for a scenario, with the `values` of a draw."""
    chosen = conf.check("oracle", machine.oracle.conf)
    n_writers = chosen.get("db_writer_processes", values["n_writers"])
    return oracle_state.Settings(
        n_users=machine.oracle.clients, n_transactions=n_transactions, n_cpus=machine.host.cpus,
        duration_ns=_ns(machine.oracle.seconds), handoff_ns=round(values["handoff_ns"] / speed(machine, values)),
        cpu_ns=round(values["cpu_ns"] / speed(machine, values)),
        n_blocks=int(machine.oracle.gib * GIB) // oracle_state.BLOCK_BYTES, gets=round(values["gets"]),
        changed_share=values["changed_share"], hot_hits=values["hot_gets"], redo_bytes=round(values["redo_bytes"]),
        cache_bytes=int(buffer_bytes(machine, values)), n_writers=int(n_writers),
        writes_per_writer=max(1, round(values["writer_outstanding"] / n_writers)),
        log_file_bytes=int(chosen.get("redo_log_size", values["redo_file_bytes"])) // 512 * 512,
        n_log_files=int(chosen.get("redo_log_groups", 3)), n_seconds=n_seconds)


# --- what the model says of settings --------------------------------------------------------------------------------------

_OF_SCENARIO = {"n_clients": "clients", "n_users": "clients", "n_client_threads": "threads", "n_cpus": "cpus",
                "n_transactions": "transactions"}
_OWN = {"postgres": {field: name for name, (field, _) in _POSTGRES.items()},
        "innodb": {field: name for name, (field, _) in _INNODB.items()},
        "oracle": {"cache_bytes": "db_cache_size", "log_file_bytes": "redo_log_size", "n_log_files": "redo_log_groups",
                   "n_writers": "db_writer_processes"}}


def in_own_names(kind: str, sentence: str) -> str:
    """A sentence of the model about a database of this kind, with the names that a scenario has for settings."""
    own = _OF_SCENARIO | _OWN[kind]
    return re.sub(r"\w+", lambda word: own.get(word[0], word[0]), sentence)

"""Databases and the load on them, as the section `database` of a scenario (`study.machines.scenario`)."""
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from model.databases.postgres import pgbench
from study.machines import conf
from study.machines.base_section import Section

MAX_STATEMENTS = 100            # of one kind, in a transaction
MAX_CLIENTS = 10_000            # that there is room for in a simulation


class Script(Section):
    """An own script of pgbench, as counts of its statements. Rows are picked uniformly, each statement its own."""
    reads: Annotated[int, Field(ge=0, le=MAX_STATEMENTS)] = 0
    """SELECTs of a row of accounts by its key."""
    updates: Annotated[int, Field(ge=0, le=MAX_STATEMENTS)] = 0
    """UPDATEs of a row of accounts by its key."""
    rereads: Annotated[int, Field(ge=0, le=MAX_STATEMENTS)] = 0
    """SELECTs of a row that was just updated."""
    tellers: Annotated[int, Field(ge=0, le=1)] = 0
    """UPDATEs of a row of tellers, for which transactions wait. There are ten times `scale` such rows."""
    branches: Annotated[int, Field(ge=0, le=1)] = 0
    """UPDATEs of a row of branches, for which they wait, too. There are `scale` such rows."""
    inserts: Annotated[int, Field(ge=0, le=MAX_STATEMENTS)] = 0
    """INSERTs into a table that only grows, without an index, as history."""

    @property
    def counts(self) -> pgbench.Counts:
        """How often each statement comes in a transaction, for the model."""
        return pgbench.Counts(**self.model_dump())

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        pgbench.check_counts(self.counts)
        return self


Named = Literal["tpc-b", "simple-update", "select-only", "toolkit"]     # databases/postgres/toolkit.py
NAMED, COUNTED = "by name", "by counts"


class Postgres(Section):
    """pgbench on PostgreSQL. Without `transactions` and `seconds` the program says how long a run is."""
    kind: Literal["postgres"] = "postgres"
    version: float = 8.3
    """Version of PostgreSQL, from 8.3 to 18."""
    scale: int = 10
    """Scale of pgbench (-s); each unit is 100 000 accounts, 15 MB."""
    clients: Annotated[int, Field(le=MAX_CLIENTS)] = 10
    """Clients of pgbench (-c)."""
    threads: Annotated[int, Field(ge=1, le=MAX_CLIENTS)] | None = None
    """Threads of pgbench (-j). Left out: 1."""
    transactions: Annotated[int, Field(ge=1, le=10**8)] | None = None
    """Transactions of a run, of all clients together."""
    seconds: Annotated[float, Field(gt=0, le=86400)] | None = None
    """Length of a run, s."""
    script: Annotated[Annotated[Named, Tag(NAMED)] | Annotated[Script, Tag(COUNTED)],
                      Discriminator(lambda script: COUNTED if isinstance(script, dict | Script) else NAMED)] = "tpc-b"
    """The transaction: pgbench's own, -N, -S, the made-up load of the tests of 2008, or section `[database.script]`."""
    prepared: bool = False
    """Statements are planned once (pgbench -M prepared)."""
    fillfactor: Annotated[int, Field(ge=10, le=100)] = 100
    """Fillfactor of the tables, %."""
    start: Literal["warm", "cold", "at work"] = "warm"
    """Shared buffers at the start: full and clean, or empty. Long runs begin as hours of work leave them, unless `cold`."""
    interval_transactions: Annotated[int, Field(ge=1)] | None = None    # run_length.py
    """Transactions between two checkpoints. The program sets it with `at work`."""
    checkpoint_pace: Annotated[float, Field(ge=0)] = 0.0
    """How many pages a transaction checkpoints wrote in the hours before; 0: all in time. The program sets it."""
    log_files: Annotated[int, Field(ge=1)] | None = None
    """Log files of 16 MB that exist at the start. Left out: as many as there will ever be."""
    conf: dict[str, Any] = Field(default_factory=dict)
    """Settings by their own names, as section `[database.conf]`: see below."""

    @field_validator("conf")
    @classmethod
    def _are_settings(cls, settings: dict[str, Any]) -> dict[str, Any]:
        settings = conf.as_written("postgres", settings)
        conf.check("postgres", settings)
        return settings

    @field_validator("script", mode="before")
    @classmethod
    def _is_named(cls, script: object) -> object:
        if isinstance(script, str) and script not in get_args(Named):
            raise ValueError(f"no transaction of that name is simulated; choose {', '.join(get_args(Named))}, or give the "
                             "counts of its statements, as section [database.script]")
        return script

    @property
    def only_reads(self) -> bool:
        """Whether nothing is ever changed."""
        if isinstance(self.script, Script):
            return not any(self.script.counts._replace(reads=0))
        return self.script == "select-only"

    @property
    def has_branches(self) -> bool:
        """Whether transactions wait for each other's rows."""
        return bool(self.script.tellers or self.script.branches) if isinstance(self.script, Script) else \
            self.script == "tpc-b"

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.scale < 1:
            raise ValueError(f"scale is {self.scale}, but pgbench has one branch at least; choose 1 or more")
        if self.clients < 1:
            raise ValueError(f"clients is {self.clients}, but without a client nothing is asked; choose 1 or more")
        if not 8.3 <= self.version < 19:
            raise ValueError(f"version is {self.version:g}, but PostgreSQL is simulated from 8.3 to 18; choose one of these")
        if (self.start == "at work") != (self.interval_transactions is not None):
            raise ValueError(f"start is '{self.start}' and interval_transactions is {self.interval_transactions}, but a "
                             "start at work, and no other, has such an interval; leave both out")
        if 8.5 <= self.version < 9 or 9.7 <= self.version < 10:
            raise ValueError(f"version is {self.version:g}, but there was no such PostgreSQL; choose "
                             f"{'8.4 or 9.0' if self.version < 9 else '9.6 or 10'}")
        _refuse_few_connections(self.clients, self.conf)
        settings = conf.check("postgres", self.conf)
        for name, first, end in (("max_wal_size", 9.5, 19), ("wal_compression", 9.5, 19), ("checkpoint_segments", 8, 9.5)):
            if name in settings and not first <= self.version < end:
                raise ValueError(f"{name} is set, but PostgreSQL {self.version:g} has no such setting; leave it out")
        return self


def _refuse_few_connections(clients: int, settings: dict[str, Any]) -> None:
    """ValueError if a server with these settings would turn clients away. Its default is not held against them."""
    written = str(settings.get("max_connections", "")).strip()
    if written.isdecimal() and 0 < int(written) < clients:
        raise ValueError(f"clients is {clients}, but max_connections is {written}, and a server refuses the others; choose "
                         "fewer clients or more connections")


class Innodb(Section):
    """sysbench OLTP on InnoDB."""
    kind: Literal["innodb"] = "innodb"
    rows: int = 10_000_000
    """Rows of the table (--oltp-table-size)."""
    clients: Annotated[int, Field(le=MAX_CLIENTS)] = 20
    """Threads of sysbench (--num-threads)."""
    seconds: Annotated[float, Field(gt=0, le=86400)] = 300
    """Length of a run, s."""
    version: Literal["5.4.0", "5.4.2", "5.5", "5.6", "5.7", "8.0", "8.4"] | None = None
    """Release of MySQL. Left out: 5.4 of 2009, drawn from 5.4.0 and 5.4.2."""
    sysbench: Literal["0.4", "1.0"] | None = None
    """Version of sysbench; 1.0 also stands for 0.5. Left out: 0.4 with MySQL before 5.6, 1.0 with later releases."""
    read_only: bool = False
    """Only the SELECTs."""
    write_only: bool = False
    """Only the UPDATEs, the DELETE and the INSERT."""
    distribution: Literal["special", "uniform", "pareto", "zipfian"] = "special"
    """How rows are chosen (--oltp-dist-type, --rand-type)."""
    start: Literal["as loaded", "warm", "cold", "at work"] | None = None
    """What the buffer pool holds. Left out: drawn. Long runs begin as hours of work leave it, unless `cold`."""
    transactions_a_second: int | None = None
    """The rate of the hours before. The program sets it with `at work`."""
    conf: dict[str, Any] = Field(default_factory=dict)
    """Settings by their own names, as section `[database.conf]`: see below."""

    @field_validator("conf")
    @classmethod
    def _are_settings(cls, settings: dict[str, Any]) -> dict[str, Any]:
        settings = conf.as_written("innodb", settings)
        conf.check("innodb", settings)
        return settings

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.rows < 1:
            raise ValueError(f"rows is {self.rows}, but a table has one row at least; choose 1 or more")
        if self.clients < 1:
            raise ValueError(f"clients is {self.clients}, but without a client nothing is asked; choose 1 or more")
        _refuse_few_connections(self.clients, self.conf)
        if self.read_only and self.write_only:
            raise ValueError("read_only and write_only are both set, and nothing is left of a transaction; choose one")
        if (self.start == "at work") != (self.transactions_a_second is not None):
            raise ValueError("start = \"at work\" and transactions_a_second go together, and run_length.py sets both; "
                             "leave them out")
        return self


class Oracle(Section):
    """Order entry on Oracle, on ZFS only. Users have no think time, and tables have blocks of 8 KiB."""
    kind: Literal["oracle"] = "oracle"
    gib: Annotated[float, Field(ge=0.125, le=128)] = 10
    """Size of the tables, GiB."""
    clients: Annotated[int, Field(le=MAX_CLIENTS)] = 32
    """Users."""
    seconds: Annotated[float, Field(gt=0, le=86400)] = 1800
    """Length of a run, s."""
    conf: dict[str, Any] = Field(default_factory=dict)
    """Settings by their own names, as section `[database.conf]`: see below."""

    @field_validator("conf")
    @classmethod
    def _are_settings(cls, settings: dict[str, Any]) -> dict[str, Any]:
        conf.check("oracle", settings)
        return settings

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.clients < 1:
            raise ValueError(f"clients is {self.clients}, but without a client nothing is asked; choose 1 or more")
        return self

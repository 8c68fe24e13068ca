"""Databases and the load on them, as the section `database` of a scenario (`study.machines.scenario`)."""
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from study.machines import conf
from study.machines.section import Section

MOST_CLIENTS = 10_000           # that there is room for in a simulation


class Postgres(Section):
    """pgbench on PostgreSQL. A run is of so many transactions in all, or seconds; of neither: see
    `study.predictions.predict`."""
    kind: Literal["postgres"] = "postgres"
    version: float = 8.3
    scale: int = 10
    clients: Annotated[int, Field(le=MOST_CLIENTS)] = 10
    threads: Annotated[int, Field(ge=1, le=MOST_CLIENTS)] | None = None     # of pgbench (-j); 1 if it is left out
    transactions: Annotated[int, Field(ge=1, le=10**8)] | None = None
    seconds: Annotated[float, Field(gt=0, le=86400)] | None = None
    script: Literal["tpc-b", "simple-update", "select-only", "toolkit"] = "tpc-b"  # toolkit: databases/postgres/toolkit.py
    prepared: bool = False                  # statements are planned once (pgbench -M prepared)
    fillfactor: Annotated[int, Field(ge=10, le=100)] = 100
    start: Literal["warm", "cold", "at work"] = "warm"      # its shared buffers: full and clean; empty; as after hours,
    interval_transactions: Annotated[int, Field(ge=1)] | None = None    # with so many between checkpoints: run_length.py
    checkpoint_pace: Annotated[float, Field(ge=0)] = 0.0    # pages a transaction they came to; 0: all in time; likewise
    log_files: Annotated[int, Field(ge=1)] | None = None    # of 16 MB, that exist at the start; all that there will be
    conf: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _can_be(self):
        if self.scale < 1:
            raise ValueError(f"scale is {self.scale}, but pgbench has one branch at least; choose 1 or more")
        if self.clients < 1:
            raise ValueError(f"clients is {self.clients}, but without a client nothing is asked; choose 1 or more")
        if not 8.3 <= self.version < 19:
            raise ValueError(f"version is {self.version:g}, but PostgreSQL is simulated from 8.3 to 18; choose one of these")
        if (self.start == "at work") != (self.interval_transactions is not None):
            raise ValueError(f"start is '{self.start}' and interval_transactions is {self.interval_transactions}, but a "
                             "start at work needs that, and no other has it; leave both out, as a long run begins at work")
        settings = conf.check("postgres", self.conf)
        for name, first, last in (("max_wal_size", 9.5, 17), ("wal_compression", 9.5, 17), ("checkpoint_segments", 8, 9.5)):
            if name in settings and not first <= self.version < last:
                raise ValueError(f"{name} is set, but PostgreSQL {self.version:g} has no such setting; leave it out")
        return self


class Innodb(Section):
    """sysbench OLTP on InnoDB."""
    kind: Literal["innodb"] = "innodb"
    rows: int = 10_000_000
    clients: Annotated[int, Field(le=MOST_CLIENTS)] = 20
    seconds: Annotated[float, Field(gt=0, le=86400)] = 300
    version: Literal["5.4.0", "5.4.2", "5.5", "5.6", "5.7", "8.0", "8.4"] | None = None   # of MySQL; not known if left out
    sysbench: Literal["0.4", "1.0"] | None = None       # 0.4 with MySQL before 5.6, 1.0 (also for 0.5) with later ones
    read_only: bool = False
    write_only: bool = False                # its updates, its deletion and its insertion, without the selections
    distribution: Literal["special", "uniform", "pareto", "zipfian"] = "special"
    start: Literal["as loaded", "warm", "cold", "at work"] | None = None    # what its buffers hold; drawn if it is left out
    transactions_a_second: int | None = None    # at work: of the hours before
    conf: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _can_be(self):
        if self.rows < 1:
            raise ValueError(f"rows is {self.rows}, but a table has one row at least; choose 1 or more")
        if self.clients < 1:
            raise ValueError(f"clients is {self.clients}, but without a client nothing is asked; choose 1 or more")
        if self.read_only and self.write_only:
            raise ValueError("read_only and write_only are both set, and nothing is left of a transaction; choose one")
        if (self.start == "at work") != (self.transactions_a_second is not None):
            raise ValueError("start = \"at work\" and transactions_a_second go together, and run_length.py sets both; "
                             "leave them out")
        conf.check("innodb", self.conf)
        return self


class Oracle(Section):
    """Order entry on Oracle: so many users who do not think, tables of so many GiB in blocks of 8 KiB."""
    kind: Literal["oracle"] = "oracle"
    gib: Annotated[float, Field(ge=0.125, le=128)] = 10
    clients: Annotated[int, Field(le=MOST_CLIENTS)] = 32
    seconds: Annotated[float, Field(gt=0, le=86400)] = 1800
    conf: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _can_be(self):
        if self.clients < 1:
            raise ValueError(f"clients is {self.clients}, but without a client nothing is asked; choose 1 or more")
        conf.check("oracle", self.conf)
        return self

"""Draws of the order entry at full size: what is drawn, how it is simulated, and by which code.

    cases()         the twenty draws of all that is not known, in their order
    rows(case)      the test runs of one under both rules: a quarter of an hour of one processor and more
    code()          a digest of all that rows depend on

Nothing is to scale: 350 GB in records of 4 KiB on disks of 1 TB. Users work until dirty blocks neither gather nor go
(`order_entry_pool.FULL_SIZE`). No printed number is read here.
"""
from typing import Any

import pandas as pd

from model.jit import sources
from study.documents import priors
from study.ensembles import ensembles
from study.ensembles.ensembles import AFTER, BEFORE
from study.experiments.allocator_2010.order_entry_machine import EXPERIMENT, Setup, with_values
from study.experiments.allocator_2010.order_entry_pool import FULL_SIZE
from study.experiments.allocator_2010.order_entry_series import POOL_COLUMNS, Series, made
from study.experiments.allocator_2010.rules import new_rules, old_rules

POOL = "pool."                      # in front of what the allocator tells of a test run
N_DRAWS, SEEDS, SEED = 20, 3, 1     # the hypercube
N_RUNS, N_USERS, RECORD_KIB = 30, 64, 4
WARM_S, WINDOW_S = 128.0, 1664.0    # of a test run of 30 minutes: as `04_oltp_gain` has it to scale
OF_SCALE = {"finer": 1, "group_scale": 1}       # conditions of a scale; at full size they are none
# What reads, keeps, counts and shows. No row depends on it: what was drawn, by which priors ever, is kept with the rows.
BUT = ("study.documents.priors", "study.documents.published", "study.documents.readable", "study.errors", "study.project",
       "study.html_tables", "study.ensembles.kept", "study.ensembles.processors", "study.runs.record",
       "study.pools.engine_share", "study.memo")


def cases() -> list[dict[str, Any]]:
    """The draws of all that is not known, in the order in which they are simulated."""
    table = ensembles.cases(priors.read(EXPERIMENT), N_DRAWS, SEEDS, SEED, ensembles.NUMBERS)
    return table[table.part == "all"].to_dict("records")


def values_of(case: dict) -> dict[str, Any]:
    """What is drawn of a machine in one of `cases`."""
    return {name: value for name, value in case.items() if name not in ("part", "seed")}


def machine(case: dict) -> Setup:
    """The machine of one of `cases` at full size."""
    return with_values(values_of(case) | OF_SCALE, n_users=N_USERS, record_kib=RECORD_KIB, scale=1, warm_s=WARM_S,
                       window_s=WINDOW_S)


def rows(case: dict) -> list[dict[str, Any]]:
    """Of the test runs of one of `cases` under both rules: rules, run, name, value, unit. CannotRun if its users never
    settle."""
    of_full_size, tables = machine(case), []
    for variant, rules in ((BEFORE, old_rules()), (AFTER, new_rules(case["new_picker"], case["new_bonus"]))):
        of_rules = made(of_full_size, rules, case["seed"], N_RUNS, FULL_SIZE)
        pool = of_rules.pool.rename_axis("run").reset_index().melt("run", POOL_COLUMNS, "name")
        tables.append(pd.concat([of_rules.table, pool.assign(name=POOL + pool.name, unit="1")]).assign(rules=variant))
    return pd.concat(tables)[["rules", "run", "name", "value", "unit"]].to_dict("records")


def series_of(of_rules: pd.DataFrame) -> Series:
    """The test runs under one of the rules, from those of `rows` that are of it."""
    of_pool = of_rules.name.str.startswith(POOL)
    pool = of_rules[of_pool].pivot(index="run", columns="name", values="value")
    return Series(of_rules.loc[~of_pool, ["run", "name", "value", "unit"]].reset_index(drop=True),
                  pool[[POOL + name for name in POOL_COLUMNS]].set_axis(POOL_COLUMNS, axis=1))


def code() -> str:
    """A digest of the modules that `rows` can reach, as this process has them."""
    return sources.digest_once(__name__, but=BUT)

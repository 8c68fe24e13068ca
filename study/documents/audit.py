"""The audit: what the documents claim against their own figures, and laws that any measurement obeys, in SQL.

Each check is a statement in `checks/*.sql`, read over the run store: tables `metrics` and `params` of the published
runs, `claims` for what was said. It gives, per claim, what was `said` and what is `shown` as ranges: every printed number
stands for all numbers that print alike. `setup.sql` has the vocabulary and the rule: two ranges that meet agree.

A statement that can be read in more than one way cannot be caught by one of them. A check of such a statement has a line
`-- reading:` that says by which reading it agrees and by which it differs. Ranges that do not meet then *depend on reading*,
which counts neither way.
"""
import re
from pathlib import Path
from typing import NamedTuple

import duckdb
import pandas as pd

CHECKS = Path(__file__).parent / "checks"
AGREES, DIFFERS, DEPENDS, CANNOT = "agrees", "differs", "depends on reading", "cannot be checked"
FROM_WORST = (DIFFERS, DEPENDS, AGREES, CANNOT)
COLUMNS = ["check", "claim_id", "part", "question", "against", "said_low", "said_high", "shown_low", "shown", "shown_high",
           "unit", "finding", "remark"]
OWN, OTHER, SCRIPT, CODE = "own figures", "another document", "the workload's script", "the code"
AGAINST = (OWN, OTHER, "a law", SCRIPT, CODE)      # what a claim is held against
HEADER = re.compile(r"^-- check: (?P<id>\S+)\n-- question: (?P<question>.+)\n-- against: (?P<against>.+)\n"
                    r"(?:-- remark: (?P<remark>.+)\n)?(?:-- reading: (?P<reading>.+)\n)?", re.M)

# what a check's statement yields, made into findings
FINDINGS = """
SELECT $check AS "check", claim_id, part, $question AS question, $against AS against,
       CASE WHEN isfinite(said.low) THEN said.low END AS said_low,
       CASE WHEN isfinite(said.high) THEN said.high END AS said_high,
       shown.low AS shown_low, shown.mid AS shown, shown.high AS shown_high, unit,
       CASE WHEN finding(said, shown) = 'differs' AND $reading IS NOT NULL THEN 'depends on reading'
            ELSE finding(said, shown) END AS finding,
       concat_ws('; ', nullif(part, ''), rounding(said, shown), $remark, $reading) AS remark
FROM ({statement}) ORDER BY claim_id, part
"""
UNCHECKED = """
SELECT '' AS "check", claim_id, '' AS part, 'Do the documents hold figures to check this by?' AS question,
       '' AS against, said_low, said_high, NULL AS shown_low, NULL AS shown, NULL AS shown_high,
       coalesce(said_unit, '') AS unit, 'cannot be checked' AS finding, 'no figures of the documents bear on it'
       AS remark
FROM claims WHERE NOT list_contains(?, claim_id) ORDER BY claim_id
"""


class Check(NamedTuple):
    """A question to the documents' figures, in SQL, and the statement that it tests."""
    id: str
    question: str
    against: str
    statement: str
    remark: str | None
    reading: str | None     # which reading agrees and which differs, where a statement has more than one


def checks() -> list[Check]:
    """All checks, in the order of the files."""
    return [check for file in sorted(CHECKS.glob("*.sql")) if file.stem != "setup" for check in _parse(file.read_text())]


def run(connection: duckdb.DuckDBPyConnection, only: str | None = None) -> pd.DataFrame:
    """The findings, as COLUMNS: one row per check, claim and part, and one for each claim that nothing can check.

    `connection` may be read-only; `only` names a single check. NULL in said_low or said_high: no end on that side.
    """
    connection.execute((CHECKS / "setup.sql").read_text())
    tables = [connection.execute(FINDINGS.format(statement=check.statement), {
        "check": check.id, "question": check.question, "against": check.against, "remark": check.remark,
        "reading": check.reading}).df() for check in checks() if only in (None, check.id)]
    if only is None:
        checked = sorted({claim for table in tables for claim in table["claim_id"]})
        tables.append(connection.execute(UNCHECKED, [checked]).df())
    numbers = [name for name in COLUMNS if name.startswith(("said", "shown"))]
    return pd.concat([table.astype(dict.fromkeys(numbers, float)) for table in tables], ignore_index=True)[COLUMNS]


def _parse(text: str) -> list[Check]:
    """The named statements of a file: a header of two to four comment lines, then SQL up to its semicolon."""
    heads = list(HEADER.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [Check(head["id"], head["question"], head["against"], text[head.end():end].strip().rstrip(";"), head["remark"],
                  head["reading"])
            for head, end in zip(heads, ends, strict=True)]

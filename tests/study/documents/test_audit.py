"""The audit: it says what the figures say, and says otherwise when one figure is otherwise."""
import json
import re

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study import drawing
from study.documents import audit, claims
from study.documents.audit import AGREES, CANNOT, DEPENDS, DIFFERS
from study.figures import audit as pictures
from study.store import store

KEY = ["check", "claim_id", "part"]
CHECKS = {check.id: check for check in audit.checks()}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The tables of a freshly built run store, where they can be altered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUDY_RUNS", str(tmp_path_factory.mktemp("runs")))
        store.refresh()
        connection = duckdb.connect()
        connection.execute(f"ATTACH '{store.path()}' AS store (READ_ONLY)")
        for table in ("metrics", "params", "claims"):
            connection.execute(f"CREATE TABLE {table} AS FROM store.{table}")
        connection.execute("DETACH store")
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def whole(original):
    """The audit of the tables as they are."""
    return audit.run(original)


@pytest.fixture
def table(whole):
    """The same, for a test to change."""
    return whole.copy()


@pytest.fixture(scope="module")
def before(whole):
    """The findings as they are."""
    return by_key(whole)


@pytest.fixture
def altered(original):
    """altered(sql) alters tables until the end of the test."""
    original.begin()
    yield original.execute
    original.rollback()


def by_key(table) -> dict[tuple, str]:
    return dict(zip(map(tuple, table[KEY].values), table["finding"], strict=True))


def findings(connection, only=None) -> dict[tuple, str]:
    return by_key(audit.run(connection, only))


# --- what it finds in the documents --------------------------------------------------------------------------------------

@pytest.mark.parametrize(("check", "claim", "part", "shown", "finding"), [
    ("gain", "oltp-gain", "", 100 * (10520.9 / 8543.3 - 1), AGREES),
    ("gain", "oltp-gain-cr", "", 100 * (10520.9 / 8543.3 - 1), DIFFERS),
    ("loss", "seqread-loss", "", 100 * (1 - 1410.1 / 1787.6), DIFFERS),
    ("loss-reversed", "seqread-loss", "", 100 * (1787.6 / 1410.1 - 1), DIFFERS),
    ("slide-3", "pgbench-first-said", "", 72, DIFFERS),
    ("slide-3", "sysbench-rw-last-said", "", 1809, DIFFERS),
    ("slide-3", "sysbench-ro-last-said", "", 3065, DIFFERS),
    ("slide-3", "pgbench-last-said", "", 5003, AGREES),
    ("five-times", "pg-bytes", "", 80 / 18, AGREES),
    ("little-shadows", "oltp-processes", "without the fix",
     (4255 * 45.7 + 4237 * 0.6 + 4237 * 0.0 + 4237 * 0.5) / 1000, AGREES),
    ("price", "price-performance-hdd", "", 300 * 1.30, DIFFERS),
    ("in-flight", "speed-capacity-hdd", "", 250 * 0.012, DEPENDS),
    ("in-flight", "speed-dram", "", 500000 * 0.005e-6, AGREES),
    ("commit-revolution", "pgbench-3", "", 10 / 2026 * 1000, DEPENDS),
    ("doubling", "exchange-double", "", 200, DEPENDS),
    ("inflated", "cache-max", "", 16, DEPENDS),
    ("line", "cache-line", "", 64, AGREES),
    ("slab-left-code", "slab-left-bytes", "", 2 ** 33 * 0.04 / 1e6, AGREES),
    ("ddt-reach", "ddt-reach-128k", "", 20.48, AGREES),
    ("slab-count-code", "slab-count", "", (100 + 199) / 2, AGREES),
    ("slab-size-code", "slab-size", "", 2 ** (int(1e12 / 200).bit_length()) / 1e9, AGREES),
])
def test_findings_are_what_arithmetic_by_hand_gives(table, check, claim, part, shown, finding):
    row = table.set_index(KEY).loc[(check, claim, part)]
    assert row["shown"] == pytest.approx(shown)
    assert row["finding"] == finding


def test_every_claim_is_in_the_audit_and_checks_and_claims_name_each_other(table):
    entries = {claim.id: claim for claim in claims.read()}
    assert set(table["claim_id"]) == set(entries)
    assert not table.duplicated(KEY).any()
    for claim_id, rows in table.groupby("claim_id"):
        assert set(rows["check"]) == set(entries[claim_id].shown or [""])
    assert set(table["check"]) == {*CHECKS, ""}


def test_what_no_figure_bears_on_cannot_be_checked_and_everything_else_was(table):
    assert (table["finding"] == CANNOT).eq(table["check"] == "").all()
    assert table.loc[table["check"] != "", ["shown_low", "shown", "shown_high"]].notna().all(axis=None)


def test_every_check_says_what_it_holds_a_claim_against():
    written = sum(file.read_text().count("-- check: ") for file in audit.CHECKS.glob("*.sql"))
    assert len(CHECKS) == len(audit.checks()) == written
    assert {check.against for check in CHECKS.values()} == set(audit.AGAINST)


def test_only_a_check_that_names_its_readings_depends_on_them(table):
    table = table.query("check != ''")
    has_reading = table["check"].map(lambda check: CHECKS[check].reading is not None)
    assert (table["finding"] == DEPENDS)[~has_reading].sum() == 0
    assert (table["finding"] == DIFFERS)[has_reading].sum() == 0
    for row in table[table["finding"] == DEPENDS].itertuples():
        assert CHECKS[row.check].reading in row.remark


def test_units_of_what_is_said_and_shown_are_the_same(table):
    units = {claim.id: claim.said.unit for claim in claims.read() if claim.said}
    for row in table.query("check != ''").itertuples():
        statement = CHECKS[row.check].statement
        if "said(claim_id) AS said" in statement or f"said('{row.claim_id}') AS said" in statement:
            assert row.unit == units[row.claim_id]


def test_it_runs_on_a_store_that_is_open_for_reading_only(runs):
    with store.open() as connection:
        assert len(audit.run(connection)) > len(claims.read())


def test_a_check_by_itself_finds_what_it_finds_among_all(original, table):
    for check in ("gain", "slide-3"):
        alone, among = audit.run(original, check), table[table["check"] == check].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone, among)


# --- one row altered --------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def rows(original) -> dict[str, list[tuple]]:
    """Single numbers of the store: (table, run or claim, name), the ones of each table together."""
    numbers = original.execute("SELECT run_id, name FROM metrics WHERE t IS NULL ORDER BY ALL").fetchall()
    conditions = [(run, name) for run, name, value in original.execute("FROM params ORDER BY ALL").fetchall()
                  if isinstance(json.loads(value), int | float)]
    return {"metrics": numbers, "params": conditions}


def alterations(check: audit.Check, rows: dict, findings):
    """For each row whose number may matter the statements that change it, likeliest first: numbers that the check's text
    names, in runs that it names, times what would mend or break the finding; then what the claims concerned have said."""
    words = set(re.findall(r"[\w.-]+", check.statement.replace("/", " ")))
    words |= {"rate", "response"} if "occupied" in words else set()        # what that table is made of
    nearest = findings["said_low"].fillna(findings["said_high"]) / findings["shown"]
    factors = [factor for ratio in sorted(set(nearest))[:2] if ratio > 0 for factor in (ratio, 1 / ratio) if factor != 1]
    factors += [2, 0.5, 10]
    near = [(table, run, name) for table, metrics in rows.items() for run, name in metrics
            if run.split("/")[1].rstrip("123456789") in {word.rstrip("123456789") for word in words} | TRANSCRIPTS
            and words & {name, *name.split(".")}]
    for table, run, name in sorted(near, key=lambda row: (row[1].split("/")[1].split("-")[0] not in check.statement,
                                                           row[2] not in words, -len(words & set(row[2].split("."))))):
        yield [f"UPDATE {table} SET value = CAST({factor} * CAST(value AS DOUBLE) AS {TYPES[table]}) "
               f"WHERE run_id = '{run}' AND name = '{name}'" for factor in factors]
    for claim in sorted(set(findings["claim_id"])):
        yield [f"UPDATE claims SET said_low = {factor} * said_low, said_high = {factor} * said_high "
               f"WHERE claim_id = '{claim}'" for factor in factors]


TYPES = {"metrics": "DOUBLE", "params": "VARCHAR"}
TRANSCRIPTS = {"oltp-with-fix", "oltp-without-fix", "seqread-cache-on", "seqread-cache-off"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_each_check_has_a_row_whose_alteration_turns_its_finding(original, whole, rows, name):
    """A row that is altered and changes nothing of what is shown is not read: it is altered no further."""
    table = whole[whole["check"] == name].reset_index(drop=True)
    for statements in alterations(CHECKS[name], rows, table):
        for statement in statements:
            original.begin()
            original.execute(statement)
            after = audit.run(original, name)
            original.rollback()
            if not after["finding"].equals(table["finding"]):
                return
            if after.equals(table):
                break
    pytest.fail(f"no altered row changes a finding of {name}")


@pytest.mark.slow
@pytest.mark.parametrize(("run", "metric", "factor", "turned"), [
    ("rajadurai-2009/summary", "pgbench.first", 2, set()),               # what was said is a claim, not this row
    ("rajadurai-2009/price-table", "dram.price_per_gb", 2, {("price", "price-dram", "")}),
    ("rajadurai-2009/price-table", "performance-hdd.price_per_iops", 390 / 760, {("price", "price-performance-hdd", "")}),
    ("rajadurai-2009/pgbench-6", "transactions.rate", 2, {("slide-3", "pgbench-last-said", "")}),
    ("rajadurai-2009/sysbench-ro-5", "transactions.rate", 3085 / 3065, {("slide-3", "sysbench-ro-last-said", "")}),
    ("kustarz-2007/oltp-with-fix", "lg-write.bandwidth", 2, {("log-bandwidth", "oltp-log-bandwidth", "with the fix"),
                                                            ("summary-bandwidth", "oltp-bandwidth", "with the fix")}),
    ("kustarz-2007/seqread-cache-off", "seqread1.response", 2, {
        ("little-streams", "seqread-response1", "cache off"), ("summary-response", "seqread-response", "cache off")}),
    ("kustarz-2007/oltp-without-fix", "datafiles.prealloc_time", 341.3 / 342, {
        ("prealloc-clock", "oltp-prealloc", "without the fix")}),
    ("bourbonnais-2010/change", "exchange.gain", 0.5, {("doubling", "exchange-double", ""),
                                                      ("same-story", "lutz-exchange", "")}),
    ("vandenbogaard-2008/ufs-nine-disks", "write.bandwidth", 0.5, {
        ("five-times", "pg-bytes", ""), ("io-growth", "pg-ios", "")}),
])
def test_one_altered_row_turns_the_findings_it_concerns_and_no_others(original, before, altered, run, metric, factor,
                                                                      turned):
    altered("UPDATE metrics SET value = value * ? WHERE run_id = ? AND name = ?", [factor, run, metric])
    after = findings(original)
    assert {key for key in before if before[key] != after[key]} == turned


def test_an_altered_claim_turns_its_own_finding(original, before, altered):
    altered("UPDATE claims SET said_low = 21, said_high = 22 WHERE claim_id = 'seqread-loss'")
    after = findings(original)
    assert {key for key in before if before[key] != after[key]} == {("loss", "seqread-loss", "")}


def test_a_figure_that_is_gone_leaves_its_check_open(original, altered):
    altered("DELETE FROM metrics WHERE run_id = 'kustarz-2007/oltp-with-fix' AND name = 'summary.rate'")
    assert set(findings(original, "gain").values()) == {CANNOT}


# --- drawn ---------------------------------------------------------------------------------------------------------------

def test_differences_are_drawn_for_any_part_of_the_audit(table):
    percent = pictures.relative_difference(table).set_index(KEY)["percent"]
    assert percent.loc[("gain", "oltp-gain-cr", "")] == pytest.approx(100 * (100 * (10520.9 / 8543.3 - 1) / 16 - 1))
    assert len(percent) == (table["finding"] == DIFFERS).sum()
    for part in (table, table[table["finding"] == CANNOT]):
        for draw in (pictures.differences, pictures.prices, pictures.in_flight):
            assert drawing.render(draw, part, formats=("png",))["png"]


# --- the vocabulary ----------------------------------------------------------------------------------------------------

number = st.floats(0.5, 1000)
within = st.floats(-1, 1)


@settings(max_examples=30, deadline=None)
@given(number, number, st.floats(0, 0.4), st.floats(0, 0.4), within, within)
def test_arithmetic_holds_every_number_that_prints_alike(original, a, b, half_a, half_b, at_a, at_b):
    ranges = [{"low": mid - half, "mid": mid, "high": mid + half} for mid, half in ((a, half_a), (b, half_b))]
    x, y = a + half_a * at_a, b + half_b * at_b
    original.execute((audit.CHECKS / "setup.sql").read_text())
    ranges_of_results = original.execute("SELECT plus(a, b), minus(a, b), times(a, b), ratio(a, b), percent_more(a, b) "
                                         "FROM (SELECT ? AS a, ? AS b)", ranges).fetchone()
    for got, want in zip(ranges_of_results, (x + y, x - y, x * y, x / y, 100 * (x / y - 1)), strict=True):
        assert got["low"] - 1e-6 <= want <= got["high"] + 1e-6
        assert got["low"] <= got["mid"] <= got["high"]


@pytest.mark.parametrize(("said_range", "shown", "finding"), [
    ((1, 2), (2, 2.5, 3), AGREES), ((1, 2), (2.01, 2.5, 3), DIFFERS), ((1, 2), (0, 0.5, 0.99), DIFFERS),
    ((float("-inf"), 2), (1, 1, 1), AGREES), ((2, float("inf")), (1, 1, 1), DIFFERS), ((None, None), (1, 1, 1), CANNOT)])
def test_ranges_that_meet_agree(original, said_range, shown, finding):
    original.execute((audit.CHECKS / "setup.sql").read_text())
    said_range = dict(zip(("low", "high"), said_range, strict=True))
    shown = dict(zip(("low", "mid", "high"), map(float, shown), strict=True))
    got, = original.execute("SELECT finding(CAST(? AS STRUCT(low DOUBLE, high DOUBLE)), ?)", [said_range, shown]).fetchone()
    assert got == finding

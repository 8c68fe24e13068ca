"""A CSV of the user's own, with its mapping."""

import pytest

from study.errors import UserError
from study.ingest import mapped_csv

# --- CSV --------------------------------------------------------------------------------------------------------------

MAPPING = """kind = "{kind}"
series = "mine"
time = {{ column = "when", unit = "iso" }}
[columns]
"TPS; total" = {{ name = "database.tps", unit = "1/s", statistic = "rate" }}
"io" = {{ name = "io.size", unit = "KiB" }}
"""
CSV = 'when,TPS; total,io,notes\n2026-11-21T00:00:00Z,100.5,8,"\'); DROP TABLE runs; --"\n2026-11-21T00:00:10Z,,9,x\n'


@pytest.mark.parametrize("kind", ["series", "runs"])
def test_a_csv_with_a_mapping(bring, tmp_path, kind):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind=kind))
    run = bring("mine.csv", CSV, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    assert run.sql("SELECT name, value, unit FROM observations WHERE run_id = $1 ORDER BY t, name") == [
        ("database.tps", 100.5, "1/s"),
        ("io.size", 8, "KiB"),
        ("io.size", 9, "KiB"),
    ]
    n_samples = run.sql("SELECT count(*) FROM samples WHERE run_id = $1 AND series = 'mine'")
    assert n_samples == [(3 if kind == "runs" else 0,)]
    assert any("notes" in sentence for sentence in run.tool["missing"])
    assert run.report.series[0]["starts"] == ("2026-11-21T00:00:00.000000" if kind == "series" else None)


def test_a_csv_of_a_spreadsheet_has_semicolons_and_decimal_commas(bring, tmp_path):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series").replace("TPS; total", "TPS"))
    text = "when;TPS;io\n2026-11-21T00:00:00Z;100,5;8,25\n2026-11-21T00:00:10Z;99,75;9\n"
    run = bring("mine.csv", text, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    values = run.sql("SELECT value FROM observations WHERE run_id = $1 ORDER BY t, name")
    assert values == [(100.5,), (8.25,), (99.75,), (9,)]


OF_SECONDS = MAPPING.format(kind="series").replace("TPS; total", "x").replace('unit = "iso"', 'unit = "s"')
HOSTS = "when,host,TPS; total,io\n" + "".join(
    f"2026-11-21T00:00:0{t}Z,{host},{tps},8\n" for t in range(3) for host, tps in (("a", 100), ("b", 900))
)


def test_rows_of_one_time_are_told_apart_by_a_subject(bring, tmp_path):
    """Without it a rate would be a mean of both hosts."""
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    with pytest.raises(UserError, match=r"3 rows with the time of an earlier one, the first in line 3. Name .* zone"):
        bring("hosts.csv", HOSTS, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series").replace("[columns]", 'subject = "host"\n[columns]'))
    run = bring("hosts.csv", HOSTS, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    rates = run.sql(
        "SELECT subject, sum(value) FROM observations WHERE run_id = $1 AND name = 'database.tps' GROUP BY ALL ORDER BY ALL"
    )
    assert rates == [("a", 300), ("b", 2700)]


def test_rows_of_one_time_may_have_other_quantities(bring, tmp_path):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    text = "when,TPS; total,io\n2026-11-21T00:00:00Z,100,\n2026-11-21T00:00:00Z,,8\n"
    run = bring("mine.csv", text, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    assert run.sql("SELECT sum(value) FROM observations WHERE run_id = $1") == [(108,)]


def test_a_csv_with_the_newest_row_first_begins_with_its_oldest(bring, tmp_path):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    head, *rows = CSV.splitlines()
    run = bring("mine.csv", "\n".join([head, *reversed(rows), ""]), mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    assert run.report.series[0]["starts"] == "2026-11-21T00:00:00.000000"
    assert run.sql("SELECT DISTINCT t FROM observations WHERE run_id = $1 ORDER BY t") == [(0,), (10,)]


@pytest.mark.parametrize(("last", "reason"), [("2026-11-21", "2 values fewer"), ("2026-11-21T00:00:20Z,9", "1 value fewer")])
def test_a_csv_that_is_cut_off_within_a_row_is_refused(bring, tmp_path, last, reason):
    """A blank value is none; one that is cut off may be a smaller number."""
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    text = "when,TPS; total,io\n2026-11-21T00:00:00Z,100,8\n2026-11-21T00:00:10Z,,\n"
    with pytest.raises(UserError, match=f"the first line 4 of mine.csv: {reason} than the header has names"):
        bring("mine.csv", text + last, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    run = bring("mine.csv", text + "2026-11-21T00:00:20Z,9,1", mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    assert any("last line of mine.csv has no end" in sentence for sentence in run.tool["warnings"])


@pytest.mark.parametrize("last", ["1,2,5,", "1,2,5,8", "1,2,5,8,"])
@pytest.mark.parametrize("before", ["", "0,1,4\n"])
def test_decimal_commas_between_commas_are_refused(bring, tmp_path, before, last):
    """`2,5` and a blank are no 2 and 5."""
    (tmp_path / "m.toml").write_text(OF_SECONDS)
    with pytest.raises(UserError, match=r"1 row with more values than its header has names, the first in line \d; where"):
        bring("mine.csv", f"when,x,io\n{before}{last}\n", mapping=mapped_csv.mapping(tmp_path / "m.toml"))


def test_what_does_not_change_the_meaning_of_a_csv_is_accepted(bring, tmp_path):
    """Commas at all ends, comments, blank lines, quoted commas and ends of lines."""
    (tmp_path / "m.toml").write_text(OF_SECONDS)
    text = ('# a night, with a comma\n\nwhen, x,io,note,\n0,"2,5",4,"a # b, c",\n  \n1,3, 5,"two\nlines",  # late, again\n'
            "# end\n2,4,6,,\n")
    run = bring("mine.csv", text, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    values = run.sql("SELECT value FROM observations WHERE run_id = $1 ORDER BY t, name")
    assert values == [(2.5,), (4,), (3,), (5,), (4,), (6,)]
    with pytest.raises(UserError, match=r"the first line 9 of mine.csv: 'many' is no number"):
        bring("mine.csv", text.replace("2,4,6", "2,4,many"), mapping=mapped_csv.mapping(tmp_path / "m.toml"))


def test_a_quotation_mark_without_another_is_refused(bring, tmp_path):
    (tmp_path / "m.toml").write_text(OF_SECONDS)
    with pytest.raises(UserError, match="EOF inside string"):
        bring("mine.csv", 'when,x,io\n0,1,"2\n1,2,3\n', mapping=mapped_csv.mapping(tmp_path / "m.toml"))


def test_all_columns_that_a_csv_lacks_are_named(bring, tmp_path):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    with pytest.raises(UserError, match=r"has no column 'TPS; total' and no 'when'; it has time, rate, io: name these"):
        bring("mine.csv", "time,rate,io\n1,2,3\n", mapping=mapped_csv.mapping(tmp_path / "m.toml"))


def test_a_mapping_is_checked_whole(tmp_path):
    (tmp_path / "m.toml").write_text('kind = "other"\nseries = "A B"\nmore = 1\n[columns]\n')
    with pytest.raises(UserError, match=r"kind is 'other'.*series is 'A B'.*columns.*more"):
        mapped_csv.mapping(tmp_path / "m.toml")


@pytest.mark.parametrize("comma", [",", ", "])
@pytest.mark.parametrize("value", [10, 100])
def test_a_time_before_a_whole_number_is_the_rows_own(bring, tmp_path, comma, value):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series").replace("TPS; total", "TPS"))
    rows = "".join(f"2026-01-01 12:00:{t:02}{comma}{value}{comma}{t}\n" for t in range(30))
    run = bring("mine.csv", f"when{comma}TPS{comma}io\n{rows}", mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    sums = run.sql("SELECT sum(value), count(*) FROM observations WHERE run_id = $1 GROUP BY name ORDER BY name")
    assert sums == [(30 * value, 30), (435, 30)]

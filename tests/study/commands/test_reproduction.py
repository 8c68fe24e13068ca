"""The whole path: notebooks, store, results, paper."""
import io
import json
import re

import pytest
from rich.console import Console

from study.commands import reproduction
from study.documents import claims, published
from study.grades import grading
from study.paper import export, typeset
from study.project import PAPER, ROOT
from study.runs.catalogue import find
from study.runs.folder import lines
from study.runs.plan import UNLIMITED, all_plans, plan
from study.store import results, store

SILENT = Console(file=io.StringIO())


@pytest.fixture(scope="module")
def reproduced():
    """The plans of the study, all run. They go to where `make reproduce` looks for them, so that a run is made once: its
    identity covers everything that it is made of."""
    outcomes = reproduction.run_plans(all_plans(), 2, UNLIMITED, SILENT)
    assert {outcome.status for outcome in outcomes} == {"ok"}
    return [outcome.plan for outcome in outcomes]


SHORT = {"seconds": 5.0, "draws": 2, "seeds": 2}


def test_one_worker_finds_what_two_find(tmp_path, monkeypatch):
    """Also where a run uses all processors."""
    found = []
    for workers in (1, 2):
        monkeypatch.setenv("STUDY_RUNS", str(tmp_path / str(workers)))
        plans = [plan(find("00")), plan(find("01"), SHORT), plan(find("02"), SHORT)]
        assert {one.status for one in reproduction.run_plans(plans, workers, UNLIMITED, SILENT)} == {"ok"}
        with store.open() as connection:
            found.append((results.numbers(connection, plans), grading.of_runs(connection, [one.run_id for one in plans])))
    assert found[0] == found[1]


def test_results_are_the_committed_ones_bit_for_bit(reproduced):
    with store.open() as connection:
        graded = grading.of_runs(connection, [plan.run_id for plan in reproduced])
        new = results.collect(connection, reproduced, grading.scoreboard(connection, graded))
    assert results.as_text(new) == results.FILE.read_text()


def test_the_verdicts_of_the_notebooks(reproduced):
    with store.open() as connection:
        numbers = {name: said["value"] for name, said in results.numbers(connection, reproduced).items()}
    assert numbers["90_model_vs_zfs/replay.differences"] == 0
    assert numbers["90_model_vs_zfs/replay.rows"] > 90_000
    assert numbers["00_claims/claims.all"] == len(claims.read())
    assert numbers["00_claims/findings.differ"] > 0


def test_figures_and_paper_come_out_byte_for_byte(reproduced, tmp_path):
    first, second = (export.export(reproduced, tmp_path / name, ["svg", "pdf"], "column") for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    digests = {figure["name"]: figure["digest"] for plan in reproduced for figure in lines(plan.folder / "figures.jsonl")}
    assert digests
    once, again = typeset.build(reproduced).read_bytes(), typeset.build(reproduced).read_bytes()
    assert once == again
    assert once.startswith(b"%PDF")


def test_the_paper_says_what_the_store_says(reproduced):
    typeset.build(reproduced)
    assert typeset.check(reproduced) == []


def test_one_changed_result_is_named():
    accepted = results.committed()
    changed = json.loads(results.as_text(accepted))
    changed["numbers"]["90_model_vs_zfs/replay.differences"] = 1
    assert results.differences(accepted, changed) == ["90_model_vs_zfs/replay.differences: 0 -> 1"]
    assert results.differences(accepted, accepted) == []


def test_the_figure_of_the_readme_is_the_one_that_comes_out(reproduced):
    made = [plan.folder / "figures" / f"{export.README_FIGURE}-page.png" for plan in reproduced]
    assert (PAPER / "readme.png").read_bytes() in [path.read_bytes() for path in made if path.exists()]


def test_rounding_keeps_six_digits_and_whole_numbers():
    assert results.rounded(1955989.0) == 1955989
    assert results.rounded(0.123456789) == 0.123457
    assert results.rounded(-0.0) == 0


def test_latex_macros_and_tables_are_written(reproduced, tmp_path):
    export.export(reproduced, tmp_path, ["pdf", "png"], "page")
    macros = (tmp_path / "numbers.tex").read_text()
    assert r"\csname study@90_model_vs_zfs/replay.differences\endcsname{0}" in macros
    table = (tmp_path / "claims.tex").read_text()
    assert table.count(r" \\") == len(claims.read()) + 1
    assert not re.search(r"(?<!\\)[%&#_](?!\s|\d)", table.replace(" & ", " "))


# --- README -------------------------------------------------------------------------------------------------------------

README = (ROOT / "README.md").read_text()


def test_a_series_that_nobody_made_is_the_user_s_to_mend(reproduced):
    (outcome,) = reproduction.run_plans([plan(find("05"), {"label": "none"})], 1, UNLIMITED, SILENT)
    assert "04_oltp_gain has no series 'none'; it has " in outcome.reason
    assert outcome.exit_code == 2


def test_every_query_of_the_readme_answers(reproduced):
    queries = re.findall(r"^SELECT .*;$", README, re.M)
    assert len(queries) == 10
    with store.open() as connection:
        for query in queries:
            assert connection.execute(query).fetchall(), query


def test_the_readme_expects_what_comes_out():
    numbers = results.committed()["numbers"]
    full = {name.removeprefix("04_oltp_gain/full.age-"): value for name, value in numbers.items()}
    said = (f"{numbers['00_claims/claims.differing']} of {numbers['00_claims/claims.checked_by_own_figures']} checkable",
            "from {:.0f} to {:.0f} TPS on the default machine".format(*(
                numbers[f"10_your_ladder/ladder.{name}"] for name in ("first", "last"))),
            f"0 differences in {numbers['90_model_vs_zfs/replay.rows'] // 1000} 000 rows",
            "median demerit {:.1f} %, worst {:.1f} %; {:.1f} %".format(*(
                numbers[f"90_model_vs_zfs/disk.{name}"]
                for name in ("estimated-median", "estimated-worst", "data-sheet-median"))),
            "the new rules are {:.0f} % faster and {:.0f} % steadier, on one that was never rewritten {:.0f} % and {:.0f} %"
            .format(*(full[f"{age}.series.{name}"] for age in ("1.5", "0") for name in ("gain", "reduction"))),
            "collapses to {:.0f} transactions a second at one or two records, and stays down for up to {:.0f} runs"
            .format(*(full[f"0.before.{name}"] for name in ("least", "low.longest"))),
            "is {:.2f} in it, where the best statistic has {:.2f}; on the older pool it is {:.2f}".format(*(
                full[name] for name in ("0.before.io-size.r2", "0.before.best.r2", "1.5.before.io-size.r2"))))
    for sentence in said:
        assert sentence in " ".join(README.split())


def test_the_ladders_in_the_readme_are_those_that_come_out():
    numbers = results.committed()["numbers"]

    def said(x):
        return f"{x:.1g}" if x < 0.095 else f"{x:.0f}" if x >= 10 else f"{x:.1f}"

    rows = re.findall(r"^\| [^|]*\| [^|]+ \| ([\d.]+) \| ([\d.]+ to [\d.]+) \| ([\d.]+) \|$", README, re.M)
    ladders = [("07_pgbench_ladder/pgbench", range(2, 7)), ("08_sysbench_ladders/sysbench-rw", range(2, 6)),
               ("08_sysbench_ladders/sysbench-ro", range(2, 6))]
    steps = [(ladder, rung, f"{ladder}.step-{rung}") for ladder, rungs in ladders for rung in rungs]
    targets = claims.targets().set_index("claim_id").value
    assert rows == [(said(targets[f"{ladder.partition('/')[2]}-{rung}"]),
                     f"{said(numbers[f'{step}.low'])} to {said(numbers[f'{step}.high'])}", said(numbers[f"{step}.middle"]))
                    for ladder, rung, step in steps]
    low, high, best = (numbers[f"08_sysbench_ladders/sysbench-ro.rung-1.{name}"] for name in ("lowest", "highest", "rate"))
    said_so = f"is {low:.0f} to {high:.0f} TPS over all readings of the words, and {best:.0f} by the best guess"
    assert said_so in " ".join(README.split())


def test_the_ends_of_the_ladders_in_the_readme_are_those_published():
    rates = {run.run_id.partition("/")[2]: run.metrics.set_index("name").value.get("transactions.rate")
             for run in published.runs()}
    ends = [f"{rates[f'{ladder}-1']:g} to {rates[f'{ladder}-{last}']:g}"
            for ladder, last in (("pgbench", 6), ("sysbench-rw", 5), ("sysbench-ro", 5))]
    assert f"| {ends[0]} TPS |" in README
    assert f"| {ends[1]} TPS; {ends[2]} |" in README
    assert f"; {rates['sysbench-ro-1']:g} were published." in " ".join(README.split())


def test_the_schema_in_the_readme_is_the_stores(reproduced):
    with store.open() as connection:
        for table in ("runs", "params", "metrics", "samples", "figures", "claims", "predictions"):
            columns = [name for name, *_ in connection.execute(f"DESCRIBE {table}").fetchall()]
            row = re.search(rf"^\| `{table}` \|.*$", README, re.M)[0]
            described = re.sub(r"\([^)]*\)", "", row.split("|")[3])
            assert [word.strip() for word in described.split(",")] == [name for name in columns], table

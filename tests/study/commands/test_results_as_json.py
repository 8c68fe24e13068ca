"""Every verb that prints a result prints it as JSON too. And claims, records that do not fit, version, completion."""
import json
import os
import random
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import command, one_sentence
from typer.main import get_command

from study.commands import main as cli
from study.commands import result, scoreboard
from study.commands.documentation.command_help import verbs
from study.documents import claims
from study.grades import grading
from study.grades.remaining_draws import Left
from study.project import DATA
from study.store import results

pytestmark = pytest.mark.slow      # kernels of Jupyter are started

ALLOC = DATA / "traces" / "alloc"
DDT = Path(__file__).parents[1] / "pools" / "ddt" / "zol_06_zdb_ddd.txt"
TRACE = DATA / "traces" / "vdev_cache" / "meta_L1.parquet"
NO_RESULT = {("lab",)}      # it does not come back


@pytest.fixture(scope="module")
def without_runs(tmp_path_factory):
    """A folder of runs without any, whose store is made once."""
    return tmp_path_factory.mktemp("none") / "runs"


@pytest.fixture
def asked(study, without_runs, monkeypatch):
    """The command line, for questions before any run."""
    monkeypatch.setenv("STUDY_RUNS", str(without_runs))
    return study


def every_verb():
    """Every verb, with its command."""
    top = get_command(cli.app)
    for words in verbs(top):
        command = top
        for word in words:
            command = command.commands[word]
        if not getattr(command, "commands", None):
            yield words, command


def test_every_verb_that_prints_a_result_has_json():
    without = {words for words, command in every_verb()
               if not any("--json" in option.opts for option in command.params)}
    assert without == NO_RESULT


@pytest.mark.parametrize(("words", "code"), [
    (["params", "90"], 0), (["claims"], 0), (["claims", "oltp-gain"], 0), (["claims", "--grade", "predicted"], 0),
    (["query", "SELECT * FROM claims"], 0), (["docs", "--check"], None), (["verify", TRACE.parent], 0),
    (["replay", "vdev-cache", TRACE], 0), (["replay", "vdev-cache", TRACE, "--max", 1], 1), (["advise", "--today"], 0),
    (["pool", "--fill", "0.5", "--fragmentation", "40"], 0), (["dedup", DDT], 0),
    (["age", "--era", "b103", "--disk-gb", "10", "--records", "10000"], 0),
    (["replay", "alloc", ALLOC / "edge__103_ff__ops.parquet", "--variant", "103_ff"], 0)])
def test_what_is_printed_is_one_json_document(asked, words, code):
    done = asked(*words, "--json")
    assert json.loads(done.stdout)
    assert code is None or done.returncode == code


def test_a_run_and_questions_to_it_are_json(study, notebook):
    cell = "from study.runs import record\nrecord.prediction('oltp-gain', (1.21, 1.23, 1.25), None, True, 20)"
    path = notebook("mine", cell, "verdict = 'it holds'\nverdict")
    runs = [json.loads(study("run", path, "-p", f"n={n}", "--json").stdout)[0] for n in (2, 3)]
    assert [(run["status"], run["verdict"], run["predictions"][0]["grade"]) for run in runs] == [
        ("ok", "it holds", "predicted")] * 2
    assert runs[0]["predictions"][0]["unfitted"] == [1.21, 1.25]
    assert json.loads(study("diff", *(run["run_id"] for run in runs), "--json").stdout) == [
        {"what": "n", "first": "2", "second": "3"}]


def test_a_mistake_is_one_sentence_with_json_too(asked):
    one_sentence(asked("query", "SELECT nothing", "--json"))
    assert "leave one of the two out" in one_sentence(asked("query", "SELECT 1", "--json", "--format", "csv"))


def test_json_has_nothing_that_is_none_of_it():
    frame = pd.DataFrame({"a": [1, 2], "b": [np.nan, np.inf], "c": [pd.Timestamp("2026-01-02"), pd.NaT]})
    assert json.loads(result.in_json({"frame": frame, "array": np.arange(2), "path": DATA, "n": np.int64(3)})) == {
        "frame": [{"a": 1, "b": None, "c": "2026-01-02 00:00:00"}, {"a": 2, "b": None, "c": None}], "array": [0, 1],
        "path": str(DATA), "n": 3}


# --- claims ---------------------------------------------------------------------------------------------------------------

def test_the_list_begins_with_the_summary_and_leaves_out_what_has_nothing_to_predict(asked):
    short, whole = asked("claims").stdout, asked("claims", "--all").stdout
    assert short.startswith("grade, by audit")
    assert short.index("grade, by audit") < short.index("oltp-gain")
    hidden = {claim.id for claim in claims.read() if not claim.predict and not claim.baseline}
    listed, everything = ({line.split()[0] for line in text.splitlines() if line} for text in (short, whole))
    assert hidden <= everything
    assert not hidden & listed
    assert f"{len(hidden)} more have nothing to predict" in short
    assert "more have nothing to predict" not in whole


def test_claims_of_one_grade(asked):
    content = json.loads(asked("claims", "--grade", "not modelled", "--json").stdout)
    assert {row["grade"] for row in content["claims"]} == {"not modelled"}
    assert content["grades"] == {"not modelled": len(content["claims"])}
    nothing = json.loads(asked("claims", "--grade", grading.NOTHING, "--json").stdout)["claims"]
    assert asked("claims", "--grade", grading.NOTHING).stdout.count(grading.NOTHING) >= len(nothing) > 0
    assert "grade 'good' is none of predicted, consistent" in one_sentence(asked("claims", "--grade", "good"))


def test_a_claim_that_is_named_is_a_page(asked):
    page = asked("claims", "oltp-gain").stdout
    for word in ("E. Kustarz", "over 20%", "1.231, after over before", "agrees", "not reproduced (committed)",
                 "01_vdev_cache_oltp", "the reason comes with a run: study run 01"):
        assert word in page


def test_without_a_run_the_page_of_a_claim_has_the_committed_interval_and_says_so(asked):
    gain = results.committed()["numbers"]
    low, middle, high = (1 + gain[f"01_vdev_cache_oltp/unfitted.gain-{end}"] / 100 for end in ("low", "middle", "high"))
    page = asked("claims", "oltp-gain").stdout
    assert f"{low:.4g}, {middle:.4g}, {high:.4g} (5, 50, 95 %) (committed)" in page
    assert "committed: of paper/results.json; study run 01 computes it here" in page
    assert json.loads(asked("claims", "oltp-gain", "--json").stdout)["unfitted"] == pytest.approx([low, middle, high])
    without = json.loads(asked("claims", "oltp-bandwidth", "--json").stdout)
    assert (without["unfitted"], without["why"]) == (None, "its interval and the reason come with a run: study run 01")


def test_the_page_of_a_claim_that_was_simulated_has_its_intervals_and_the_reason(study, made_once, monkeypatch):
    cell = ("from study.runs import record\n"
            "record.prediction('oltp-gain', (1.0, 1.2, 1.4), (1.1, 1.12, 1.13), False, 20, (0.9, 1.5))")
    mine = made_once("01_vdev_cache_oltp", {"n": 2}, cell)
    monkeypatch.setattr(scoreboard, "all_plans", lambda: [mine])
    page = json.loads(study("claims", "oltp-gain", "--json").stdout)
    assert (page["unfitted"], page["fitted"]) == ([1.0, 1.2, 1.4], [1.1, 1.12, 1.13])
    assert (page["grade"], page["committed"], page["run"]) == ("not identified", False, mine.run_id)
    shown = study("claims", "oltp-gain").stdout
    assert "1, 1.2, 1.4 (5, 50, 95 %)" in shown
    assert "conditions that were not published decide what comes out: 0.9 to 1.5" in shown


REASONS = {"not published decide": grading.NOT_IDENTIFIED, "no simulated": grading.NOT_REPRODUCED,
           "does not meet": grading.NOT_REPRODUCED, "the interval meets what was published only": grading.CONSISTENT,
           "it is narrow": grading.PREDICTED, ", but ": grading.CONSISTENT}


def test_the_reason_is_that_of_the_grade():
    drawn, seen = random.Random(1), set()
    for _ in range(5000):
        low, high, published, reach, of_left, *groups = (sorted(drawn.uniform(0.5, 2) for _ in range(2)) for _ in range(7))
        left = Left(drawn.choice([0, 5, 15, 70]), 90, of_left[0], sum(of_left) / 2, of_left[1], "ncq", drawn.random(),
                    tuple(tuple(ends) for ends in groups))
        case = grading.Case(
            published, (low[0], low[1]), drawn.choice([None, tuple(high)]), drawn.choice([None, 1.0]), drawn.random() < 0.7,
            drawn.choice([None, 5, 20]), drawn.choice([None, (min(reach[0], low[0]), max(reach[1], low[1]))]),
            drawn.choice([None, left]))
        reason, given = grading.why(case), grading.given(case)
        assert [grade for words, grade in REASONS.items() if words in reason] == [given], (case, reason)
        assert "but " not in reason[-5:]
        seen.add((given, case.left is not None))
    assert {grade for grade, _ in seen} == set(grading.GRADES)


# --- query ----------------------------------------------------------------------------------------------------------------

WIDE = "SELECT run_id, name, value, unit, repeat('y', 90) AS remark, 1.5 AS seconds FROM metrics WHERE unit = 'ms' LIMIT 2"


def test_a_row_that_does_not_fit_is_a_block_with_units(study, monkeypatch):
    monkeypatch.setattr(cli.out, "width", 60)
    shown = study("query", WIDE).stdout
    assert [line for line in shown.splitlines() if line.startswith("row")] == ["row 1 of 2", "row 2 of 2"]
    values = [line.split() for line in shown.splitlines() if line.startswith("  value")]
    assert [line[-1] for line in values] == ["ms", "ms"]
    assert [line.split() for line in shown.splitlines() if line.startswith("  seconds")] == [["seconds", "1.5", "s"]] * 2
    assert (shown.count("y" * 20) > 0, shown.count("unit"), "…" in shown) == (True, 0, False)


def test_rows_that_fit_are_a_table(study):
    first, *rows = study("query", "SELECT 1.5 AS seconds, 2 AS value, 'ms' AS unit").stdout.splitlines()
    assert (first.split(), [row.split() for row in rows]) == (["seconds", "[s]", "value", "unit"], [["1.5", "2", "ms"]])


# --- version and completion -----------------------------------------------------------------------------------------------

def test_version(study):
    done = study("--version")
    assert (done.returncode, done.stdout.startswith("study "), done.stdout.count("\n")) == (0, True, 1)


@pytest.mark.parametrize(("words", "offered"), [
    ("study cla", {"claims"}), ("study claims oltp-g", {"oltp-gain", "oltp-gain-cr"}),
    ("study run 90", {"90_model_vs_zfs"})])
def test_the_shell_is_offered_verbs_claims_and_notebooks(words, offered):
    done = subprocess.run(command(), capture_output=True, text=True, env=os.environ | {
        "_STUDY_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}, timeout=120)
    assert set(done.stdout.split()) == offered

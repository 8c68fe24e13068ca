"""What commands say of runs, claims and grades."""
import json
import re

import pandas as pd
import pytest

from study.commands import main as cli
from study.commands import scoreboard
from study.ensembles import kept
from study.errors import UserError
from study.runs.catalogue import find
from study.runs.plan import plan

# --- claims ---------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_before_any_run_the_committed_grades_are_shown(study):
    done = study("claims", "oltp")
    assert (done.returncode, "oltp-gain" in done.stdout, "pgbench" in done.stdout) == (0, True, False)
    assert "None of the notebooks has been run here" in done.stdout
    assert "not yet predicted" not in done.stdout
    assert "exchange-gain" in study("claims", "06").stdout
    assert "oltp-gain-cr" not in study("claims", "oltp-gain").stdout


@pytest.mark.slow
def test_a_grade_that_fell_in_a_run_of_here_exits_with_1(study, monkeypatch):
    monkeypatch.setattr(scoreboard, "done_before", lambda plan: True)       # all have been run, and predicted nothing
    done = study("claims", "exchange-gain")
    assert (done.returncode, "exchange-gain: was not reproduced, is not yet predicted" in done.stdout) == (1, True)


@pytest.mark.slow
def test_a_committed_grade_is_marked_and_a_run_that_broke_off_or_is_of_older_code_is_named(study):
    broken, older = plan(find("06")).folder, plan(find("01")).folder.with_name("0" * 16)
    for folder in (broken, older):
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(json.dumps({
            "run_id": folder.name, "notebook": folder.parent.name, "status": "failed", "reason": "no [more] memory",
            "parameters": {}, "started": None, "seconds": 1.0}))
    done = study("claims", "06", "oltp-gain", "pgbench-1")
    row = next(line for line in done.stdout.splitlines() if line.startswith("exchange-gain"))
    assert (done.returncode, row.rstrip().endswith("not reproduced *")) == (0, True)
    assert "06_exchange: failed (no [more] memory) when it was run here" in done.stdout
    assert "Run here, but with other code, data or parameters: 01_vdev_cache_oltp" in done.stdout
    assert "07_pgbench_ladder:" not in done.stdout


@pytest.mark.slow
def test_status_counts_the_minutes_of_ensembles_of_older_code(study, monkeypatch):
    monkeypatch.setattr(kept, "is_current", lambda of_file: False)
    last = study("status").stdout.splitlines()[-1]
    assert re.search(r" in about \d+ min; the \d+ ensembles of older code or data: about \d+ min more$", last)


@pytest.mark.slow
def test_lab_opens_documents_as_pages_and_asks_for_no_news(study, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONUTF8", "1")       # which it sets
    monkeypatch.setattr(cli.sys, "prefix", str(tmp_path))
    monkeypatch.setattr(cli.os, "chdir", lambda folder: None)
    started = []
    monkeypatch.setattr(cli.os, "execv", lambda program, words: started.append(words))
    assert study("lab", "--no-browser").returncode == 0
    assert "--no-browser" in started[0]
    page, settings = (json.loads((tmp_path / "etc/jupyter/labconfig" / f"{name}.json").read_text())
                      for name in ("page_config", "default_setting_overrides"))
    assert page["disabledExtensions"]["@jupyterlab/apputils-extension:announcements"]
    assert settings["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"] == {"markdown": "Markdown Preview"}


PREDICTING = "from study.runs import record\nrecord.prediction('oltp-gain', (1.21, 1.23, 1.25), None, True, 20)"


@pytest.mark.slow
def test_a_run_says_what_it_predicts_and_its_verdict(study, notebook):
    printed = study("run", notebook("mine", PREDICTING, "verdict = 'it holds'\nverdict")).stdout
    row = next(line for line in printed.splitlines() if line.startswith("oltp-gain"))
    assert row.split() == ["oltp-gain", "1.231", "1.21", "to", "1.25", "predicted"]
    verdict, following = printed.splitlines()[-2:]
    assert verdict == "verdict: it holds"
    assert following.startswith("Next: study params ")


@pytest.mark.slow
def test_a_run_names_its_figures(study, notebook):
    drawing = ("from study.figures import vdev_cache\nfrom study.runs import record\nfrom study import drawing\n"
               "def dot():\n    figure, axes = drawing.canvas()\n    axes.plot([1], [1], 'o')\n    return figure\n"
               "record.figure('a_dot', dot, caption='A dot.')")
    assert "figures: a_dot, in " in study("run", notebook("mine", drawing)).stdout


def test_a_star_stands_for_several_claims():
    board = pd.DataFrame({"claim_id": ["pg-burst", "pg-fall", "pgbench-1"], "notebook": 3 * ["09_x"], "document": 3 * ["a"]})
    assert scoreboard._meant(board, ["pg-*"]) == {"pg-burst", "pg-fall"}
    with pytest.raises(UserError, match="there is no claim 'xy-"):
        scoreboard._meant(board, ["xy-*"])

"""The lines to copy that the help of `study replay` has: each runs on what the project ships, and names what it reads."""
import json
import re

import pytest

from study.commands import replay
from study.project import ROOT

VERBS = {command.name: command.callback.__doc__ for command in replay.replay.registered_commands}


@pytest.mark.parametrize("verb", VERBS)
def test_the_line_of_the_help_runs(verb, study, monkeypatch):
    monkeypatch.chdir(ROOT)
    line = re.search(r"Example: study (replay .*)", VERBS[verb])[1]
    assert line.split()[1] == verb
    done = study(*line.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(("verb", "columns"), [
    ("disk", "op block count service_us gap_us cylinders ms"), ("alloc", "op size512 arg"),
    ("vdev-cache", "tick op nocache size512 off512 res fill512 evict512"),
    ("queue", "tick op kind off512 size512 priority flags io n unit")])
def test_the_help_names_every_column(verb, columns):
    assert set(columns.split()) <= set(re.findall(r"\w+", VERBS[verb]))


def test_the_invented_drive_gives_its_bus_back(study, monkeypatch):
    """0.15 ms a block, which its description lacks: data/examples/README.md."""
    monkeypatch.chdir(ROOT)
    line = re.search(r"Example: study (replay .*)", VERBS["disk"])[1]
    printed = json.loads(study(*line.split(), "--json").stdout)
    assert printed["constants"]["bus_ns"] == pytest.approx(150_000, rel=0.05)
    assert printed["errors"]["estimated"]["demerit_second"] < 0.02 < printed["errors"]["specified"]["demerit_second"]

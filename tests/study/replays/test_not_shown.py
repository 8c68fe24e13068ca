"""What no recording shows: one list, which names a test for each."""

import json
import re

import pytest

from defects.unrecorded import DEFECTS
from drivers.metaslab_stories import STORIES
from study.project import DATA, ROOT
from support.not_shown import not_shown, table
from support.processes import interpreted

LINK = "traces.md#what-the-recordings-do-not-show"
OTHERS = ("README.md", "docs/model-limits.md", "notebooks/90_model_vs_zfs.ipynb", "data/traces/alloc_vdevs/README.md")


@pytest.mark.slow
def test_each_defect_of_the_allocator_that_no_recording_tells_is_told_by_its_story():
    goes_wrong = json.loads(interpreted("defects.unrecorded"))
    assert set(goes_wrong) == set(DEFECTS) == not_shown("allocator")
    assert [name for name, outcome in goes_wrong.items() if outcome is None] == []
    for row in table():
        if row.mechanism == "allocator":
            assert row.test == DEFECTS[row.defect][0]


def test_every_row_names_a_test_that_there_is():
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "model" / "zfs" / "vdev").glob("test_*.py"))
    assert {row.mechanism for row in table()} == {"vdev cache", "vdev queue", "allocator"}
    for row in table():
        assert row.test in STORIES or re.search(rf"^def {row.test}\(", tests, re.M)


def test_no_recording_has_a_log_vdev_or_adds_a_vdev():
    pools = [json.loads(line) for line in (DATA / "traces" / "alloc_vdevs" / "pools.jsonl").read_text().splitlines()]
    assert {vdev["log"] for pool in pools for vdev in pool["vdevs"]} == {0}


def test_the_other_places_lead_to_the_list():
    for place in OTHERS:
        text = (ROOT / place).read_text()
        assert LINK in text, place
        assert "halved distances" not in text
    assert "`docs/traces.md`" in (ROOT / "paper" / "sections" / "limits.typ").read_text()

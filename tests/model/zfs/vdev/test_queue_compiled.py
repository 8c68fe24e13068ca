"""The vdev queue issues the same compiled, without the compiler, and with every index checked."""

import pytest

from support.processes import UNCOMPILED, printed, prints_the_same

SHORT_RUN = """
from drivers.queue_rules import ALL_RULES
from drivers.queue_stories import Leaf, random_story, steps_seen
for params in ALL_RULES.values():
    print(steps_seen(Leaf(params), random_story(3, 150, 60)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("setting", UNCOMPILED)
def test_interpreted_and_bounds_checked_code_issues_the_same(setting):
    assert prints_the_same(SHORT_RUN, setting)


OF_CLASSES = """
from test_queue_classes import EARLY, LATE, issued_by_both, stories
for classes in (EARLY, LATE):
    for story in stories(3):
        ours, theirs = issued_by_both(story, classes)
        assert ours == theirs
        print(ours)
"""


@pytest.mark.slow
def test_the_queue_of_openzfs_issues_the_same_compiled():
    assert printed(["-c", OF_CLASSES]) == printed(["-c", OF_CLASSES], NUMBA_DISABLE_JIT="1") != ""

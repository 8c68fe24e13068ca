"""What is not as by best guess, in words."""
import pytest

from study.documents.priors import Prior
from study.ensembles import effects


@pytest.mark.parametrize(("name", "unit", "words"), [
    ("working set, GiB", "GiB", "working set, GiB: 4"), ("GiB of each file", "GiB", "GiB of each file: 4"),
    ("rate of commits", "s", "rate of commits: 4 s"), ("samples", "ms", "samples: 4 ms"),
    ("MB/s of a disk", "MB", "MB/s of a disk: 4 MB")])
def test_a_unit_stands_once_and_a_part_of_a_word_is_none(name, unit, words):
    prior = Prior(low=1, central=2, high=8, unit=unit, shape="uniform", source="made up", name="n", of="P", experiments=(),
                  condition=name)
    assert effects._of_range(prior, 4.0) == words

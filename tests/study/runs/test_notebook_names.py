"""What the simulator refuses is told with the names that the notebook's reader sees."""
import re

import pytest

from study.runs import catalogue
from study.runs.notebook_names import in_own_names, in_words

SEQREAD = catalogue.STUDY["02_vdev_cache_seqread"].parameters


@pytest.mark.parametrize(("sentence", "in_notebook"), [
    ("file_bytes is 21474836480 for each of 1024 readers, which is 536870912000 B of each disk, which has 500107862016; "
     "choose smaller files or more disks",
     "file_gib is 20 for each of 1024 readers, which is 500 GiB of each disk, which has 500107862016 B; choose smaller "
     "files or more disks"),
    ("record_bytes is 3072, but it must be a power of two; choose 4096",
     "record_kib is 3, but it must be a power of two; choose 4 KiB"),
    ("record_bytes is 256, but it must be a whole number from 512 to 131072; choose one in that range",
     "record_kib is 0.25, but it must be a whole number from 512 B to 128 KiB; choose one in that range"),
    ("n_leaves is 12, but the files were laid out on 46 disks; choose that number or lay them out anew", None),
    ("cache_bytes of the vdev cache is 0, but it must be a whole number from 1 to 2^50; choose one in that range",
     "cache_mib of the vdev cache is 0, but it must be a whole number from 1 to 2^50; choose one in that range"),
])
def test_names_and_units_are_the_notebooks(sentence, in_notebook):
    assert in_own_names(sentence, SEQREAD) == (in_notebook or sentence)


@pytest.mark.parametrize(("sentence", "in_notebook"), [
    ("memory_bytes is 1073741825, but it must be at most 1073741824",
     "memory_gib is 1.000000001, but it must be at most 1 GiB"),
    ("memory_bytes is 107374182, but it must be at least 1073741824", "memory_gib is 0.1, but it must be at least 1 GiB"),
    ("memory_bytes is 21474836480, but 21474836992 B are needed; choose 21474836992",
     "memory_gib is 20, but 21474836992 B are needed; choose 21474836992 B"),
    ("memory_bytes is 21474836480, but 4096 files have more; choose 4096 or fewer files, or 512 readers",
     "memory_gib is 20, but 4096 files have more; choose 4096 or fewer files, or 512 readers"),
    ("memory_bytes is 4096, but n_files is 4096; choose fewer",
     "memory_gib is 3.8147e-06, but n_files is 4096; choose fewer"),
])
def test_a_size_keeps_its_digits_and_a_count_is_no_size(sentence, in_notebook):
    assert in_own_names(sentence, ["memory_gib"]) == in_notebook


def test_a_notebook_that_counts_in_bytes_keeps_them_in_names():
    assert in_own_names("block_bytes is 7, but more is needed", ["block_bytes", "block_kib"]).startswith("block_bytes is 7")


def test_the_simulators_name_of_a_size_is_in_no_sentence_of_a_notebook():
    for notebook, entry in catalogue.STUDY.items():
        for name in entry.parameters:
            if re.search("_[kmg]ib$", name):
                own = re.sub("_[kmg]ib$", "_bytes", name)
                assert name in in_own_names(f"{own} is 4096, but it must be less", entry.parameters), (notebook, name)


@pytest.mark.parametrize(("n_bytes", "words"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**40, "1 TiB"),
                                                (2**40 + 512, "1099511628288 B"), (65535 * 2**10, "65535 KiB")])
def test_bytes_in_words(n_bytes, words):
    assert in_words(n_bytes) == words

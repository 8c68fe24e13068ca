"""A database on a zvol: one object for all files, flushes of all that was written, and blocks that are read to be written.

The runs are made by `defects.zvols`, by another process without the compiler.
"""

import json

import numpy as np
import pytest

from defects.zvols import SOUND
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs.file_layout import number, objects_of, record_bytes_of
from model.filesystems.zfs.state import FileSettings, Pool
from model.filesystems.zfs.store import new_store
from model.zfs import eras
from model.zfs.arc.primarycache import METADATA_ONLY
from model.zfs.dmu.indirect import ROOT_POINTERS_ZVOL, tree
from model.zfs.dmu.layout import file_of
from support.processes import interpreted

ROWS = np.array([(2**24, 2**24, 8192), (5 * 2**20, 5 * 2**20, 8192), (8192, 3 * 2**20, 8192), (8192, 8192, 8192)])
ON_ZVOL = FileSettings(on_zvol=1, record_bytes=16_384, log_record_bytes=8192)


@pytest.fixture(scope="module")
def printed():
    """What the other process printed."""
    return json.loads(interpreted("defects.zvols"))


def numbered(s):
    record_bytes = record_bytes_of(ROWS, s)
    return number(ROWS, record_bytes, record_bytes, s)


@pytest.mark.parametrize("own", [0, 1])
def test_files_of_a_zvol_are_ranges_of_one_object_with_one_tree(own):
    s = ON_ZVOL._replace(own_log_system=own)
    files, whose = numbered(s), objects_of(ROWS, s)
    for of in set(whose):
        ranges = np.flatnonzero(whose == of)
        blocks = tree(int(sum(-(-ROWS[file, 1] // files.record_bytes[file]) for file in ranges)), ROOT_POINTERS_ZVOL)
        assert {int(files.n_records_of[file]) for file in ranges} == {blocks[0]}
        assert len({tuple(files.base[file]) for file in ranges}) == 1
        assert files.n_levels[of] == len(blocks)
    ends = np.append(files.first[1:], files.n_records)
    for file, (first, end) in enumerate(zip(files.first, ends, strict=True)):
        assert (end - first) * files.record_bytes[file] >= ROWS[file, 1] > (end - first - 1) * files.record_bytes[file]
        assert file_of(files.first, first) == file_of(files.first, end - 1) == file


def test_files_of_a_file_system_are_objects_each():
    files = numbered(ON_ZVOL._replace(on_zvol=0))
    assert (files.first == files.base[:, 0]).all()
    assert files.n_records_of.tolist() == [1024, 320, 192, 1]


@pytest.mark.parametrize("policy", [METADATA_ONLY, FileSettings().primarycache])
def test_each_indirect_block_of_a_zvol_is_in_core_once_and_above_what_lies_there(policy):
    m = new_store(ROWS, ON_ZVOL._replace(primarycache=policy), eras.era("b141"), Pool(), 1).data
    above = m.files.base[0, 1] + np.arange(tree(int(m.files.n_records_of[0]), ROOT_POINTERS_ZVOL)[1])
    nodes = m.arc.node_of[above]
    assert len(set(nodes.tolist())) == len(above)
    assert (nodes[[0, -1]] != 0).all()
    assert m.of_file[:, fs.OBJECT].tolist() == [0] * 5


def test_a_zvol_has_the_same_block_for_a_file_that_is_shorter():
    assert record_bytes_of(ROWS, ON_ZVOL).tolist() == [16_384] * 4
    assert record_bytes_of(ROWS, ON_ZVOL._replace(on_zvol=0)).tolist() == [16_384] * 3 + [8192]


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_every_law_of_files_holds_on_a_zvol(printed, name):
    assert printed["sound"][name] == []


@pytest.mark.slow
def test_a_flush_commits_all_that_was_written_to_the_zvol(printed):
    """Of file systems what was written to other files stays. A flush of one file is a defect that the law notices."""
    assert printed["left"]["zvol"] == 0
    assert printed["left"]["files"] > 10
    assert printed["left"]["defect"] > 10


@pytest.mark.slow
def test_blocks_as_long_as_a_page_or_shorter_are_never_read_to_be_written(printed):
    assert printed["read_first"]["4096"] == printed["read_first"]["8192"] == 0
    assert printed["read_first"]["16384"] > 100
    assert printed["reads_all"] > 100


@pytest.mark.slow
def test_a_longer_block_is_read_once_for_all_its_pages(printed):
    assert printed["read_first"]["65536"] < printed["read_first"]["16384"]


@pytest.mark.slow
@pytest.mark.parametrize("block_bytes", ["8192", "16384", "131072"])
def test_groups_write_as_much_for_a_page_as_the_closed_form_says(printed, block_bytes):
    written, expected = printed["amplified"][block_bytes]
    assert written == pytest.approx(expected, rel=0.03)


@pytest.mark.slow
def test_the_log_of_a_zvol_takes_all_writes_that_of_files_only_their_own(printed):
    """A page and its entry are 8384 B. Blocks of the log are whole sectors of 4 KiB."""
    zvol, files = printed["logged"]["zvol"], printed["logged"]["files"]
    n_written = zvol["writes"] + zvol["commits_asked"]
    assert zvol["log_bytes"] >= (n_written - 3) * 8384        # what comes behind the last commit stays
    assert files["log_bytes"] <= files["log_blocks"] * 12_288
    assert zvol["commits"] == files["commits"] == zvol["commits_asked"]


@pytest.mark.slow
def test_with_sync_disabled_nothing_is_logged_and_with_always_every_write_commits(printed):
    logged = printed["logged"]
    assert (logged["disabled"]["log_blocks"], logged["disabled"]["file_blocks"]) == (0, 0)
    assert logged["always"]["commits"] == logged["always"]["writes"] + logged["always"]["commits_asked"] - 1


@pytest.mark.slow
def test_with_logbias_throughput_blocks_go_to_their_places_and_the_log_points_there(printed):
    throughput, zvol = printed["logged"]["throughput"], printed["logged"]["zvol"]
    assert throughput["file_blocks"] > 0.8 * (throughput["writes"] + throughput["commits_asked"])
    assert throughput["log_bytes"] < zvol["log_bytes"] / 4
    assert zvol["file_blocks"] == 0


@pytest.mark.slow
def test_reading_ahead_goes_on_behind_the_end_of_a_file(printed):
    """300 records of a table, and the block that lies behind it: zfetch knows of the zvol alone."""
    assert printed["in_order"]["reads"] == 2
    assert printed["in_order"]["ahead"] == 299


@pytest.mark.slow
def test_each_file_has_blocks_of_its_own(printed):
    broken, sound = printed["regions"]
    assert broken[1] == 0
    assert min(sound) > 5

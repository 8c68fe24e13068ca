"""Compiled code of sources long gone is removed, and nothing else is."""
import os
import sys
import time

import pytest

from model.jit import old_code, sources
from model.jit.old_code import KEPT_FOLDERS, REMOVED, remove, remove_gone_modules, remove_old_digests
from support.processes import ROOT, ended, printed, started

OLD, YOUNG = 2, 0.5     # days
PRESENT = "f" * 20


def digests(n):
    return [f"{i:020x}" for i in range(n)]


def folder(path, days):
    """A folder with a file in it, last used so many days ago."""
    path.mkdir(parents=True)
    (path / "code.nbc").write_text("")
    set_age(path / "code.nbc", days)
    set_age(path, days)
    return path


def set_age(path, days):
    os.utime(path, (time.time() - 86400 * days,) * 2)


def there(parent):
    return sorted(path.name for path in parent.iterdir())


def test_of_a_module_the_present_digest_is_kept_and_those_used_last(tmp_path):
    names = digests(KEPT_FOLDERS + 2)
    for i, name in enumerate(names):
        folder(tmp_path / name, OLD + i)
    folder(tmp_path / "of_somebody_else", 1000)
    remove_old_digests(folder(tmp_path / PRESENT, 1000))
    assert there(tmp_path) == [*names[:KEPT_FOLDERS], PRESENT, "of_somebody_else"]


def test_what_was_used_in_the_last_day_is_kept(tmp_path):
    names = digests(KEPT_FOLDERS + 3)
    for name in names:
        folder(tmp_path / name, YOUNG)
    remove_old_digests(folder(tmp_path / PRESENT, 0))
    assert there(tmp_path) == [*names, PRESENT]


def test_that_a_digest_is_used_is_noted(tmp_path):
    remove_old_digests(folder(tmp_path / PRESENT, 1000))
    assert time.time() - (tmp_path / PRESENT).stat().st_mtime < 3600


def test_modules_that_are_gone_and_digests_of_the_older_layout_are_removed(tmp_path):
    for name in ("model.zfs.arc.arc", "model.zfs.was_here_once", "others"):
        folder(tmp_path / name / PRESENT, OLD)
        set_age(tmp_path / name, OLD)
    folder(tmp_path / PRESENT, OLD)
    remove_gone_modules(tmp_path, sources.path_of)
    assert there(tmp_path) == ["model.zfs.arc.arc", "others"]


def test_a_module_of_another_branch_stays_for_a_day(tmp_path):
    """Its folder is old, but a digest in it is young."""
    folder(tmp_path / "model.of_a_branch" / PRESENT, YOUNG)
    set_age(tmp_path / "model.of_a_branch", OLD)
    remove_gone_modules(tmp_path, sources.path_of)
    assert there(tmp_path) == ["model.of_a_branch"]


@pytest.mark.parametrize("name", ["model.somebody_elses", "arc_cd9fcc790a632667d285d55b1b2fa41c3501dbb9", "precious"])
def test_what_is_not_ours_stays(tmp_path, name):
    """`NUMBA_CACHE_DIR` may be a folder of many projects."""
    folder(tmp_path / name / "below", OLD)
    set_age(tmp_path / name, OLD)
    (tmp_path / ("a" * 20)).write_text("a file")
    set_age(tmp_path / ("a" * 20), OLD)
    remove_gone_modules(tmp_path, sources.path_of)
    assert there(tmp_path) == sorted([name, "a" * 20])


def test_what_a_process_that_died_has_left_is_removed_too(tmp_path):
    folder(tmp_path / f"{REMOVED}left", 0)
    remove(folder(tmp_path / PRESENT, OLD))
    assert not there(tmp_path)


def test_for_others_a_folder_is_gone_before_its_first_file_is(tmp_path, monkeypatch):
    path, seen = folder(tmp_path / PRESENT, OLD), []
    monkeypatch.setattr(old_code.shutil, "rmtree", lambda left, **_: seen.append((path.exists(), there(left))))
    remove(path)
    assert seen == [(False, ["code.nbc"])]


def test_a_folder_that_another_process_removes_meanwhile_is_no_error(tmp_path, monkeypatch):
    names = digests(KEPT_FOLDERS + 3)
    for i, name in enumerate(names):
        folder(tmp_path / name, OLD + i)
    real = old_code.remove
    monkeypatch.setattr(old_code, "remove", lambda path: (real(path), real(path)))
    remove_old_digests(folder(tmp_path / PRESENT, 0))
    assert there(tmp_path) == [*names[:KEPT_FOLDERS], PRESENT]


def test_each_process_that_compiles_tidies_up(tmp_path):
    for name in ("model.zfs.was_here_once", "others"):
        for digest in digests(KEPT_FOLDERS + 1):
            folder(tmp_path / name / digest, OLD)
        set_age(tmp_path / name, OLD)
    printed(["-c", "from model.jit import kernel"], NUMBA_CACHE_DIR=str(tmp_path))
    assert there(tmp_path) == ["others"]
    assert len(there(tmp_path / "others")) == KEPT_FOLDERS + 1


TIDIES_UP = """
import sys
from pathlib import Path
from model.jit.old_code import remove_gone_modules, remove_old_digests
root = Path(sys.argv[1])
remove_old_digests(root / "module" / ("f" * 20))
remove_gone_modules(root, lambda name: name == "module")
"""


@pytest.mark.slow
def test_processes_that_tidy_up_together_leave_what_is_wanted_and_no_error(tmp_path):
    names = digests(60)
    for i, name in enumerate(names):
        folder(tmp_path / "module" / name, OLD + i)
        folder(tmp_path / name, OLD)
    folder(tmp_path / "module" / PRESENT, 0)
    words = [sys.executable, "-c", TIDIES_UP, str(tmp_path)]
    with started(words, cwd=ROOT) as first, started(words, cwd=ROOT) as second:
        assert [ended(first, 60), ended(second, 60)] == [0, 0]
    assert there(tmp_path / "module") == [*names[:KEPT_FOLDERS], PRESENT]
    assert there(tmp_path) == ["module"]

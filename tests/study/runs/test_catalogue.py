"""The notebooks of the study are those that are listed: neither a copy beside them nor one that somebody began there."""
import shutil

import pytest

from study.errors import UserError
from study.project import NOTEBOOKS, ROOT
from study.runs import catalogue
from support.processes import run

COMMITTED = run(["git", "ls-files", "notebooks/*.ipynb"], cwd=ROOT).stdout.split()


@pytest.fixture
def beside(monkeypatch, tmp_path):
    """A folder of notebooks with a copy, as JupyterLab names it, and one that it has just made."""
    for name in ("01_vdev_cache_oltp", "01_vdev_cache_oltp-Copy1", "01_mine", "Untitled", "index"):
        shutil.copy(NOTEBOOKS / "01_vdev_cache_oltp.ipynb", tmp_path / f"{name}.ipynb")
    monkeypatch.setattr(catalogue, "NOTEBOOKS", tmp_path)
    return tmp_path


def test_a_copy_beside_the_notebooks_of_the_study_is_none_of_them(beside):
    assert [path.name for path in catalogue.books()] == ["01_vdev_cache_oltp.ipynb"]
    assert catalogue.find("01") == beside / "01_vdev_cache_oltp.ipynb"


@pytest.mark.parametrize("name", ["01_vdev_cache_oltp-Copy1", "01_mine", "Untitled"])
def test_what_lies_among_them_unlisted_is_not_run(beside, name):
    """What it reads would be no part of its identity: a changed file would give the old run."""
    with pytest.raises(UserError, match=r"none of the notebooks that .* lists. Move it to another folder"):
        catalogue.find(str(beside / f"{name}.ipynb"))


def test_the_index_is_opened_and_not_run(beside):
    with pytest.raises(UserError, match="shows the notebooks and is not run; open it with make lab"):
        catalogue.find(str(beside / "index.ipynb"))


@pytest.mark.skipif(not COMMITTED, reason="this is no clone, so nothing is committed")
def test_every_notebook_that_is_committed_is_listed():
    assert {f"notebooks/{name}.ipynb" for name in (*catalogue.STUDY, "index")} == set(COMMITTED)

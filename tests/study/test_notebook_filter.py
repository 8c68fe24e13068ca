"""Notebooks are committed without outputs: the filter of git that strips them, and what JupyterLab saves."""
import json
import os
import shutil
import sys
import time

import pytest
from jupyter_server.services.contents.largefilemanager import LargeFileManager

import set_up
from study.project import NOTEBOOKS, ROOT
from study.runs import saving
from support.books import BOOKS
from support.processes import run


def _git(*words, where=ROOT, **options):
    return run(["git", *words], cwd=where, **options)


@pytest.mark.skipif(_git("rev-parse", "HEAD").returncode != 0, reason="this is no clone, so nothing is committed")
@pytest.mark.parametrize("path", [*BOOKS, NOTEBOOKS / "index.ipynb"], ids=lambda path: path.stem)
def test_notebooks_are_committed_without_outputs(path):
    """What is committed: in the working file JupyterLab keeps outputs, which the filter of `make ready` hides from git."""
    content = json.loads(_git("show", f":notebooks/{path.name}").stdout)
    assert content["metadata"]["kernelspec"]["display_name"] == "Python 3 (ipykernel)"      # as JupyterLab writes it
    assert "papermill" not in content["metadata"]
    for cell in content["cells"]:
        assert "papermill" not in cell["metadata"]
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


SET_FILTER = "import sys, set_up; set_up.HERE = sys.argv[1]; set_up.set_filter()"


@pytest.fixture
def clone(tmp_path):
    """A repository with one notebook of ours and the filter set, as `make ready` sets it."""
    folder = tmp_path / "clone"
    (folder / "notebooks").mkdir(parents=True)
    shutil.copy(ROOT / ".gitattributes", folder)
    shutil.copy(BOOKS[0], folder / "notebooks")
    (folder / ".venv").symlink_to(sys.prefix)
    _git("init", "--quiet", where=folder)
    assert run([sys.executable, "-c", SET_FILTER, folder], cwd=ROOT).returncode == 0
    _git("add", "notebooks", ".gitattributes", where=folder)
    _git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "One.", where=folder)
    return folder


def _used(path, executed):
    """Save a notebook as JupyterLab does after its cells ran, some were folded and one had its tags looked at. VS Code adds
    a language."""
    content = json.loads(path.read_text(encoding="utf-8"))
    content["metadata"]["kernelspec"] = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    content["metadata"]["language_info"] = {
        "codemirror_mode": {"name": "ipython", "version": 3}, "file_extension": ".py", "mimetype": "text/x-python",
        "name": "python", "nbconvert_exporter": "python", "pygments_lexer": "ipython3", "version": "3.11.4"}
    content["metadata"] |= {"toc-autonumbering": True, "vscode": {"interpreter": {"hash": "0"}}}
    for cell in content["cells"]:
        cell["metadata"] |= {"editable": True, "slideshow": {"slide_type": ""}, "vscode": {"languageId": "python"}}
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [executed]}]
            cell["metadata"] |= {"scrolled": True, "jupyter": {"source_hidden": True, "outputs_hidden": True}}
        else:
            cell["metadata"]["jp-MarkdownHeadingCollapsed"] = True
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.mark.slow
def test_outputs_of_a_notebook_are_no_change_to_git(clone):
    path = clone / "notebooks" / BOOKS[0].name
    _used(path, "shown")
    assert "shown" in path.read_text(encoding="utf-8")
    assert _git("diff", "--stat", where=clone).stdout == ""
    path.write_text(path.read_text(encoding="utf-8").replace("# ", "# New: ", 1), encoding="utf-8")
    assert _git("diff", "--numstat", where=clone).stdout.split()[:2] == ["1", "1"]


@pytest.mark.slow
def test_a_look_at_a_fresh_clone_filters_no_notebook(clone, tmp_path):
    """Its index is as new as its files, so that git trusts none of them until it writes the index again."""
    fresh = tmp_path / "fresh"
    _git("clone", "--quiet", clone, fresh, where=tmp_path)
    written = (fresh / "notebooks" / BOOKS[0].name).stat().st_mtime
    os.utime(fresh / ".git" / "index", (written, written))
    (fresh / ".venv").symlink_to(sys.prefix)
    time.sleep(1.1)      # git compares whole seconds
    assert run([sys.executable, "-c", SET_FILTER, fresh], cwd=ROOT).returncode == 0
    _git("config", "filter.notebooks.clean", "touch filtered; cat", where=fresh)
    _git("--no-optional-locks", "status", "--porcelain", where=fresh)
    assert not (fresh / "filtered").exists()


def test_every_target_of_make_refreshes_the_index(monkeypatch):
    """Behind a pull it is as new as what came."""
    called = []
    monkeypatch.setattr(set_up, "refresh_index", lambda: called.append(1))
    for of_set_up in ("fingerprint", "made_from"):
        monkeypatch.setattr(set_up, of_set_up, lambda what: "the same")
    set_up.main("")
    assert called == [1]


@pytest.mark.parametrize("path", [*BOOKS, NOTEBOOKS / "index.ipynb"], ids=lambda path: path.stem)
def test_jupyterlab_saves_a_notebook_of_the_study_as_it_is_committed(tmp_path, monkeypatch, path):
    """By its own manager of files. To the byte, so that git and a pull see no change; elsewhere outputs are kept."""
    manager = LargeFileManager(root_dir=str(tmp_path))
    manager.register_pre_save_hook(saving.before_saving)
    monkeypatch.setattr(saving, "NOTEBOOKS", tmp_path / "notebooks")
    own = f"notebooks/{path.stem}-Copy1.ipynb", f"mine/{path.name}"
    for name in (f"notebooks/{path.name}", *own):
        copy = tmp_path / name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(path, copy)
        _used(copy, "shown")
        model = manager.get(name)
        if path.stem == "90_model_vs_zfs":      # as the pane of a cell's tags leaves it
            model["content"]["cells"][0]["metadata"]["tags"] = []
        manager.save(model, name)
    assert (tmp_path / "notebooks" / path.name).read_bytes() == _git("show", f":notebooks/{path.name}", text=False).stdout
    assert all("shown" in (tmp_path / name).read_text(encoding="utf-8") for name in own)


@pytest.mark.slow
def test_without_the_environment_the_filter_lets_notebooks_pass(clone):
    (clone / ".venv").unlink()
    (clone / "notebooks" / BOOKS[0].name).touch()
    done = _git("status", "--porcelain", "--untracked-files=no", where=clone)
    assert (done.stdout, done.stderr) == ("", "")

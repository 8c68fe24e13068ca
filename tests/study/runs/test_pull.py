"""A `git pull` after an editor has saved a notebook: it goes through, or stops with nothing lost."""
import json
import shutil
import sys

import pytest
from jupyter_server.services.contents.largefilemanager import LargeFileManager

from study.project import ROOT
from study.runs import catalogue, saving
from support.processes import run

pytestmark = pytest.mark.slow
NAME = catalogue.books()[0].name
SET_FILTER = "import sys, set_up; set_up.HERE = sys.argv[1]; set_up.set_filter()"
UPSTREAM, OWN, OUTPUT = "A sentence of upstream.", "A sentence of my own.", "an output"


def git(*words, where):
    return run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=where)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def write(path, content):
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def with_outputs(content):
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": 1, "outputs": [{"output_type": "stream", "name": "stdout", "text": [OUTPUT]}]}
    return content


def with_words(content, words):
    content["cells"][0]["source"].append(words)
    return content


@pytest.fixture
def mine(tmp_path):
    """A notebook in a clone that `make ready` has set up; upstream has gone on with the same notebook."""
    upstream, clone = tmp_path / "upstream", tmp_path / "clone"
    (upstream / "notebooks").mkdir(parents=True)
    shutil.copy(ROOT / ".gitattributes", upstream)
    shutil.copy(catalogue.books()[0], upstream / "notebooks")
    git("init", "--quiet", where=upstream)
    git("add", ".", where=upstream)
    git("commit", "--quiet", "-m", "One.", where=upstream)
    git("clone", "--quiet", upstream, clone, where=tmp_path)
    (clone / ".venv").symlink_to(sys.prefix)
    assert run([sys.executable, "-c", SET_FILTER, clone], cwd=ROOT).returncode == 0
    theirs = upstream / "notebooks" / NAME
    write(theirs, with_words(read(theirs), UPSTREAM))
    git("commit", "--quiet", "-am", "Two.", where=upstream)
    return clone / "notebooks" / NAME


def pull(path):
    return git("pull", "--quiet", "--ff-only", where=path.parent.parent)


def test_a_notebook_that_make_lab_has_saved_is_pulled_over(mine, monkeypatch):
    manager = LargeFileManager(root_dir=str(mine.parent.parent))
    manager.register_pre_save_hook(saving.before_saving)
    monkeypatch.setattr(saving, "NOTEBOOKS", mine.parent)
    model = manager.get(f"notebooks/{NAME}")
    with_outputs(model["content"])
    manager.save(model, f"notebooks/{NAME}")
    assert pull(mine).returncode == 0
    assert UPSTREAM in mine.read_text(encoding="utf-8")


def test_outputs_of_another_editor_stop_a_pull_until_git_has_looked(mine):
    """Git goes by the size of a file; `docs/notebooks.md` says what makes it look."""
    write(mine, with_outputs(read(mine)))
    before = mine.read_bytes()
    done = pull(mine)
    assert done.returncode == 0 or mine.read_bytes() == before
    words = "git add -u notebooks"
    assert words in (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    assert git(*words.split()[1:], where=mine.parent.parent).returncode == 0
    assert pull(mine).returncode == 0
    assert UPSTREAM in mine.read_text(encoding="utf-8")


def test_own_words_in_a_notebook_are_never_pulled_over(mine):
    write(mine, with_words(with_outputs(read(mine)), OWN))
    before = mine.read_bytes()
    for _ in range(2):
        done = pull(mine)
        assert done.returncode != 0
        assert NAME in done.stderr
        assert mine.read_bytes() == before
        git("add", "-u", "notebooks", where=mine.parent.parent)

"""The project's own files agree with each other."""
import ast
import json
import os
import re
import shlex
import shutil
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from jupyter_server.services.contents.largefilemanager import LargeFileManager

import set_up
from study.project import NOTEBOOKS, PAPER, ROOT, refuse_unwritable, write_atomically
from study.runs import catalogue, notebook_file, parameters, saving
from support import file_costs, prose
from support.processes import run

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
LOCKS = sorted(ROOT.glob("requirements*.lock"))
BOOKS = catalogue.books()


def test_conda_users_get_the_same_direct_dependencies():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = [item for item in listed if isinstance(item, str)] + [item for entry in listed if isinstance(entry, dict)
                                                                  for item in entry["pip"]]
    wanted = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    assert set(conda) - {"pip"} == {*wanted, f"python{PROJECT['requires-python']}"}


def test_locks_pin_every_direct_dependency_by_hash():
    pinned = {re.match(r"[\w-]+", line)[0] for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line}
    wanted = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    assert {re.match(r"[\w-]+", item)[0].lower() for item in wanted} <= pinned
    for lock in LOCKS:
        entries = re.split(r"\n(?=\S)", lock.read_text())
        assert all("--hash=sha256:" in entry for entry in entries if "==" in entry)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_locks_name_no_address(lock):
    assert "://" not in lock.read_text()


def test_packages_have_their_files_that_are_not_python():
    """An installation that is no link to the tree gets those alone that pyproject.toml names."""
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]
    for package in ("model", "study"):
        folder, other = ROOT / package, (".py", ".pyc", ".md", ".nbi", ".nbc")      # sources, words, and what is compiled
        named = {path for pattern in patterns.get(package, []) for path in folder.glob(pattern) if path.is_file()}
        assert named == {path for path in folder.rglob("*") if path.is_file() and path.suffix not in other}


def test_files_of_tests_with_a_cost_exist():
    """Those that the order of tests goes by (`conftest.py`)."""
    names = {path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")}
    assert set(file_costs.SECONDS) <= names
    assert file_costs.seconds("nothing", 3) == 1.5


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def test_imports_go_from_notebooks_to_study_to_model_and_never_back():
    for path in (ROOT / "model").rglob("*.py"):
        of_numba = {"numba", "llvmlite"} if path.name == "pipeline.py" else {"numba"}     # what Numba compiles with
        outside = set(_imports(path)) - set(sys.stdlib_module_names) - {"model", "numpy"} - of_numba
        assert not outside, f"{path.name} imports {outside}"
    for path in (ROOT / "study").rglob("*.py"):
        assert "notebooks" not in set(_imports(path))


def test_the_model_draws_no_numbers_of_its_own_and_reads_no_clock():
    """jit/ is the exception: it digests the sources for the compile cache, before anything runs."""
    for path in (ROOT / "model").rglob("*.py"):
        forbidden = {"random", "time", "datetime"} | (set() if path.parent.name == "jit" else {"os", "pathlib", "io"})
        assert not set(_imports(path)) & forbidden, path.name
        assert "np.random.seed" not in path.read_text()
        assert not re.search(r"(?<!\w)print\(", path.read_text()), path.name


@pytest.mark.parametrize(("broken", "advice"), [
    ("sys.modules['ensurepip'] = None", "apt-get install python3-venv"),
    ("sys.version_info = (3, 9, 2); os.environ['PATH'] = ''", "install Python 3.11 or newer"),
])
def test_a_machine_that_lacks_something_is_told_what_to_install(broken, advice):
    script = f"import os, sys, runpy; {broken}; runpy.run_path('set_up.py', run_name='__main__')"
    done = run([sys.executable, "-c", script], cwd=ROOT)
    assert done.returncode == 2
    assert advice in done.stderr
    assert done.stderr.count("\n") == 1


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
    """Save a notebook as JupyterLab does after its cells ran: outputs, counts, versions."""
    content = json.loads(path.read_text(encoding="utf-8"))
    content["metadata"]["kernelspec"] = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    content["metadata"]["language_info"] = {
        "codemirror_mode": {"name": "ipython", "version": 3}, "file_extension": ".py", "mimetype": "text/x-python",
        "name": "python", "nbconvert_exporter": "python", "pygments_lexer": "ipython3", "version": "3.11.4"}
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [executed]}]
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
    for folder in ("notebooks", "mine"):
        (tmp_path / folder).mkdir()
        copy = shutil.copy(path, tmp_path / folder)
        _used(Path(copy), "shown")
        manager.save(manager.get(f"{folder}/{path.name}"), f"{folder}/{path.name}")
    assert (tmp_path / "notebooks" / path.name).read_bytes() == _git("show", f":notebooks/{path.name}", text=False).stdout
    assert "shown" in (tmp_path / "mine" / path.name).read_text(encoding="utf-8")


@pytest.mark.slow
def test_without_the_environment_the_filter_lets_notebooks_pass(clone):
    (clone / ".venv").unlink()
    (clone / "notebooks" / BOOKS[0].name).touch()
    done = _git("status", "--porcelain", "--untracked-files=no", where=clone)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_hook_and_the_filter_strip_the_same():
    assert HOOKS["nbstripout"]["entry"].replace('"', "'") == set_up.STRIP


def test_set_up_that_is_stopped_says_so_in_one_sentence():
    script = ("import hashlib, runpy\n"
              "def stopped(*words): raise KeyboardInterrupt\n"
              "hashlib.sha256 = stopped\n"
              "runpy.run_path('set_up.py', run_name='__main__')")
    done = run([sys.executable, "-c", script], cwd=ROOT)
    message = "\nset-up: stopped; run the same command again, it goes on where it can\n"
    assert (done.returncode, done.stderr) == (130, message)


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_who_may_read_what_is_written_the_umask_says(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_notebooks_read_as_essays(path):
    """Claim in the title, prose around short cells, parameters tagged, no classes, kernels or file paths."""
    cells = notebook_file.cells(path)
    assert cells[0].kind == "markdown"
    assert cells[0].source.startswith("# ")
    assert path.stem in catalogue.STUDY
    assert "verdict" in cells[-1].source or "verdict" in cells[-2].source
    for cell in cells:
        if cell.kind == "code":
            code = [line for line in cell.source.splitlines() if line.strip() and not re.match(r" *(#|import |from )", line)]
            assert len(code) <= (16 if "parameters" in cell.tags else 14), cell.source     # one line a parameter
            assert not re.search(r"^\s*class |@kernel|@njit|\.\./|(?<!store\.)open\(|Path\(", cell.source, re.M), cell.source
    parameters.schema(path, catalogue.STUDY[path.stem].parameters)


@pytest.mark.parametrize("path", [*BOOKS, NOTEBOOKS / "index.ipynb"], ids=lambda path: path.stem)
def test_prose_of_notebooks_is_short(path):
    for cell in notebook_file.cells(path):
        if cell.kind == "markdown":
            assert len(cell.source.split()) <= 120, cell.source
            assert not [sentence for sentence in prose.sentences(cell.source) if prose.n_words(sentence) > 25], cell.source


@pytest.mark.parametrize("path", sorted((PAPER / "sections").glob("*.typ")), ids=lambda path: path.stem)
def test_prose_of_the_paper_is_short(path):
    text = prose.of_typst(path.read_text())
    assert "#" not in text      # all markup has been taken out
    long = [sentence for sentence in prose.sentences(text) if prose.n_words(sentence) > 25]
    assert not long, "\n".join(long)


def test_long_sentences_of_the_paper_are_seen():
    long = " ".join(["word"] * 23)
    source = (f'// {long}\n= Title {long}\n{long} #number("a/b", digits: 1)~% of #given[2007]. Short\n'
              f'@key: #of-ratios("n").#footnote[{long} #claim("id", field: "grade") in a note.]\n#picture("name")\n'
              f'#pairs([{long} (a table)],\n  [#number("c")])\n- item {long}\n- item')
    assert [prose.n_words(sentence) for sentence in prose.sentences(prose.of_typst(source))] == [26, 3, 24, 1, 27]


@pytest.mark.parametrize("top", ["model", "study"])
def test_docstrings_and_comments_are_short(top):
    long = [f"{path.relative_to(ROOT)}: {' '.join(sentence.split())}"
            for path in sorted((ROOT / top).rglob("*.py")) for text in prose.of_code(path.read_text())
            for sentence in prose.clauses(text) if prose.n_words(sentence) > 25]
    assert not long, "\n".join(long)


def test_long_docstrings_and_comments_are_seen():
    long = " ".join(["word"] * 26)
    code = f'"""Short. {long}.\n\n    a   {long}\n"""\nx = 1  # {long[:50]}\n#   {long[50:]}\ny = 2  # short\n'
    assert [prose.n_words(sentence) for text in prose.of_code(code) for sentence in prose.clauses(text)
            if prose.n_words(sentence) > 25] == [26, 27, 26]


@pytest.mark.parametrize("top", ["model", "study"])
def test_sentences_of_public_docstrings_are_short(top):
    """Those that end with a full stop, not with a semicolon."""
    paths = sorted((ROOT / top).rglob("*.py"))
    assert len(paths) > 200
    assert "\n".join(f"{path.relative_to(ROOT)}: {sentence}" for path in paths
                     for sentence in _long_sentences(path.read_text())) == ""


def _long_sentences(code):
    return [sentence for text in prose.public_docstrings(code) for sentence in prose.sentences(text)
            if prose.n_words(sentence) > 25]


@pytest.mark.parametrize(("code", "n_words"), [
    ('"""{half}; {half}."""', [26]), ('"""{half}: {half}."""', [26]), ('"""{half},\n{half}.\n"""', [26]),
    ('def f():\n    """Short. {half}; {half}."""', [26]), ('class C:\n    """{half}; {half}."""', [26]),
    ('class C:\n    def f(self):\n        """{half}; {half}."""', [26]),
    ('"""A table.\n\n    a   {half};\n        {half}\n    b   {half}\n"""', [27]),
    ('"""{half}:\n\n 1. {half};\n    {half}.\n 2. {half}.\n"""', [26]),
    ('"""{half}. {half}? {half}! {half}."""', []), ('"""{half}\n\n{half}."""', []),
    ('"""Short.\n\n{half}:\n    {half}.\n"""', []), ('"""A list.\n - {half}\n - {half}\n"""', []),
    ('"""A table.\n\n    a   {half}\n    b   {half}\n"""', []),
    ('def _f():\n    """{half}; {half}."""', []), ('class _C:\n    def f(self):\n        """{half}; {half}."""', []),
    ('def f():\n    def g():\n        """{half}; {half}."""', [])])
def test_long_sentences_of_public_docstrings_are_seen(code, n_words):
    half = " ".join(["word"] * 13)
    assert [prose.n_words(sentence) for sentence in _long_sentences(code.format(half=half))] == n_words


def _captions(path):
    """Each as one text; what is filled in counts as a word."""
    for cell in notebook_file.cells(path):
        for node in ast.walk(ast.parse(cell.source)) if cell.kind == "code" else ():
            if isinstance(node, ast.keyword) and node.arg == "caption":
                parts = getattr(node.value, "values", [node.value])
                yield "".join(str(getattr(part, "value", "")) if isinstance(part, ast.Constant) else "1" for part in parts)


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_captions_of_notebooks_are_short(path):
    captions = list(_captions(path))
    assert captions
    for caption in captions:
        assert max(len(sentence.split()) for sentence in re.split(r"[.!?]\s", caption)) <= 25, caption


def _prose(path):
    return "\n".join(cell.source for cell in notebook_file.cells(path) if cell.kind == "markdown")


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_notebooks_say_where_their_results_stand(path):
    line = "- This file has no outputs. Its results stand in [docs/results.md](../docs/results.md).\n"
    assert _prose(path).count(line) == 1


def test_next_links_lead_through_every_notebook_once():
    """From the one that README begins with, and index.ipynb."""
    first = re.search(r"Begin with `(\w+)`", (ROOT / "README.md").read_text())[1]
    assert f"Open [{first}]({first}.ipynb) first" in (ROOT / "notebooks" / "index.ipynb").read_text()
    following = {path.stem: re.findall(r"^Next: \[[^]]*\]\((\w+)\.ipynb\)", _prose(path), re.M) for path in BOOKS}
    chain = [first]
    while following[chain[-1]]:
        [name] = following[chain[-1]]
        assert name not in chain
        chain.append(name)
    assert sorted(chain) == sorted(following)


def _anchors(page):
    """Names of its headings, as a link has them."""
    for heading in re.findall(r"^#+ (.*)", page, re.M):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_links_of_notebooks_lead_somewhere(path):
    for cell in notebook_file.cells(path):
        if cell.kind == "markdown":
            for name, anchor in re.findall(r"\]\((?!https?:)([^)#]+)#?([^)]*)\)", cell.source):
                page = path.parent / name
                assert page.is_file(), name
                assert not anchor or anchor in _anchors(page.read_text()), f"{name}#{anchor}"


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_figures_show_themselves_and_are_not_shown_again(path):
    """Wherever it stands in a cell, `record.figure` shows its figure (a test of it runs that) and returns nothing."""
    for cell in notebook_file.cells(path):
        if cell.kind == "code":
            tree = ast.parse(cell.source)
            calls = [node for node in ast.walk(tree)
                     if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("figure")]
            alone = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
            assert all(call in alone and ast.unparse(call.func) == "record.figure" for call in calls), cell.source


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_takes_as_long_as_the_list_of_results_says(path):
    text = "".join(cell.source for cell in notebook_file.cells(path))
    written = re.search(r"Run it as it is: about (\w+) (minute|second)", text)
    assert written, f"{path.name} does not say how long it takes"
    listed = (ROOT / "docs" / "results.md").read_text()
    time = re.search(rf"^\| `{path.stem}` \|.*\| (\d+) (min|s) \|$", listed, re.M)
    number = NUMBERS.index(written[1]) if written[1] in NUMBERS else int(written[1])
    assert (number, written[2].startswith(time[2])) == (int(time[1]), True)


HOOKS = {hook["id"]: hook for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
         for hook in repo["hooks"]}


def test_hooks_run_what_is_installed_and_fetch_nothing():
    wanted = PROJECT["optional-dependencies"]["test"]
    for hook in HOOKS.values():
        program = shlex.split(hook["entry"])[0]
        assert hook["language"] == "system"
        assert program == ".venv/bin/python" or any(item.startswith(program.removeprefix(".venv/bin/")) for item in wanted)


@pytest.mark.parametrize(("subject", "code"), [("é" * 72, 0), ("x" * 73, 1)])
def test_a_long_subject_of_a_commit_is_refused(tmp_path, subject, code):
    (tmp_path / "message").write_text(f"{subject}\n\n{'x' * 100}\n", encoding="utf-8")
    _, *words = shlex.split(HOOKS["subject"]["entry"])
    done = run([sys.executable, *words, tmp_path / "message"])
    assert done.returncode == code, done.stderr


def test_the_code_is_tidy():
    done = run([sys.executable, "-m", "ruff", "check", "--quiet", ROOT])
    assert done.returncode == 0, done.stdout


def test_a_pipe_and_a_device_are_written_into_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refuse_unwritable(pipe)
    with ThreadPoolExecutor(1) as other:
        read = other.submit(pipe.read_bytes)
        write_atomically(pipe, "some")
        assert read.result(10) == b"some"
    link = tmp_path / "nothing"         # not the device itself: with a defect root would replace it
    link.symlink_to("/dev/null")
    refuse_unwritable(link)
    write_atomically(link, "some")
    assert (pipe.is_fifo(), link.is_symlink(), Path("/dev/null").is_char_device()) == (True, True, True)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path, is_there):
    target, link = tmp_path / "below" / "target", tmp_path / "link"
    if is_there:
        target.parent.mkdir()
        target.write_text("before")
    link.symlink_to("below/target")
    refuse_unwritable(link)
    write_atomically(link, "after")
    assert (link.is_symlink(), target.read_text()) == (True, "after")

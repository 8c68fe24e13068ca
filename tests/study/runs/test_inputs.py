"""What a notebook of the user's own reads is part of what its run is made of."""
import json
import sqlite3

import pytest

from study.ingest import given_runs, imports
from study.project import DATA, ROOT
from study.runs import beside, inputs
from study.runs.folder import manifest
from study.runs.plan import done_before, is_current, plan
from study.runs.runner import run

pytestmark = pytest.mark.slow      # kernels of Jupyter are started

# How a cell reads: a file of its own, and the cell.
READS = {
    "fork": ("fork.csv", "import os\nif not os.fork():\n    open('fork' + '.csv').read()\n    os._exit(0)\nos.wait()"),
    "open": ("open.csv", "text = open('open.csv').read()"),
    "pandas": ("pandas.csv", "import pandas\npandas.read_csv('pandas' + '.csv')"),
    "path": ("path.csv", "from pathlib import Path\nPath('path.csv').read_bytes()"),
    "bytes": ("bytes.csv", "import os\nos.close(os.open(b'bytes.csv', os.O_RDONLY))"),
    "absolute": ("absolute.csv", "import os\nopen(os.path.abspath('absolute' + '.csv')).read()"),
    "below": ("data/below.csv", "open('data/' + 'below.csv').read()"),
    "beside": ("../beside/runs.csv", "open('../beside/' + 'runs.csv').read()"),
    "by DuckDB": ("duck.csv", "import duckdb\nduckdb.sql(\"SELECT * FROM read_csv('duck.csv')\").fetchall()"),
    "by a pattern": ("pattern.csv", "import duckdb\nduckdb.sql(\"SELECT * FROM 'pat*.csv'\").fetchall()"),
    "in a folder": ("other/runs.csv", "import duckdb\nduckdb.read_csv('other' + '/runs.csv').fetchall(); 'other'"),
    "script": ("script.txt", "exec(open('script.txt').read())"),
    "by the shell": ("shell.txt", "!cat shell.txt"),
    "by a shell's cell": ("bash.txt", "%%bash\ncat bash.txt | sort"),
}
OWN_MODULES = {"helper": ("helper.py", "import helper"), "package": ("package/part.py", "import package.part")}
BEFORE, AFTER = "a = 1\n", "a = 2\n"


def reader(notebook, tmp_path, cells):
    """A notebook in a folder of its own, whose cells read the files that are named with them; and the folder."""
    folder = tmp_path / "mine"
    for name, _ in cells:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(BEFORE)
    return notebook("reads", *(cell for _, cell in cells)).rename(folder / "reads.ipynb"), folder


def test_a_run_is_as_current_as_each_file_that_it_read(runs, notebook, tmp_path):
    """However it was read. A file that was not read does not count."""
    path, folder = reader(notebook, tmp_path, READS.values())
    first = run(plan(path))
    assert (first.status, first.again) == ("ok", True), first.reason
    written = manifest(first.plan.folder)
    assert set(written["inputs"]) == {name for name, _ in READS.values()} | {"pat*.csv", "data/", "other/"}
    (folder / "another.csv").write_text("of nobody's interest")
    for name, _ in READS.values():
        (folder / name).write_text(AFTER)
        assert not is_current(written), name
        (folder / name).write_text(BEFORE)
        assert is_current(written), name


@pytest.mark.parametrize("how", ["open", "in a folder", *OWN_MODULES])
def test_a_run_is_repeated_when_a_file_that_it_read_has_changed_and_only_then(runs, notebook, tmp_path, how):
    """And it is the old run again when the file is as it was."""
    name, cell = (READS | OWN_MODULES)[how]
    path, folder = reader(notebook, tmp_path, [(name, cell)])
    first = run(plan(path))
    assert (first.status, first.again) == ("ok", True), first.reason
    again = run(plan(path))
    assert (again.again, bool(again.started)) == (False, True)
    (folder / "another.csv").write_text("of nobody's interest")
    assert not run(plan(path)).again
    (folder / name).write_text(AFTER)
    assert not is_current(manifest(first.plan.folder))
    second = run(plan(path))
    assert (second.status, second.again, is_current(manifest(second.plan.folder))) == ("ok", True, True)
    (folder / name).write_text(BEFORE)
    back = run(plan(path))
    assert (back.again, back.plan.run_id) == (False, first.plan.run_id)


def test_a_parameter_that_names_a_file_makes_it_an_input(runs, notebook, tmp_path):
    path = notebook("named", "import duckdb\nduckdb.read_csv(file).fetchall()", parameters="file = 'none.csv'")
    (tmp_path / "mine.csv").write_text("a\n1\n")
    assert run(plan(path, {"file": "mine.csv"})).again
    assert not run(plan(path, {"file": "mine.csv"})).again
    (tmp_path / "mine.csv").write_text("a\n2\n")
    assert run(plan(path, {"file": "mine.csv"})).again


@pytest.mark.parametrize("cell", [
    "open('out.csv', 'a').write('1')", "import pandas\npandas.DataFrame({'a': [1]}).to_csv('out.csv')",
    "import duckdb, time\nduckdb.sql(f\"COPY (SELECT {time.time_ns()}) TO 'out.csv'\")",
    "import tempfile\nwith tempfile.TemporaryFile() as file:\n    file.write(b'1')"])
def test_what_a_run_writes_is_no_input(runs, notebook, tmp_path, cell):
    (tmp_path / "out.csv").write_text("0")
    path = notebook("writes", cell)
    outcome = run(plan(path))
    assert outcome.status == "ok", outcome.reason
    assert manifest(outcome.plan.folder)["inputs"] == {}
    assert not run(plan(path)).again


def test_a_database_that_is_opened_is_an_input(runs, notebook, tmp_path):
    def write(value):
        with sqlite3.connect(tmp_path / "mine.db") as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS t (a)")
            connection.execute("INSERT INTO t VALUES (?)", [value])
        connection.close()

    write(1)
    path = notebook("asks", "import sqlite3\nsqlite3.connect('mine' + '.db').execute('SELECT * FROM t').fetchall()")
    assert run(plan(path)).status == "ok"
    assert not run(plan(path)).again
    write(2)
    assert run(plan(path)).again


def test_system_and_project_files_are_no_inputs(runs, notebook):
    """Of what a run of ours reads besides, the identity covers what counts: sources, data and the lock file."""
    cell = "import matplotlib.pyplot, pandas, study.figures.disks\nopen('/etc/passwd').read()"
    outcome = run(plan(notebook("large", cell)))
    assert (outcome.status, manifest(outcome.plan.folder)["inputs"]) == ("ok", {})


@pytest.mark.parametrize("cell", ["import os\nos.listdir('few')", "import glob\nglob.glob('few' + '/*.csv')",
                                  "from pathlib import Path\nlist(Path('few').iterdir())",
                                  "import duckdb\nduckdb.sql(\"SELECT * FROM 'few/*.csv'\").fetchall()",
                                  "import pyarrow.dataset\npyarrow.dataset.dataset('few', format='csv').files",
                                  "!ls few"])
def test_a_new_file_in_a_folder_that_was_listed_makes_another_run(runs, notebook, tmp_path, cell):
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "a.csv").write_text("x\n1\n")
    path = notebook("lists", cell)
    first = run(plan(path))
    assert (first.status, run(plan(path)).again) == ("ok", False), first.reason
    (tmp_path / "few" / "b.csv").write_text("x\n2\n")
    assert run(plan(path)).again
    (tmp_path / "few" / "b.csv").unlink()
    assert not run(plan(path)).again


def test_a_run_that_lists_a_folder_and_writes_into_it_is_done(runs, notebook):
    path = notebook("writes", "import os\nos.listdir('.')\nopen('out.csv', 'w').write('x')")
    assert [run(plan(path)).again for _ in range(2)] == [True, False]


@pytest.mark.parametrize(("text", "names"), [
    ("'a.csv'", ["a.csv"]), ('"SELECT * FROM \'a.csv\'"', ["a.csv"]), ("'*.csv'", ["a.csv", "*.csv"]),
    ("'below'", ["below/b.csv", "below/"]), ("'*'", []), ("'.'", []), ("a.csv", []),
    ("'\\0'", []), ("'" + "x" * 5000 + "'", []), ("'/etc/passwd'", [])])
def test_text_that_names_a_file(tmp_path, text, names):
    for name in ("a.csv", "below/b.csv", ".hidden/c.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert list(inputs.named(tmp_path, [text], {})) == names


@pytest.mark.parametrize(("pattern", "place"), [("*.csv", "."), ("**/*.csv", "."), ("few/*.csv", "few"), ("f*/*.csv", ".")])
def test_a_pattern_of_too_many_files_stands_for_their_folder(tmp_path, monkeypatch, pattern, place):
    monkeypatch.setattr(inputs, "MAX_IN_A_FOLDER", 2)
    (tmp_path / "few").mkdir()
    for name in ("a.csv", "b.csv", "c.csv", "few/a.csv", "few/b.csv", "few/c.csv"):
        (tmp_path / name).write_text("x")
    assert inputs.named(tmp_path, [f"'{pattern}'"], {}) == {place: inputs.TOO_MANY}


def test_a_run_that_names_a_folder_of_too_many_files_is_never_taken_for_done(runs, notebook, tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "MAX_IN_A_FOLDER", 2)
    (tmp_path / "few").mkdir()
    for name in "abc":
        (tmp_path / "few" / name).write_text("x")
    path = notebook("counts", "import os\nlen(os.listdir('few'))")
    assert manifest(run(plan(path)).plan.folder)["inputs"]["few"] == inputs.TOO_MANY
    assert run(plan(path)).again
    (tmp_path / "few" / "c").unlink()
    assert run(plan(path)).again
    assert not run(plan(path)).again


MODULES = {"helper.py": "from package import part", "package/part.py": "from . import near\nfrom .sub.deep import f",
           "package/__init__.py": "", "package/near.py": "import json", "package/sub/deep.py": "def f(): pass",
           "package/unread.py": "import stranger", "stranger.py": "", "clones/venv/lib.py": "", "none.txt": ""}


@pytest.mark.parametrize(("code", "names"), [
    ("import helper", ["helper.py", "package/__init__.py", "package/near.py", "package/part.py", "package/sub/deep.py"]),
    ("%matplotlib inline\nimport package.near as n", ["package/__init__.py", "package/near.py"]),
    ("clones = 'venv'; none = stranger = 1", []), ("import numpy, none\nfrom os import path", []),
    ("files = !ls\nimport stranger", ["stranger.py"]), ("import stranger\nstranger?", ["stranger.py"]),
    ("def (: not python at all", ["helper.py", "package/__init__.py", "package/near.py", "package/part.py",
                                  "package/sub/deep.py", "stranger.py"])])
def test_modules_beside_a_notebook_are_those_that_it_reaches_by_imports(tmp_path, code, names):
    """A folder may hold anything else, such as whole trees with names that are words of the code."""
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert beside.modules(tmp_path, [code]) == [tmp_path / name for name in names]


def test_run_says_what_was_done_before_and_again_runs_it(study, notebook, tmp_path):
    path = notebook("mine", f"open({str(tmp_path / 'count')!r}, 'a').write('.')")
    first = study("run", path).stdout
    second = study("run", path).stdout
    assert ("mine ok " in first, "mine done before, on " in second) == (True, True)
    assert "UTC; nothing was run (--again runs it anew)" in second
    assert "mine ok " in study("run", path, "--again").stdout
    assert (tmp_path / "count").read_text() == ".."


def test_status_and_dry_run_say_what_would_run_and_run_nothing(study, runs, notebook, tmp_path):
    path = notebook("mine", "open('runs.csv').read()")
    (tmp_path / "runs.csv").write_text("1")
    assert "1 of 1 would run" in study("run", path, "--dry-run").stdout
    assert not list(runs.glob("mine/*"))
    study("run", path)
    assert "1 is current; nothing would run" in study("run", path, "--dry-run").stdout

    def row():
        """A notebook of one's own is a record: its path, and below it its state."""
        lines = study("status").stdout.splitlines()
        place = next(n for n, line in enumerate(lines) if line.startswith(str(path)))
        return " ".join(lines[place:place + 3])
    assert "current, run on" in row()
    (tmp_path / "runs.csv").write_text("2")
    assert "run with other code, data or parameters" in row()
    path.unlink()
    assert "cannot run: " in study("status").stdout
    printed = study("reproduce", "--only", "05", "--dry-run").stdout
    assert [word in printed for word in ("04_oltp_gain", "05_io_size_correlation", "2 of 2 would run")] == [True] * 3


def test_the_manifest_names_the_commit(runs, notebook, monkeypatch):
    planned = run(plan(notebook("plain", "n"))).plan
    commit = json.loads((planned.folder / "manifest.json").read_text())["git"]
    assert (commit is None) == (not (ROOT / ".git").exists())
    assert commit is None or (len(commit["commit"]), type(commit["dirty"])) == (40, bool)
    monkeypatch.setenv("PATH", "")      # no git at hand
    from study.project import git_state
    assert git_state() is None


def test_done_before_is_false_of_a_record_whose_input_is_gone(runs, notebook, tmp_path):
    (tmp_path / "runs.csv").write_text("1")
    planned = run(plan(notebook("reads", "open('runs.csv').read()"))).plan
    assert done_before(planned)
    (tmp_path / "runs.csv").unlink()
    assert not done_before(planned)


def test_another_import_is_an_input_of_a_notebook_that_opens_the_store(runs, notebook):
    """Of one that does not, it is none."""
    cell = "from study.store import store\nwith store.open() as asked:\n    asked.execute('SELECT count(*) FROM imports')"
    asking, other = notebook("asking", cell), notebook("other", "1 + 1")
    assert run(plan(asking)).again
    assert run(plan(other)).again
    assert not run(plan(asking)).again
    [given] = given_runs.given([DATA / "examples/series/sync-on/1"], "mine")
    imports.imported(given, imports.Options())
    assert run(plan(asking)).again
    assert not run(plan(asking)).again
    assert not run(plan(other)).again

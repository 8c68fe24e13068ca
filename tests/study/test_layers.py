"""The house: imports go down only, and every module, file and function that prose names exists."""
import ast
import io
import re
import subprocess
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from model.jit import sources
from study.project import ROOT

# From the top down; what stands on one line does not import each other.
MODEL = """
    model.simulations.filebench_oltp  model.simulations.sequential_reads  model.simulations.order_entry
    model.simulations.dedup_writes
    model.simulations
    model.databases.postgres  model.databases.innodb  model.databases.oracle  model.filesystems.zfs  model.filesystems.ufs
    model.filesystems
    model.zfs.eras
    model.zfs.ageing  model.zfs.dmu
    model.zfs.metaslab
    model.zfs.vdev  model.zfs.arc  model.zfs.space  model.zfs.txg  model.zfs.zil  model.zfs.dedup
    model.zfs.shared_numbers
    model.devices
    model.structures  model.events
    model.jit
"""
STUDY = """
    study.commands
    study.figures  study.paper  study.sweeps
    study.measure
    study.experiments  study.predictions  study.your_runs
    study.grades
    study.ensembles
    study.traces
    study.store  study.replays  study.ingest
    study.runs  study.machines
    study.pools
    study.documents
    study.drawing  study.memo  study.sizes  study.given_files  study.words  study.tables  study.html_tables  study.console
    study.project  study.short_tables
    study.errors
"""
MAX_ARROWS = 25        # between the packages of model
PACKAGES = {top: {f"{top}.{path.parent.name}": 0 for path in (ROOT / top).glob("*/__init__.py")}
            for top in ("model", "study")}


@cache
def layers(text):
    """{package: floor}, 0 at the bottom."""
    rows = [row.split() for row in text.split("\n") if row.strip()]
    return {name: floor for floor, row in enumerate(reversed(rows)) for name in row}


def imported(path, root):
    package = ".".join(path.parent.relative_to(root).parts)
    return [sources.absolute(name, package) for name in sources.named(ast.parse(path.read_text()))]


def package_of(name, floors):
    """The longest name of a package that a dotted name begins with, or None."""
    parts = name.split(".")
    return next((".".join(parts[:n]) for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in floors), None)


def arrows(top, floors, root=ROOT):
    """{(from, to): where}, between packages."""
    where = defaultdict(list)
    for path in sorted((root / top).rglob("*.py")):
        here = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for name in imported(path, root):
            source, target = package_of(here, floors), package_of(name, floors)
            if name.startswith(f"{top}.") and source and source != target:
                where[source, target].append(f"{path.relative_to(root)} imports {name}")
    return where


def upward(top, text, root=ROOT):
    """Imports that do not go down."""
    floors = layers(text)
    return [line for (source, target), lines in arrows(top, floors, root).items()
            if target is None or floors[target] >= floors[source] for line in lines]


@pytest.mark.parametrize(("top", "text"), [("model", MODEL), ("study", STUDY)])
def test_imports_go_down_only(top, text):
    assert not upward(top, text)


@pytest.mark.parametrize(("top", "text"), [("model", MODEL), ("study", STUDY)])
def test_every_package_has_a_floor(top, text):
    named = layers(text)
    for path in (ROOT / top).rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        assert name in (top, "model.zfs", "model.databases") or package_of(name, named), name


def test_of_pandas_only_documented_modules_are_imported():
    """Others change without notice. What writes tables as HTML is documented under this name."""
    of_pandas = {name for top in PACKAGES for path in (ROOT / top).rglob("*.py") for name in imported(path, ROOT)
                 if name.startswith("pandas.")}
    assert {name for name in of_pandas if not name.startswith("pandas.io.formats.style.Styler")} == set()


def test_few_arrows_between_the_packages_of_the_model():
    assert len(PACKAGES["model"]) == 8
    assert len(arrows("model", PACKAGES["model"])) <= MAX_ARROWS


IN_ZFS = {name: 0 for name in layers(MODEL) if name.startswith("model.zfs.")}
TABLES = [("of the model", "model", PACKAGES["model"]), ("of `zfs`", "model", IN_ZFS),
          ("of the study", "study", PACKAGES["study"])]


@pytest.mark.parametrize(("head", "top", "packages"), TABLES, ids=[head for head, *_ in TABLES])
def test_the_page_on_architecture_has_every_import_between_packages(head, top, packages):
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.search(rf"^\| {head} \|.*\n.*\n((?:\|.*\n)+)", page, re.M)[1].splitlines()
    shown = {re.findall(r"`(\w+)`", row)[0]: set(re.findall(r"`(\w+)`", row)[1:]) for row in rows}
    real = defaultdict(set)
    for source, target in arrows(top, packages):
        if target:
            real[source.rpartition(".")[2]].add(target.rpartition(".")[2])
    assert shown == real


def test_packages_import_nothing_but_that_jit_hands_out_its_decorators():
    faces = {path.parent.name: set(imported(path, ROOT)) for top in PACKAGES for path in (ROOT / top).rglob("__init__.py")}
    assert {name: names for name, names in faces.items() if names} == {
        "jit": {f"model.jit.decorators.{name}" for name in ("either", "kernel", "part")}}


@pytest.mark.parametrize(("path", "source", "is_wrong"), [
    ("model/zfs/eras.py", "def f():\n    from model.databases.postgres import step", True),
    ("model/zfs/arc/arc.py", "from model.zfs.space import avl", True),
    ("model/zfs/arc/arc.py", "from ..space import avl", True),
    ("model/zfs/arc/arc.py", "from model.zfs.vdev import leaves", True),
    ("model/zfs/arc/arc.py", "from model.zfs.arc import lists", False),
    ("model/zfs/space/avl.py", "from model.zfs.txg import throttle", True),
    ("model/zfs/txg/throttle.py", "import model.zfs.zil.log", True),
    ("model/zfs/zil/log.py", "from model.zfs.arc.arc import ArcParams", True),
    ("model/databases/postgres/step.py", "from model.databases.innodb import step", True),
    ("model/databases/postgres/step.py", "from model.filesystems.ufs import ufs", True),
    ("model/databases/postgres/step.py", "from model.filesystems.calls import ask", False),
    ("model/filesystems/zfs/start.py", "from model.filesystems.ufs import ufs", True),
    ("model/simulations/order_entry/run.py", "from model.simulations.sequential_reads import state", True),
    ("model/simulations/order_entry/run.py", "from model.simulations.rules import rules_of", False)])
def test_a_wrong_import_is_noticed(tmp_path, path, source, is_wrong):
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(source)
    assert bool(upward("model", MODEL, tmp_path)) == is_wrong


def beside_the_calls(root=ROOT):
    """What databases import of file systems and of ZFS, except for the calls."""
    names = [name for path in (root / "model/databases").rglob("*.py") for name in imported(path, root)]
    return [name for name in names if name.startswith(("model.filesystems.", "model.zfs."))
            and not name.startswith("model.filesystems.calls.")]


def test_databases_know_of_their_files_only_the_calls(tmp_path):
    assert not beside_the_calls()
    (tmp_path / "model/databases").mkdir(parents=True)
    (tmp_path / "model/databases/db.py").write_text(
        "from model.filesystems.calls import ask\nfrom model.filesystems.columns import FILE\nimport model.zfs.arc.arc")
    assert beside_the_calls(tmp_path) == ["model.filesystems.columns.FILE", "model.zfs.arc.arc"]


# ---- what prose names ----

KINDS = (".py", ".md", ".toml", ".typ", ".ipynb", ".sql", ".yml", ".yaml", ".cff", ".ini")
OTHERS = ("Makefile", ".ci/run", ".gitignore")
TEXTS = [ROOT / name for name in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                                                timeout=60).stdout.split()
         if (Path(name).suffix in KINDS or name in OTHERS)
         and not name.startswith(("data/trials/", "CHANGELOG", "docs/decisions/0006", "tests/model/jit/test_sources.py",
                                 "tests/model/jit/test_old_code.py", "tests/study/test_layers.py"))]
TOPS = {"model": ROOT, "study": ROOT} | dict.fromkeys(("twins", "defects", "laws", "drivers", "support"), ROOT / "tests")
NAME = r"(?<![\w./])(?:{})(?:\.[A-Za-z_]\w*)+(?![\w/])"
DOTTED, DOTTED_IN_TESTS = (re.compile(NAME.format("|".join(tops))) for tops in (("model", "study"), list(TOPS)[2:]))
FILE = re.compile(r"(?<![\w./-])(?:model|study|tests|benchmarks|notebooks|docs|data|paper)/[\w./-]*\w"
                  r"\.(?:py|md|toml|ipynb|sql|typ)\b")
ELSEWHERE = {"docs/pgbench-prepared-statements.md"}     # in the repository of a source
IN_TESTS = re.compile(r"(?<![\w./-])(?:twins|defects|laws|drivers|support)/\w+\.py\b")


def test_files_of_every_kind_are_read():
    names = {path.relative_to(ROOT).as_posix() for path in TEXTS}
    assert names >= {*OTHERS, "CITATION.cff", ".pre-commit-config.yaml", "environment.yml", "pyproject.toml", "README.md",
                     "benchmarks/pytest.ini", "notebooks/index.ipynb", "model/jit/sources.py"}


def names_of(node):
    """{name: node} of what a statement gives to the module or class in which it stands; what is local is not in it."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name: node}
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    if isinstance(node, ast.Import):
        return {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
    if isinstance(node, ast.Name):
        return {node.id: node} if isinstance(node.ctx, ast.Store) else {}
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return {}
    return {name: inner for child in ast.iter_child_nodes(node) for name, inner in names_of(child).items()}


@cache
def top_names(path):
    """{name: node} at the top of a module; of what is imported, {name: its dotted name}."""
    return names_of(ast.parse(path.read_text()))


def members(node):
    """Fields and methods of a class."""
    fields = {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)
              and isinstance(inner.ctx, ast.Store) and ast.unparse(inner.value) == "self"}
    return fields | {name for child in node.body for name in names_of(child)}


def is_member(path, name, rest):
    """Whether `name.rest` is in the module at `path`: a top name, and below a class one of its members."""
    node = top_names(path).get(name)
    if isinstance(node, str):       # imported; below what is not the project's nothing is known
        return is_there(".".join([node, *rest])) if node.partition(".")[0] in TOPS else not rest
    if isinstance(node, ast.ClassDef) and rest:
        return len(rest) == 1 and (rest[0] in members(node) or any(
            is_member(path, base.id, rest) for base in node.bases if isinstance(base, ast.Name)))
    return node is not None and not rest


def is_there(dotted):
    """Whether `model.a.b.Class.member` is a module, a name at the top of it, or a member of a class there."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        base = TOPS[parts[0]].joinpath(*parts[:n])
        path = next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
        if path:
            return n == len(parts) or is_member(path, parts[n], parts[n + 1:])
    return False


@cache
def prose(path):
    """The text of a file; of Python, its comments and strings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join(token.string for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING))


def not_there(text, of_tests=True):
    """Names of modules, of what is in them, and of files, that lead nowhere."""
    dotted = DOTTED.findall(text) + (DOTTED_IN_TESTS.findall(text) if of_tests else [])
    missing = {name for name in dotted if not is_there(name)}
    missing |= {name for name in FILE.findall(text) if not (ROOT / name).exists()} - ELSEWHERE
    return missing | {name for name in IN_TESTS.findall(text) if not (ROOT / "tests" / name).exists()}


def test_what_a_text_names_exists():
    missing = {path.relative_to(ROOT).as_posix(): not_there(prose(path), of_tests=path.suffix != ".ipynb")
               for path in TEXTS}       # notebooks import nothing of tests
    assert len(missing) > 1000
    assert {text: names for text, names in missing.items() if names} == {}


IMPORTS = re.compile(rf"\bfrom ((?:{'|'.join(TOPS)})\b[\w.]*) import (\w+(?:, \w+)*)")     # in scripts that are strings, too


def test_what_a_script_in_a_text_imports_exists():
    names = {(path.relative_to(ROOT).as_posix(), f"{module}.{name}") for path in TEXTS
             for module, listed in IMPORTS.findall(prose(path).replace("\\n", "\n")) for name in listed.split(", ")}
    assert len(names) > 50
    assert {(text, name) for text, name in names if not is_there(name)} == set()


@pytest.mark.parametrize(("name", "there"), [
    ("model.zfs.arc.arc", True), ("study.store", True), ("support.processes", True),
    ("model.zfs.nothing", False), ("support.nothing", False),
    ("model.zfs.arc.arc.ArcParams", True), ("model.zfs.arc.arc.nothing", False), ("support.processes.nothing", False),
    ("model.structures.lru.misses", True), ("model.structures.lru.n_misses", False),       # local
    ("model.structures.lru.misses.n_misses", False),
    ("model.zfs.arc.arc.ArcParams.c_bytes", True), ("model.zfs.arc.arc.ArcParams.nothing", False),
    ("study.runs.plan.Plan.run_id", True), ("study.runs.plan.Plan.run_id.nothing", False),
    ("model.jit.sources.Digests.kept", True),                                                # given in __init__
    ("model.jit.pipeline.Pipeline.define_pipelines", True),
    ("model.jit.kernel", True), ("model.jit.nothing", False),                              # imported
    ("study.experiments.allocator_2010.exchange.Comparison.items", True),
    ("study.experiments.allocator_2010.exchange.Comparison.nothing", False),
    ("study.machines.scenario.Host.model_fields", False)])
def test_names_of_what_is_not_there_are_noticed(name, there):
    assert is_there(name) == there


@pytest.mark.parametrize(("text", "is_wrong"), [
    ("the twin in twins/arc.py", False), ("the twin in twins/nothing.py", True), ("see tests/twins/nothing.py", True),
    ("`model.zfs.arc.arc.ArcParams.nothing`", True), ("model/zfs/nothing.py", True), ("support.nothing", True)])
def test_a_text_that_names_what_is_not_there_is_noticed(text, is_wrong):
    assert bool(not_there(text)) == is_wrong

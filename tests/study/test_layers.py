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

from study.project import ROOT

# From the top down; what stands on one line does not import each other.
MODEL = """
    model.simulations.filebench_oltp  model.simulations.sequential_reads  model.simulations.order_entry
    model.simulations
    model.databases.postgres  model.databases.innodb  model.databases.oracle
    model.filesystems.zfs  model.filesystems.ufs
    model.filesystems
    model.zfs.eras
    model.zfs.ageing  model.zfs.dmu
    model.zfs.metaslab  model.zfs.arc
    model.zfs.vdev  model.zfs.space  model.zfs.txg  model.zfs.zil
    model.devices
    model.structures  model.events
    model.jit
"""
STUDY = """
    study.commands
    study.figures  study.paper
    study.experiments  study.predictions
    study.grades
    study.ensembles  study.pools
    study.store  study.replays
    study.runs  study.machines
    study.documents
    study.drawing  study.memo  study.sizes  study.tables  study.console
    study.project
    study.errors
"""
MOST_ARROWS = 25        # between the packages of model
PACKAGES = {top: {f"{top}.{path.parent.name}": 0 for path in (ROOT / top).glob("*/__init__.py")}
            for top in ("model", "study")}


@cache
def layers(text):
    """{package: floor}, 0 at the bottom."""
    rows = [row.split() for row in text.split("\n") if row.strip()]
    return {name: floor for floor, row in enumerate(reversed(rows)) for name in row}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_of(name, floors):
    """The longest name of a package that a dotted name begins with, or None."""
    parts = name.split(".")
    return next((".".join(parts[:n]) for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in floors), None)


def arrows(top, floors, root=ROOT):
    """{(from, to): where}, between packages."""
    found = defaultdict(list)
    for path in sorted((root / top).rglob("*.py")):
        here = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for name in imported(path):
            source, target = package_of(here, floors), package_of(name, floors)
            if name.startswith(f"{top}.") and source and source != target:
                found[source, target].append(f"{path.relative_to(root)} imports {name}")
    return found


@pytest.mark.parametrize(("top", "text"), [("model", MODEL), ("study", STUDY)])
def test_imports_go_down_only(top, text):
    floors = layers(text)
    up = [where[0] for (source, target), where in arrows(top, floors).items()
          if target is None or floors[target] >= floors[source]]
    assert not up


@pytest.mark.parametrize(("top", "text"), [("model", MODEL), ("study", STUDY)])
def test_every_package_has_a_floor(top, text):
    named = layers(text)
    for path in (ROOT / top).rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        assert name in (top, "model.zfs", "model.databases") or package_of(name, named), name


def test_few_arrows_between_the_packages_of_the_model():
    assert len(PACKAGES["model"]) == 8
    assert len(arrows("model", PACKAGES["model"])) <= MOST_ARROWS


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
    faces = {path.parent.name: set(imported(path)) for top in PACKAGES for path in (ROOT / top).rglob("__init__.py")}
    assert {name: names for name, names in faces.items() if names} == {
        "jit": {f"model.jit.decorators.{name}" for name in ("either", "kernel", "part")}}


def test_an_arrow_upwards_is_noticed(tmp_path):
    (tmp_path / "model" / "zfs").mkdir(parents=True)
    (tmp_path / "model" / "zfs" / "eras.py").write_text("def f():\n    from model.databases.postgres import step")
    assert list(arrows("model", layers(MODEL), tmp_path)) == [("model.zfs.eras", "model.databases.postgres")]


# ---- what prose names ----

TEXTS = [ROOT / name for name in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                                                timeout=60).stdout.split()
         if Path(name).suffix in (".py", ".md", ".toml", ".typ", ".ipynb", ".sql", ".yml")
         and not name.startswith(("data/trials/", "CHANGELOG", "docs/decisions/0006", "tests/model/jit/test_sources.py",
                                 "tests/study/test_layers.py"))]
DOTTED = re.compile(r"(?<![\w./])(?:model|study)(?:\.[A-Za-z_]\w*)+(?![\w/])")
FILE = re.compile(r"(?<![\w./-])(?:model|study|tests|benchmarks|notebooks|docs|data|paper)/[\w./-]*\w"
                  r"\.(?:py|md|toml|ipynb|sql|typ)\b")
ELSEWHERE = {"docs/pgbench-prepared-statements.md"}     # in the repository of a source
IN_TESTS = re.compile(r"(?<=`)(?:twins|defects|laws|drivers|support)/\w+\.py(?=`)")


@cache
def names_in(module):
    """What a module defines or imports at its top, and the fields of its classes."""
    found = {}
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = node
        elif isinstance(node, ast.ImportFrom | ast.Import):
            found |= {alias.asname or alias.name: node for alias in node.names}
    return found


def is_there(dotted):
    """Whether `model.a.b.name` is a module, or something in one; of what is below that only the first is looked for."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        base = ROOT.joinpath(*parts[:n])
        module = next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
        if module:
            return n == len(parts) or parts[n] in names_in(module)
    return False


def prose(path):
    """The text of a file; of Python, its comments and strings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join(token.string for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_text_names_exists(path):
    text = prose(path)
    missing = {name for name in DOTTED.findall(text) if not is_there(name)}
    missing |= {name for name in FILE.findall(text) if not (ROOT / name).exists()} - ELSEWHERE
    missing |= {name for name in IN_TESTS.findall(text) if not (ROOT / "tests" / name).exists()}
    assert not missing


IMPORTS = re.compile(r"\bfrom ((?:model|study)[\w.]*) import (\w+(?:, \w+)*)")     # in scripts that are strings, too


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_script_in_a_text_imports_exists(path):
    for module, names in IMPORTS.findall(prose(path).replace("\\n", "\n")):
        for name in names.split(", "):
            assert is_there(f"{module}.{name}"), f"{module}.{name}"


@pytest.mark.parametrize(("name", "there"), [
    ("model.zfs.arc.arc", True), ("model.zfs.arc.arc.ArcParams", True), ("model.zfs.arc.arc.ArcParams.c_bytes", True),
    ("model.zfs.nothing", False), ("model.zfs.arc.arc.nothing", False), ("study.store", True)])
def test_names_of_what_is_not_there_are_noticed(name, there):
    assert is_there(name) == there

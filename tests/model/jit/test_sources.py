"""What a change of a source reaches, and that compiled code and runs are known by just that."""
import json
import os
import shutil
import sys

import numba
import pytest

from model.jit import compiled_code, kernel, sources
from model.structures import lru
from support.processes import ROOT, run

TREE = {
    "model/__init__.py": "", "model/jit/__init__.py": "from model.jit.core import kernel", "model/jit/core.py": "kernel = 1",
    "model/disk.py": "from model.jit import kernel\n\ndef seek(d):\n    \"\"\"Far.\"\"\"\n    return d",
    "model/cache.py": "def look():\n    from model.disk import seek\n    return seek(1)",
    "model/arc.py": "from model import cache", "model/oracle.py": "import model.disk as d\nx = 1",
    "study/__init__.py": "", "study/store/__init__.py": "", "study/store/store.py": "import duckdb\nimport model.oracle",
    "study/store/sql/one.sql": "SELECT 1", "study/notebooks.py": "from model.arc import cache", "study/alone.py": "x = 1",
}


@pytest.fixture
def digests(tmp_path):
    for name, source in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)

    def of_all():
        known = sources.Digests()
        known.kept = {}
        known.keep = lambda: None
        names = [name.removesuffix(".py").replace("/", ".") for name in TREE if "__" not in name and name.endswith(".py")]
        return {name: sources.digest(name, root=tmp_path, digests=known) for name in [*names, "model", "study"]}
    return of_all


@pytest.mark.parametrize(("path", "source", "seen_by"), [
    ("model/disk.py", "def seek(d): return d + 1",
     {"model.disk", "model.cache", "model.arc", "model.oracle", "study.notebooks", "study.store.store"}),
    ("model/oracle.py", "import model.disk as d\nx = 2", {"model.oracle", "study.store.store"}),
    ("model/arc.py", "from model import cache\nx = 0", {"model.arc", "study.notebooks"}),
    ("model/jit/core.py", "kernel = 2", {"model.jit.core", "model.disk", "model.cache", "model.arc", "model.oracle",
                                         "study.notebooks", "study.store.store"}),
    ("study/store/sql/one.sql", "SELECT 2", {"study.store.store"}),
    ("study/store/__init__.py", "x = 1", {"study.store.store"}),
    ("study/alone.py", "x = 2", {"study.alone"}),
    ("model/disk.py", "from model.jit import kernel  # why\n\n\ndef seek(d):\n    # how\n    return (d)", set()),
    ("model/disk.py", "from model.jit import kernel\n\ndef seek(d):\n    'Near.'\n    return d", set()),
    ("model/disk.py", "from model.jit import kernel\n\ndef seek(d):\n    'Far.'\nreturn_d = 1",
     {"model.disk", "model.cache", "model.arc", "model.oracle", "study.notebooks", "study.store.store"}),
])
def test_a_change_is_seen_by_whom_it_can_change_and_a_comment_by_nobody(digests, tmp_path, path, source, seen_by):
    before = digests()
    (tmp_path / path).write_text(source)
    after = digests()
    packages = {name.split(".")[0] for name in seen_by if name.split(".")[0] == path.split("/")[0]}
    if path.startswith("model/"):
        packages |= {"study"} if any(name.startswith("study.") for name in seen_by) else set()
    assert {name for name in before if before[name] != after[name]} == seen_by | packages


@pytest.mark.parametrize(("path", "source", "target"), [
    ("model/jit/core.py", "from .deep import low", "model/jit/deep/low.py"),
    ("model/jit/core.py", "from . import deep", "model/jit/deep/__init__.py"),
    ("model/jit/core.py", "from .. import oracle", "model/oracle.py"),
    ("model/jit/core.py", "def f():\n    from ..oracle import x", "model/oracle.py"),
    ("model/jit/__init__.py", "from .deep.low import x", "model/jit/deep/low.py"),
    ("model/jit/deep/__init__.py", "from .low import x", "model/jit/deep/low.py"),
    ("model/jit/deep/low.py", "from ...oracle import x", "model/oracle.py")])
def test_a_relative_import_is_followed(tmp_path, path, source, target):
    for name in (*TREE, "model/jit/deep/__init__.py", "model/jit/deep/low.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    digests = sources.Digests()
    digests.kept = {}
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert tmp_path / target not in sources.reach(module, root=tmp_path, digests=digests)
    (tmp_path / path).write_text(source)
    assert tmp_path / target in sources.reach(module, root=tmp_path, digests=sources.Digests())


def test_what_is_left_out_is_not_seen_nor_what_it_alone_reaches(tmp_path, digests):
    names = [path.name for path in sources.reach("study.notebooks", but=("model.cache",), root=tmp_path)]
    assert names == ["__init__.py", "arc.py", "__init__.py", "notebooks.py"]


@pytest.mark.parametrize(("code", "modules"), [
    ("import numpy\nfrom model.zfs import eras\nfrom model.zfs.arc.arc import ArcParams",
     ["model.zfs", "model.zfs.arc", "model.zfs.arc.arc", "model.zfs.eras"]),
    ("x = 1", []), ("from .model import zfs\nfrom . import study", []),
    ("%matplotlib inline\nimport model.zfs", ["model", "study"])])
def test_modules_of_code(code, modules):
    assert sources.modules_of(code) == modules


def test_a_module_that_is_renamed_is_another(digests, tmp_path):
    before = digests()["model"]
    (tmp_path / "model/arc.py").rename(tmp_path / "model/arc2.py")
    assert sources.digest("model", root=tmp_path) != before


def test_a_name_of_no_module_is_refused():
    with pytest.raises(ValueError, match=r"model\.nothing is no module"):
        sources.digest("model.nothing")


def test_what_is_kept_is_by_the_text_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "KEPT", tmp_path / "kept.json")
    first, second = sources.Digests(), sources.Digests()
    digest = sources.digest("model.zfs.arc.arc", digests=first)
    assert len(json.loads((tmp_path / "kept.json").read_text())) >= 9
    assert sources.digest("model.zfs.arc.arc", digests=second) == digest
    assert second.n_new == 0
    (tmp_path / "kept.json").write_text("[damaged")
    assert sources.digest("model.zfs.arc.arc", digests=sources.Digests()) == digest


def test_a_process_takes_a_file_as_it_was_at_its_first_look(tmp_path, digests):
    """What it has imported is not kept under the digest of a text that came later."""
    known = sources.Digests()
    known.kept, known.keep = {}, lambda: None
    before = sources.digest("model.arc", root=tmp_path, digests=known)
    (tmp_path / "model/disk.py").write_text("def seek(d): return d + 1")
    assert sources.digest("model.oracle", root=tmp_path, digests=known) != digests()["model.oracle"]
    assert sources.digest("model.arc", root=tmp_path, digests=known) == before


@kernel
def _of_a_test(x):
    return x + 1


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_kernels_outside_of_the_model_are_compiled_in_each_process():
    """Nothing says which sources they reach, so nothing of them is kept."""
    assert not isinstance(_of_a_test._cache, compiled_code.KernelCache)
    assert isinstance(lru.misses._cache, compiled_code.KernelCache)


# ---- what is compiled ----

TWO_KERNELS = """
import numpy as np
from model.structures.lru import misses, new_lru
from model.zfs.arc.arc import ArcParams, new_arc
from model.zfs.arc.replay import misses_textbook
misses(new_lru(5), np.arange(9))
misses_textbook(new_arc(ArcParams(100, 100), 1000, 2000, 0), ArcParams(100, 100), np.arange(50))
print(*(sum(kernel.stats.cache_misses.values()) for kernel in (misses, misses_textbook)))
"""


@pytest.mark.slow
def test_one_changed_function_compiles_what_can_see_it_and_a_comment_compiles_nothing(tmp_path):
    """(times that the LRU list was compiled, that the textbook's ARC was)"""
    shutil.copytree(ROOT / "model", tmp_path / "model", ignore=shutil.ignore_patterns("__pycache__"))

    def compiled():
        path = f"{tmp_path}"
        done = run([sys.executable, "-c", TWO_KERNELS], cwd=tmp_path, env=os.environ | {
            "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")})
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def change(name, old, new):
        source = (tmp_path / "model" / name).read_text()
        assert source.count(old) == 1
        (tmp_path / "model" / name).write_text(source.replace(old, new))

    assert compiled() == ["1", "1"]
    assert compiled() == ["0", "0"]
    change("structures/lru.py", "    n_misses = 0\n", "    # none yet\n    n_misses = 0\n")
    change("zfs/arc/textbook.py", "`c_bytes` counts blocks", "`c_bytes` is a number\n\n    of blocks")
    assert compiled() == ["0", "0"]
    change("databases/oracle/buffers.py", "count(m, stat.GETS, 1, now)", "count(m, stat.GETS, 2, now)")
    assert compiled() == ["0", "0"]
    change("zfs/arc/textbook.py", "return state <= MFU", "return state < 1 + MFU")
    assert compiled() == ["0", "1"]
    change("structures/lru.py", "            n_misses += 1\n", "            n_misses += 1 + 0\n")
    assert compiled()[0] == "1"
    assert compiled() == ["0", "0"]

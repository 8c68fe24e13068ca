"""Which sources can change what a module does, and a digest of them.

    reach("model.zfs.arc.arc")     the files: its own, those of the packages it lies in, and of all that they import
    digest("model.zfs.arc.arc")    of what these files do: comments, docstrings and layout do not count

Compiled kernels and runs of notebooks are known by such a digest. So a change of Oracle compiles nothing of the allocator
anew, and repeats no run that cannot see it.

 1. A module reaches what it imports, wherever in it the import stands, and the packages that it lies in.
 2. A package is its `__init__.py`. By the names `model` and `study` alone all of them is meant.
 3. The statements of SQL in the folders beside a module belong to it.

A process takes each file as it was when it first looked, which for the model is when `model.jit` is imported. So code of an
older text, which the process has imported, is not kept under the digest of a newer one.

Taking sources apart takes a second or two, so what was found is kept in `.cache/sources.json`, by the digests of each file's
text and of this module. Where that cannot be written, nothing is kept.
"""

import ast
import hashlib
import json
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("model", "study")
KEPT = ROOT / ".cache" / "sources.json"
MAX_KEPT = 3000  # files: some dozens of versions of what changes
RULES = f"{sys.version} {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}"  # by which a source is taken apart


def path_of(name, root=ROOT):
    """The file of the module or package `name`; None if it is not one of the project."""
    if name.partition(".")[0] not in PACKAGES:
        return None
    base = root.joinpath(*name.split("."))
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)


def statements(tree):
    """What the syntax tree of a source does, as a text. Takes docstrings out of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def named(tree):
    """Dotted names that a source imports: those of modules are among them."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return sorted(name for name in names if name.partition(".")[0] in PACKAGES)


# ---- what was found, by the digest of a file's text ----


def _read_kept():
    try:
        kept = json.loads(KEPT.read_text())
        return kept if isinstance(kept, dict) else {}
    except (OSError, ValueError):
        return {}


def _write_kept(kept):
    newest = dict(list(kept.items())[-MAX_KEPT:])
    try:
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=KEPT.parent, prefix=".sources.")
        with os.fdopen(handle, "w") as file:
            json.dump(newest, file)
        os.replace(temporary, KEPT)
    except OSError:
        pass


class Digests:
    """Digests and names of files, each file read and taken apart once."""

    def __init__(self):
        self.first = {}
        self.kept = None
        self.n_new = 0

    def of(self, path):
        """(digest of what the file does, dotted names in it), of the file's text at the first look."""
        if path not in self.first:
            self.first[path] = self._taken_apart(path.read_bytes())
        return self.first[path]

    def _taken_apart(self, content):
        key = hashlib.sha256(RULES.encode() + content).hexdigest()
        if self.kept is None:
            self.kept = _read_kept()
        if key not in self.kept:
            tree = ast.parse(content)
            names = named(tree)
            self.kept[key] = [hashlib.sha256(statements(tree).encode()).hexdigest(), names]
            self.n_new += 1
        return self.kept[key]

    def keep(self):
        """So that the next process need not look again."""
        if self.n_new:
            self.n_new = 0
            _write_kept(self.kept)


DIGESTS = Digests()

# ---- reach ----


def modules_in(names, root=ROOT):
    """The modules among dotted `names`, each with the packages that it lies in: of `a.b.c`, where c is a function, `a.b`."""
    modules = set()
    for name in names:
        parts = name.split(".")
        modules.update(".".join(parts[:n]) for n in range(1, len(parts) + 1))
    return {name for name in modules if path_of(name, root)}


def reach(*names, but=(), root=ROOT, digests=DIGESTS):
    """Files that can change what the modules `names` do, sorted; without those of the modules `but` and what only these
    reach. Raises ValueError if one of the names is of no module."""
    missing = [name for name in names if not path_of(name, root)]
    if missing:
        raise ValueError(f"{missing[0]} is no module of the project")
    whole = {path for name in names if name in PACKAGES for path in (root / name).rglob("*.py")}
    modules, files = [".".join(path.relative_to(root).with_suffix("").parts) for path in whole] + list(names), set()
    modules = list(modules_in((name.removesuffix(".__init__") for name in modules), root))
    seen = {*modules, *but}
    while modules:
        path = path_of(modules.pop(), root)
        files.add(path)
        files.update(path.parent.glob("*/*.sql"))
        new = modules_in(digests.of(path)[1], root) - seen
        seen |= new
        modules += new
    return sorted(files)


def digest(*names, but=(), root=ROOT, digests=DIGESTS):
    """A digest of what the files in `reach` do, with their names."""
    state = hashlib.sha256()
    for path in reach(*names, but=but, root=root, digests=digests):
        does = digests.of(path)[0] if path.suffix == ".py" else hashlib.sha256(path.read_bytes()).hexdigest()
        state.update(f"{path.relative_to(root).as_posix()} {does}\n".encode())
    digests.keep()
    return state.hexdigest()


digest_once = cache(digest)  # for what a process has imported: that does not change any more


def modules_of(code):
    """The modules of the project that some Python code imports, sorted; all of the project if that cannot be told."""
    if "import_module" in code or "__import__" in code:
        return sorted(PACKAGES)
    try:
        return sorted(modules_in(named(ast.parse(code))) - set(PACKAGES))
    except SyntaxError:
        return sorted(PACKAGES)

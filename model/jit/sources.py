"""Which sources can change what a module does, and a digest of them.

    reach("model.zfs.arc.arc")     the files: its own, those of the packages it lies in, and of all that they import
    digest("model.zfs.arc.arc")    of what these files do: comments, docstrings and layout do not count

Compiled kernels and runs of notebooks are known by such a digest. So a change of Oracle compiles nothing of the allocator
anew, and repeats no run that cannot see it.

 1. A module reaches what it imports, wherever in it the import stands, and the packages that it lies in. Relative imports
    count as well.
 2. A package is its `__init__.py`. By the names `model` and `study` alone all of them is meant.
 3. The statements of SQL in the folders beside a module belong to it.

A process takes each file as it was when it first looked, which for the model is when `model.jit` is imported. So code of an
older text, which the process has imported, is not kept under the digest of a newer one.

Taking sources apart takes a second or two. So the result is kept in `.cache/sources.json`, by the digests of each
file's text and of this module. Where that cannot be written, nothing is kept.
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
    """Dotted names that a source imports: those of modules are among them. A relative name keeps its dots in front."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (f"{node.module}." if node.module else "")
            names.update(base + alias.name for alias in node.names)
    return sorted(name for name in names if name.partition(".")[0] in ("", *PACKAGES))


def absolute(name, package):
    """The dotted `name` without dots in front, as a module of `package` means it: `..c.d` in `a.b` is `a.c.d`."""
    relative = name.lstrip(".")
    level = len(name) - len(relative)
    return ".".join([*package.split(".")[:1 - level or None], relative]) if level else name


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
        self.next = {}
        self.kept = None
        self.n_new = 0

    def of(self, path):
        """(digest of what the file does, dotted names in it), of the file's text at the first look."""
        if path not in self.first:
            self.first[path] = self._taken_apart(path.read_bytes())
        return self.first[path]

    def next_to(self, path, root):
        """({module: its file} that `path` imports, files of SQL beside it), as they were at the first look."""
        if (path, root) not in self.next:
            package = ".".join(path.parent.relative_to(root).parts)
            imported = (absolute(name, package) for name in self.of(path)[1])
            self.next[path, root] = modules_in(imported, root), list(path.parent.glob("*/*.sql"))
        return self.next[path, root]

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
    """{module: its file} of the modules in dotted `names`, with their packages: of `a.b.c`, where c is a function, `a.b`."""
    names = {".".join(parts[:n]) for parts in (name.split(".") for name in names) for n in range(1, len(parts) + 1)}
    return {name: path for name in names if (path := path_of(name, root))}


def reach(*names, but=(), root=ROOT, digests=DIGESTS):
    """Files that can change what the modules `names` do, sorted; without those of the modules `but` and what only these
    reach. Raises ValueError if one of the names is of no module."""
    missing = [name for name in names if not path_of(name, root)]
    if missing:
        raise ValueError(f"{missing[0]} is no module of the project")
    whole = {path for name in names if name in PACKAGES for path in (root / name).rglob("*.py")}
    whole_names = (".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for path in whole)
    modules, files = modules_in([*whole_names, *names], root), set()
    seen = {*modules, *but}
    while modules:
        _, path = modules.popitem()
        imported, statements_of_sql = digests.next_to(path, root)
        files |= {path, *statements_of_sql}
        modules |= {name: file for name, file in imported.items() if name not in seen}
        seen |= imported.keys()
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


def modules_of(code: str) -> list[str]:
    """The modules of the project that some Python code imports, sorted; all of the project if that cannot be told."""
    if "import_module" in code or "__import__" in code:
        return sorted(PACKAGES)
    try:
        return sorted(modules_in(named(ast.parse(code))).keys() - set(PACKAGES))
    except SyntaxError:
        return sorted(PACKAGES)

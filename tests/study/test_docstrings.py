"""What others may call says in a sentence what it is."""
import ast
import re

import pytest

from study.project import ROOT

DEFINED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def silent(source):
    """Names of functions and classes at the top of a source that have no docstring, or one that repeats their name."""
    public = [node for node in ast.parse(source).body if isinstance(node, DEFINED) and not node.name.startswith("_")]
    return [node.name for node in public if says_nothing(node.name, ast.get_docstring(node) or "")]


def says_nothing(name, docstring):
    """Nor does the number of a rule of the module say what a function is."""
    names = {*re.findall("[a-z]+", name.lower()), "the", "a", "of", "rule", "rules", "and", "or"}
    return set(re.findall("[a-z]+", docstring.lower())) <= names


def test_public_functions_and_classes_have_a_docstring():
    paths = [path for top in ("model", "study") for path in sorted((ROOT / top).rglob("*.py"))]
    assert len(paths) > 500
    assert [f"{path.relative_to(ROOT)}: {name}" for path in paths for name in silent(path.read_text())] == []


@pytest.mark.parametrize(("source", "names"), [
    ("def f(): ...", ["f"]), ("class C:\n    n: int", ["C"]), ('def f():\n    """What it gives."""', []),
    ("def _f(): ...", []), ('def write_log():\n    """Write the log."""', ["write_log"]),
    ('def f():\n    """."""', ["f"]), ('def write_log():\n    """Rule 2."""', ["write_log"]),
    ('def write_log():\n    """Rule 2: what waits is written."""', [])])
def test_a_public_name_without_one_is_noticed(source, names):
    assert silent(source) == names

"""Variables, arguments and functions are named after what they are."""
import ast

import pytest

from study.project import ROOT

NO_NAMES = {"found", "like", "one", "ones", "said", "some", "thing", "things", "told", "whatever"}
OF_DATA = {("study/documents/claims.py", "said")}       # a key of data/claims.toml: what a document says
FILES = [path.relative_to(ROOT).as_posix() for top in ("model", "study", "tests")
         for path in sorted((ROOT / top).rglob("*.py"))]


def bound(text):
    """Every name that a text of Python gives to something."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=None) | ast.alias(asname=name):
                yield name


def test_no_name_says_nothing():
    wrong = {(file, name) for file in FILES for name in NO_NAMES.intersection(bound((ROOT / file).read_text()))}
    assert wrong == OF_DATA


@pytest.mark.parametrize("text", [
    "one = 1", "for one in []: pass", "[one for one in []]", "def one(): pass", "lambda one: 1", "import a as one",
    "with open('') as one: pass"])
def test_such_a_name_is_noticed(text):
    assert "one" in bound(text)

"""Variables, arguments and functions are named after what they are. A module has one name wherever it is imported."""
import ast
from collections import defaultdict

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


def imported(text):
    """(module, name) of each import at the top of a text, of a module of the project or of a package beside it.

    Within a function another name may be needed, since a command is called as its module is.
    """
    for node in ast.parse(text).body:
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, alias.asname or alias.name) for alias in names)
            case ast.ImportFrom(module=str(package), names=names):
                yield from ((f"{package}.{alias.name}", alias.asname or alias.name) for alias in names)


def several_names(texts, modules):
    """{module: names} of those modules that the texts know by more than one name."""
    names = defaultdict(set)
    for text in texts:
        for module, name in imported(text):
            if module in modules:
                names[module].add(name)
    return {module: sorted(known_as) for module, known_as in names.items() if len(known_as) > 1}


def test_a_module_has_one_name_in_study_and_tests():
    modules = {file.removeprefix("tests/").removesuffix(".py").replace("/", ".") for file in FILES}
    texts = [(ROOT / file).read_text() for file in FILES if not file.startswith("model/")]
    assert sum(module in modules for text in texts for module, _ in imported(text)) > 1000
    assert several_names(texts, modules) == {}


@pytest.mark.parametrize(("texts", "wrong"), [
    (["from a import b", "from a import b as c"], {"a.b": ["b", "c"]}), (["from a import b as c"] * 2, {}),
    (["import a.b as c", "from a import b as d"], {"a.b": ["c", "d"]}), (["from a import f", "from a import f as g"], {}),
    (["from a import b", "def f():\n    from a import b as c"], {})])
def test_a_second_name_of_a_module_is_noticed(texts, wrong):
    assert several_names(texts, {"a.b"}) == wrong

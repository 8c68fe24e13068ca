"""What `study` calls of `model` says what it takes and gives. Kernels are not annotated; Numba types them."""
import ast
from functools import cache

import pytest

from model.jit import sources
from study.project import ROOT

COMPILED = {"kernel", "part", "either"}


@cache
def functions(module):
    """{name: function} at the top of a module of the project."""
    path = sources.path_of(module)
    body = ast.parse(path.read_text()).body if path else []
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def called(tree):
    """(module, name) of `model` that a source imports, or takes from a module that it imports."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("model"):
            for alias in node.names:
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield node.module, alias.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


def is_compiled(function):
    return any(getattr(getattr(mark, "func", mark), "id", "") in COMPILED for mark in function.decorator_list)


def is_typed(function):
    arguments = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    return function.returns is not None and all(argument.annotation is not None for argument in arguments)


def faces():
    """The functions of `model` that `study` calls: {dotted name: function}."""
    return {f"{module}.{name}": functions(module)[name]
            for path in ROOT.glob("study/**/*.py") for module, name in called(ast.parse(path.read_text()))
            if name in functions(module) and not is_compiled(functions(module)[name])}


def test_what_study_calls_of_the_model_is_typed():
    seen = faces()
    assert len(seen) > 80
    assert [name for name, function in seen.items() if not is_typed(function)] == []


@pytest.mark.parametrize(("source", "expected"), [
    ("def f(a: int, *b: int, c: str = '') -> None: ...", True), ("def f() -> None: ...", True),
    ("def f(a, b: int) -> None: ...", False), ("def f(a: int): ...", False), ("def f(**a) -> None: ...", False)])
def test_what_is_typed(source, expected):
    assert is_typed(ast.parse(source).body[0]) == expected


def test_kernels_are_told_from_functions():
    marked = "@kernel\ndef f(a): ...", "@part(inline=True)\ndef f(a): ...", "@cache\ndef f(a): ..."
    assert [is_compiled(ast.parse(source).body[0]) for source in marked] == [True, True, False]

"""States are built by keyword, and columns of tables have a namespace."""
import ast

import pytest

from study.project import ROOT

MAX_POSITIONAL = 6      # fields of a state that may be built by position


def sources(*tops):
    return [path for top in tops for path in sorted((ROOT / top).rglob("*.py"))]


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def fields_of(source):
    """{class: count of its fields} of the NamedTuples and dataclasses of a source."""
    classes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    kinds = {node.name: " ".join(map(ast.unparse, node.bases + node.decorator_list)) for node in classes}
    return {node.name: sum(isinstance(inner, ast.AnnAssign) for inner in node.body) for node in classes
            if "NamedTuple" in kinds[node.name] or "dataclass" in kinds[node.name]}


def by_position(source, module, states):
    """Calls of large states that give fields by position. `states`: {module.class: count of fields}. A single star is
    allowed: it treats all fields alike."""
    tree = ast.parse(source)
    names = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in ast.walk(tree)
             if isinstance(node, ast.ImportFrom) for alias in node.names}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    wrong = []
    for call in calls:
        first, _, rest = ast.unparse(call.func).partition(".")
        name = ".".join(filter(None, (names.get(first, f"{module}.{first}"), rest)))
        is_map = len(call.args) == 1 and isinstance(call.args[0], ast.Starred)
        if states.get(name, 0) > MAX_POSITIONAL and not is_map:
            wrong.append(f"{module}:{call.lineno} {ast.unparse(call)[:80]}")
    return wrong


def test_large_states_are_built_by_keyword():
    paths = sources("model", "study")
    states = {f"{module_of(path)}.{name}": n for path in paths for name, n in fields_of(path.read_text()).items()}
    assert sum(n > MAX_POSITIONAL for n in states.values()) > 50
    assert not [line for path in paths for line in by_position(path.read_text(), module_of(path), states)]


STATE = "class S(NamedTuple):\n" + "".join(f"    f{i}: int\n" for i in range(7))


@pytest.mark.parametrize(("call", "is_wrong"), [
    ("S(1, 2, 3, 4, 5, 6, 7)", True), ("S(1, f1=2)", True), ("S(1, *rest)", True), ("s.S(1, **rest)", True),
    ("S(f0=1, f1=2)", False), ("S(*map(int, s))", False), ("T(1, 2)", False)])
def test_a_state_built_by_position_is_noticed(call, is_wrong):
    source = f"from disks import s\nfrom disks.s import S\n\n{call}\n"
    assert fields_of(STATE) == {"S": 7}
    assert bool(by_position(source, "disks.other", {"disks.s.S": 7})) == is_wrong


def bare_columns(source):
    """Subscripts of tables of several dimensions by a constant that has no namespace."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            wrong += [ast.unparse(node) for index in node.slice.elts
                      if isinstance(index, ast.Name) and index.id.isupper() and len(index.id) > 1]
    return wrong


def test_columns_are_named_with_their_namespace():
    bare = {module_of(path): bare_columns(path.read_text()) for path in sources("model")}
    assert not {module: subscripts for module, subscripts in bare.items() if subscripts}


@pytest.mark.parametrize(("subscript", "is_wrong"), [
    ("units[unit, FREE]", True), ("units[:, N_SERVED]", True), ("units[unit, arm.FREE]", False), ("times[READ]", False),
    ("units[unit, column]", False)])
def test_a_bare_column_is_noticed(subscript, is_wrong):
    assert bool(bare_columns(subscript)) == is_wrong

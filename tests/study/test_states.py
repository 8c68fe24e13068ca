"""States are built by keyword. Columns of tables have a namespace, and each says what it counts in."""
import ast
import re

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
    """Calls of large states that give fields by position. `states`: {module.class: count of fields}. A single star and a
    `_make` of a name are allowed, since they treat all fields alike. A list written out for `_make` is not."""
    tree = ast.parse(source)
    names = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in ast.walk(tree)
             if isinstance(node, ast.ImportFrom) for alias in node.names}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    wrong = []
    for call in calls:
        first, _, rest = ast.unparse(call.func).removesuffix("._make").partition(".")
        name = ".".join(filter(None, (names.get(first, f"{module}.{first}"), rest)))
        is_make = ast.unparse(call.func).endswith("._make")
        is_map = len(call.args) == 1 and (not isinstance(call.args[0], ast.List | ast.Tuple) if is_make
                                          else isinstance(call.args[0], ast.Starred))
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
    ("S._make([1, *rest])", True), ("s.S._make((1, 2))", True), ("S._make(rest)", False),
    ("S._make(sum(c) for c in s)", False), ("S(f0=1, f1=2)", False), ("S(*map(int, s))", False), ("T(1, 2)", False)])
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


# What a column may be in: a unit, a count, an index, a code, or a value that is named.
MEASURE = re.compile(r"\b(?:B|ns|s|ticks?|counts?|how many|index|codes?|number|rows?|columns?|bits?|blocks?|pages?|records?"
                     r"|units?|sectors?|segments?|cells?|nodes?|elements?|times?|2\^\d+ths?|[01])\b|%|-1|\b[A-Z][A-Z_]{2,}\b")


HOLDS_COLUMNS = re.compile(r"# (?:Columns|Elements|Rows) of ")


def comments_of(node, lines):
    """{name: comment of its own line} of an assignment. Names that share a line have no comment of their own."""
    targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
    return {ast.unparse(name): lines[name.lineno - 1].partition("#")[2]
            if sum(other.lineno == name.lineno for other in targets) == 1 else "" for name in targets}


def without_measure(source):
    """Columns whose line has no comment with such a word. Widths of tables (N_…) and names of counts need none."""
    lines, wrong = source.splitlines(), []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        is_names = isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Tuple)
        if not is_names:
            wrong += [name for name, comment in comments_of(node, lines).items()
                      if not MEASURE.search(comment)
                      and not (name.startswith("N_") and isinstance(node.targets[0], ast.Name) and not comment)]
    return wrong


def at_once(source):
    """Columns of a module of any name that are made with others: a tuple below `# Columns of …`. Its source, alone."""
    lines = source.splitlines()
    return "\n".join("\n".join(lines[node.lineno - 1:node.end_lineno]) for node in ast.parse(source).body
                     if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
                     and HOLDS_COLUMNS.match(lines[node.lineno - 2]))


def test_each_column_says_what_it_is_in():
    columns = [path for path in sources("model") if path.stem.endswith(("columns", "scalars"))]
    assert len(columns) > 35
    assert {module_of(path): wrong for path in columns if (wrong := without_measure(path.read_text()))} == {}


def test_columns_that_are_made_at_once_have_a_comment_each():
    at_once_of = {module_of(path): at_once(path.read_text()) for path in sources("model")}
    assert sum(map(bool, at_once_of.values())) > 5
    assert {module: wrong for module, source in at_once_of.items() if (wrong := without_measure(source))} == {}


@pytest.mark.parametrize(("column", "is_wrong"), [
    ("FREE = 3", True), ("FREE = 3  # when the arm is free", True), ("FREE = 3  # ns, when the arm is free", False),
    ("A, B = 1, 2", True), ("A, B = 1, 2  # index of the next, and of the last", True), ("N_COLUMNS = 5", False),
    ("(A,  # ns\n B,  # count\n ) = range(2)", False), ("(A,  # ns\n B,  # so\n ) = range(2)", True),
    ("(A, B,  # ns\n ) = range(2)", True), ("N_A, N_B = 1, 2  # count", True),
    ('COUNTS = ("a", "b")', False)])
def test_a_column_without_unit_is_noticed(column, is_wrong):
    assert bool(without_measure(column)) == is_wrong

"""The table *Where to find* of docs/architecture.md answers each question by a function that is in the file it names."""
import ast
import re

import pytest

from study.project import ROOT

ROW = re.compile(r"^\| (.+)\? \| `([\w/]+\.py)` \| `(\w+)` \|$", re.M)
QUESTIONS = {"a metaslab chosen", "a line of the vdev cache evicted", "a PostgreSQL checkpoint spread",
             "a commit waiting for ZFS's intent log", "a commit of PostgreSQL waiting for its own log",
             "a vdev chosen for a block", "a block looked up in the dedup table", "a commit of InnoDB waiting for its log",
             "a commit of Oracle waiting for its log", "a commit of the order entry of 2010 waiting for its log",
             "an interval computed", "a grade decided",
             "a figure of notebook 04 drawn", "a line of `zdb` parsed"}


def table():
    page = (ROOT / "docs" / "architecture.md").read_text()
    return page[page.index("## Where to find"):page.index("## Imports")]


def has_function(file, function):
    path = ROOT / file
    body = ast.parse(path.read_text()).body if path.exists() else []
    return [node.name for node in body if isinstance(node, ast.FunctionDef)].count(function) == 1


def test_every_question_has_a_row_and_every_row_its_form():
    assert {question for question, _, _ in ROW.findall(table())} == QUESTIONS
    assert table().count("\n| ") == len(QUESTIONS) + 2


@pytest.mark.parametrize(("question", "file", "function"), ROW.findall(table()))
def test_the_function_is_in_its_file(question, file, function):
    assert has_function(file, function), question


@pytest.mark.parametrize(("file", "function"), [
    ("model/zfs/vdev/cache.py", "evict"), ("model/zfs/vdev/queue.py", "_evict"), ("study/pools/zdb.py", "STATISTICS")])
def test_a_row_that_is_wrong_is_noticed(file, function):
    assert not has_function(file, function)

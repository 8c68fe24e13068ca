"""What stands below a figure is of the run that drew it, not of the values that a notebook is committed with."""
import ast
import re

import pytest

from study.project import NOTEBOOKS
from study.runs import catalogue, notebook_file, parameters

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
         "thirteen", "fourteen", "fifteen", "sixteen"]
OF_CHANCE = ("seed", "seeds", "draws", "reading_draws")
# Numbers that are another thing than the parameter which happens to be as large; in a notebook, or where a cell begins so.
ALIKE = {("02_vdev_cache_seqread", "segments"), ("04_oltp_gain", "bonus"), ("06_exchange", "record_kib"),
         ("08_sysbench_ladders", "disks"), ("09_postgres_checkpoints", "scale"), ("10_your_ladder", "n_disks"),
         ("11_your_runs", "interval_s"), ("13_dedup", "n_disks", "synced")}


def written_numbers(text):
    """Numbers of a caption that no run puts in: in digits, or in words up to sixteen."""
    assert isinstance(text, ast.Constant | ast.JoinedStr), f"no caption that can be read: {ast.unparse(text)}"
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    literal = " ".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))
    in_words = {float(WORDS.index(word)) for word in re.findall(r"[a-z]+", literal.lower()) if word in WORDS}
    return in_words | {float(number) for number in re.findall(r"\d+(?:\.\d+)?", literal)}


def typed_by_hand(name, cells, values):
    """(cell, parameter) of each caption or note that has the number of a parameter on which its cell hangs."""
    hangs_on = {parameter: {parameter} for parameter in values}
    typed = []
    for source in cells:
        for statement in ast.parse(source).body:
            reads = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            of = set().union(*(hangs_on.get(read, set()) for read in reads))
            stored = [node.id for node in ast.walk(statement)
                      if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
            for target in [statement.name] if isinstance(statement, ast.FunctionDef) else stored:
                hangs_on[target] = hangs_on.get(target, set()) | of
            texts = [keyword.value for node in ast.walk(statement) if isinstance(node, ast.Call)
                     for keyword in node.keywords if keyword.arg in ("caption", "note")]
            typed += [(source.splitlines()[0], parameter) for text in texts for parameter in sorted(of)
                      if values[parameter] in written_numbers(text)
                      and not ALIKE & {(name, parameter), (name, parameter, source.split()[0])}]
    return typed


@pytest.mark.parametrize("name", catalogue.STUDY)
def test_no_caption_has_the_value_of_a_parameter_typed_in(name):
    path = NOTEBOOKS / f"{name}.ipynb"
    values = {parameter: float(value) for parameter, value in parameters.of_cell(path).items()
              if isinstance(value, int | float) and not isinstance(value, bool) and parameter not in OF_CHANCE}
    cells = [cell.source for cell in notebook_file.cells(path) if cell.kind == "code" and "parameters" not in cell.tags]
    assert typed_by_hand(name, cells, values) == []


@pytest.mark.parametrize(("caption", "is_found"), [
    ("'Left: 14 backups.'", True), ("f'Left: {n} backups.'", False), ("'Fourteen backups.'", True),
    ("'15 backups.'", False)])
def test_a_number_typed_in_is_found_also_where_it_came_through_another_cell(caption, is_found):
    cells = ["kept = over(n)", f"record.figure('gains', draw, kept, caption={caption})"]
    assert bool(typed_by_hand("mine", cells, {"n": 14.0})) == is_found

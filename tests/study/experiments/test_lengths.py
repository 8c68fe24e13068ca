"""No simulated run is shorter than the one whose number its document prints."""
import ast

import nbformat
import pytest

from study.documents import claims
from study.project import NOTEBOOKS
from study.runs import parameters

# Claim that prints a length: the notebook, its parameter, and for how many the claim counts (clients of pgbench).
PRINTED = {
    "oltp-length": ("01_vdev_cache_oltp", "seconds", 1),
    "seqread-length": ("02_vdev_cache_seqread", "seconds", 1),
    "pgbench-load": ("07_pgbench_ladder", "transactions", 10),
    "sysbench-rw-load": ("08_sysbench_ladders", "seconds", 1),
    "sysbench-ro-load": ("08_sysbench_ladders", "seconds", 1),
}
# Of notebooks that hand their length on by itself: what simulates something that is graded.
SIMULATES = {"07_pgbench_ladder", "08_sysbench_ladders"}, ("climb", "of_all_readings", "predict")


def published_length(claim):
    return next(row for row in claims.read() if row.id == claim).said.value


@pytest.mark.parametrize("claim", PRINTED)
def test_a_run_is_as_long_as_its_document_says(claim):
    book, name, of_each = PRINTED[claim]
    assert parameters.of_cell(NOTEBOOKS / f"{book}.ipynb")[name] >= of_each * published_length(claim)


def test_every_printed_length_of_a_run_is_held():
    """A length in s or transactions that a document prints as a condition, and that no test here knows."""
    lengths = {row.id for row in claims.read() if row.kind == "condition" and row.said is not None
               and any(words in row.text for words in ("Length of a run", "for this long", "this many transactions"))}
    assert lengths == set(PRINTED)


@pytest.mark.parametrize("book", sorted(SIMULATES[0]))
def test_all_that_is_graded_takes_the_length_that_is_printed(book):
    """Draws and readings too: a short run of a ladder begins cold, and ends long before its rate has settled."""
    name = next(parameter for other, parameter, _ in PRINTED.values() if other == book)
    seen = set()
    for cell in nbformat.read(NOTEBOOKS / f"{book}.ipynb", 4).cells:
        if cell.cell_type != "code":
            continue
        for call in (node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr in SIMULATES[1]:
                assert any(isinstance(value, ast.Name) and value.id == name for value in call.args), ast.unparse(call)
                seen.add(call.func.attr)
    assert seen == set(SIMULATES[1])

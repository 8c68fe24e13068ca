"""Tables of the command line: no word is cut, whatever the width of the terminal."""
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from study import console

WORDS = st.lists(st.text("abcxyz", min_size=1, max_size=30), min_size=1, max_size=4).map(" ".join)


def _printed(made, width):
    out = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    out.print(made)
    return out.file.getvalue()


def _of(rows, names, whole=""):
    made = console.table(*names, whole=whole)
    for row in rows:
        made.add_row(*row)
    return made


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=4), st.integers(46, 120))
def test_a_table_fits_the_terminal_and_no_word_is_cut(rows, width):
    text = _printed(_of(rows, ("name", "type", "help")), width)
    assert max(map(len, text.splitlines())) <= max(width, max(len(row[0]) for row in rows))
    assert {word for row in rows for cell in row for word in cell.split()} <= set(text.split())


def test_heads_wrap_before_cells():
    text = _printed(_of([("0", "1.0 to 16.0")], ("vdev", "records in a write of them")), 20)
    assert "1.0 to 16.0" in text
    assert _printed(_of([("0", "1.0 to 16.0")], ("vdev", "records")), 80).splitlines()[0].rstrip() == "vdev  records"


@pytest.mark.parametrize(("width", "lines"), [(80, 2), (30, 3)])
def test_where_a_row_does_not_fit_it_is_a_block(width, lines):
    row = ("metaslab_lba_weighting_enabled", "nvme-desktop-2022", "weighted")
    text = _printed(_of([row], ("name", "default", "help")), width)
    assert set(row) <= set(text.split())
    assert len(text.splitlines()) == lines

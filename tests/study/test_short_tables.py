"""Short tables below a cell."""
import re

import pandas as pd
import pytest

from study import short_tables
from study.project import NOTEBOOKS

FRAME = pd.DataFrame({"step": ["a", "b"], "gain": [1.0, None], "rate": pd.Series([2.5, None], dtype=object),
                      "why": [None, None], "is_safe": [True, False]})


def html(frame, **options):
    return frame.pipe(short_tables.shown, **options).to_html(table_uuid="x")


def test_words_stand_left_and_numbers_do_not():
    left = re.search(r"#T_x_row0_col0[^{]*{[^}]*text-align: left", html(FRAME))
    assert left is not None
    assert [f"#T_x_row0_col{n}" in left[0] for n in range(5)] == [True, False, False, True, True]
    assert [f"#T_x th.col{n} {{" in html(FRAME) for n in range(5)] == [True, False, False, True, True]


def test_digits_gaps_and_thousands_are_as_asked_for():
    cells = re.findall(r"<td[^>]*>([^<]*)", html(FRAME, digits=1))
    assert cells == ["a", "1.0", "2.5", "–", "True", "b", "–", "–", "–", "False"]
    of_empty = html(pd.DataFrame({"decided by": ["", "a"], "n": [1, 2]}))
    assert re.findall(r"<td[^>]*>([^<]*)", of_empty) == ["–", "1", "a", "2"]
    assert ">12 000<" in html(pd.DataFrame({"n": [12000]}), thousands=" ")


@pytest.mark.parametrize(("index", "is_shown"), [([7, 7], False), (["first", "second"], True)])
def test_rows_that_are_only_numbered_go_without_their_numbers(index, is_shown):
    assert (f">{index[0]}</th>" in html(FRAME.set_axis(index))) == is_shown


def test_what_rounds_to_nothing_has_no_sign():
    cells = re.findall(r"<td[^>]*>([^<]*)", html(pd.DataFrame({"a": [-0.04, -0.06], "b": [0.04, None]}), digits=1))
    assert cells == ["0.0", "0.0", "-0.1", "–"]


def test_notebooks_show_tables_so_alone():
    """A table of `pandas` as it comes has words to the right and numbers of rows."""
    own = {path.name for path in NOTEBOOKS.glob("[0-9]*.ipynb") if re.search(r"\.style\b", path.read_text())}
    assert own == set()

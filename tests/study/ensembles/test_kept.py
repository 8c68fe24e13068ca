"""Kept ensembles: what is read is what was simulated, and what no longer comes out is refused."""
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_ensembles import KNOWN, simulate

from model.jit import sources
from study.ensembles import ensembles, kept
from study.ensembles.kept import HANDFUL, DoesNotComeOut, Kept
from study.errors import UserError
from study.pools import engine_share

CALLS = [(n,) for n in range(12)]


def squares(n):
    return [{"square": n * n, "root": math.sqrt(n), "is_even": n % 2 == 0}] + ([{"root": math.nan}] if n % 3 == 0 else [])


class Counted:
    """`squares`, and what it was asked for."""

    def __init__(self, off=0.0):
        self.asked, self.off = [], off

    def __call__(self, n):
        self.asked.append(n)
        return [row | {"root": row["root"] + self.off} for row in squares(n)]


@pytest.fixture
def ensemble(tmp_path, monkeypatch):
    """One that is kept, as a batch run wrote it and `study reproduce --accept` copied it."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "ensembles")
    monkeypatch.setenv("STUDY_RUN", str(tmp_path))
    monkeypatch.delenv("STUDY_READS", raising=False)
    asked = Kept("squares", "study.ensembles.kept", (1.5, "of"))
    kept.rows(asked, squares, CALLS)
    assert asked.file.exists()
    return asked


def the_same(a, b):
    return pd.testing.assert_frame_equal(pd.DataFrame([row for rows in a for row in rows]),
                                         pd.DataFrame([row for rows in b for row in rows]), check_exact=True)


def test_a_handful_is_simulated_and_all_others_are_read(ensemble, capsys):
    again = Counted()
    rows = kept.rows(ensemble, again, CALLS)
    assert len(again.asked) == HANDFUL
    the_same(rows, [squares(n) for (n,) in CALLS])
    assert "9 of 12 cases are read from data/ensembles/squares.parquet" in capsys.readouterr().out


def test_which_ones_is_drawn_at_random(ensemble):
    seen = set()
    for _ in range(40):
        again = Counted()
        kept.rows(ensemble, again, CALLS)
        seen.update(again.asked)
    assert len(seen) > 2 * HANDFUL


def test_a_number_that_comes_out_otherwise_ends_the_run(ensemble):
    with pytest.raises(DoesNotComeOut, match=r"squares.parquet: root is .* in the file and .* now"):
        kept.rows(ensemble, Counted(off=0.001), CALLS)


def test_the_last_digits_may_differ(ensemble):
    kept.rows(ensemble, Counted(off=1e-9), CALLS[:])


def test_rows_that_are_missing_or_too_many_end_the_run(ensemble):
    with pytest.raises(DoesNotComeOut, match="rows are kept"):
        kept.rows(ensemble, lambda n: squares(n) + squares(n), CALLS)


@pytest.mark.parametrize("change", [
    {"of": (1.6, "of")}, {"maker": "study.ensembles.intervals"}, {"reads": ("priors.toml",)}])
def test_an_ensemble_of_something_else_is_simulated_whole(ensemble, change):
    again = Counted(off=1.0)
    kept.rows(ensemble._replace(**change), again, CALLS)
    assert len(again.asked) == len(CALLS)


def test_so_is_one_of_other_calls(ensemble):
    again = Counted(off=1.0)
    kept.rows(ensemble, again, [(n,) for n in range(20, 30)])
    assert sorted(again.asked) == list(range(20, 30))


def test_so_is_one_of_older_code_and_that_is_said(ensemble, monkeypatch, capsys):
    monkeypatch.setattr(sources, "digest_once", lambda *modules: "another")
    again = Counted(off=1.0)
    kept.rows(ensemble, again, CALLS)
    assert len(again.asked) == len(CALLS)
    assert "is of older code or data, so that all cases are simulated" in capsys.readouterr().out


def test_what_a_notebook_does_not_declare_is_refused(ensemble, monkeypatch):
    monkeypatch.setenv("STUDY_READS", "[]")
    with pytest.raises(UserError, match=r"reads data/ensembles/squares.parquet without saying so"):
        kept.rows(ensemble, squares, CALLS)


def test_a_damaged_file_is_one_sentence(ensemble):
    ensemble.file.write_bytes(b"PAR1 and no more")
    with pytest.raises(UserError, match="is no kept ensemble, or is damaged; restore it"):
        kept.rows(ensemble, squares, CALLS)


def test_pools_that_were_noted_are_noted_again(ensemble, monkeypatch):
    monkeypatch.setattr(engine_share, "_POOLS", {})
    pools = [{"pool": "a", "placed": 7, "others": 2, "by_units": False}]
    kept.write(ensemble.file, [(squares(n), pools if n == 5 else []) for (n,) in CALLS], kept.facts(ensemble.file))
    kept.rows(ensemble, squares, CALLS)
    assert engine_share.metrics().set_index("name").value["engines.several-placed"] == 7


def test_a_pool_that_was_used_for_longer_counts_once(monkeypatch):
    monkeypatch.setattr(engine_share, "_POOLS", {})
    for placed in (5, 9, 7):
        engine_share.restore([{"pool": "a", "placed": placed, "others": 1, "by_units": True}])
    assert engine_share.metrics().set_index("name").value["engines.all-placed"] == 9


def test_an_ensemble_of_cases_is_the_same_read_and_simulated(ensemble):
    cases, fit = ensembles.cases(KNOWN, 5, 3, 1), ensembles.Fit("cost", 0.01, 100, "rate", 400.0)
    whole = ensembles.run(cases, simulate, fit)
    for _ in range(2):      # simulated and written, then read
        made = ensembles.run(cases, simulate, fit, ensemble=Kept("cases", "study.ensembles.kept", None))
        pd.testing.assert_frame_equal(made, whole, check_exact=True)
    assert kept.file_of("cases").exists()


@given(st.lists(st.dictionaries(
    st.sampled_from(["a/x", "b", "c"]), st.floats() | st.integers(-2**40, 2**40), min_size=1), min_size=1, max_size=3))
def test_numbers_come_back_as_they_went(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("kept") / "a.parquet"
    kept.write(path, [(rows, [])], {})
    ((back, _),) = kept.read(path)
    as_floats = [[{name: float(value) for name, value in row.items()} for row in of_call] for of_call in (rows, back)]
    np.testing.assert_equal(*as_floats)


def test_what_has_no_lasting_text_is_refused():
    with pytest.raises(TypeError, match="has no text that is the same in each process"):
        kept.as_text({"machine": object()})


def test_texts_tell_values_apart():
    values = [0, 0.5, False, None, "0", (0,), {"a": 0}, {"a": (0,)}, np.array([0, 1])]
    assert len({kept.as_text(value) for value in values}) == len(values)

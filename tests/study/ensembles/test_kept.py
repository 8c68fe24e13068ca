"""Kept ensembles: what is read is what was simulated, and what no longer comes out is refused."""
import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_ensembles import KNOWN, simulate

from model.jit import sources
from study import project
from study.commands.sweep import OF_ENSEMBLE
from study.ensembles import ensembles, interrupted, kept
from study.ensembles.kept import HANDFUL, DoesNotComeOut, Ensemble
from study.errors import UserError
from study.experiments.ladders_2009.readings import LADDERS
from study.pools import engine_share
from study.project import NOTEBOOKS, ROOT
from study.runs import catalogue, parameters
from study.runs import plan as plans
from study.sweeps import tasks

CALLS = [(n,) for n in range(12)]


def squares(n):
    more = [{"root": math.nan}] if n % 3 == 0 else []
    return [{"square": n * n, "root": math.sqrt(n + 1), "is_even": n % 2 == 0}, *more]


class Counted:
    """`squares`, and what it was asked for."""

    def __init__(self, off=0.0):
        self.asked, self.off = [], off

    def __call__(self, n):
        self.asked.append(n)
        return [row | {"root": row["root"] + self.off} for row in squares(n)]


@pytest.fixture
def new(tmp_path, monkeypatch):
    """One of which nothing is kept, in a batch run."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "ensembles")
    monkeypatch.setenv("STUDY_RUN", str(tmp_path))
    monkeypatch.setenv("STUDY_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("STUDY_READS", raising=False)
    return Ensemble("squares", "study.ensembles.kept", (1.5, "of"))


@pytest.fixture
def ensemble(new):
    """One that is kept, as a batch run wrote it and `study reproduce --accept` copied it."""
    asked = new
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


@pytest.mark.parametrize(("seconds", "n"), [
    (0, HANDFUL), (12 * 1.6, HANDFUL), (12 * 2, HANDFUL - 1), (12 * 500, 1)])
def test_of_calls_that_take_long_there_are_fewer_and_always_one(ensemble, seconds, n):
    kept.write(ensemble.file, kept.read(ensemble.file), kept.facts(ensemble.file) | {kept.SECONDS: str(seconds)})
    again = Counted()
    kept.rows(ensemble, again, CALLS)
    assert len(again.asked) == n


def test_outside_of_a_batch_run_all_are_read_and_that_is_said(ensemble, monkeypatch, capsys):
    monkeypatch.delenv("STUDY_RUN")
    again = Counted(off=1.0)
    rows = kept.rows(ensemble, again, CALLS)
    assert again.asked == []
    the_same(rows, [squares(n) for (n,) in CALLS])
    assert "12 of 12 cases are read from data/ensembles/squares.parquet. Here none is" in capsys.readouterr().out


def test_what_the_first_call_shares_reaches_all_others_read_or_simulated(ensemble):
    """It is taken from the rows of the first call, which are in the file."""
    def times(n, root=None):
        return [{"root": math.sqrt(n + 4), "product": n * (root or 0.0)}]
    asked = Ensemble("shared", "study.ensembles.kept", None)
    whole = [times(0), *(times(n, 2.0) for (n,) in CALLS[1:])]
    for _ in range(20):         # simulated and written, then read
        the_same(kept.rows(asked, times, CALLS, share=lambda rows: rows[0]["root"]), whole)
    the_same(kept.rows(None, times, CALLS, share=lambda rows: rows[0]["root"]), whole)


# ---- interrupted runs ----

class Breaks(Counted):
    """Ends with an error at the call of one number, as a run that is interrupted there."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def __call__(self, n):
        if n == self.at:
            raise KeyboardInterrupt
        return super().__call__(n)


@pytest.mark.parametrize("at", [0, 5, 11])
def test_an_interrupted_run_loses_no_call_that_is_done(new, at, capsys):
    first, second = Breaks(at), Counted()
    with pytest.raises(KeyboardInterrupt):
        kept.rows(new, first, CALLS)
    assert not new.file.exists()
    rows = kept.rows(new, second, CALLS)
    assert sorted(first.asked + second.asked) == [n for n, in CALLS]
    assert (f"{len(first.asked)} of 12 cases were simulated by a run that was interrupted." in capsys.readouterr().out
            ) == bool(first.asked)
    the_same(rows, [squares(n) for n, in CALLS])
    assert not any((new.file.parent.parent / "runs" / interrupted.FOLDER).glob("*"))
    the_same([of_call.rows for of_call in kept.read(new.file)], [squares(n) for n, in CALLS])


def test_what_was_interrupted_is_of_the_same_code_and_calls_alone(new, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        kept.rows(new, Breaks(11), CALLS)
    for change in (lambda: None, lambda: monkeypatch.setattr(sources, "digest_once", lambda *modules, **_: "another")):
        change()
        again = Counted()
        kept.rows(new, again, CALLS[1:])
        assert len(again.asked) == 11
        new.file.unlink()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_damaged_call_of_an_interrupted_run_is_simulated(new, content):
    with pytest.raises(KeyboardInterrupt):
        kept.rows(new, Breaks(11), CALLS)
    folder, = (new.file.parent.parent / "runs" / interrupted.FOLDER).glob("*")
    (folder / "4.json").write_text(content)
    again = Counted()
    the_same(kept.rows(new, again, CALLS), [squares(n) for n, in CALLS])
    assert sorted(again.asked) == [4, 11]


def test_outside_of_a_batch_run_nothing_of_a_call_is_written(new, monkeypatch):
    monkeypatch.delenv("STUDY_RUN")
    with pytest.raises(KeyboardInterrupt):
        kept.rows(new, Breaks(11), CALLS)
    assert not (new.file.parent.parent / "runs").exists()


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
    monkeypatch.setattr(sources, "digest_once", lambda *modules, **_: "another")
    again = Counted(off=1.0)
    kept.rows(ensemble, again, CALLS)
    assert len(again.asked) == len(CALLS)
    assert "is of older code or data, so that all cases are simulated" in capsys.readouterr().out


def test_so_is_one_whose_module_or_data_are_gone(ensemble):
    for gone in ({"maker": "gone"}, {"reads": '["gone/*.toml"]'}, {"lock": "another"}, {"data": "another"}):
        assert not kept.is_current(kept.facts(ensemble.file) | gone)
    assert kept.is_current(kept.facts(ensemble.file))


def test_a_run_that_has_not_declared_it_reads_none(ensemble, monkeypatch):
    monkeypatch.setenv("STUDY_READS", "[]")
    again = Counted(off=1.0)
    kept.rows(ensemble, again, CALLS)
    assert len(again.asked) == len(CALLS)


@pytest.mark.parametrize("content", [b"PAR1 and no more", b""])
def test_a_damaged_file_is_one_sentence(ensemble, content):
    ensemble.file.write_bytes(content)
    with pytest.raises(UserError, match="is no kept ensemble, or was altered; restore it"):
        kept.rows(ensemble, squares, CALLS)


def test_each_altered_number_is_noticed(ensemble):
    made, of_file = kept.read(ensemble.file), kept.facts(ensemble.file)
    table = pq.read_table(ensemble.file)
    for row in range(len(table)):
        roots = table["root"].to_pylist()
        roots[row] = roots[row] + 1e-12 if math.isfinite(roots[row]) else 0.0
        pq.write_table(table.set_column(table.column_names.index("root"), "root", pa.array(roots)), ensemble.file)
        with pytest.raises(UserError, match="its rows are not those of its digest"):
            kept.rows(ensemble, squares, CALLS)
    kept.write(ensemble.file, made, of_file)
    kept.rows(ensemble, squares, CALLS)


def test_a_call_must_have_a_row_and_no_number_the_name_of_a_column(tmp_path):
    for rows in ([], [{"call": 1.0}], [{"pools": 1.0}]):
        with pytest.raises(ValueError, match="a call has no row"):
            kept.write(tmp_path / "a.parquet", [kept.Made(rows, [])], {})


def test_a_pool_that_comes_out_otherwise_ends_the_run(ensemble, monkeypatch):
    monkeypatch.setattr(engine_share, "_POOLS", {})
    pools = [{"pool": "a", "placed": 7, "others": 2, "by_units": False}]
    kept.write(ensemble.file, [kept.Made(squares(n), pools) for (n,) in CALLS], kept.facts(ensemble.file))

    def with_another_pool(n):
        engine_share._HERE.pools.append(pools[0] | {"placed": 8})
        return squares(n)

    with pytest.raises(DoesNotComeOut, match="a pool is"):
        kept.rows(ensemble, with_another_pool, CALLS)


def test_what_runs_have_simulated_whole_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "data" / "ensembles")
    monkeypatch.setenv("STUDY_RUN", str(tmp_path))
    asked = Ensemble("squares", "study.ensembles.kept", None)
    kept.rows(asked, squares, CALLS)
    assert not asked.file.exists()
    assert kept.keep([tmp_path, tmp_path / "a run without any"]) == ["squares.parquet"]
    assert [made.rows for made in kept.read(asked.file)][1] == squares(1)


def ensemble_of_draws(notebook):
    path = catalogue.find(notebook)
    defaults = parameters.resolve(path, catalogue.STUDY[notebook].parameters, {})
    of_draws = {name: value for name, value in defaults.items() if name not in OF_ENSEMBLE}
    return tasks.drawn_of(catalogue.STUDY[notebook].experiment, tuple(of_draws.items())).ensemble.name


def test_notebooks_declare_the_ensembles_that_their_experiments_keep():
    text = "".join(path.read_text() for path in (ROOT / "study" / "experiments").rglob("*.py"))
    named = set(re.findall(r'(?:kept\.Ensemble|all_series|_rows)\("([\w-]+)"', text))
    by_ladder = {name for ladder in LADDERS for name in (ladder, f"{ladder}-readings", f"{ladder}-climb")}
    around = {f"{ensemble_of_draws(name)}-nearest" for name, listed in catalogue.STUDY.items()
              if "nearest/" in " ".join(listed.reads)}
    by_notebook = {name for path in NOTEBOOKS.glob("*.ipynb")
                   for name in re.findall(r'kept_as=\\"([\w-]+)', path.read_text())}
    on_top = {path.stem for name in by_notebook for path in kept.FOLDER.glob(f"{name}-[1-9].parquet")}    # steps on others
    declared = {name for listed in catalogue.STUDY.values() for name in listed.keeps}
    assert named | by_ladder | around | by_notebook | on_top == declared


def test_a_run_that_is_whole_has_an_identity_of_its_own_where_a_file_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "DATA", tmp_path)
    monkeypatch.setattr(project, "DATA", tmp_path)
    monkeypatch.setattr(plans, "ROOT", tmp_path)
    monkeypatch.setattr(plans, "digest_of_files", lambda paths: str([path.read_bytes() for path in paths]))
    for name in (pattern.replace("*", "a") for pattern in catalogue.STUDY["06_exchange"].reads):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    file = tmp_path / "ensembles" / "exchange.parquet"
    ids = []
    for content in (None, b"first", b"second"):
        if content is not None:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
        ids.append(plans.plan(catalogue.find("06")).run_id)
    assert len(set(ids)) == 3
    assert plans.plan(catalogue.find("06"), whole=True).run_id == ids[0]
    assert "ensembles/exchange.parquet" in plans.plan(catalogue.find("06")).reads
    assert "ensembles/exchange.parquet" not in plans.plan(catalogue.find("06"), whole=True).reads


def test_pools_that_were_noted_are_noted_again(ensemble, monkeypatch):
    monkeypatch.setattr(engine_share, "_POOLS", {})
    pools = [{"pool": "a", "placed": 7, "others": 2, "by_units": False}]
    made = [kept.Made(squares(n), pools if n == 5 else []) for (n,) in CALLS]
    kept.write(ensemble.file, made, kept.facts(ensemble.file))
    kept.rows(ensemble, squares, CALLS)
    assert engine_share.metrics().set_index("name").value["engines.several-placed"] == 7


def test_pools_of_an_interrupted_run_are_noted_again(new, monkeypatch):
    monkeypatch.setattr(engine_share, "_POOLS", {})
    with pytest.raises(KeyboardInterrupt):
        kept.rows(new, Breaks(11), CALLS)
    folder, = (new.file.parent.parent / "runs" / interrupted.FOLDER).glob("*")
    of_call = json.loads((folder / "5.json").read_text())
    pools = [{"pool": "a", "placed": 7, "others": 2, "by_units": False}]
    (folder / "5.json").write_text(json.dumps(of_call | {interrupted.POOLS: pools}))
    kept.rows(new, squares, CALLS)
    assert engine_share.metrics().set_index("name").value["engines.several-placed"] == 7


def test_a_pool_of_a_case_that_is_simulated_anew_is_counted_once(ensemble, monkeypatch):
    """On another processor the last bits of a draw differ, and with them the name of its pool."""
    monkeypatch.setattr(engine_share, "_POOLS", {})
    free = SimpleNamespace(n_ambiguous=np.zeros(1), grain=1, unit_shift=12)
    pool = SimpleNamespace(blocks=SimpleNamespace(free=free))
    kept.write(ensemble.file, [kept.Made(squares(n), [{"pool": "as kept", "placed": 7, "others": 0, "by_units": True}])
                               for (n,) in CALLS], kept.facts(ensemble.file))

    def with_last_bits_of_another_processor(n):
        engine_share.note((n + 1e-15,), 7, pool, 4096)
        return squares(n)

    kept.rows(ensemble, with_last_bits_of_another_processor, CALLS)
    assert list(engine_share._POOLS) == ["as kept"]
    engine_share.note(("of the notebook itself",), 7, pool, 4096)
    assert len(engine_share._POOLS) == 2


def test_a_pool_that_was_used_for_longer_counts_once(monkeypatch):
    monkeypatch.setattr(engine_share, "_POOLS", {})
    for placed in (5, 9, 7):
        engine_share.restore([{"pool": "a", "placed": placed, "others": 1, "by_units": True}])
    assert engine_share.metrics().set_index("name").value["engines.all-placed"] == 9


def test_an_ensemble_of_cases_is_the_same_read_and_simulated(ensemble):
    cases, fit = ensembles.cases(KNOWN, 5, 3, 1), ensembles.Fit("cost", 0.01, 100, "rate", 400.0)
    whole = ensembles.run(cases, simulate, fit)
    for _ in range(2):      # simulated and written, then read
        made = ensembles.run(cases, simulate, fit, ensemble=Ensemble("cases", "study.ensembles.kept", None))
        pd.testing.assert_frame_equal(made, whole, check_exact=True)
    assert kept.file_of("cases").exists()


@given(st.lists(st.dictionaries(
    st.sampled_from(["a/x", "b", "c"]), st.floats() | st.integers(-2**40, 2**40), min_size=1), min_size=1, max_size=3))
def test_numbers_come_back_as_they_went(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("kept") / "a.parquet"
    kept.write(path, [kept.Made(rows, [])], {"maker": "", "reads": "", "calls": "", kept.SECONDS: "0"})
    ((back, _),) = kept.read(path)
    as_floats = [[{name: float(value) for name, value in row.items()} for row in of_call] for of_call in (rows, back)]
    np.testing.assert_equal(*as_floats)


def test_what_has_no_lasting_text_is_refused():
    with pytest.raises(TypeError, match="has no text that is the same in each process"):
        kept.as_text({"machine": object()})


def test_texts_tell_values_apart():
    values = [0, 0.5, False, None, "0", (0,), {"a": 0}, {"a": (0,)}, np.array([0, 1])]
    assert len({kept.as_text(value) for value in values}) == len(values)

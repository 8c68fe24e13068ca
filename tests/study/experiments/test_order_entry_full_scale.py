"""The order entry with nothing to scale: what is kept, and of what machine it is."""
import numpy as np
import pandas as pd
import pytest

from model.zfs.eras import era
from study import project
from study.errors import UserError
from study.experiments.allocator_2010 import order_entry, order_entry_full_scale, order_entry_machine, order_entry_sentences
from study.experiments.allocator_2010.order_entry_series import Series


@pytest.fixture(scope="module")
def kept():
    return order_entry_full_scale.read()


def test_nothing_is_to_scale():
    machine = order_entry_full_scale.machine()
    assert (machine.scale, machine.metaslab_bytes) == (1, 2**33)
    assert machine.orders.n_records * 4096 + full_scale_redo(machine) == pytest.approx(350e9, rel=1e-6)
    assert machine.orders.txg.timeout_ns == era("b117").txg.timeout_ns
    assert machine.warm_s + machine.window_s < machine.run_s == 1800


def full_scale_redo(machine):
    return machine.orders.n_redo_records * machine.orders.redo_record_bytes


def test_what_is_kept_are_runs_of_a_day_under_both_rules_on_a_new_pool_and_on_an_old_one(kept):
    assert list(kept) == [order_entry_full_scale.NEVER_REWRITTEN, order_entry_full_scale.machine().age]
    for runs in kept.values():
        for _, series in runs.items():
            in_all = list(range(order_entry_full_scale.N_RUNS))
            assert sorted(series.table.run.unique()) == series.pool.index.tolist() == in_all
            assert len(series.tps) == order_entry_full_scale.N_RUNS
            assert (series.tps > 0).all()
        assert not np.allclose(runs.before.tps, runs.after.tps)


def test_pools_differ_in_age_alone_and_runs_in_rules_alone(monkeypatch):
    made = {}
    monkeypatch.setattr(order_entry_full_scale, "compare", lambda machine, *of: made.setdefault(machine, of))
    order_entry_full_scale.simulate(5)
    assert set(made.values()) == {(5, order_entry_full_scale.SEED)}
    assert [machine._replace(age=0) for machine in made] == [order_entry_full_scale.machine()._replace(age=0)] * 2


def test_what_is_written_is_read_again(tmp_path, monkeypatch):
    machine = order_entry_machine.setup(n_users=4, record_kib=4, scale=1024, group_scale=128, window_s=0.2)
    small = {age: order_entry.compare(machine._replace(age=age), 3, 1) for age in (0.0, 0.1)}
    path = tmp_path / order_entry_full_scale.FILE
    path.parent.mkdir()
    path.write_text(order_entry_full_scale.to_csv(small))
    monkeypatch.setattr(project, "DATA", tmp_path)
    again = order_entry_full_scale.read()
    assert list(again) == list(small)
    for age, runs in small.items():
        for (_, written), (_, restored) in zip(runs.items(), again[age].items(), strict=True):
            same = written.table.merge(restored.table, on=["run", "name", "unit"])
            assert len(same) == len(written.table) == len(restored.table)
            np.testing.assert_allclose(same.value_x, same.value_y, rtol=1e-5)
            np.testing.assert_allclose(written.pool.to_numpy(float), restored.pool.to_numpy(float), rtol=1e-5)
    path.write_text("rules,run\n")
    with pytest.raises(UserError, match="restore it with"):
        order_entry_full_scale.read()


def test_the_sentences_and_the_table_are_made_of_what_is_kept(kept):
    numbers = order_entry_full_scale.metrics(kept)
    assert numbers.name.is_unique
    values, table = numbers.set_index("name").value, order_entry_full_scale.table(numbers)
    sentence = order_entry_sentences.full_scale(numbers)
    for age, runs in kept.items():
        assert f"After {age:g} turnovers the new rules make it {values[f'full.age-{age:g}.series.gain']:.0f} % " in sentence
        assert f" step up is from {order_entry_full_scale.return_of(runs.before)[0]:.0f} to " in sentence
        for rules, series in zip(("old", "new"), (runs.before, runs.after), strict=True):
            column = table[f"{age:g}", rules]
            assert (column["mean (1/s)"], column["least (1/s)"]) == (series.tps.mean(), series.tps.min())
    assert table.notna().all(axis=None)


def test_on_a_pool_never_rewritten_throughput_is_what_the_prose_tells_under_the_old_rules(kept):
    """A slow fall while writes have eight records down to four, a collapse to a quarter at one or two, and returns within
    one, two and five runs; all vdevs load a metaslab together whenever one does."""
    old = kept[order_entry_full_scale.NEVER_REWRITTEN].before
    tps, blocks, n_vdevs = old.tps, old.pool.blocks_per_write.to_numpy(), old.pool.n_primary.iloc[0]
    high, low = range(4, 8), range(9, 22)
    assert (np.diff(tps[high]) < 0).all()
    assert tps[7] > 0.8 * tps[4]
    assert blocks[3] > 7.5
    assert 3.5 < blocks[7] < 4
    assert (tps[low] < tps[7] / 3).all()
    assert (blocks[low] < 2).all()
    assert tps[23] > 0.95 * tps[4]
    assert set(np.diff(old.pool.n_loads)) == {0, n_vdevs}
    assert returns_of(tps) == [1, 2, 5]
    older = kept[order_entry_full_scale.machine().age].before
    assert not set(np.diff(older.pool.n_loads)) <= {0, n_vdevs}


def returns_of(tps):
    """Runs from the last one below 30 % of the most to the first one above 85 %, each time."""
    n_runs, last_low = [], None
    for run, share in enumerate(tps / tps.max()):
        if share < 0.3:
            last_low = run
        elif share > 0.85 and last_low is not None:
            n_runs.append(run - last_low)
            last_low = None
    return n_runs


@pytest.mark.parametrize("spoil", [lambda rows: rows[:0], lambda rows: rows[rows.age > 0], lambda rows: rows[:-200],
                                   lambda rows: rows[rows["name"] != "database.tps"],
                                   lambda rows: rows[rows.rules == "before"]])
def test_what_is_not_whole_is_not_read(spoil, tmp_path, monkeypatch):
    rows = pd.read_csv(project.data_file(order_entry_full_scale.FILE))
    path = tmp_path / order_entry_full_scale.FILE
    path.parent.mkdir()
    spoil(rows).to_csv(path, index=False)
    monkeypatch.setattr(project, "DATA", tmp_path)
    with pytest.raises(UserError, match="restore it with"):
        order_entry_full_scale.read()


def test_a_return_is_the_largest_step_up_and_what_was_loaded_in_that_run(kept):
    pool = next(iter(kept.values())).before.pool.iloc[:4].assign(n_loads=[7.0, 7.0, 18.0, 19.0])
    tps = pd.DataFrame({"run": range(4), "name": "database.tps", "value": [300.0, 100.0, 250.0, 260.0], "unit": "1/s"})
    assert order_entry_full_scale.return_of(Series(tps, pool)) == (100.0, 250.0, 11)


@pytest.mark.parametrize(("tps", "longest"), [([1, 9, 1, 2, 3, 9, 1], 3), ([9, 1], 1), ([5, 5], 0)])
def test_the_longest_stay_below_the_middle(tps, longest):
    assert order_entry_full_scale.longest_low(np.array(tps, float)) == longest

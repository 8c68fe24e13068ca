"""The order entry with nothing to scale: what is kept, and of what machine it is."""
import numpy as np
import pandas as pd
import pytest

from model.eras import era
from study import order_entry_2010, order_entry_words, project
from study import order_entry_full_scale as full_scale
from study.errors import UserError


@pytest.fixture(scope="module")
def kept():
    return full_scale.read()


def test_nothing_is_to_scale():
    machine = full_scale.machine()
    assert (machine.scale, machine.metaslab_bytes) == (1, 2**33)
    assert machine.orders.n_records * 4096 + full_scale_redo(machine) == pytest.approx(350e9, rel=1e-6)
    assert machine.orders.txg.timeout_ns == era("b117").txg.timeout_ns
    assert machine.warm_s + machine.window_s < machine.run_s == 1800


def full_scale_redo(machine):
    return machine.orders.n_redo_records * machine.orders.redo_record_bytes


def test_what_is_kept_are_runs_of_a_day_under_both_rules(kept):
    for _, one in kept.items():
        assert sorted(one.table.run.unique()) == one.pool.index.tolist() == list(range(full_scale.N_RUNS))
        assert len(one.tps) == full_scale.N_RUNS
        assert (one.tps > 0).all()
    assert not np.allclose(kept.before.tps, kept.after.tps)


def test_what_is_written_is_read_again(tmp_path, monkeypatch):
    small = order_entry_2010.compare(order_entry_2010.setup(
        n_users=4, record_kib=4, scale=1024, group_scale=128, age=0.1, window_s=0.2), 3, 1)
    path = tmp_path / full_scale.FILE
    path.parent.mkdir()
    path.write_text(full_scale.to_csv(small))
    monkeypatch.setattr(project, "DATA", tmp_path)
    again = full_scale.read()
    for (_, one), (_, other) in zip(small.items(), again.items(), strict=True):
        same = one.table.merge(other.table, on=["run", "name", "unit"])
        assert len(same) == len(one.table) == len(other.table)
        np.testing.assert_allclose(same.value_x, same.value_y, rtol=1e-5)
        np.testing.assert_allclose(one.pool.to_numpy(float), other.pool.to_numpy(float), rtol=1e-5)
    path.write_text("rules,run\n")
    with pytest.raises(UserError, match="restore it with"):
        full_scale.read()


def test_the_sentence_is_made_of_the_table(kept):
    found = full_scale.metrics(kept)
    assert found.name.is_unique
    values = found.set_index("name").value
    sentence = order_entry_words.full_scale(kept, found)
    assert f"{values['full.series.gain']:.0f} % faster" in sentence
    assert f"falls from {kept.before.tps[0]:.0f} to {kept.before.tps.min():.0f} " in sentence
    assert f"under the new rules {values['full.after.fall.runs']:.1f} and {values['full.after.rise.runs']:.1f}, " in sentence


def test_a_return_is_the_largest_step_up_and_what_was_loaded_in_that_run(kept):
    pool = kept.before.pool.iloc[:4].assign(n_loads=[7.0, 7.0, 18.0, 19.0])
    tps = pd.DataFrame({"run": range(4), "name": "database.tps", "value": [300.0, 100.0, 250.0, 260.0], "unit": "1/s"})
    assert full_scale.return_of(order_entry_2010.Series(tps, pool)) == (100.0, 250.0, 11)

"""Draws at full size: how they are kept, and that they are beside the same draws to scale."""
import importlib.util
import json

import pytest

from model.simulations.order_entry import columns as order
from model.simulations.order_entry.series import CannotRun
from model.zfs.metaslab.new_pool import new_pool
from model.zfs.metaslab.state import FAST, TopVdev
from study import project
from study.ensembles import kept
from study.ensembles.ensembles import AFTER, BEFORE
from study.errors import UserError
from study.experiments.allocator_2010 import appliance, order_entry_machine, order_entry_pool
from study.experiments.allocator_2010 import order_entry_full_draws as full_draws
from study.experiments.allocator_2010 import order_entry_full_scale as full_scale
from study.experiments.allocator_2010 import order_entry_full_size as full_size
from study.experiments.allocator_2010.order_entry_pool import FULL_SIZE, TO_SCALE
from study.experiments.allocator_2010.order_entry_series import TPS
from study.experiments.allocator_2010.rules import old_rules
from study.pools import engine_share

FIXED = dict(n_users=64, record_kib=4, scale=128, window_s=13.0)


@pytest.fixture(scope="module")
def command():
    """benchmarks/full_scale.py, as a module."""
    spec = importlib.util.spec_from_file_location("full_scale_command", project.ROOT / "benchmarks" / "full_scale.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied(number, folder, to=None, **changed):
    """A kept draw in another folder, with other facts."""
    path = full_draws.file_of(full_draws.FOLDER, number)
    facts = {"calls": full_draws._digest(full_size.cases()[number]), "code": full_size.code(), "python": full_draws.TODAY}
    kept.write(full_draws.file_of(folder, number if to is None else to), kept.read(path), kept.facts(path) | facts | changed)


def test_what_is_kept_are_draws_of_the_hypercube_under_both_rules():
    drawn = json.loads(json.dumps(full_size.cases()))
    for number, draw in full_draws.read().items():
        assert drawn[number] == draw.case or draw.is_older
        assert set(draw.rows.rules) == {BEFORE, AFTER}
        assert (draw.rows[draw.rows.name == TPS].value > 0).all()


def test_what_is_missing_comes_first_and_then_what_is_of_an_older_model(tmp_path):
    copied(2, tmp_path, code="of another day")
    copied(3, tmp_path)
    copied(4, tmp_path, calls="another case")
    assert full_draws.to_do(tmp_path, 6) == [0, 1, 5, 2, 4]
    draws = full_draws.read(tmp_path)
    assert {number: draw.is_older for number, draw in draws.items()} == {2: True, 3: False, 4: True}
    assert full_draws.words(draws) == ("3 of 20 draws are kept at full size. Of an older model are draws 2, 4; "
                                       "benchmarks/full_scale.py draws 20 makes them anew.")


def test_another_python_cannot_tell_whether_a_model_is_older(tmp_path):
    copied(3, tmp_path, code="of another Python", python="3.8")
    draws = full_draws.read(tmp_path)
    assert not draws[3].is_older
    assert full_draws.words(draws) == ("1 of 20 draws are kept at full size. "
                                       f"Under Python {full_draws.TODAY} nobody can tell "
                                       "whether the model is still that of draw 3.")


def test_a_draw_with_too_few_test_runs_is_refused(tmp_path):
    copied(3, tmp_path)
    path = full_draws.file_of(tmp_path, 3)
    made, = kept.read(path)
    kept.write(path, [kept.Made([row for row in made.rows if row["run"] < 29], [])], kept.facts(path))
    with pytest.raises(UserError, match=r"has not 30 test runs under both rules; restore it .*draws 4"):
        full_draws.read(tmp_path)
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match="is no kept ensemble"):
        full_draws.read(tmp_path)
    path.unlink()
    with pytest.raises(UserError, match="has no draw at full size"):
        full_draws.read(tmp_path)


def test_each_draw_is_written_when_it_is_done(tmp_path, monkeypatch, command):
    """A draw that cannot be leaves those before it, and those behind it are simulated."""
    rows = full_draws.read()[3].rows.to_dict("records")

    def simulated(case):
        if case == full_size.cases()[1]:
            raise CannotRun("no")
        assert sorted(path.name for path in tmp_path.iterdir()) == [f"draw-{n:02d}.parquet" for n in simulated.done]
        simulated.done.append(full_size.cases().index(case))
        pool = new_pool([TopVdev(asize=2**24)], old_rules(), FAST, metaslab_bytes=2**20, max_segments=100)
        engine_share.note((case["seed"],), 7, pool, 4096)
        return rows

    simulated.done = []
    monkeypatch.setattr(full_size, "rows", simulated)
    assert command.draws(3, tmp_path) == 1
    draws = full_draws.read(tmp_path)
    assert {number: [pool["placed"] for pool in draw.pools] for number, draw in draws.items()} == {0: [7], 2: [7]}
    assert full_draws.to_do(tmp_path, 3) == [1]


@pytest.mark.parametrize("asked", [["draws"], ["draws", "21"], ["draws", "0"], ["draws", "few"], ["days"],
                                   ["draws", "1", "here", "there"]])
def test_what_nobody_can_simulate_is_refused_in_a_sentence(asked, command, capsys):
    assert command.main(asked) == 2
    assert capsys.readouterr().err.startswith("say nothing, or 'draws', how many of the 20")


def test_nothing_of_a_draw_is_to_scale():
    """RAID-Z of disks of 1 TB too, and its metaslabs are those of ZFS."""
    for case in full_size.cases():
        machine = full_size.machine(case)
        assert (machine.scale, machine.orders.n_records) == (1, int((350e9 - 6 * 2**30) / 4096))
        assert machine.metaslab_bytes == appliance.whole_pool(case["layout"], int(case["n_disks"]))[2]
    assert {case["layout"] for case in full_size.cases()} == set(appliance.LAYOUTS)


def test_full_size_settles_however_long_it_takes():
    """Half of a database may be dirty. After two steps that still gathers; at full size users work on until it does not."""
    machine = order_entry_machine.setup(n_users=8, record_kib=4, **order_entry_machine.SMALL)
    n = machine.orders.n_records
    machine = machine._replace(orders=machine.orders._replace(dirty_target=n // 4, max_dirty=n // 2), age=0.0)
    gathers = []
    for settling in (TO_SCALE._replace(max_steps=2), FULL_SIZE._replace(step_s=1.0)):
        site = order_entry_pool.aged(machine, old_rules(), 1, settling)
        before = site.machine.counts[order.N_HELD]
        seen = order_entry_pool.measure(site, machine).tally
        gathers.append(abs(site.machine.counts[order.N_HELD] - before) > 0.2 * seen["writes"])
    assert gathers == [True, False]
    with pytest.raises(CannotRun, match="dirty blocks still gather or go by more than a tenth"):
        order_entry_pool.aged(machine, old_rules(), 1, FULL_SIZE._replace(step_s=1e-3, max_steps=1))


@pytest.mark.slow
def test_pairs_are_of_the_same_users_and_records_whatever_a_notebook_asks_for():
    both = full_draws.pairs(60, **FIXED)
    other = full_draws.pairs(60, **FIXED | {"n_users": 16, "record_kib": 8})
    assert other.small.equals(both.small)
    assert other.full.equals(both.full)


@pytest.mark.slow
def test_the_gain_of_a_pair_is_that_of_its_series():
    both = full_draws.pairs(60, **FIXED)
    for draw, gain in zip(full_draws.read().values(), both.full[full_draws.GAIN], strict=False):
        means = draw.rows[draw.rows.name == TPS].groupby("rules").value.mean()
        assert gain == pytest.approx(100 * (means[AFTER] / means[BEFORE] - 1))
    day = full_scale.read()[1.5]
    first = [runs.tps[:full_draws.N_RUNS].mean() for _, runs in day.items()]
    assert both.full[full_draws.GAIN].iloc[-1] == pytest.approx(100 * (first[1] / first[0] - 1))

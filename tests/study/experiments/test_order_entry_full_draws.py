"""Draws at full size: how they are kept, and that they are beside the same draws to scale."""
import importlib.util
import json

import numpy as np
import pandas as pd
import pytest

from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.series import CannotRun
from model.zfs.metaslab.new_pool import new_pool
from model.zfs.metaslab.state import FAST, TopVdev
from study import project
from study.documents import claims, priors, published
from study.ensembles import ensembles, kept
from study.ensembles.ensembles import AFTER, BEFORE
from study.errors import UserError
from study.experiments.allocator_2010 import (
    appliance,
    order_entry,
    order_entry_full_draws,
    order_entry_full_scale,
    order_entry_full_size,
    order_entry_graded,
    order_entry_machine,
    order_entry_pool,
)
from study.experiments.allocator_2010.order_entry_pool import FULL_SIZE, TO_SCALE
from study.experiments.allocator_2010.order_entry_series import POOL_COLUMNS, TPS
from study.experiments.allocator_2010.rules import old_rules
from study.grades import claim_predictions, grading
from study.grades import full_size as grades_at_full_size
from study.pools import engine_share
from study.runs import record

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
    path = order_entry_full_draws.file_of(order_entry_full_draws.FOLDER, number)
    facts = {"calls": order_entry_full_draws._digest(order_entry_full_size.cases()[number]),
             "code": order_entry_full_size.code(), "python": order_entry_full_draws.TODAY}
    kept.write(order_entry_full_draws.file_of(folder, number if to is None else to), kept.read(path),
               kept.facts(path) | facts | changed)


def test_what_is_kept_are_draws_of_the_hypercube_under_both_rules():
    drawn = json.loads(json.dumps(order_entry_full_size.cases()))
    for number, draw in order_entry_full_draws.read().items():
        assert drawn[number] == draw.case or draw.is_older
        assert set(draw.rows.rules) == {BEFORE, AFTER}
        assert (draw.rows[draw.rows.name == TPS].value > 0).all()


def test_what_is_missing_comes_first_and_then_what_is_of_an_older_model(tmp_path):
    copied(2, tmp_path, code="of another day")
    copied(3, tmp_path)
    copied(4, tmp_path, calls="another case")
    assert order_entry_full_draws.to_do(tmp_path, 6) == [0, 1, 5, 2, 4]
    draws = order_entry_full_draws.read(tmp_path)
    assert {number: draw.is_older for number, draw in draws.items()} == {2: True, 3: False, 4: True}
    assert order_entry_full_draws.words(draws, {}).startswith(
        "3 of 20 draws are kept at full size. Of an older model are draws 2, 4; benchmarks/full_scale.py draws 20 makes "
        "them anew. Grades are to scale")


def test_another_python_cannot_tell_whether_a_model_is_older(tmp_path):
    copied(3, tmp_path, code="of another Python", python="3.8")
    draws = order_entry_full_draws.read(tmp_path)
    assert not draws[3].is_older
    assert order_entry_full_draws.words(draws, {}).startswith(
        f"1 of 20 draws are kept at full size. Under Python {order_entry_full_draws.TODAY} nobody can tell "
        "whether the model is still that of draw 3. Grades are to scale")


def test_a_draw_with_too_few_test_runs_is_refused(tmp_path):
    copied(3, tmp_path)
    path = order_entry_full_draws.file_of(tmp_path, 3)
    made, = kept.read(path)
    kept.write(path, [kept.Made([row for row in made.rows if row["run"] < 29], [])], kept.facts(path))
    with pytest.raises(UserError, match=r"has not 30 test runs under both rules; restore it .*draws 4"):
        order_entry_full_draws.read(tmp_path)
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match="is no kept ensemble"):
        order_entry_full_draws.read(tmp_path)
    path.unlink()
    with pytest.raises(UserError, match="has no draw at full size"):
        order_entry_full_draws.read(tmp_path)


def test_each_draw_is_written_when_it_is_done(tmp_path, monkeypatch, command):
    """A draw that cannot be leaves those before it, and those behind it are simulated."""
    rows = order_entry_full_draws.read()[3].rows.to_dict("records")

    def simulated(case):
        if case == order_entry_full_size.cases()[1]:
            raise CannotRun("no")
        assert sorted(path.name for path in tmp_path.glob("*.parquet")) == [f"draw-{n:02d}.parquet" for n in simulated.done]
        simulated.done.append(order_entry_full_size.cases().index(case))
        pool = new_pool([TopVdev(asize=2**24)], old_rules(), FAST, metaslab_bytes=2**20, max_segments=100)
        engine_share.note((case["seed"],), 7, pool, 4096)
        return rows

    simulated.done = []
    monkeypatch.setattr(order_entry_full_size, "rows", simulated)
    assert command.draws(3, tmp_path) == 1
    draws = order_entry_full_draws.read(tmp_path)
    assert {number: [pool["placed"] for pool in draw.pools] for number, draw in draws.items()} == {0: [7], 2: [7]}
    assert {number: draw.why for number, draw in order_entry_full_draws.refused(tmp_path).items()} == {1: "no"}
    assert order_entry_full_draws.to_do(tmp_path, 4) == [3]


@pytest.mark.parametrize("asked", [["draws"], ["draws", "21"], ["draws", "0"], ["draws", "few"], ["days"],
                                   ["draws", "1", "here", "there"]])
def test_what_nobody_can_simulate_is_refused_in_a_sentence(asked, command, capsys):
    assert command.main(asked) == 2
    assert capsys.readouterr().err.startswith("say nothing, or 'draws', how many of the 20")


def test_nothing_of_a_draw_is_to_scale():
    """RAID-Z of disks of 1 TB too, and its metaslabs are those of ZFS."""
    for case in order_entry_full_size.cases():
        machine = order_entry_full_size.machine(case)
        assert (machine.scale, machine.orders.n_records) == (1, int((350e9 - 6 * 2**30) / 4096))
        assert machine.metaslab_bytes == appliance.whole_pool(case["layout"], int(case["n_disks"]))[2]
    assert {case["layout"] for case in order_entry_full_size.cases()} == set(appliance.LAYOUTS)


def test_full_size_settles_however_long_it_takes():
    """Half of a database may be dirty. After two steps that still gathers; at full size users work on until it does not."""
    machine = order_entry_machine.setup(n_users=8, record_kib=4, **order_entry_machine.SMALL)
    n = machine.orders.n_records
    machine = machine._replace(orders=machine.orders._replace(dirty_target=n // 4, max_dirty=n // 2), age=0.0)
    gathers = []
    for settling in (TO_SCALE._replace(max_steps=2), FULL_SIZE._replace(step_s=1.0)):
        site = order_entry_pool.aged(machine, old_rules(), 1, settling)
        before = site.machine.counts[order_columns.N_HELD]
        seen = order_entry_pool.measure(site, machine).tally
        gathers.append(abs(site.machine.counts[order_columns.N_HELD] - before) > 0.2 * seen["writes"])
    assert gathers == [True, False]
    with pytest.raises(CannotRun, match="dirty blocks still gather or go by more than a tenth"):
        order_entry_pool.aged(machine, old_rules(), 1, FULL_SIZE._replace(step_s=1e-3, max_steps=1))


@pytest.mark.slow
def test_pairs_are_of_the_same_users_and_records_whatever_a_notebook_asks_for():
    both = order_entry_full_draws.pairs(60, **FIXED)
    other = order_entry_full_draws.pairs(60, **FIXED | {"n_users": 16, "record_kib": 8})
    assert other.small.equals(both.small)
    assert other.full.equals(both.full)


@pytest.mark.slow
def test_the_gain_of_a_pair_is_that_of_its_series():
    both = order_entry_full_draws.pairs(60, **FIXED)
    for draw, gain in zip(order_entry_full_draws.read().values(), both.full[order_entry_full_draws.GAIN], strict=False):
        means = draw.rows[draw.rows.name == TPS].groupby("rules").value.mean()
        assert gain == pytest.approx(100 * (means[AFTER] / means[BEFORE] - 1))
    day = order_entry_full_scale.read()[1.5]
    first = [runs.tps[:order_entry_full_draws.N_RUNS].mean() for _, runs in day.items()]
    assert both.full[order_entry_full_draws.GAIN].iloc[-1] == pytest.approx(100 * (first[1] / first[0] - 1))


# ---- grades ----


def made_up(number, folder, records=(9.0, 1.5), gain=1.5, **changed):
    """A draw with made-up test runs: under the old rules `records` in a write, in the fastest one and in the slowest. Under
    the new rules as many transactions times `gain`."""
    runs, rows = range(order_entry_full_size.N_RUNS), []
    for variant, factor in ((BEFORE, 1.0), (AFTER, gain)):
        rows += [(variant, run, TPS, factor * (100 + 7 * (run % 5) + number), "1/s") for run in runs]
        rows += [(variant, run, "appliance.io_size", 4096.0 * (1 + run % 5 + run % 2), "B") for run in runs]
        blocks = {4: records[0], 0: records[1]}
        rows += [(variant, run, f"pool.{name}", blocks.get(run % 5, 3.0), "1") for name in POOL_COLUMNS for run in runs]
    case = order_entry_full_size.cases()[number]
    facts = {"maker": "none", "reads": "[]", "calls": order_entry_full_draws._digest(case), "case": json.dumps(case),
             "code": order_entry_full_size.code(), "python": order_entry_full_draws.TODAY, kept.SECONDS: "1"} | changed
    named = [dict(zip(("rules", "run", "name", "value", "unit"), row, strict=True)) for row in rows]
    kept.write(order_entry_full_draws.file_of(folder, number), [kept.Made(named, [])], facts)


@pytest.fixture
def complete(tmp_path):
    """A folder with all draws, made up. The joint fact is 0.75 in the last one, by its slowest test run."""
    for number in range(order_entry_full_size.N_DRAWS):
        made_up(number, tmp_path, records=(16.0, 1.0) if number < 19 else (9.0, 8 / 3), gain=1 + number / 10)
    return tmp_path


def ensemble_to_scale():
    """Cases to scale in which all is as by best guess, and nothing changes."""
    known = priors.read(order_entry.EXPERIMENT)
    table = ensembles.cases(known, 60, 3, 1, ensembles.NUMBERS).assign(fitted=False, reached=True)
    names = ("throughput.gain", "variability.reduction", "io_size.r_squared", "oltp.gain", "oltp.variability_reduction")
    values = np.linspace(-1, 1, len(table))
    outcome = {f"{AFTER}/{name}": 10 * values for name in names} | {"after/cycle.skewness": values}
    return order_entry_graded.with_joint(table.assign(**outcome, **{
        order_entry_graded.FASTEST: 4.0 + values, order_entry_graded.SLOWEST: 2.0}))


@pytest.mark.parametrize(("fastest", "slowest", "number"), [
    (8.0, 2.0, 1.0), (16.0, 1.0, 2.0), (16.0, 4.0, 0.5), (4.0, 1.0, 0.5), (8.4, 2.0, 1.0), (4.0, 4.0, 0.5)])
def test_the_joint_fact_is_the_smaller_of_two_factors(fastest, slowest, number):
    assert order_entry_graded.joint(pd.Series([fastest]), pd.Series([slowest])).tolist() == [number]


def test_the_words_of_the_joint_fact_are_the_printed_ones():
    run = next(run for run in published.runs() if run.run_id == "bourbonnais-2010/aggregation")
    printed = run.metrics.set_index("name").value
    assert printed["aggregation.good"] == order_entry_graded.HIGH
    assert printed["aggregation.bad_high"] == order_entry_graded.LOW


def test_all_draws_of_today_are_what_grades_are_of(complete):
    full = order_entry_full_draws.results(complete)
    assert len(full) == order_entry_full_size.N_DRAWS
    assert set(full.part) == {"all"}
    assert full["after/throughput.gain"].tolist() == pytest.approx([10 * number for number in range(20)])
    assert full["after/aggregation.joint"].tolist() == pytest.approx([2.0] * 19 + [0.75])
    assert not {"after/cycle.skewness", "finer", "group_scale"} & set(full)
    assert {"layout", "pool_fill", "age", "n_disks"} <= set(full)
    assert order_entry_full_draws.words(order_entry_full_draws.read(complete), {}).endswith(
        "Grades take 20 draws at full size, from the least to the most. The cycle is graded to scale.")


@pytest.mark.parametrize("changed", [{"code": "of another day"}, {"calls": "another case"}])
def test_with_a_draw_of_an_older_model_all_grades_are_to_scale(complete, changed):
    made_up(7, complete, **changed)
    assert order_entry_full_draws.results(complete) is None
    words = order_entry_full_draws.words(order_entry_full_draws.read(complete), {})
    assert "Of an older model is draw 7" in words
    assert "Grades are to scale until all 20 are there" in words


def test_with_a_draw_missing_all_grades_are_to_scale(complete):
    order_entry_full_draws.file_of(complete, 11).unlink()
    assert order_entry_full_draws.results(complete) is None
    words = order_entry_full_draws.words(order_entry_full_draws.read(complete), {})
    assert words.startswith("19 of 20 draws are kept at full size. Grades are to scale")


def test_a_damaged_draw_is_no_missing_one(complete):
    order_entry_full_draws.file_of(complete, 11).write_bytes(b"nothing")
    with pytest.raises(UserError, match="is no kept ensemble"):
        order_entry_full_draws.results(complete)


def test_under_another_python_draws_count_and_words_name_them(complete):
    made_up(7, complete, code="of another Python", python="3.8")
    assert order_entry_full_draws.results(complete) is not None
    words = order_entry_full_draws.words(order_entry_full_draws.read(complete), {})
    assert "nobody can tell whether the model is still that of draw 7" in words
    made_up(8, complete, code="of another model", python="3.8")
    assert order_entry_full_draws.results(complete) is None


def test_a_draw_that_cannot_be_is_named_and_leaves_all_grades_to_scale(complete):
    order_entry_full_draws.refuse(complete, 19, "users have worked for a day")
    assert order_entry_full_draws.results(complete) is None
    words = order_entry_full_draws.words(order_entry_full_draws.read(complete), order_entry_full_draws.refused(complete))
    assert "Draw 19 cannot be simulated: users have worked for a day. Grades are to scale until all 20 are there" in words
    assert order_entry_full_draws.to_do(complete, 20) == []


def test_a_reason_of_an_older_model_is_none(complete):
    path = order_entry_full_draws.refuse(complete, 19, "no")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"code": "of another day"}))
    assert order_entry_full_draws.to_do(complete, 20) == [19]
    assert order_entry_full_draws.results(complete) is None
    path.write_text("[]")
    with pytest.raises(UserError, match=r"does not say why .*; restore it with git checkout -- data, or remove it"):
        order_entry_full_draws.refused(complete)


@pytest.mark.slow
def test_the_range_at_full_size_is_the_least_to_the_most_and_the_cycle_stays_to_scale(complete):
    results, full = ensemble_to_scale(), order_entry_full_draws.results(complete)
    scores = grades_at_full_size.scores(results, "04_oltp_gain", full).set_index("claim")
    to_scale = grades_at_full_size.scores(results, "04_oltp_gain", None).set_index("claim")
    assert scores["at full size"].to_dict() == {
        "lutz-gain": True, "lutz-variability": True, "lutz-cycle": False, "roch-gain": True, "roch-variability": True,
        "aggregation-joint": True}
    assert scores.loc["lutz-gain", ["left, low", "left, high"]].tolist() == pytest.approx([0, 190])
    assert scores.loc["aggregation-joint", ["left, low", "left, high"]].tolist() == pytest.approx([0.75, 2.0])
    for name in ("unfitted 5 %", "unfitted 95 %", "by single changes"):
        assert scores[name].equals(to_scale[name])
    assert scores["grade, to scale"].equals(to_scale.grade.rename("grade, to scale"))
    assert (scores.grade["lutz-gain"], to_scale.grade["lutz-gain"]) == ("consistent", "not reproduced")
    assert "at full size" not in to_scale
    text = order_entry_graded.verdict(scores.reset_index(), "lutz-gain")
    assert text.startswith("consistent: published up to 50 %, simulated 0 to 190 % in 20 draws at full size")


def test_grades_to_scale_are_those_of_before(complete):
    results = ensemble_to_scale()
    pd.testing.assert_frame_equal(grades_at_full_size.scores(results, "04_oltp_gain", None),
                                  claim_predictions.scores(results, "04_oltp_gain"))


def test_a_narrow_range_at_full_size_meets_or_misses(complete):
    claim = next(claim for claim in claims.read() if claim.id == "lutz-gain")
    full = order_entry_full_draws.results(complete)
    narrow = pd.Series(np.linspace(48, 52, 20), index=full.index)
    left = grades_at_full_size.of(full, claim, narrow)
    assert (left.draws, left.of, left.low, left.high) == (20, 20, 48, 52)
    assert grading.grade_left((45, 55), left, 0) == grading.PREDICTED
    assert grading.grade_left((60, 70), left, 0) == grading.NOT_REPRODUCED


def test_a_condition_decides_at_full_size_by_the_rule_of_all_ensembles(complete):
    claim = next(claim for claim in claims.read() if claim.id == "lutz-gain")
    full = order_entry_full_draws.results(complete)
    gain = full.layout.map({"mirror": 50.0, "stripe": 50.0}).fillna(0.0) + np.linspace(0, 1, 20)
    left = grades_at_full_size.of(full, claim, gain)
    assert (left.told_by, grading.grade_left((45, 55), left, 0)) == ("layout", grading.NOT_IDENTIFIED)


@pytest.mark.slow
@pytest.mark.parametrize("is_complete", [True, False])
def test_nonsense_in_printed_numbers_changes_no_prediction(complete, is_complete, monkeypatch):
    """What is recorded of each claim, at full size and to scale, whatever was printed of it."""
    if not is_complete:
        order_entry_full_draws.file_of(complete, 3).unlink()

    def recorded():
        rows = []
        with monkeypatch.context() as patched:
            patched.setattr(record, "prediction", lambda *of_claim: rows.append(of_claim))
            grades_at_full_size.record_all(ensemble_to_scale(), "04_oltp_gain", str,
                                           order_entry_full_draws.results(complete))
        return rows

    before, honest = recorded(), published.runs
    monkeypatch.setattr(published, "runs", lambda: [
        run._replace(metrics=run.metrics.assign(value=12345.678)) for run in honest()])
    assert claims.targets().set_index("claim_id").value["aggregation-joint"] != 1
    assert recorded() == before
    assert len(before) == 6
    assert {row[0] for row in before if row[-1]["left_full_size"]} == (
        {row[0] for row in before} - {"lutz-cycle"} if is_complete else set())


def test_numbers_at_full_size_are_recorded_once_they_grade(complete):
    results, full = ensemble_to_scale(), order_entry_full_draws.results(complete)
    numbers = order_entry_graded.metrics(results, full).set_index("name").value
    assert (numbers["full-size.gain-low"], numbers["full-size.gain-high"]) == pytest.approx((0, 190))
    assert (numbers["full-size.joint-shown"], numbers["full-size.draws"]) == (19, 20)
    to_scale = order_entry_graded.metrics(results, None).set_index("name").value
    assert to_scale.equals(numbers[to_scale.index])
    assert not any(name.startswith("full-size.") for name in to_scale.index)


def test_r_squared_is_graded_at_full_size_too_and_each_verdict_says_so(complete):
    results, full = ensemble_to_scale(), order_entry_full_draws.results(complete)
    scores = grades_at_full_size.scores(results, "05_io_size_correlation", full)
    r_squared = full["after/io_size.r_squared"]
    assert scores.loc[0, ["left, low", "left, high"]].tolist() == [r_squared.min(), r_squared.max()]
    assert "in 20 draws at full size" in order_entry_graded.verdict(scores, "lutz-r2")
    of_04 = grades_at_full_size.scores(results, "04_oltp_gain", full)
    joint = order_entry_graded.verdict(of_04, "aggregation-joint")
    assert (": 1 or more shows the joint fact, simulated 0.75 to 2.00 in 20 draws at full size (simulated to scale the grade"
            ) in joint
    assert "full size" not in order_entry_graded.verdict(of_04, "lutz-cycle")

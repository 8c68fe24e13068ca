"""A pool of slabs: what is predicted of aggregation, and how slabs are cut."""
import pandas as pd
import pytest

from study.documents import claims, priors, published
from study.ensembles import ensembles
from study.ensembles.ensembles import AFTER
from study.errors import UserError
from study.experiments.allocator_2010 import slabs
from study.experiments.allocator_2010.appliance import scaled_rules
from study.figures import free_space as free_space_pictures
from study.grades import claim_predictions
from study.project import NOTEBOOKS
from study.runs import catalogue, record
from study.runs.parameters import of_cell

NAME = "03_first_fit_best_fit"
DEFAULTS = of_cell(NOTEBOOKS / f"{NAME}.ipynb")
NAMES = ("n_slabs", "slab_mib", "record_kib", "fill", "age", "txg_share", "log_share")
SMALL = {name: DEFAULTS[name] for name in NAMES} | {"n_slabs": 8, "slab_mib": 16, "age": 0.5}


@pytest.fixture(scope="module")
def machine():
    return slabs.setup(**SMALL)


@pytest.fixture(scope="module")
def results(machine):
    """The smallest ensemble."""
    return slabs.predict(machine, 2, 2, 1)


# ---- what is predicted ----


@pytest.mark.slow
def test_nonsense_in_the_figures_to_be_predicted_changes_no_prediction(machine, results, monkeypatch):
    real, before = published.runs, claims.targets().set_index("claim_id").value["aggregation-good"]
    monkeypatch.setattr(published, "runs", lambda: [
        run._replace(metrics=run.metrics.assign(value=12345.678)) for run in real()])
    assert claims.targets().set_index("claim_id").value["aggregation-good"] != before
    slabs._run.cache_clear()        # or the pools are not made again
    pd.testing.assert_frame_equal(slabs.predict(machine, 2, 2, 1), results)


def test_all_claims_of_the_notebook_are_predicted(results):
    assert set(claim_predictions.predictions(results, NAME)) == {"aggregation-good", "aggregation-bad"}
    assert slabs.verdict(claim_predictions.scores(results, NAME)).count("blocks in a write") == 2


def test_good_is_no_worse_than_bad_and_both_are_possible(results):
    for rules in ("aggregation", "new"):
        good, bad = results[f"{AFTER}/{rules}.good"], results[f"{AFTER}/{rules}.bad_high"]
        assert (good >= bad).all()
        assert bad.min() >= 1
        assert good.max() <= 2**17 / (4 * 2**10)


def test_intervals_stand_beside_the_ranges_of_the_text(results):
    ranges = pd.DataFrame({"low": [6.0, 0.7], "high": [float("inf"), 1.9]}, ["aggregation-good", "aggregation-bad"])
    table = slabs.beside_published(results, ranges).set_index("what")
    assert table.published_low["good, old rules"] == 6.0
    assert table.published_low[["good, new rules", "bad, new rules"]].isna().all()      # nothing was said of them
    assert (table.published_low["bad, old rules"], table.published_high["bad, old rules"]) == (0.7, 1.9)
    metrics = slabs.interval_metrics(results).set_index("name").value
    assert metrics["unfitted.aggregation.good-middle"] == table.middle["good, old rules"]
    assert len(free_space_pictures.good_and_bad(table.reset_index()).axes[0].get_yticks()) == 4


def test_each_condition_is_tried(results):
    switches = priors.read(slabs.EXPERIMENT).switches
    assert set(slabs.CONDITIONS) == {(switch.name, choice) for switch in switches for choice in ensembles.others(switch)}
    ends = {"share of the pool taken: 0.05", "share of the pool taken: 0.76", "turnovers before: 0.12",
            "turnovers before: 4.9"}        # 5 and 95 %
    assert set(slabs.conditions(results).what) == {"best guess", *slabs.CONDITIONS.values(), *ends}


# ---- a pool ----


def test_the_engines_put_every_record_in_the_same_place(machine):
    few = machine._replace(age=0.1)
    assert slabs.engines_differ(few, {build: slabs.rules(build) for build in slabs.LABELS}, 3) == 0


def test_the_old_rules_end_each_slab_at_one_block_a_write(machine):
    """And the new ones, with the old threshold, do so as well; with a threshold of nothing left, never in a whole group."""
    txgs = slabs.compare(machine, {"old": slabs.rules("b117"), "new": slabs.rules("b141_df"),
                                   "as if": slabs.rules("b141_df", threshold_pct=30)}, 1)
    by_rule = {rule: slabs.quantities(machine, of_rule)["aggregation.mean"] for rule, of_rule in txgs.groupby("rule")}
    assert txgs[txgs.rule == "old"].blocks.min() == 1
    assert by_rule["new"] > by_rule["old"]
    assert by_rule["new"] > by_rule["as if"]


def test_what_was_good_is_told_apart_by_how_much_of_the_pool_is_taken():
    """Of draws alone: neither the best guess nor a condition changed by itself counts."""
    rows = [("all", 0.1, 30.0), ("all", 0.29, 9.0), ("parameter", 0.5, 4.0), ("all", 0.3, 5.0), ("structure", 0.5, 14.0),
            ("central", 0.5, 40.0)]
    results = pd.DataFrame(rows, columns=["part", "pool_fill", f"{AFTER}/aggregation.good"])
    table = slabs.good_by_fill(results)
    assert dict(zip(table.name, table.value, strict=True)) == {"good.most-if-empty": 30.0, "good.most-if-full": 5.0}


def test_turnovers_count_from_the_load(machine):
    txgs, work = slabs.series(machine, slabs.rules("b103"), 1), slabs.work_of(machine)
    assert len(txgs) == work.n_txgs
    assert txgs.turnovers.iloc[-1] == pytest.approx(machine.age + slabs.WATCHED, abs=work.per_txg / work.n_records)
    assert txgs.slab.between(0, machine.n_slabs - 1).all()


def test_a_log_shares_the_pool_and_is_not_counted(machine):
    work = slabs.work_of(machine._replace(log_share=1.0, txg_share=0.05))
    assert work.log_per_txg * work.log_bytes == pytest.approx(work.per_txg * work.record_bytes, rel=0.1)
    offsets = slabs.places(machine._replace(log_share=1.0, txg_share=0.05), slabs.rules("b117"), 1)
    assert offsets.shape == (work.n_txgs, work.per_txg)


def test_the_bonus_and_the_threshold_are_changed_alone():
    coded = slabs.rules("b141_df")
    assert slabs.rules("b141_df", 4, 1.0)._replace(bonus_multiplier=1, bonus_divisor=1) == coded
    described = slabs.rules("b141_df", bonus=1.5)
    assert described.bonus_multiplier / described.bonus_divisor == 1.5
    assert slabs.rules("b141_df", 30).picker.best_fit_below_pct == 30


@pytest.mark.parametrize("changed", [{"fill": 0.95}, {"txg_share": 0.9, "fill": 0.6}, {"log_share": 4.0, "fill": 0.9}])
def test_a_pool_that_fills_up_is_one_sentence(changed):
    with pytest.raises(UserError, match=r"of the pool, but 95% is the most; fill less of it or write less at a time"):
        slabs.setup(**SMALL | changed)


def test_slabs_of_other_sizes_are_recorded_by_rules_and_size(machine):
    table = slabs.of_sizes(machine, {build: slabs.rules(build) for build in ("b117", "b141")}, [16, 32], 1)
    assert list(zip(table["rules"], table["slab (MiB)"], strict=True)) == [
        ("b117", 16), ("b117", 32), ("b141", 16), ("b141", 32)]
    names = slabs.metrics_of_sizes(table).name.tolist()
    assert names[0] == "slab-16mib.b117.aggregation.good"
    assert all(record.NAME.fullmatch(name) for name in names)
    for build, row in (("b117", 0), ("b141", 2)):
        series = slabs.series(machine, slabs.rules(build), 1)
        assert table["aggregation.good"][row] == slabs.quantities(machine, series)["aggregation.good"]


def test_a_rule_that_asks_for_a_share_of_a_slab_gets_that_share():
    """160 MiB of the 8 GiB of a disk of 1 TB; what is as long as so many blocks stays."""
    coded, scaled = slabs.rules("b141"), scaled_rules(slabs.rules("b141"), 128)
    assert scaled.picker.sound_hole_bytes * 128 == coded.picker.sound_hole_bytes
    assert scaled._replace(picker=scaled.picker._replace(sound_hole_bytes=160 * 2**20)) == coded
    assert scaled_rules(coded, 1) == coded


def test_the_new_dynamic_fit_keeps_a_fresh_slab_of_any_size(machine):
    """Scaled, the hole that makes a slab sound is there until the slab is nearly full."""
    young = machine._replace(fill=0.1, age=0.0)
    slab = slabs.series(young, slabs.rules("b141"), 1).slab
    assert (slab.diff().fillna(0) != 0).mean() < 0.1


@pytest.mark.parametrize("share", [1e-4, 1e-3, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("record_kib", [4, 8])
def test_a_transaction_group_could_fill_four_of_the_largest_writes(machine, share, record_kib):
    asked = machine._replace(slab_bytes=2**26, txg_share=share, record_bytes=record_kib * 2**10)
    given = slabs.grown(asked)
    assert slabs.work_of(given).per_txg * given.record_bytes >= 4 * 2**17
    assert given.slab_bytes <= 2**28
    assert given.txg_share == share or given.slab_bytes == 2**28
    assert (given == asked) == (share * 2**26 >= 2**19)


def test_what_an_engine_placed_is_counted(machine):
    few, chosen = machine._replace(age=0.1), {build: slabs.rules(build) for build in ("b117", "b141")}
    counts = {engine: slabs.engine_metrics(few._replace(engine=engine), chosen, 3).value.tolist()
              for engine in slabs.ENGINES}
    work = slabs.work_of(few)
    placed = 2 * (work.n_records + work.n_txgs * work.per_txg)
    assert counts == {"fast": [placed, placed, 100], "exact": [placed, 0, 0]}


# ---- slabs of real disks (spec 2.1) ----


@pytest.mark.parametrize(("disk_bytes", "slab_bytes", "n_slabs"), [
    (34 * 10**9, 2**28, 126), (146 * 10**9, 2**30, 135), (500 * 10**9, 2**32, 116), (10**12, 2**33, 116)])
def test_slabs_of_a_disk(disk_bytes, slab_bytes, n_slabs):
    geometry = slabs.geometry(disk_bytes)
    assert (geometry.slab_bytes, geometry.n_slabs, geometry.left_bytes) == (slab_bytes, n_slabs, slab_bytes * 4 // 100)
    assert slabs.geometries([disk_bytes])["slabs"].tolist() == [n_slabs]


def test_there_are_100_to_200_slabs():
    counts = [slabs.geometry(gigabytes * 10**9).n_slabs for gigabytes in range(100, 4000, 37)]
    assert 100 <= min(counts) < 110
    assert 190 < max(counts) <= 200


# ---- the notebook ----


def test_the_notebook_has_the_parameters_of_the_pool():
    assert set(catalogue.STUDY[NAME].parameters) == set(DEFAULTS)
    assert set(NAMES) < set(DEFAULTS)
    slabs.setup(**{name: DEFAULTS[name] for name in NAMES})


def test_what_is_drawn_over_time_is_what_was_found(machine):
    txgs = slabs.compare(machine, {"old": slabs.rules("b117")}, 1)
    axes, = free_space_pictures.over_time(txgs, [(6, float("inf")), (0.7, 1.9)]).axes
    assert (axes.lines[0].get_ydata() == txgs.blocks).all()


def test_slabs_are_drawn_from_the_outermost_down(machine):
    txgs = slabs.compare(machine, {"old": slabs.rules("b117"), "new": slabs.rules("b141_df")}, 1)
    figure = free_space_pictures.slabs_over_time(txgs, machine.n_slabs, slabs.max_blocks(machine))
    above = figure.axes[0]
    assert (above.collections[0].get_offsets()[:, 1] == txgs[txgs.rule == "old"].slab).all()
    low, high = above.get_ylim()
    assert low > high
    assert slabs.max_blocks(machine) == 16

"""A misaligned LUN: what its requests are, and what has to come out whatever machine it is."""
import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

from model.simulations import request_columns as request
from study.documents import claims
from study.ensembles.ensembles import AFTER, BEFORE
from study.errors import UserError
from study.experiments.alignment_2010 import cases, grids, lun
from study.figures import alignment as pictures
from study.machines import appliance_lun

SHORT = 2.0


@pytest.fixture(scope="module")
def runs():
    return lun.compare(lun.setup(seconds=SHORT), seed=1)


def test_both_variants_have_the_same_requests_shifted():
    machine = lun.setup(seconds=SHORT, start_sectors=63)
    before, after = (appliance_lun.requests(machine, is_misaligned, seed=3) for is_misaligned in (False, True))
    assert np.array_equal(after - before, np.broadcast_to([0, 63 * 512, 0], before.shape))
    assert (after[:, request.OFFSET] + after[:, request.N_BYTES]).max() <= appliance_lun.LUN_GIB * appliance_lun.GIB


def test_only_a_misaligned_write_reads_first(runs):
    before, after = (appliance_lun.quantities(x, runs.machine) for _, x in runs.items())
    assert before["pool.reads_first"] == 0
    assert 0 < after["pool.reads_first"] <= 2 * (1 - runs.machine.read_share) * 1.1
    assert after["pool.reads"] > before["pool.reads"]
    assert lun.slowdown(runs) > 1


def test_a_start_that_is_aligned_is_the_same_run():
    machine = lun.setup(seconds=SHORT, start_sectors=0)
    before, after = (lun.run(machine, variant, 1) for variant in (BEFORE, AFTER))
    assert np.array_equal(before.table, after.table)


def test_a_run_is_quicker_with_a_log_device_and_its_metrics_have_units(runs):
    without = lun.run(lun.setup(seconds=SHORT, log_device=0), BEFORE, 1)
    assert len(without.table) < len(runs.before.table)
    assert set(lun.metrics(runs).columns) == {"name", "value", "unit"}
    assert list(lun.table(runs).index) == list(appliance_lun.UNITS)


def test_closed_forms_of_the_map():
    table = grids.ios(8, 0.0, 0.5).set_index(["start_kib", "request_kib"]).slowdown
    assert table[31.5, 8] == 3          # two reads for one, and two with two writes for one write
    assert (table[0.0] == 1).all()
    assert (table[8.0] == 1).all()
    assert table[4.0, 4] == 1
    assert (grids.ios(8, 1.0, 1.0).slowdown == 1).all()


def test_files_read_one_record_first_for_as_many_requests_as_it_holds():
    of_files = [case for case in cases.all_of(SHORT) if case.key in ("nfs", "cifs")]
    for case, share in zip(of_files, (1 / 4, 1 / 2), strict=True):
        fits, does_not = (appliance_lun.quantities(lun.run(*which, 1), which[0]) for which in (case.fits, case.does_not))
        assert fits["pool.reads_first"] == 0
        assert does_not["pool.reads_first"] == pytest.approx(share, rel=0.02)


@pytest.mark.parametrize(("chosen", "words"), [
    ({"colour": 1}, "colour is no prior"), ({"block_kib": 12}, "the block is 12288 B"),
    ({"block_kib": 0}, "the block is 0 B"), ({"start_sectors": -1}, "the offset is -512 B"),
    ({"request_kib": 0}, "the request has 0 B")])
def test_what_cannot_be_is_one_sentence(chosen, words):
    with pytest.raises((UserError, ValueError), match=words):
        lun.setup(seconds=SHORT, **chosen)


def test_the_claim_is_graded_by_this_experiment():
    claim = next(claim for claim in claims.read() if claim.id == lun.CLAIM)
    assert (claim.notebook, claim.predict) == (lun.NOTEBOOK, f"alignment {lun.SLOWDOWN}")


def test_figures_are_drawn():
    grid = grids.ios(8, 0.1, 0.5)
    rows = pd.DataFrame([("a", 3.0, 1.0, 3.0, True), ("b", 1.1, 2.0, 2.2, False)],
                        columns=["case", "slowdown", "fits_ms", "does_not_ms", "is_central"]).assign(label=["a", "b"])
    for figure in (pictures.heat(grid, "times slower"), pictures.cases(rows, (2, 4)),
                   pictures.conditions(rows, (2, 4), (1.0, 4.0))):
        assert isinstance(figure, matplotlib.figure.Figure)


def test_the_table_says_which_run_is_aligned_and_has_no_infinite_ratio(runs):
    table = lun.table(runs)
    assert list(table.columns) == ["unit", "aligned", "misaligned", "misaligned / aligned"]
    assert table.loc["pool.reads_first", "aligned"] == 0
    assert not np.isinf(table["misaligned / aligned"]).any()

"""The appliance of order entry and Exchange: what follows from the numbers that are drawn."""
import pytest

from model.devices.data_sheet import sheet_disk
from study.documents import priors
from study.ensembles import ensembles
from study.errors import UserError
from study.experiments.allocator_2010 import appliance

EXPERIMENTS = ("order_entry", "exchange")


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_draw_is_an_appliance_that_can_be(experiment):
    known = priors.read(experiment)
    for row in [known.central(), *priors.draws(known, 20, 3).to_dict("records")]:
        parts = ensembles.apply(known, row, {"disk": appliance.TERABYTE})
        sheet = appliance.disk(parts["disk"])
        sheet_disk(sheet)
        assert sheet.inner_rate < sheet.outer_sustained < sheet.outer_rate
        assert sheet.window <= sheet.depth
        vdevs = appliance.vdevs(row["layout"], row["n_disks"])
        assert 1 <= vdevs.n * vdevs.n_children <= row["n_disks"]


@pytest.mark.parametrize(("layout", "disks", "expected"), [
    ("mirror", 22, (11, 2, 0)), ("mirror", 23, (11, 2, 0)), ("raidz2", 22, (2, 11, 2)), ("raidz2", 10, (1, 10, 2)),
    ("raidz1", 22, (5, 4, 1)), ("stripe", 3, (3, 1, 0))])
def test_disks_make_vdevs_and_spares(layout, disks, expected):
    assert appliance.vdevs(layout, disks) == expected


@pytest.mark.parametrize(("layout", "disks", "match"), [
    ("raid5", 10, "layout is 'raid5'"), ("mirror", 1, "1 disks make no vdev"), ("raidz2", 3, "3 disks make no vdev")])
def test_what_makes_no_pool_is_refused(layout, disks, match):
    with pytest.raises(UserError, match=match):
        appliance.vdevs(layout, disks)

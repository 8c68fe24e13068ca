"""A machine of a few choices, as notebook 10 slides it."""
import pytest

from study.errors import UserError
from study.predictions import predict, your_ladder

CHOSEN = {"disk": "savvio-10k2", "n_disks": 2, "layout": "mirror", "log_device": "none", "cache_device": "none",
          "memory_gib": 8.0, "record_kib": 128, "durability": "all safe", "clients": 16, "scale": 100}


def test_disks_of_two_kinds_are_refused_before_anything_is_simulated():
    """So a list of devices need not offer them."""
    with pytest.raises(UserError, match=r"savvio-10k1 and savvio-10k2.*disks of one kind"):
        your_ladder.machine(**CHOSEN | {"log_device": "savvio-10k1"})
    for device in ("savvio-10k2", "x25-e"):
        assert your_ladder.machine(**CHOSEN | {"log_device": device}).pool.log.sheet == device


@pytest.mark.parametrize(("choices", "names"), [
    ({"n_disks": 3}, ["n_disks is 3", "the layout mirror", "a multiple of 2"]),
    ({"layout": "raidz1", "n_disks": 1}, ["n_disks is 1", "the layout raidz1", "2 disks at least"]),
    ({"layout": "raidz2", "n_disks": 2}, ["n_disks is 2", "the layout raidz2", "3 disks at least"]),
    ({"disk": "x25-e", "scale": 5000}, ["scale is 5000", "n_disks is 2", "the disks hold"]),
])
def test_what_cannot_be_is_refused_with_the_names_of_the_choices(choices, names):
    """A reader of the notebook sees neither a scenario's sections nor its keys."""
    with pytest.raises(UserError) as refused:
        your_ladder.machine(**CHOSEN | choices)
    assert all(name in str(refused.value) for name in names)
    assert "pool" not in str(refused.value)
    assert "width" not in str(refused.value)


@pytest.mark.parametrize(("layout", "n_disks"), [("stripe", 1), ("mirror", 2), ("raidz1", 2), ("raidz2", 3)])
def test_the_smallest_group_of_each_layout_can_be(layout, n_disks):
    assert your_ladder.machine(**CHOSEN | {"layout": layout, "n_disks": n_disks}).pool.data.count == n_disks


def test_what_the_choices_leave_open_is_said_with_what_is_taken():
    lines = your_ladder.taken_by_default(your_ladder.machine(**CHOSEN))
    host, files, pool, data, database, runs, at_work = lines
    assert "cpus = " in host
    assert 'logbias = "latency"' in files
    assert pool == "pool: fill = 0"
    assert "ashift = " in data
    assert "version = 8.3" in database
    assert runs == predict.RUNS
    assert at_work.startswith("files.warm = true")
    for chosen in ("memory_gib", "record_kib", "era = ", "count = ", "clients = ", "scale = ", "sheet = "):
        assert not any(chosen in line for line in lines), chosen

"""A machine of a few choices, as notebook 10 slides it."""
import pytest

from study.errors import UserError
from study.predictions import your_ladder

CHOSEN = {"disk": "savvio-10k2", "n_disks": 2, "layout": "mirror", "log_device": "none", "cache_device": "none",
          "memory_gib": 8.0, "record_kib": 128, "durability": "all safe", "clients": 16, "scale": 100}


def test_disks_of_two_kinds_are_refused_before_anything_is_simulated():
    """So a list of devices need not offer them."""
    with pytest.raises(UserError, match=r"savvio-10k1 and savvio-10k2.*disks of one kind"):
        your_ladder.machine(**CHOSEN | {"log_device": "savvio-10k1"})
    for device in ("savvio-10k2", "x25-e"):
        assert your_ladder.machine(**CHOSEN | {"log_device": device}).pool.log.sheet == device


def test_what_the_choices_leave_open_is_said_with_what_is_taken():
    lines = your_ladder.taken_by_default(your_ladder.machine(**CHOSEN))
    host, files, pool, data, database, at_work = lines
    assert "cpus = " in host
    assert 'logbias = "latency"' in files
    assert pool == "pool: fill = 0"
    assert "ashift = " in data
    assert "version = 8.3" in database
    assert at_work.startswith("files.warm = true")
    for chosen in ("memory_gib", "record_kib", "era = ", "count = ", "clients = ", "scale = ", "sheet = "):
        assert not any(chosen in line for line in lines), chosen

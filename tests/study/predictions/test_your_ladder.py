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

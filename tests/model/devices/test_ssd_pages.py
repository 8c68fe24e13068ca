"""Writes to an SSD of whole pages, aligned and not."""
import numpy as np
import pytest

from model.devices.ssd import SsdParams, new_ssds, service
from model.devices.ssd_pages import page_writes

SSD = SsdParams(disk_bytes=2**30, buffer_bytes=0)
PAGES = np.array([5, 9, 700, 3, 4], np.int64)


def by_hand(offset):
    """Call by call."""
    state, now, done = new_ssds(SSD, 1), 0, []
    for page in PAGES.tolist():
        n = 2 if offset else 1
        if offset:
            now = max(service(SSD, state, 0, now, (page + i) * 4096, 4096, False) for i in range(n))
        now = service(SSD, state, 0, now, page * 4096, n * 4096, True)
        done.append(now)
    return done


@pytest.mark.parametrize("offset", [0, 512, 4095])
def test_writes_are_those_of_the_device_call_by_call(offset):
    assert page_writes(SSD, PAGES, offset).tolist() == by_hand(offset)


def test_a_misaligned_write_waits_for_a_read_and_moves_two_pages():
    assert page_writes(SSD, PAGES, 512)[-1] > page_writes(SSD, PAGES, 0)[-1] + len(PAGES) * SSD.read_ns


def test_an_offset_beyond_a_page_is_refused():
    with pytest.raises(ValueError, match="the offset is 4096 B"):
        page_writes(SSD, PAGES, 4096)

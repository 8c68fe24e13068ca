"""Writes of a page to an SSD that maps whole pages, at their borders or not.

A write that covers a page in part has that page read first, and written whole. So a write of 4 KiB that begins half a KiB
behind a border reads two pages and writes two. The device is that of `model.devices.ssd`; its pages have 4 KiB. One write is
under way at a time.

Ours: that devices do so. One that maps sectors of 512 B reads nothing.
"""

import numpy as np

from model.devices.ssd import PAGE_BYTES, SsdParams, new_ssds, service
from model.jit import kernel


@kernel
def _write_all(ssd, state, pages, offset, done):
    now = np.int64(0)
    for i in range(len(pages)):
        first, n_pages = pages[i] * PAGE_BYTES, 1
        if offset:
            n_pages = 2
            came = now
            for page in range(n_pages):
                came = max(came, service(ssd, state, 0, now, first + page * PAGE_BYTES, PAGE_BYTES, False))
            now = came
        now = service(ssd, state, 0, now, first, n_pages * PAGE_BYTES, True)
        done[i] = now


def page_writes(ssd: SsdParams, pages: np.ndarray, offset: int) -> np.ndarray:
    """When each write of 4 KiB is reported, ns. `pages`: int64, where each begins, `offset` bytes behind the border.
    ValueError for an offset that lies beyond a page."""
    if not 0 <= offset < PAGE_BYTES:
        raise ValueError(f"the offset is {offset} B, but a page has {PAGE_BYTES} B; choose 0 to {PAGE_BYTES - 1}")
    done = np.zeros(len(pages), np.int64)
    _write_all(ssd, new_ssds(ssd, 1), pages, offset, done)
    return done

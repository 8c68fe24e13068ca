"""What one reader of a run did, moment by moment."""
from typing import NamedTuple

import numpy as np


class Timeline(NamedTuple):
    """What one reader did: columns of `model.simulations.sequential_reads.state.Recorder.activities`, as long as they were
    recorded."""
    label: str
    activities: np.ndarray      # [row]: began, ended (ns), activity, the block it was stalled for
    mib_per_copy: float = 1.0   # of a read

"""Cases of an ensemble (`study.ensembles.ensembles`) in the run store, for a notebook that needs those of another one. They
are a series `cases.<part>`, in which a run is a case and its statistics are quantities."""
import numpy as np
import pandas as pd

from study.ensembles.ensembles import AFTER, PARTS, unfitted
from study.runs import record, samples
from study.store import series


def keep(results: pd.DataFrame, quantities: dict[str, str]) -> None:
    """Record these quantities (name: unit) of all cases, as they are before anything is fitted. A case in which one of them
    is not a number goes without it."""
    for part in PARTS:
        rows = [(number, name, case[f"{AFTER}/{name}"], unit)
                for number, (_, case) in enumerate(unfitted(results, part).iterrows()) for name, unit in quantities.items()]
        frame = pd.DataFrame(rows, columns=samples.COLUMNS)
        record.runs(f"cases.{part}", frame[np.isfinite(frame.value.astype(float))])


def read(source: str) -> pd.DataFrame:
    """The cases that a notebook has kept, in the columns of `study.ensembles.ensembles.run`."""
    parts = []
    for part in PARTS:
        table = series.table(source, f"cases.{part}")
        parts.append(table.add_prefix(f"{AFTER}/").assign(part=part, fitted=False, reached=True))
    return pd.concat(parts, ignore_index=True)

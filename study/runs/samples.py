"""A series of benchmark runs as a notebook records it: one file a series, in the folder of the run that made it."""
from pathlib import Path

import numpy as np
import pandas as pd

from study.errors import UserError
from study.runs.folder import NAME, SAMPLES

COLUMNS = ["run", "name", "value", "unit"]


def checked(series: str, frame: pd.DataFrame) -> pd.DataFrame:
    """`frame` as it is kept; UserError where it is no series."""
    if not NAME.fullmatch(series):
        raise UserError(f"series '{series}' is not of the form subject.variant in small letters, digits, - and _; rename it")
    if set(frame.columns) != set(COLUMNS) or not len(frame):
        raise UserError(f"series {series} has {len(frame)} rows of {', '.join(map(str, frame.columns)) or 'nothing'}; give "
                        f"rows of {', '.join(COLUMNS)}")
    kept = frame[COLUMNS].astype({"run": "int32", "name": str, "value": float, "unit": str})
    complaints = {"a name that is not subject.quantity": ~kept.name.map(lambda name: bool(NAME.fullmatch(name))),
                  "a value that is not finite (leave the row out)": ~np.isfinite(kept.value),
                  "no unit ('1' for a pure number)": kept.unit.str.strip() == "",
                  "a second value of one statistic": kept.duplicated(["run", "name"])}
    for complaint, wrong in complaints.items():
        if wrong.any():
            row = kept[wrong].iloc[0]
            raise UserError(f"series {series} has in run {row['run']}, {row['name']}: {complaint}; mend it there")
    if (kept.groupby("name").unit.nunique() > 1).any():
        raise UserError(f"series {series} gives a statistic in two units; take one unit for each")
    return kept


def write(folder: Path, series: str, frame: pd.DataFrame) -> None:
    """Keep a series in the record `folder`."""
    file = folder / SAMPLES / f"{series}.parquet"
    if file.exists():
        raise UserError(f"series {series} is recorded twice; give each its own name, once")
    file.parent.mkdir(exist_ok=True)
    checked(series, frame).to_parquet(file, index=False)

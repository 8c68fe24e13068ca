"""What the disk model made of measured drives: `data/disk_replays.toml`, as `study replay disk` printed it.

The traces are not part of the project, so their replay cannot be run here; its results are committed instead.
"""
import tomllib

import pandas as pd

from study.project import data_file

VERSIONS = {"specified": "from the drive's description", "estimated": "+ constants from the first half",
            "data_sheet": "from a data sheet alone"}


def read() -> pd.DataFrame:
    """A row per drive and version: drive, year, rpm, version, demerit_percent (whole trace), second_half_percent,
    mean_error_percent (second half), disksim_percent."""
    drives = tomllib.loads(data_file("disk_replays.toml").read_text())["drive"]
    return pd.DataFrame([{"id": drive["id"], "drive": drive["name"], "year": drive["year"], "rpm": drive["rpm"],
                          "version": version, **drive[version], "disksim_percent": drive["disksim_percent"]}
                         for drive in drives for version in VERSIONS])


def metrics(table: pd.DataFrame) -> pd.DataFrame:
    """Median and worst demerit of the second halves, by version: name, value, unit."""
    halves = table.groupby("version", sort=False)["second_half_percent"]
    rows = [(f"disk.{version.replace('_', '-')}-{which}", value, "%") for version, group in halves
            for which, value in (("median", group.median()), ("worst", group.max()))]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])

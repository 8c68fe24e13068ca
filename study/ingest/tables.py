"""The Parquet files of an import, as the run store reads them."""

import math
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from study.ingest import mapped_csv
from study.ingest.reading import BINS, POINTS, Reading
from study.runs import samples

METRICS, OBSERVATIONS, HISTOGRAMS, TRANSACTIONS = "metrics", "observations", "histograms", "transactions"


def write(draft: Path, readings: list[Reading], mapping: mapped_csv.Mapping | None) -> None:
    """Into the folder `draft`. Tables of transactions are moved there."""
    totals = [total for reading in readings for total in reading.totals]
    pq.write_table(
        pa.table(
            {
                "name": pa.array([total.name for total in totals], pa.string()),
                "value": pa.array([total.value for total in totals], pa.float64()),
                "unit": pa.array([total.unit or "1" for total in totals], pa.string()),
            }
        ),
        draft / f"{METRICS}.parquet",
    )
    with pq.ParquetWriter(draft / f"{OBSERVATIONS}.parquet", POINTS) as writer:
        for reading in readings:
            for series in reading.series:
                writer.write_table(series.table())
    rows = [
        (histogram.series, histogram.subject, None if math.isnan(histogram.t) else histogram.t, histogram.name, *counted,
         histogram.unit, histogram.of)
        for reading in readings
        for histogram in reading.histograms
        for counted in histogram.bins
    ]
    pq.write_table(
        pa.Table.from_pylist([dict(zip(BINS.names, row, strict=True)) for row in rows], BINS),
        draft / f"{HISTOGRAMS}.parquet",
    )
    if mapping is not None and mapping.kind == "runs":
        samples.write(draft, mapping.series, samples.checked(mapping.series, mapped_csv.samples(readings[0])))
    (draft / TRANSACTIONS).mkdir()
    for n, path in enumerate(path for reading in readings for path in reading.transactions):
        os.replace(path, draft / TRANSACTIONS / f"{n}.parquet")


def totals(folder: Path) -> dict[str, float]:
    """Numbers of a whole run that was kept, by name; each in the unit that the table `metrics` has beside it."""
    table = pq.read_table(folder / f"{METRICS}.parquet")
    return dict(zip(table["name"].to_pylist(), table["value"].to_pylist(), strict=True))

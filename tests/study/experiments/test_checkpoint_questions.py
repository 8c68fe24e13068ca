"""Experiments about June 2008: what fits into the ARC is not read, what was published stands beside what came out."""
import numpy as np
import pandas as pd
import pytest

from study.experiments.postgres_2008 import questions
from study.experiments.postgres_2008 import setups as checkpoints
from study.machines import servers

VALUES = checkpoints.known().central() | {"wal_sync_method": "fdatasync"}


@pytest.mark.parametrize(("tables_gib", "segments"), [(8, 150), (12, 150), (22, 150), (8, 600)])
def test_zfs_reads_nothing_while_tables_and_log_are_smaller_than_the_arc(tables_gib, segments):
    values = VALUES | {"working_gib": tables_gib, "checkpoint_segments": segments}
    run = checkpoints.run(questions.MISTAKE, values, 64, 1)
    arc = checkpoints.of_test(questions.MISTAKE, values, 1).files.arc_max_mib / 1024
    fits = tables_gib + questions.log_gib(segments, 64) < arc
    assert fits == (tables_gib < 20 and segments < 600)
    assert (run.read_mb["data"].sum() == 0) == fits


def test_buffers_are_empty_at_the_start_and_the_log_of_creation_is_as_long_as_the_tables():
    machine = checkpoints.of_test(questions.UFS, VALUES | {"log_files": "of creation", "first_load_pct": 50}, 8)
    settings = servers.postgres_settings(machine, VALUES | checkpoints.scaled_values(VALUES, 8), 1000)
    assert settings.is_warm == 0
    assert settings.ready_segments * questions.SEGMENT_GIB * 8 == VALUES["working_gib"] / 2
    assert servers.postgres_settings(checkpoints.of_test(questions.UFS, VALUES, 8), VALUES, 1000).ready_segments == -1


def test_the_load_of_18_june_is_as_large_as_ever():
    half = VALUES | {"first_load_pct": 50}
    sizes = {name: checkpoints.working_gib(test, half) for name, test in checkpoints.TESTS.items()}
    assert {sizes["ufs-nine-disks"], sizes["seven-arrays"], sizes["zfs-900s"]} == {10}
    assert {sizes["zfs-300s-15"], sizes["zfs-log-array"], sizes["zfs-no-zil-5"]} == {20}


def made(name, values, scale, seed, target=None, cores=16):
    n = checkpoints.TESTS[name].seconds // scale
    level = values["working_gib"] + cores
    series = {"data": np.full(n, level), "log": np.full(n, level)}
    return checkpoints.Run(
        name=name, step_s=scale, tpm=np.full(n, level), read_mb=series, written_mb=series, writes=series,
        counts={"checkpoints": cores}, mean_ms=1.0, busy=0.5, by_checkpointer=np.where(np.arange(n) % 2, 0.0, level),
        pages_mb=np.zeros(n), log_mb=np.zeros(n))


def test_every_load_has_a_row_beside_what_was_published(monkeypatch):
    monkeypatch.setattr(checkpoints, "run", made)
    results = questions.loads(VALUES, 16, 1)
    assert list(results.index) == ["published", *questions.LOADS]
    assert results.loc["large"].equals(results.loc["large"].dropna())
    shown = questions.table(results)
    assert shown.loc["log at 1800 s (MB/s)"].tolist()[:2] == [77, 36]
    assert shown.loc["arrays (1000 TPM)", "published"] == 90
    assert pd.isna(shown.loc["its processors busy (%)", "published"])
    names = questions.metrics(results).name
    assert names.is_unique
    assert len(names) == len(questions.LOADS) * len(questions.COLUMNS)


def test_the_checkpointers_rate_is_that_of_seconds_in_which_it_writes(monkeypatch):
    monkeypatch.setattr(checkpoints, "run", made)
    results = questions.checkpointer(VALUES, 16, 1)
    assert results["checkpointer (pages/s)"].tolist() == [36, 84, 36, 84]


def test_what_fits_is_told_from_what_does_not():
    results = pd.DataFrame({"of_arc": [0.5, 0.9, 1.1, 2.0], "reads_mb": [0.0, 0.5, 7.0, 5.0]})
    assert questions.fits(results) == (0.5, 5.0)

"""How far compression shrinks each kind of file: together they shrink as the scenario says."""
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from model.databases.postgres.toolkit import INDEX, REST, TABLE, kinds_of_files
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs.store import FileSettings, Group, Pool, new_store
from model.zfs import eras
from study.machines import compression, scenario, servers
from study.machines import simulate as machines

PACKED = scenario.of({"files": {"era": "openzfs", "compress_ratio": 9.0}, "pool": {"data": {"sheet": "savvio-10k2"}},
                      "database": {"kind": "postgres", "version": 15, "scale": 20, "transactions": 100}})
VALUES = machines.known([PACKED]).central()
KINDS, BYTES = [TABLE, INDEX, REST], np.array([860, 140, 0])


def ratios(changes: dict, **values: float) -> dict:
    """Of the log, of tables, of indexes, of what only grows."""
    packed = compression.ratios(scenario.changed(PACKED, changes), VALUES | values, KINDS, BYTES)
    return dict(zip(("log", "tables", "indexes", "rest"), packed, strict=True))


@example(whole=100, of_index=2.6, share=0)
@given(whole=st.floats(1.01, 100), of_index=st.floats(1, 100), share=st.floats(0, 0.9))
def test_tables_and_indexes_together_have_the_ratio_of_the_whole(whole, of_index, share):
    drawn = min(whole, of_index)
    of_index, of_tables = compression.of_indexes_and_tables(whole, drawn, share)
    assert share / of_index + (1 - share) / of_tables == pytest.approx(1 / whole)
    assert whole * (1 - 1e-9) <= of_tables <= compression.MAX_RATIO * (1 + 1e-9)
    assert of_index == drawn or of_tables == pytest.approx(compression.MAX_RATIO)


def test_every_kind_but_tables_packs_as_measured_and_tables_make_up_for_it():
    assert ratios({}) == pytest.approx({"log": 5.59, "tables": 14.96, "indexes": 2.61, "rest": 2.04}, rel=1e-3)
    small = {"files.record_kib": 8, "files.compress_ratio": 4.5}
    assert ratios(small) == pytest.approx({"log": 3.96, "tables": 5.991, "indexes": 1.78, "rest": 1.61}, rel=1e-3)


@given(st.floats(1.01, 100), st.sampled_from([8, 16, 32, 64, 128, 256]), st.floats(0.8, 1.8), st.floats(0.4, 1.5))
def test_nothing_packs_better_than_the_whole_but_tables(whole, record_kib, index, log):
    packed = ratios({"files.compress_ratio": whole, "files.record_kib": record_kib}, index_packs=index, log_packs=log)
    assert whole * (1 - 1e-9) <= packed.pop("tables") <= 101
    assert max(packed.values()) <= whole * (1 + 1e-9)


def test_a_log_without_images_packs_worse_and_one_that_postgres_has_packed_worst():
    plain, bare, packed = (ratios({f"database.conf.{name}": value})["log"] for name, value in (
        ("full_page_writes", True), ("full_page_writes", False), ("wal_compression", "lz4")))
    assert plain > bare > packed


def test_a_log_with_records_of_its_own_packs_by_their_size():
    assert ratios({"files.log_record_kib": 8})["log"] < ratios({})["log"]
    assert ratios({"files.log_record_kib": 8})["indexes"] == ratios({})["indexes"]


@pytest.mark.parametrize("changes", [{"files.compress_ratio": 1.0}, {"database": {"kind": "innodb"}}])
def test_files_are_alike_where_nothing_is_compressed_or_kinds_are_not_known(changes):
    machine = scenario.changed(PACKED, changes)
    assert not compression.differs(machine)
    assert compression.ratios(machine, {}, [], BYTES) is None
    assert "index_packs" not in machines.known([machine]).central()


@pytest.mark.parametrize(("record_kib", "whole", "within"), [(128, 9.0, 0.03), (32, 7.0, 0.05), (8, 4.5, 0.1)])
def test_the_files_of_a_store_take_together_what_the_scenario_says(record_kib, whole, within):
    """pgbench of scale 20, in whole sectors of 512 B."""
    machine = scenario.changed(PACKED, {"files.record_kib": record_kib, "files.compress_ratio": whole})
    database, settings = servers.postgres_database(machine, VALUES, 100), servers.postgres_settings(machine, VALUES, 100)
    files = machines.postgres_files(database, settings)
    kinds = kinds_of_files(database)
    of_file = machines.store(machine, VALUES, files, machines.n_processes_of(settings), 1, kinds=kinds).zfs.data.of_file
    on_disk = sum(n_bytes * row[fs.PSIZE] / min(record_kib * 1024, n_bytes)
                  for n_bytes, row in zip(files[1:, 0].tolist(), of_file[1:], strict=False) if n_bytes)
    assert files[1:, 0].sum() / on_disk == pytest.approx(whole, rel=within)
    assert len({int(row[fs.PSIZE]) for row, kind in zip(of_file[1:], kinds, strict=False) if kind in (TABLE, INDEX)}) >= 2


def test_a_file_takes_on_disk_what_its_ratio_says():
    files = [(2**20, 2**20, 8192)] * 3
    of_file = new_store(files, FileSettings(), eras.era("b111"), Pool(Group()), 2, ratios=[2.0, 4.0, 1.1]).data.of_file
    assert of_file[:3, fs.PSIZE].tolist() == [2**16, 2**15, 2**17]

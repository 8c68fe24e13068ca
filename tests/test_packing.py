"""How far compression shrinks each kind of file: together they shrink as the scenario says."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model import eras
from model.oltp_toolkit import INDEX, REST, TABLE, kinds_of_files
from model.zfs_files import Group, Pool, Settings, new_store
from model.zfs_files_machine import PSIZE
from study import machines, packing, scenario, servers

PACKED = scenario.of({"files": {"era": "openzfs", "compress_ratio": 9.0}, "pool": {"data": {"sheet": "savvio-10k2"}},
                      "database": {"kind": "postgres", "version": 15, "scale": 20, "transactions": 100}})
VALUES = machines.known([PACKED]).central()
KINDS, BYTES = [TABLE, INDEX, REST], np.array([860, 140, 0])


def left(changes: dict, **values: float) -> dict:
    """Of the log, of tables, of indexes, of what only grows, %."""
    found = packing.left(scenario.changed(PACKED, changes), VALUES | values, KINDS, BYTES)
    return dict(zip(("log", "tables", "indexes", "rest"), found, strict=True))


@given(whole=st.floats(1.01, 100), of_index=st.floats(1, 100), share=st.floats(0, 0.9))
def test_tables_and_indexes_together_have_the_ratio_of_the_whole(whole, of_index, share):
    said = min(whole, of_index)
    of_index, of_tables = packing.of_indexes_and_tables(whole, said, share)
    assert share / of_index + (1 - share) / of_tables == pytest.approx(1 / whole)
    assert whole * (1 - 1e-9) <= of_tables <= packing.MOST * (1 + 1e-9)
    assert of_index == said or of_tables == pytest.approx(packing.MOST)


def test_every_kind_but_tables_packs_as_measured_and_tables_make_up_for_it():
    assert left({}) == {"log": 18, "tables": 7, "indexes": 38, "rest": 49}
    assert left({"files.record_kib": 8, "files.compress_ratio": 4.5}) == {"log": 25, "tables": 17, "indexes": 56, "rest": 62}


@given(st.floats(1.01, 100), st.sampled_from([8, 16, 32, 64, 128, 256]), st.floats(0.8, 1.8), st.floats(0.65, 1.5))
def test_nothing_packs_better_than_the_whole_but_tables(whole, record_kib, index, log):
    found = left({"files.compress_ratio": whole, "files.record_kib": record_kib}, index_packs=index, log_packs=log)
    assert 1 <= found.pop("tables") <= round(100 / whole) <= min(found.values())


def test_a_log_without_images_packs_worse_and_so_does_one_that_postgres_has_packed():
    plain, bare, twice = (left({f"database.conf.{name}": value})["log"] for name, value in (
        ("full_page_writes", True), ("full_page_writes", False), ("wal_compression", "lz4")))
    assert plain < bare == twice


def test_a_log_with_records_of_its_own_packs_by_their_size():
    assert left({"files.log_record_kib": 8})["log"] > left({})["log"]
    assert left({"files.log_record_kib": 8})["indexes"] == left({})["indexes"]


@pytest.mark.parametrize("changes", [{"files.compress_ratio": 1.0}, {"database": {"kind": "innodb"}}])
def test_files_are_alike_where_nothing_is_compressed_or_kinds_are_not_known(changes):
    one = scenario.changed(PACKED, changes)
    assert not packing.differs(one)
    assert packing.left(one, {}, [], BYTES) is None
    assert "index_packs" not in machines.known([one]).central()


def test_the_store_has_each_file_as_short_as_its_kind():
    """pgbench of scale 20: three segments at least of tables and one of an index, on ZFS."""
    database = servers.postgres_database(PACKED, VALUES, 100)
    settings = servers.postgres_settings(PACKED, VALUES, 100)
    files = machines.postgres_files(database, settings)
    kinds = kinds_of_files(database)
    of_file = machines.store(PACKED, VALUES, files, machines.n_processes_of(settings), 1, kinds=kinds).zfs.data.of_file
    of_kind = {kind: {int(row[PSIZE]) for row, one in zip(of_file[1:], kinds, strict=False) if one == kind}
               for kind in (TABLE, INDEX)}
    assert max(of_kind[TABLE]) < 2**17 * 0.08
    assert min(of_kind[INDEX]) > 2**17 * 0.37


def test_what_compression_leaves_of_a_file_is_what_it_takes_on_disk():
    files = [(2**20, 2**20, 8192)] * 3
    of_file = new_store(files, Settings(), eras.era("b111"), Pool(Group()), 2, compress_pct=[50, 25, 100]).data.of_file
    assert of_file[:3, PSIZE].tolist() == [2**16, 2**15, 2**17]

"""The load of no benchmark: as large as it is said to be, and every page a different one."""
import numpy as np
import pytest

from model.databases.postgres import columns as pg
from model.databases.postgres.pgbench import FILE_SHIFT, INSERT, PAGE_BYTES, READ, UPDATE
from model.databases.postgres.toolkit import INDEX, REST, TABLE, kinds_of_files, toolkit

GIB = 2**30


@pytest.mark.parametrize("n_reads", [0, 1, 7])
@pytest.mark.parametrize("row_bytes", [20, 200, 1500])
def test_tables_and_indexes_are_the_working_set(n_reads, row_bytes):
    database = toolkit(2 * GIB, n_reads, 3, row_bytes, 10**6, 1000)
    held = database.relations[:-1, [pg.N_PAGES, pg.N_LEAVES]].sum() * PAGE_BYTES
    assert held == pytest.approx(2 * GIB, rel=0.005)


def test_a_transaction_does_what_it_is_told_to_each_row_in_a_table_of_its_own():
    database = toolkit(GIB, 4, 3, 200, 10**6, 1000)
    actions = database.statements[:, pg.ACTION].tolist()
    assert [actions.count(action) for action in (READ, UPDATE, INSERT)] == [4, 3, 1]
    touched = database.statements[np.isin(actions, (READ, UPDATE, INSERT)), pg.RELATION]
    assert len(set(touched.tolist())) == 8
    assert database.statements[:, pg.CPU_NS].sum() == pytest.approx(10**6, rel=1e-4)


def test_every_file_is_of_one_kind():
    database = toolkit(12 * GIB, 1, 1, 200, 10**6, 1000)
    kinds = kinds_of_files(database)
    for columns in database.relations[:-1]:
        for first, n, kind in ((pg.FIRST_PAGE, pg.N_PAGES, TABLE), (pg.FIRST_LEAF, pg.N_LEAVES, INDEX)):
            last = columns[first] + columns[n] - 1
            assert set(kinds[columns[first] >> FILE_SHIFT:(last >> FILE_SHIFT) + 1]) == {kind}
    assert kinds[database.relations[-1, pg.FIRST_PAGE] >> FILE_SHIFT] == REST
    assert len(kinds) == database.n_files


@pytest.mark.parametrize(("arguments", "words"), [
    ((GIB, 0, 0, 200), "reads 0 rows"), ((GIB, -1, 2, 200), "reads -1 rows"), ((1000, 1, 1, 200), "working set of 1000"),
    ((GIB, 1, 1, 9000), "rows of 9000")])
def test_what_cannot_be_is_one_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        toolkit(*arguments, 10**6, 1000)

"""RAID-Z as recorded: what blocks take, and the I/Os of children; what each rule decides, and tables that are wrong."""

import numpy as np
import pandas as pd
import pytest

from model.zfs.vdev import child_columns as piece
from model.zfs.vdev import raid
from study.errors import UserError
from study.project import DATA
from study.replays import raidz
from study.replays.raidz import compare_ios, compare_sizes
from study.replays.trace_file import Difference
from support.defects import defect

SIZES = DATA / "traces" / "raidz" / "raidz_asize.csv"
IOS = DATA / "traces" / "raidz" / "raidz_ios_141.parquet"


def test_every_size_and_every_io_is_the_models():
    sizes, ios = compare_sizes(SIZES), compare_ios(IOS)
    assert (sizes.differences, sizes.first, sizes.rows > 800) == (0, None, True)
    assert (ios.differences, ios.first, ios.rows > 5000) == (0, None, True)
    table = pd.read_parquet(IOS)
    assert set(table.parity) == {1, 2, 3}
    assert table.optional.sum() > 100


def single(vdev, psize):
    return raid._sectors(vdev, psize) << vdev.ashift


def unpadded(vdev, psize):
    n = raid._sectors(vdev, psize)
    return (raid._run_sectors(vdev, n) if vdev.kind == raid.RAIDZ else n) << vdev.ashift


def parity_once(vdev, psize):
    n = raid._sectors(vdev, psize)
    return (raid._padded_sectors(vdev, n + vdev.n_parity) if vdev.kind == raid.RAIDZ else n) << vdev.ashift


def of_512(vdev, psize):
    return raid.asize(vdev._replace(ashift=9), psize)


@pytest.mark.parametrize("by", [single, unpadded, parity_once, of_512])
def test_the_recorded_sizes_notice(by):
    with defect(raidz, "asize", by):
        assert compare_sizes(SIZES).differences > 50


def changed(table, ios, n):
    ios[:n] = table[:n]
    return n


def first_column_first(vdev, offset, psize, ios):
    n = raid.read_ios(vdev, offset, psize, ios)
    return changed(ios[:n][::-1].copy(), ios, n)


def parity_is_read(vdev, offset, psize, ios):
    n = raid.write_ios(vdev, offset, psize, raid.PADDING_NEVER, ios)
    return changed(ios[:n][::-1].copy(), ios, n)


def never_swapped(vdev, offset, psize, padding, ios):
    """As if bit 20 were not set: 1 MiB lower, moved to where the block is."""
    if vdev.n_parity != 1 or not offset >> raid.SWAP_BIT & 1:
        return raid.write_ios(vdev, offset, psize, padding, ios)
    n = raid.write_ios(vdev, offset, psize, padding, ios)
    ios[:2, [piece.CHILD, piece.OFFSET]] = ios[1::-1, [piece.CHILD, piece.OFFSET]]
    return n


def data_before_parity(vdev, offset, psize, padding, ios):
    n = raid.write_ios(vdev, offset, psize, padding, ios)
    columns = int((ios[:n, piece.IS_PADDING] == 0).sum())
    ios[:columns] = np.roll(ios[:columns], -vdev.n_parity, axis=0)
    return n


def padding_never(vdev, offset, psize, padding, ios):
    return raid.write_ios(vdev, offset, psize, raid.PADDING_NEVER, ios)


def padding_with_columns(vdev, offset, psize, padding, ios):
    return raid.write_ios(vdev, offset, psize, raid.PADDING_WITH_COLUMNS, ios)


@pytest.mark.parametrize(("name", "by"), [
    ("read_ios", first_column_first), ("read_ios", parity_is_read), ("write_ios", never_swapped),
    ("write_ios", data_before_parity), ("write_ios", padding_never), ("write_ios", padding_with_columns)])
def test_the_recorded_ios_notice(name, by):
    with defect(raidz, name, by):
        assert compare_ios(IOS).differences > 20


def test_without_padding_an_older_build_is_as_recorded(tmp_path):
    """Up to two columns of parity, b103 makes the same I/Os, but for optional ones."""
    table = pd.read_parquet(IOS)
    table[(table.optional == 0) & (table.parity < 3)].to_parquet(tmp_path / "raidz_ios_103.parquet", index=False)
    assert compare_ios(tmp_path / "raidz_ios_103.parquet").differences == 0


@pytest.mark.parametrize("name", ["child", "coff512", "csize512", "optional"])
def test_an_altered_io_is_named(tmp_path, name):
    table = pd.read_parquet(IOS)
    was = int(table.loc[700, name])
    table.loc[700, name] = now = 1 - was if name == "optional" else was + 1
    path = tmp_path / "raidz_ios_141.parquet"
    table.to_parquet(path)
    comparison = compare_ios(path)
    assert (comparison.differences, comparison.first) == (1, Difference(700, name, now, was))


def test_an_io_that_is_missing_is_named(tmp_path):
    table = pd.read_parquet(IOS)
    last = int(np.flatnonzero(table.i == 0)[200]) - 1
    table.drop(index=last).to_parquet(tmp_path / "raidz_ios_141.parquet", index=False)
    first = compare_ios(tmp_path / "raidz_ios_141.parquet").first
    assert first == Difference(last - 1, "i", int(table.i[last]) - 1, int(table.i[last]))


@pytest.mark.parametrize(("spoil", "says"), [
    (lambda t: t.assign(parity=4), "row 0 has 4 in column parity, but it must be from 1 to 3"),
    (lambda t: t.assign(width=1), "in row 0 n_children of a vdev of kind raidz1 is 1"),
    (lambda t: t.assign(i=t.i + 1), "row 0 is I/O 1 of a block, but should be 0"),
    (lambda t: t.assign(off512=range(len(t))), "row 1 is I/O 1 of a block, but should be 1 of the block of the row before"),
    (lambda t: t.drop(columns="child"), "has no column child"),
])
def test_ios_that_cannot_be_are_one_sentence(tmp_path, spoil, says):
    path = tmp_path / "raidz_ios_141.parquet"
    spoil(pd.read_parquet(IOS)).to_parquet(path, index=False)
    with pytest.raises(UserError, match=says):
        compare_ios(path)


def test_a_table_without_a_build_in_its_name_is_one_sentence(tmp_path):
    pd.read_parquet(IOS).to_parquet(tmp_path / "mine.parquet")
    with pytest.raises(UserError, match=r"does not end with a known build, .*; name it raidz_ios_141\.parquet or the like"):
        compare_ios(tmp_path / "mine.parquet")


@pytest.mark.parametrize(("spoil", "says"), [
    (lambda t: t.assign(kind="raidz9"), "in row 0 kind of the vdev is 'raidz9', which is unknown"),
    (lambda t: t.assign(parity=2), "row 0 has parity 2, but a vdev of its kind has 0; mend the row"),
    (lambda t: t.assign(psize=0), "row 0 has 0 in column psize"),
    (lambda t: t.drop(columns="asize"), "has no column asize"),
])
def test_sizes_that_cannot_be_are_one_sentence(tmp_path, spoil, says):
    path = tmp_path / "raidz_asize.csv"
    spoil(pd.read_csv(SIZES)).to_csv(path, index=False)
    with pytest.raises(UserError, match=says):
        compare_sizes(path)


def test_an_altered_size_is_named(tmp_path):
    table = pd.read_csv(SIZES)
    table.loc[9, "asize"] += 512
    table.to_csv(tmp_path / "sizes.csv", index=False)
    comparison = compare_sizes(tmp_path / "sizes.csv")
    assert (comparison.differences, comparison.first.row, comparison.first.column) == (1, 9, "asize")

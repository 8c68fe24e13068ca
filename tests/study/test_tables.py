"""A comma at the end of every row is no value; at the end of some rows it is one too many."""
import gzip

import pyarrow as pa
import pytest

from study import tables as table_file
from study.errors import UserError

OF_ALL = ["a,b\n1,2,\n3,4,\n", "a,b,\n1,2,\n3,4,\n", "a;b\n1;2;\n\n3;4; # as above\n", "# two\na\tb\n1\t2\t\r\n3\t4\t\r\n",
          'a,b\n1,2,""\n3,4,\n']
OF_SOME = ["a,b\n1,2,\n3,4\n", "a,b\n3,4\n1,2,\n", "a;b\n1;2;\n3;4\n", "a,b\n1,5,   \n2,4\n", "a,b\n1,5,# half\n2,4\n"]


def read(path, content):
    path.write_bytes(content)
    return table_file.read(path, "the table", "give a CSV")[["a", "b"]].values.tolist()


@pytest.mark.parametrize("text", OF_ALL)
def test_a_comma_at_the_end_of_every_row_changes_nothing(tmp_path, text):
    assert read(tmp_path / "t.csv", text.encode()) == [[1, 2], [3, 4]]


@pytest.mark.parametrize("text", OF_SOME)
def test_a_blank_value_that_only_some_rows_have_is_refused(tmp_path, text):
    with pytest.raises(UserError, match=r"more values than its header has names|Expected 2 fields"):
        read(tmp_path / "t.csv", text.encode())


@pytest.mark.parametrize(("name", "packed"), [
    ("t.csv.gz", gzip.compress), ("t.csv.zst", lambda content: pa.Codec("zstd").compress(content, asbytes=True))])
def test_what_is_compressed_is_the_same(tmp_path, name, packed):
    assert read(tmp_path / name, packed(OF_ALL[0].encode())) == [[1, 2], [3, 4]]
    with pytest.raises(UserError, match="more values than its header has names"):
        read(tmp_path / name, packed(OF_SOME[0].encode()))

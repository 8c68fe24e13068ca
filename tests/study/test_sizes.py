"""Sizes as they are written: one reading of each form, by every command."""
import pytest
from conftest import one_sentence
from typer.testing import CliRunner

from study.commands import main as cli
from study.errors import UserError
from study.sizes import size_of


@pytest.mark.parametrize(("text", "n_bytes"), [
    *((text, 8192) for text in ("8K", "8KB", "8KiB", "8k", "8kB", "8 KiB", " 8192 ", "8192B", "8.0K")),
    ("64MiB", 2**26), ("64M", 2**26), ("1.5T", 3 * 2**39), ("4611686018427387903", 2**62 - 1), ("0", 0)])
def test_k_is_1024_in_every_form(text, n_bytes):
    assert size_of(text, "record") == n_bytes


@pytest.mark.parametrize("text", ["", "-8K", "8iB", "8X", "K", "8KK", "1e3", "nan", "8KiBs"])
def test_what_is_no_size_gets_one_sentence(text):
    with pytest.raises(UserError, match=r"the record is '.*', which is no size; write it like 8K or 8KiB, both 8192 bytes"):
        size_of(text, "record")


def test_commands_read_them_alike(study, tmp_path):
    for text in ("3K", "3KB", "3KiB"):
        result = CliRunner().invoke(cli.app, ["pool", "--fill", "0.8", "--fragmentation", "40", "--record", "200" + text])
        assert "the record is 2051072 bytes" in str(result.exception), text
        done = study("replay", "alloc", "data/traces/alloc/l2_D__ops.parquet", "--variant", "141_df", "--metaslabs", "2",
                     "--metaslab-size", text)
        assert "metaslab size is 3072 B, but it must be a power of two" in one_sentence(done)

"""Files of a user's that have no end, or are far too large to be meant."""
import os

import pytest
from conftest import one_sentence

from study import given_files
from study.errors import UserError
from study.project import DATA

NOTEBOOK = "00_claims"


@pytest.mark.parametrize("words", [
    ("predict", "/dev/zero", "--dry-run"), ("advise", "--hardware", "/dev/zero"), ("pool", "/dev/urandom"),
    ("run", NOTEBOOK, "--params", "/dev/zero")])
def test_a_device_is_not_read(study, words):
    assert "is a device, which is not read" in one_sentence(study(*words))


def test_a_file_that_is_far_too_large_is_not_read(study, tmp_path):
    image = tmp_path / "disk.img"
    image.touch()
    os.truncate(image, 2**40)
    for words in ("predict",), ("advise", "--hardware"), ("pool",), ("run", NOTEBOOK, "--params"):
        assert f"disk.img has {2**40} bytes, but what is read here has" in one_sentence(study(*words, image))


def test_what_has_an_end_or_is_not_there_passes(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "nowhere", tmp_path, DATA / "priors.toml", os.devnull):
        given_files.refuse_endless(path, given_files.TEXT)
    with pytest.raises(UserError, match="at most"):
        given_files.refuse_endless(DATA / "priors.toml", 10)

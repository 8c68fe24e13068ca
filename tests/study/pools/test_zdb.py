"""What zdb prints of a pool's free space, in each of its forms. The samples are made up after the format."""
import contextlib
import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from study.errors import UserError
from study.pools import zdb
from study.sizes import size_of

SAMPLES = Path(__file__).parent / "zdb"
MIB = 2**20


def sample(name):
    return zdb.read(SAMPLES / f"{name}.txt")


def test_the_form_of_2007_has_offsets_and_free_space():
    slabs = sample("onnv_69")
    assert [slab.offset for slab in slabs] == [0, 256 * MIB, 512 * MIB]
    assert [slab.free_bytes for slab in slabs] == [100 * MIB, round(20.5 * MIB), 256 * MIB]
    assert [slab.is_used for slab in slabs] == [True, True, False]
    assert all(slab.size_bytes == 256 * MIB and slab.histogram is None and slab.n_segments is None for slab in slabs)


def test_the_form_of_2010_has_segments_too():
    slabs = sample("onnv_147_mm")
    assert [(slab.n_segments, slab.largest_bytes, slab.free_pct) for slab in slabs] == [
        (4096, 512 * 1024, 25), (12, 150 * MIB, 75), (1, 256 * MIB, 100)]
    assert all(slab.size_bytes == 256 * MIB for slab in slabs)


def test_each_vdev_has_its_own_metaslabs():
    assert [(slab.vdev, slab.offset) for slab in sample("openzfs_m")] == [(0, 0), (0, 64 * MIB), (1, 0), (1, 64 * MIB)]


def test_the_form_of_today_has_a_histogram():
    first, second = sample("openzfs_mm")
    assert first.histogram == {12: 1024, 13: 768, 14: 300, 15: 0, 16: 20}
    assert (first.fragmentation, second.fragmentation) == (88, None)    # 2^64 - 1: not known
    assert second.histogram == {24: 2, 23: 3}


def test_the_histogram_in_memory_is_taken_before_the_one_on_disk():
    only, = sample("openzfs_mmm")
    assert only.histogram == {13: 384, 14: 100, 15: 20, 16: 4, 20: 4}
    assert sum(only.histogram.values()) == only.n_segments
    assert only.fragmentation == 70


def test_a_single_metaslab_has_its_size_from_its_free_percentage():
    assert sample("openzfs_mmm")[0].size_bytes == 64 * MIB


def test_a_part_of_a_vdev_has_metaslabs_of_the_same_size():
    """As `zdb -mm POOL 0 0 2 4` prints it; a number above 0 is enough."""
    for part in ((0, 2, 4), (4, 2), (3, 5), (7,)):
        slabs = zdb.parse(HEAD + "".join(LINE.format(m, m * 2**26, "20M") for m in part), "sample")
        assert {slab.size_bytes for slab in slabs} == {64 * MIB}, part


@pytest.mark.parametrize("purpose", ["special", "dedup", "log"])
def test_a_vdev_with_a_purpose_is_told_apart(purpose):
    """Also if one metaslab is all that is printed of it."""
    more = f"\tvdev          1   {purpose}   ms_unflushed_phys object 3\n" + LINE.format(0, 0, "60M")
    slabs = zdb.parse(HEAD + LINE.format(0, 0, "20M") + LINE.format(1, 2**26, "60M") + more + "\tvdev          2\n"
                      + LINE.format(0, 0, "20M") + LINE.format(1, 2**27, "64M"), "sample")
    assert [(slab.vdev, slab.purpose, slab.size_bytes) for slab in slabs] == [
        (0, "", 64 * MIB), (0, "", 64 * MIB), (2, "", 128 * MIB), (2, "", 128 * MIB), (1, purpose, 0)]
    with pytest.raises(UserError, match="no line of a metaslab of a vdev for all data"):
        zdb.parse(more, "sample")


def test_on_draid_a_metaslab_begins_with_a_whole_stripe():
    """The next multiple of the stripe: 12 sectors of 4 KiB."""
    stripe, text = 12 * 4096, HEAD
    for m in range(5):
        text += LINE.format(m, -(-m * 64 * MIB // stripe) * stripe, "20M")
    assert {slab.size_bytes for slab in zdb.parse(text, "sample")} == {64 * MIB}


@given(st.integers(0, 60), st.integers(0, 99))
def test_a_number_is_read_to_three_digits(power, tenths):
    exact = int(2**power * (1 + tenths / 100))
    unit = max(0, (exact.bit_length() - 1) // 10)
    printed = f"{exact / 1024**unit:.2f}{'KMGTPE'[unit - 1]}" if unit else str(exact)
    assert size_of(printed, "size") == pytest.approx(exact, rel=0.01)


HEAD = "\tvdev          0\n"
COUNTED = "\tmetaslabs {:5d}   offset                spacemap          free\n"
LINE = "\tmetaslab {0:6d}   offset {1:12x}   spacemap     27   free    {2}\n"


@pytest.mark.parametrize(("text", "match"), [
    ("", "no line of a metaslab"),
    ("pool: tank\n state: ONLINE\n", "no line of a metaslab"),
    (HEAD + LINE.format(0, 0, "64M"), "a single metaslab of vdev 0"),
    (HEAD + LINE.format(0, 0, "64M") + LINE.format(1, 0, "64M"), "twice"),
    (HEAD + LINE.format(0, 0, "1.00G") + LINE.format(1, 2**26, "64M"), "1073741824 bytes free of 67108864"),
    (HEAD + LINE.format(0, 0, "1.00M") + "\tOn-disk histogram:\n\t\t\t 20:   3 **\n" + LINE.format(1, 2**26, "64M"),
     "3145728 bytes in its histogram"),
    (HEAD + LINE.format(0, 0, "64M") + "\n" + HEAD + LINE.format(1, 2**26, "64M"), "has vdev 0 twice, of two pools"),
    ("\tvdev          0\t\tmetaslabs  116\t\tfragmentation 47%\n\t\t\t 12:  70144 ****\n", "is what `zdb -M` prints"),
    ("# zdb -mm tank\nzdb: can't open 'tank': No such file or directory\n", "complaint \"can't open 'tank'\"; name its"),
    ("NAME   SIZE  ALLOC   FREE  EXPANDSZ   FRAG    CAP  DEDUP\ntank  19.9G   780M  19.1G         -     3%     3%  1.00x\n",
     "is what `zpool list` prints; give its CAP and FRAG"),
    ("Dataset alpha/data [ZPL], ID 17529, cr_txg 14065881, 98.6G, 78176 objects\n", "is what `zdb` prints of a dataset"),
    (HEAD + LINE.format(0, 0, "1.00M") + "\t segments  3   maxsize  2.00M   freepct  1%\n" + LINE.format(1, 2**26, "64M"),
     "a segment of 2097152 bytes"),
    (HEAD + LINE.format(0, 0, "1.00M") + LINE.format(1, 5 * 2**24, "64M") + LINE.format(2, 2**27, "64M"),
     "has number 1 and does not begin at a multiple of 67108864 bytes"),
    ("\tvdev 0\n\t  0   27   1.00M\n\t 3000000   28   1.00M\n", "does not begin at a multiple of 33554432 bytes"),
    (HEAD + LINE.format(0, 0, "1K") + LINE.format(1, 2**13, "1K"), "has 8192 bytes, but metaslabs have 2.17"),
    (HEAD + LINE.format(0, 0, "1P") + LINE.format(1, 2**53, "1P"), "ends at 18014398509481984 bytes"),
    (HEAD + LINE.format(0, 0, "1.00M") + "\tOn-disk histogram:\n\t\t\t 999999999:   3 **\n" + LINE.format(1, 2**26, "64M"),
     "segments of 2.999999999 bytes"),
    (HEAD + LINE.format(0, 0, "1.00M") + "\t segments  9999   maxsize  2.00K   freepct  1%\n" + LINE.format(1, 2**26, "64M"),
     "9999 free segments"),
    (HEAD + LINE.format(0, 0, "20M") + LINE.format(1, 2**26, "13"), "'13' without a unit"),
    (HEAD + LINE.format(0, 0, "20M") + LINE.format(1, 2**26, "1.5"), "'1.5' without a unit"),
    (HEAD + LINE.format(0, 0, "20M") + LINE.format(1, 2**26, "20M")[:-9], "line 3: 'metaslab      1   offset .* is cut"),
    (HEAD + LINE.format(0, 0, "20M") + ">" + LINE.format(1, 2**26, "20M"), "line 3: '>"),
    (HEAD + LINE.format(0, 0, "20M") + LINE.format(1, 2**26, "2,5M"), "2,5M' is cut"),
    (HEAD + COUNTED.format(1) + LINE.format(0, 0, "20M") + LINE.format(1, 2**26, "20M"),
     "has number 1, but the header above it counts 1 metaslabs"),
    (HEAD + LINE.format(0, 0, "20M") + "12:" + LINE.format(1, 2**26, "20M"), "line 3: '12:"),
])
def test_what_cannot_be_gets_one_sentence(text, match):
    with pytest.raises(UserError, match=match) as error:
        zdb.parse(text, "sample")
    assert "\n" not in str(error.value)


@given(st.sampled_from([path.stem for path in sorted(SAMPLES.glob("*.txt"))]), st.integers(0, 200),
       st.sampled_from(["0", "7", "63", "64", "999999999", "9" * 18, "9" * 30, "9" * 5000, "-1", "1E", "f" * 16, "x"]))
def test_a_number_that_was_damaged_is_read_or_refused_in_a_sentence(name, which, damaged):
    numbers = [*re.finditer(r"\b[0-9a-f]+\b", text := (SAMPLES / f"{name}.txt").read_text())]
    number = numbers[which % len(numbers)]
    with contextlib.suppress(UserError):
        slabs = zdb.parse(text[:number.start()] + damaged + text[number.end():], "sample")
        assert all(0 <= slab.free_bytes <= 1.02 * slab.size_bytes <= 2**54 for slab in slabs)


MEMORY = ("\t                  segments {}   maxsize    496K   freepct   {}%\n\tIn-memory histogram:\n"
          "\t\t\t 12:    {} **\n\t\t\t 18:      7 *\n\tOn-disk histogram:\t\tfragmentation 58\n\t\t\t 12:    135 **\n")


@pytest.mark.parametrize(("on_disk", "n", "pct", "low", "high"), [
    ("5.20M", 2048, 15, 9.75, 10.24),       # more is free in memory: freepct says how much
    ("20.0M", 2048, 15, 9.75, 10.24),       # less is
    ("10.0M", 2048, 15, 10, 10),            # what is printed agrees with memory
])
def test_what_is_in_memory_is_held_to_its_own_account(on_disk, n, pct, low, high):
    """In log space maps changes wait that `free` does not have."""
    text = HEAD + LINE.format(0, 0, on_disk) + MEMORY.format(n + 7, pct, n) + LINE.format(1, 2**26, "64M")
    slab, _ = zdb.parse(text, "sample")
    assert low * MIB <= slab.free_bytes <= high * MIB
    assert slab.histogram == {12: n, 18: 7}


@pytest.mark.parametrize(("on_disk", "low", "high"), [("1.00M", 8, 16), ("40.0M", 8, 16), ("10.0M", 10, 10)])
def test_a_histogram_on_disk_has_what_waits_in_log_space_maps(on_disk, low, high):
    """metaslab_sync writes it from memory, and the changes themselves to the log."""
    head = "\tvdev          0      ms_unflushed_phys object 58\n"
    text = head + LINE.format(0, 0, on_disk) + "\tOn-disk histogram:\n\t\t\t 20:   8 **\n" + LINE.format(1, 2**26, "64M")
    slab, _ = zdb.parse(text, "sample")
    assert low * MIB <= slab.free_bytes <= high * MIB
    assert slab.is_by_histogram == (on_disk != "10.0M")


def test_a_histogram_in_memory_without_rows_says_nothing():
    text = HEAD + LINE.format(0, 0, "20M") + "\tIn-memory histogram:\n" + LINE.format(1, 2**26, "64M")
    assert zdb.parse(text, "sample")[0].free_bytes == 20 * MIB


def test_a_vdev_has_as_many_metaslabs_as_its_header_says():
    slabs = zdb.parse(HEAD + COUNTED.format(115) + LINE.format(0, 0, "20M") + LINE.format(1, 2**26, "64M"), "sample")
    assert [slab.of_vdev for slab in slabs] == [115, 115]


def test_what_is_compressed_or_from_windows_is_read_all_the_same(tmp_path):
    text = (SAMPLES / "openzfs_mm.txt").read_text()
    (tmp_path / "a.txt").write_bytes(text.replace("\n", "\r\n").encode())
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "b.txt").write_bytes(text.encode("utf-16"))
    (tmp_path / "c.txt").write_bytes(text.encode("utf-8-sig"))
    for name in ("a.txt", "a.txt.gz", "b.txt", "c.txt"):
        assert zdb.read(tmp_path / name) == sample("openzfs_mm"), name


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "pool.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="is not text"):
        zdb.read(path)


@pytest.mark.parametrize("pasted", [
    lambda text: "".join(f"> {line}" for line in text.splitlines(keepends=True)),
    lambda text: text.replace("\t", "&nbsp;" * 4),
    lambda text: "".join(f"# {line}" for line in text.splitlines(keepends=True)), lambda text: text.replace("\t", " " * 8),
    lambda text: text.replace("   free ", "\n   free "), lambda text: "$ zdb -mc tank | head\n\n" + text,
    lambda text: "\n".join(" ".join(line.split()) for line in text.splitlines())],
    ids=["quoted", "web page", "commented", "blanks", "wrapped", "prompt", "collapsed"])
def test_what_was_sent_on_is_read_all_the_same(tmp_path, pasted):
    text = HEAD + COUNTED.format(3) + "".join(LINE.format(i, i * 2**26, "2.50M") + "\tOn-disk histogram:\n"
                                              "\t\t\t 12:    40 ****\n\t\t\t 17:     9 *\n" for i in range(3))
    (tmp_path / "pasted.txt").write_text(pasted(text))
    assert zdb.read(tmp_path / "pasted.txt") == zdb.parse(text, "whole")


def test_metaslabs_from_the_middle_of_an_output_are_of_no_known_vdev():
    text = LINE.format(92, 92 * 2**26, "2.50M") + LINE.format(93, 93 * 2**26, "2.50M")
    assert not any(slab.has_header for slab in zdb.parse(text, "middle"))
    assert all(slab.has_header for slab in zdb.parse(HEAD + text, "whole"))


ENDED = "space map object 78:\n  smp_length = 0x6e140\n  smp_alloc = 0x1000\n"
CUT = "\tOn-disk histogram:\t\tfragmentation 57\n\t\t\t 12:   120 ****\n"


@pytest.mark.parametrize("head", [HEAD, "\tvdev          0      ms_unflushed_phys object 70\n"], ids=["plain", "log"])
def test_a_histogram_that_the_text_ends_in_is_not_taken(head):
    """The last of a paste: of 30 MiB that are free the first row has one at most."""
    whole = LINE.format(0, 0, "2.00M") + "\tOn-disk histogram:\n\t\t\t 20:   1 *\n" + ENDED
    first, last = zdb.parse(head + whole + LINE.format(1, 2**26, "30M") + CUT, "cut")
    assert (first.histogram, first.is_cut) == ({20: 1}, False)
    assert (last.histogram, last.fragmentation, last.free_bytes, last.sector_bytes) == (None, 57, 30 * MIB, 4096)
    assert (last.is_cut, last.is_by_histogram) == (True, False)


@pytest.mark.parametrize(("free", "end", "of_first"), [
    ("0.80M", "", ENDED),       # the rows have what is free
    ("30M", ENDED, ENDED),      # the line that ends a metaslab is there
    ("30M", "\tFlush data:\n\tunflushed txg=0\n", ENDED),      # so it is of one without a space map
    ("30M", "", ""),            # an old zdb, which prints none
])
def test_a_last_histogram_is_taken_where_nothing_tells_that_it_is_cut(free, end, of_first):
    whole = LINE.format(0, 0, "2.00M") + "\tOn-disk histogram:\n\t\t\t 20:   1 *\n" + of_first
    last = zdb.parse(HEAD + whole + LINE.format(1, 2**26, free) + CUT + end, "whole")[1]
    assert (last.histogram, last.is_cut) == ({12: 120}, False)

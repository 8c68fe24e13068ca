"""Closed forms of requests and blocks, beside a twin that looks at every byte."""
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.zfs.dmu import straddling
from model.zfs.dmu.straddling import Ios, Touched

BLOCKS = st.sampled_from([512, 1024, 2048, 4096])
OFFSETS, SIZES = st.integers(0, 12_000), st.integers(1, 12_000)


def by_bytes(offset, n_bytes, block_bytes):
    """{block: bytes of it that the request touches}"""
    return Counter((offset + i) // block_bytes for i in range(n_bytes))


def twin_ios(requests, block_bytes, is_write, cached):
    """Reads and writes of the pool, request by request and byte by byte."""
    in_core, dirty, reads = set(cached), set(), 0
    for offset, n_bytes in requests:
        for block, n in by_bytes(offset, n_bytes, block_bytes).items():
            reads += block not in in_core and (not is_write or n < block_bytes)
            if is_write:
                dirty.add(block)
                in_core.add(block)
    return Ios(reads, len(dirty))


@given(OFFSETS, SIZES, BLOCKS)
@settings(max_examples=150, deadline=None)
def test_touched_blocks_are_those_of_the_bytes(offset, n_bytes, block_bytes):
    blocks = by_bytes(offset, n_bytes, block_bytes)
    assert straddling.touched(offset, n_bytes, block_bytes) == Touched(
        min(blocks), len(blocks), sum(n < block_bytes for n in blocks.values()))


@given(OFFSETS, SIZES, BLOCKS, st.booleans(), st.frozensets(st.integers(0, 24), max_size=12))
@settings(max_examples=150, deadline=None)
def test_ios_of_a_request_are_those_of_the_bytes(offset, n_bytes, block_bytes, is_write, cached):
    assert straddling.ios(offset, n_bytes, block_bytes, is_write, cached) == twin_ios(
        [(offset, n_bytes)], block_bytes, is_write, cached)


@given(OFFSETS, st.integers(1, 6000), BLOCKS, st.integers(1, 8))
@settings(max_examples=150, deadline=None)
def test_ios_of_a_stream_are_those_of_the_bytes(offset, n_bytes, block_bytes, n):
    requests = [(offset + i * n_bytes, n_bytes) for i in range(n)]
    assert straddling.stream_ios(offset, n_bytes, block_bytes, n) == twin_ios(requests, block_bytes, True, set())
    assert straddling.gathered_ios(offset, n_bytes, block_bytes, n) == twin_ios(
        [(offset, n * n_bytes)], block_bytes, True, set())


@given(OFFSETS, st.integers(1, 6000), BLOCKS, st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_gathering_a_group_never_costs_a_read(offset, n_bytes, block_bytes, n):
    gathered, as_it_is = (of(offset, n_bytes, block_bytes, n) for of in (straddling.gathered_ios, straddling.stream_ios))
    assert gathered.writes == as_it_is.writes
    assert gathered.reads <= as_it_is.reads


@given(OFFSETS, SIZES, BLOCKS, st.booleans(), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_expected_ios_lie_between_nothing_and_all_in_core(offset, n_bytes, block_bytes, is_write, share):
    reads, writes = straddling.expected_ios(offset, n_bytes, block_bytes, is_write, share)
    cold = straddling.ios(offset, n_bytes, block_bytes, is_write)
    assert (reads, writes) == (pytest.approx((1 - share) * cold.reads), cold.writes)


@given(st.integers(0, 60), st.sampled_from([512, 1024, 4096, 8192]), BLOCKS)
@settings(max_examples=120, deadline=None)
def test_requests_straddle_unless_their_own_borders_are_those_of_blocks(sectors, n_bytes, block_bytes):
    """Requests of a power of two meet the borders of blocks if the start is a multiple of the smaller of both."""
    offset = 512 * sectors
    assert straddling.straddles(offset, n_bytes, block_bytes) == (offset % min(n_bytes, block_bytes) != 0)
    there = straddling.next_aligned(offset, block_bytes)
    assert offset <= there < offset + block_bytes
    assert not straddling.straddles(there, n_bytes, block_bytes)


def test_the_documents_own_example():
    """A start at a multiple of 16 sectors is aligned for 8 KiB; one at sector 63 puts each block across two."""
    assert not straddling.straddles(16 * 512, 8192, 8192)
    assert straddling.touched(63 * 512, 8192, 8192) == Touched(3, 2, 2)
    assert straddling.ios(63 * 512, 8192, 8192, is_write=True) == Ios(2, 2)
    assert straddling.ios(0, 8192, 8192, is_write=True) == Ios(0, 1)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: straddling.touched(-512, 8192, 8192), "the offset is -512 B"),
    (lambda: straddling.touched(0, 0, 8192), "the request has 0 B"),
    (lambda: straddling.touched(0, 8192, 0), "the block is 0 B"),
    (lambda: straddling.touched(0, 8192, 12_288), "the block is 12288 B"),
    (lambda: straddling.expected_ios(0, 8192, 8192, True, 1.5), "cached_share is 1.5"),
    (lambda: straddling.stream_ios(0, 8192, 8192, 0), "there are 0 requests")])
def test_what_cannot_be_is_one_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()

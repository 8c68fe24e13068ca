"""Requests to a LUN through the simulation of ZFS, beside closed forms of blocks (`model.zfs.dmu.straddling`)."""
import numpy as np
import pytest

from model.devices.ssd import SsdParams
from model.filesystems.calls import READ, WRITE, WRITE_THROUGH
from model.filesystems.zfs.new_store import new_store
from model.filesystems.zfs.state import FileSettings, Group, Pool
from model.simulations import block_requests
from model.simulations import request_columns as request
from model.simulations.block_requests import Settings
from model.zfs.dmu import straddling
from model.zfs.eras import era

LUN, KIB = 2**26, 2**10
DEVICE = SsdParams(disk_bytes=2**32)


def run(requests, block_bytes=8 * KIB, n_clients=1, is_warm=0, seconds=600.0, on_zvol=1,
        device=DEVICE):
    s = FileSettings(record_bytes=block_bytes, log_record_bytes=block_bytes, on_zvol=on_zvol, memory_bytes=2**32,
                     arc_max_bytes=2**29, is_warm=is_warm, prefetch=0)
    store = new_store(block_requests.files_of(LUN, block_bytes), s, era("b141"), Pool(Group(device)), n_clients)
    return block_requests.simulate(np.array(requests, np.int64), Settings(n_clients, int(seconds * 1e9)), store, LUN)


def stream(offset, n_bytes, n, operation=WRITE):
    return [(operation, offset + i * n_bytes, n_bytes) for i in range(n)]


@pytest.mark.parametrize("operation", [WRITE, WRITE_THROUGH])
@pytest.mark.parametrize(("offset", "n_bytes", "block_bytes"), [
    (0, 8 * KIB, 8 * KIB), (63 * 512, 8 * KIB, 8 * KIB), (512, 64 * KIB, 8 * KIB), (0, 32 * KIB, 128 * KIB),
    (4 * KIB, 4 * KIB, 8 * KIB), (17 * KIB, 3 * KIB, 16 * KIB)])
def test_a_stream_reads_and_touches_what_the_closed_form_says(offset, n_bytes, block_bytes, operation):
    n = 40
    seen = run(stream(offset, n_bytes, n, operation), block_bytes)
    expected = straddling.stream_ios(offset, n_bytes, block_bytes, n)
    assert seen.counts["read_first"] == seen.counts["data_reads"] == expected.reads
    assert seen.counts["pieces"] == sum(
        straddling.touched(offset + i * n_bytes, n_bytes, block_bytes).n_blocks for i in range(n))


def test_requests_at_random_read_each_block_once_and_no_block_that_is_covered():
    rng = np.random.default_rng(3)
    offsets = 512 * rng.integers(0, LUN // 512 - 64, 300)
    sizes, kinds = 512 * rng.integers(1, 64, 300), rng.choice([READ, WRITE, WRITE_THROUGH], 300)
    in_core, reads = set(), 0
    for operation, offset, n_bytes in zip(kinds, offsets, sizes, strict=True):
        first, n_blocks, _ = straddling.touched(int(offset), int(n_bytes), 8 * KIB)
        reads += straddling.ios(int(offset), int(n_bytes), 8 * KIB, operation != READ, frozenset(in_core)).reads
        in_core |= set(range(first, first + n_blocks))
    assert run(np.column_stack((kinds, offsets, sizes))).counts["data_reads"] == reads


def test_what_is_in_memory_is_not_read():
    seen = run(stream(63 * 512, 8 * KIB, 100), is_warm=1)
    assert seen.counts["data_reads"] == 0
    assert seen.counts["pieces"] == 200


@pytest.mark.parametrize("n_clients", [1, 7])
def test_littles_law_holds_exactly(n_clients):
    """Nobody thinks: so many requests are under way at every moment, until the table ends."""
    rng = np.random.default_rng(1)
    places = rng.integers(0, LUN // (8 * KIB), 400) * 8 * KIB
    table = run([(READ, place, 8 * KIB) for place in places], n_clients=n_clients).table
    last_begun = table[:, request.BEGAN].max()
    spent = np.minimum(table[:, request.ENDED], last_begun) - table[:, request.BEGAN]
    assert spent.sum() == n_clients * last_begun


def test_a_misaligned_write_waits_for_what_it_reads():
    def time_of(offset):
        table = run(stream(offset, 8 * KIB, 50, WRITE_THROUGH)).table
        return (table[:, request.ENDED] - table[:, request.BEGAN]).mean()
    assert time_of(512) > time_of(0) + DEVICE.read_ns


@pytest.mark.parametrize(("operation", "n_bytes", "on_zvol", "rounds"), [
    (READ, 8 * KIB, 1, 1), (READ, 64 * KIB, 1, 2), (WRITE_THROUGH, 8 * KIB, 1, 1),
    (READ, 8 * KIB, 0, 1), (WRITE_THROUGH, 8 * KIB, 0, 2)])
def test_blocks_of_a_request_are_read_at_once(operation, n_bytes, on_zvol, rounds):
    """It waits for one read of a device that serves ten pages at a time, or for two where it wants more; not for each block
    in turn. But a file is written record by record. Each block is read once."""
    quick = DEVICE._replace(read_iops=10**6, read_rate=10**11, bus_rate=10**11, write_iops=10**6, write_rate=10**11,
                            read_ns=10**6)

    def seen(offset):
        result = run([(operation, offset + i * 2 * n_bytes, n_bytes) for i in range(40)], device=quick,
                     on_zvol=on_zvol)
        return np.median(result.table[:, request.ENDED] - result.table[:, request.BEGAN]), result.counts["data_reads"]
    (aligned, of_aligned), (misaligned, of_misaligned) = seen(0), seen(512)
    n_blocks = n_bytes // (8 * KIB)
    assert (of_aligned, of_misaligned) == (40 * n_blocks * (operation == READ), 40 * (n_blocks + 1))
    without_reads = 0 if operation == READ else aligned
    assert rounds <= (misaligned - without_reads) / quick.read_ns < rounds + 0.5


def test_a_run_ends_at_its_time_and_is_the_same_again():
    first, second = (run(stream(0, 8 * KIB, 2000, WRITE_THROUGH), seconds=0.05) for _ in range(2))
    assert first.seconds == 0.05
    assert 0 < len(first.table) < 2000
    assert np.array_equal(first.table, second.table)


@pytest.mark.parametrize(("requests", "clients", "words"), [
    ([(READ, -512, 512)], 1, "requests lie from -512"), ([(READ, LUN, 512)], 1, "the file is from 0"),
    ([(READ, 0, 0)], 1, "requests lie from 0 to 0"), ([(READ, 0, 512)], 0, "n_clients is 0"),
    (np.empty((0, 3)), 1, "there are no requests")])
def test_what_cannot_be_is_one_sentence(requests, clients, words):
    with pytest.raises(ValueError, match=words):
        block_requests.check(Settings(clients, 10**9), np.array(requests, np.int64).reshape(-1, 3), LUN)

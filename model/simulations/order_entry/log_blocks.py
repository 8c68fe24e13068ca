"""The log blocks that the order entry writes into its main pool: entries, and blocks of the sizes of `model.zfs.zil.log`.

Entries fill the block in hand. One that does not fit goes into the next; the last is written partly filled, when the commit
has no more. How large the next one is, is said when one is written (spec 6.4).

Left out: that the next block also gets its place then. Also left out: without a log device, redo in
pieces of more than 32 KiB would be written as records (INDIRECT).
"""

from model.jit import kernel
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.placement import want
from model.simulations.order_entry.state import LATENCY, LOG_BLOCK
from model.zfs.zil import columns as intent
from model.zfs.zil.log import (
    COPIED,
    INDIRECT,
    MAX_DATA,
    MIN_BLOCK,
    SPLIT_BYTES,
    TRAILER,
    log_bytes,
    next_block_bytes,
    round_up,
)


@kernel
def _write_block(m, share):
    """The block in hand is written, as large as it is, or, if it is a slim one, as far as it is used."""
    shares = m.shares
    want(m, LOG_BLOCK, share, shares[share, order.IN_HAND], m.orders.n_users + share)
    if m.orders.zil.slim:
        used = round_up(TRAILER + shares[share, order.USED], MIN_BLOCK)
        m.wanted[m.n_wanted[0] - 1, order.N_WRITTEN] = min(shares[share, order.IN_HAND], used)
    shares[share, order.IN_HAND], shares[share, order.USED] = next_block_bytes(m.zil, m.orders.zil, share), 0


@kernel
def _log(m, share, n_bytes):
    """An entry of so many B."""
    logs = m.zil.logs
    logs[share, intent.LISTED] -= n_bytes
    logs[share, intent.NOW_USED] += n_bytes
    if m.shares[share, order.USED] + n_bytes > m.shares[share, order.IN_HAND] - TRAILER:
        _write_block(m, share)
    m.shares[share, order.USED] += n_bytes


@kernel
def _end(m, share):
    """That was all of the commit."""
    logs = m.zil.logs
    if m.shares[share, order.USED] > 0:
        _write_block(m, share)
    logs[share, intent.BEFORE_USED], logs[share, intent.NOW_USED] = logs[share, intent.NOW_USED], 0


@kernel
def want_log_of_records(m, share, n):
    """A commit of `n` records: with their data, or, of shares with logbias=throughput, with where they are."""
    n_bytes = log_bytes(COPIED if m.orders.logbias == LATENCY else INDIRECT, m.orders.record_bytes)
    m.zil.logs[share, intent.LISTED] = n * n_bytes
    for _ in range(n):
        _log(m, share, n_bytes)
    _end(m, share)


@kernel
def want_log_of_redo(m, n_bytes):
    """A commit of so many B of redo: one entry, or, of more than fits into a block, entries of 64 KiB."""
    share, piece = m.orders.n_shares, SPLIT_BYTES if n_bytes > MAX_DATA else max(1, n_bytes)
    n_whole, rest = n_bytes // piece, n_bytes % piece
    m.zil.logs[share, intent.LISTED] = n_whole * log_bytes(COPIED, piece) + (log_bytes(COPIED, rest) if rest else 0)
    for _ in range(n_whole):
        _log(m, share, log_bytes(COPIED, piece))
    if rest:
        _log(m, share, log_bytes(COPIED, rest))
    _end(m, share)

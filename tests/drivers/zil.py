"""The intent log of the model and its twin side by side: every call goes to both, and both must answer the same."""

import itertools

from model.zfs.zil import columns as intent
from model.zfs.zil import commit as zil_commit
from model.zfs.zil import log as zil_log
from model.zfs.zil.writer import CREATE, FILE_BLOCK, FLUSH, LOG_BLOCK
from twins.zil import Twin

DEVICES = {zil_log.MAIN: "main", zil_log.SLOG: "slog"}


class Differs(AssertionError):
    """Model and twin do not agree, or one of them broke a law."""


def same(model, twin, quantity):
    if model != twin:
        raise Differs(f"{quantity}: {model} of the model, {twin} of the twin")


class Machine:
    """`n_tasks` tasks that write files 1 to 3; a task that waits does nothing."""

    def __init__(self, params, settings, drawn=(0,), n_blocks=64, n_tasks=6):
        self.params, self.settings = params, settings
        self.zil = zil_log.new_zil(n_logs=2, n_files=3, n_entries=200, n_tasks=n_tasks, n_vdevs=3, n_blocks=n_blocks,
                             drawn=drawn)
        self.twin = Twin(params, settings, itertools.cycle(drawn))
        self.txg = 1
        self.busy, self.wanted, self.rows = set(), {}, []

    def call(self, kernel, *arguments):
        return kernel(self.zil, self.params, self.settings, 1, *arguments)

    def answers(self):
        """(released, rows) of the model."""
        rows, n_blocks = [], self.zil.chain.shape[1]
        for kind, n_bytes, target, which, txg in self.zil.outbox[:self.zil.n_out[0]].tolist():
            if kind == LOG_BLOCK:
                same(which, (target + 1) % n_blocks, "next slot")
            rows.append({LOG_BLOCK: ("log", n_bytes, target), FILE_BLOCK: ("file", n_bytes, (target, which, txg)),
                         FLUSH: ("flush", 0, target), CREATE: ("create", 0, target)}[kind])
        return self.zil.released[:self.zil.n_released[0]].tolist(), rows

    def compare(self, released, rows):
        n_blocks = self.zil.chain.shape[1]
        expected = [(row[0], row[1], row[2] % n_blocks) if row[0] == "log" else row for row in rows]
        same(self.answers(), (released, expected), "released and to do")
        same(int(self.zil.logs[1, intent.COMMITTED]), self.twin.committed, "committed")
        same(int(self.zil.logs[1, intent.LISTED]), sum(map(self.twin.in_list, self.twin.entries)), "bytes waiting")
        blocks = self.twin.chain[self.twin.freed:]
        slots = [(self.twin.freed + i) % n_blocks for i in range(len(blocks))]
        same([(int(self.zil.chain[1, i, intent.BYTES]), DEVICES[int(self.zil.chain[1, i, intent.DEVICE])]) for i in slots],
             [(block.size, block.device) for block in blocks], "chain")
        for task in released:
            self.busy.discard(task)
            self.check_safe(*self.wanted.pop(task))
        self.rows += [row for row in rows if row[0] != "create"]

    def check_safe(self, sequences):
        """What a task waited for is on disk, in the log or because its group was synced."""
        lost = sequences - self.twin.on_disk - self.twin.dropped
        if lost and not self.settings.disabled:
            raise Differs(f"a task goes on, but {sorted(lost)} are not on disk")

    def asked_for(self, file):
        return {e.sequence for e in self.twin.entries if file in (0, e.file)} | (
            self.twin.in_flight - self.twin.on_disk if self.twin.writer else set())

    def write(self, file, block, block_bytes, n_bytes, opened):
        same(int(zil_log.record(self.zil, self.params, self.settings, 1, file, block, block_bytes, n_bytes, opened,
                                self.txg)),
             self.twin.write(file, block, block_bytes, n_bytes, opened, self.txg), "sequence")

    def record_other(self, n_bytes):
        same(int(zil_log.record_other(self.zil, self.params, self.settings, 1, n_bytes, self.txg)),
             self.twin.record_other(n_bytes, self.txg), "sequence")

    def commit(self, file, task):
        if task in self.busy:
            return
        mine = {s for s in self.asked_for(file) if file == 0 or s <= self.twin.of_file.get(file, 0)}
        at_once, rows = self.twin.commit(file, task, self.txg)
        same(bool(self.call(zil_commit.commit, file, task, self.txg)), at_once, "goes on at once")
        if at_once:
            self.check_safe(mine)
        else:
            self.busy.add(task)
            self.wanted[task] = (mine,)
        self.compare([], rows)

    def complete(self, which, vdev):
        if not self.rows:
            return
        row = self.rows.pop(which % len(self.rows))
        slot = row[2] % self.zil.chain.shape[1] if row[0] == "log" else -1
        if row[0] != "flush":
            zil_commit.touch(self.zil, 1, vdev)
        released, rows = self.twin.complete(row, vdev, self.txg)
        self.call(zil_commit.written, slot, self.txg)
        self.compare(released, rows)

    def sync(self):
        """The open group is synced, unless the log keeps it from that."""
        may = self.twin.may_sync(self.txg)
        same(bool(zil_commit.may_sync(self.zil, 1, self.txg)), may, "may sync")
        if not may:
            return
        n, released, rows = self.twin.sync(self.txg)
        same(int(zil_commit.group_synced(self.zil, self.params, 1, self.txg)), n, "blocks freed")
        zil_commit.forget(self.zil, 1, n)
        self.txg += 1
        self.call(zil_commit.resume, self.txg)
        self.compare(released, rows)

    def drain(self):
        """Let everything come to an end."""
        for _ in range(10_000):
            if not self.rows and not self.busy:
                return
            self.complete(0, 0)
            if not self.rows:
                self.sync()
        raise Differs("somebody waits for ever")

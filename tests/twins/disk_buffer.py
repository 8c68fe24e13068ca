"""A naive twin of a disk's write buffer: runs as lists of blocks, every sector one by one.

Written from the rules of `model.devices.disk_buffer` and the meaning of the fields of `Disk`, not from the kernels. Reads
always go to the platter here, and none is read ahead. `defect` breaks one rule on purpose.
"""
from model.devices import overhead_columns as overhead
from twins import disk as disk_twin

DEFECTS = ("reads wait for the buffer", "in order of arrival", "forgets what is replaced", "never joins", "half the buffer",
           "the arm waits")


class Twin:
    def __init__(self, disk, zones, defect=None):
        self.disk, self.zones, self.defect = disk, zones, defect
        self.places = disk_twin.places(zones, disk.layout.heads, 0, 1)
        self.arm, self.free, self.idle, self.wrote = (0, 0), 0, 0, 0
        self.runs, self.piece, self.platter = [], None, {}  # platter: block -> how often it has been written

    def pass_blocks(self, at, earliest, blocks, is_write, moves=True):
        """(time at which the first sector is under the head, time when all have passed)."""
        arm, first = self.arm, None
        for block in blocks:
            cylinder, head, angle, sectors = disk_twin.where(self.zones, self.disk.layout.heads, *self.places[block])
            at = max(earliest, at + disk_twin._movement(self.disk, arm, (cylinder, head), is_write, None))
            wait = round(angle * self.disk.rev_ns / sectors - at % self.disk.rev_ns) % self.disk.rev_ns
            at += 0 if wait > self.disk.rev_ns - disk_twin.LATE_NS else wait
            first = at if first is None else first
            at, arm = at + self.disk.rev_ns // sectors, (cylinder, head)
        if moves:
            self.arm, self.free = arm, at
        return first, at

    def worth(self, n):
        return -(-n // self.disk.segment_blocks)

    def taken(self):
        return sum(self.worth(len(run["blocks"])) for run in self.runs)

    def room(self):
        return self.disk.write_segments // (2 if self.defect == "half the buffer" else 1)

    def begin(self, at):
        """When the next piece begins, and of which run."""
        def order(run):
            is_new = len(run["blocks"]) == run["newest"]
            begins = max(at, run["ready"]) if is_new else at
            reached, _ = self.pass_blocks(begins, run["on track"] if is_new else at, run["blocks"][:1], 1, moves=False)
            overdue = run["passed"] >= self.disk.passes + self.disk.write_segments
            return -run["passed"] if overdue else reached, run["blocks"][0], begins
        ordered = [(*order(run), i) for i, run in enumerate(self.runs)]
        *_, begins, i = min(ordered) if self.defect != "in order of arrival" else ordered[0]
        return begins, self.runs[i]

    def write_piece(self, begins, run):
        blocks, earliest = run["blocks"], run["on track"]
        if run["newest"] < len(blocks) and earliest > begins:
            blocks, earliest = blocks[:len(blocks) - run["newest"]], begins
        tracks = [disk_twin.where(self.zones, self.disk.layout.heads, *self.places[block])[:2] for block in blocks]
        piece = [block for block, track in zip(blocks, tracks, strict=True) if track == tracks[0]]
        _, end = self.pass_blocks(begins, earliest, piece, 1)
        for waiting in self.runs:
            waiting["passed"] += 1
        run["passed"], self.piece = 0, (end, run, piece)

    def end_piece(self):
        _, run, piece = self.piece
        run["blocks"] = [block for block in run["blocks"] if block not in piece]
        run["newest"] = min(run["newest"], len(run["blocks"]))
        for block in piece:
            self.platter[block] = self.platter.get(block, 0) + 1
        self.runs, self.piece = [left for left in self.runs if left["blocks"]], None

    def write_on(self, now):
        if self.piece is None:
            self.write_piece(*self.begin(max(self.free, now)))
        now = max(now, self.piece[0])
        self.end_piece()
        return now

    def advance(self, now):
        while self.runs:
            if self.piece is None:
                begins, run = self.begin(max(self.free, self.idle))
                if begins >= now or self.defect == "the arm waits":
                    return
                self.write_piece(begins, run)
            if self.piece[0] > now:
                return
            self.end_piece()

    def flush(self, now):
        while self.runs:
            now = self.write_on(now)
        return now

    def read(self, now, block, count):
        if self.defect == "reads wait for the buffer":
            self.flush(now)
        disk, ready = self.disk, now + int(self.disk.command_ns[overhead.READ_MISS, self.wrote])
        first, end = self.pass_blocks(max(ready, self.free), 0, range(block, block + count), 0)
        first += disk.rev_ns // disk_twin.where(self.zones, disk.layout.heads, *self.places[block])[3]
        sent = max(ready, first) + disk.reconnect_ns + disk.data_ready_ns + count * disk.bus_ns
        self.wrote, self.idle = 0, max(sent, end + disk.bus_ns) + int(disk.done_ns[overhead.READ_DONE])
        return self.idle

    def replace(self, block, end):
        """Runs without the blocks that are written anew; True if they lie inside one."""
        for run in list(self.runs):
            if not set(run["blocks"]) & set(range(block, end)) or self.defect == "forgets what is replaced":
                continue
            if self.piece and self.piece[1] is run:
                self.end_piece()
            if not run["blocks"] or not set(run["blocks"]) & set(range(block, end)):
                continue
            if run["blocks"][0] < block and end - 1 < run["blocks"][-1]:
                return True
            cut = [number for number in run["blocks"] if not block <= number < end]
            at_end = sum(number >= block for number in run["blocks"]) if cut and cut[0] < block else 0
            run["newest"] = min(max(0, run["newest"] - at_end), len(cut))
            run["blocks"] = cut
        self.runs = [run for run in self.runs if run["blocks"]]
        return False

    def write(self, now, block, count):
        disk, end = self.disk, block + count
        joined = [run for run in self.runs if run["blocks"][-1] + 1 == block and self.defect != "never joins"]
        inside = self.replace(block, end)
        run = joined[0] if joined else None
        while not inside:
            n = len(run["blocks"]) if run else 0
            if self.taken() + self.worth(n + count) - self.worth(n) <= self.room():
                break
            now = self.write_on(now)
        ready = now + int(disk.command_ns[overhead.WRITE_BUFFERED, self.wrote])
        sent = ready + disk.data_ready_ns + count * disk.bus_ns
        if not inside:
            if run is None:
                run = {"blocks": [], "passed": 0}
            on_track = sent - (count - 1) * disk.bus_ns
            run.update(newest=count, ready=ready, blocks=[*run["blocks"], *range(block, end)])
            run["on track"] = on_track if joined else max(on_track, ready + disk.write_seek_min_ns)
            if not any(known is run for known in self.runs):
                self.runs.append(run)
        self.wrote = 1
        return sent + int(disk.done_ns[overhead.WRITE_DONE])


def serve(disk, zones, requests, defect=None):
    """(finishing times of (now, block, count, is_write), when a flush after them all is done, the twin)."""
    twin, finished = Twin(disk, zones, defect), []
    for now, block, count, is_write in requests:
        twin.advance(now)
        finished.append((twin.write if is_write else twin.read)(now, block, count))
    end = max(finished) + 1000
    twin.advance(end)
    return finished, twin.flush(end), twin

"""What checkpoints write, and full pages in the log, of updates of one table: by the model, and by a plain replay of the
same updates. One client, a device that takes no time, checkpoints by time and at once: so every checkpoint lies between
two transactions."""

from typing import NamedTuple

import numpy as np

from model.databases.postgres import columns as pg
from model.databases.postgres.pgbench import UPDATE, Table, new_database
from model.databases.postgres.state import MS, SECOND_NS, Settings, draws_of
from model.simulations.database_server import on_device, simulate_postgres

MAX_USAGE = 5


class Volume(NamedTuple):
    """Per interval between two checkpoints; the last one is open."""

    updates: list
    images: list  # full pages in the log
    checkpoint: list  # pages written by the checkpoint that ends the interval
    evicted: list  # pages written because their frame was wanted


def database(n_pages, n):
    return new_database([Table(30 * n_pages, 97, 0, 0, 0)], [(UPDATE, 0, 10 * MS)], n, fillfactor=50)


def settings(n, n_frames, seconds):
    return Settings(1, n, n_cpus=1, wal_writer_delay_ns=10**15, bgwriter_delay_ns=10**15, wal_buffers_bytes=2**24,
                    checkpoint_segments=1e9, shared_buffers_bytes=n_frames * 8192, is_warm=0,
                    checkpoint_timeout_ns=seconds * SECOND_NS + 5 * MS, checkpoint_completion_target=0.0,
                    checkpoint_nap_ns=MS, n_seconds=n // 100 + 2)


def pages_of(n_pages, n, seed=1):
    """The pages that the updates change."""
    relation = database(n_pages, n).relations[0]
    draws = draws_of(seed)
    u = np.concatenate([draws.random((4096, 2))[:, 0] for _ in range(-(-n // 4096))])[:n]
    return ((u * relation[pg.N_ROWS]).astype(int) // relation[pg.ROWS_PER_PAGE]).tolist()


def by_model(n_pages, n_frames, n, seconds=5, **conf):
    """The run: 100 updates a second, checkpoints every `seconds` and half an update, counted from the last one."""
    return simulate_postgres(database(n_pages, n), settings(n, n_frames, seconds)._replace(**conf), on_device(), 1)


def by_replay(n_pages, n_frames, n, seconds=5, update_ns=10 * MS):
    """The same updates through a clock of frames [page, usage, is dirty]; a checkpoint writes all that is dirty."""
    frames, where, hand, imaged = [], {}, -1, set()
    every_ns = seconds * SECOND_NS + 5 * MS
    volume = Volume([0], [0], [], [0])
    due = every_ns
    for i, page in enumerate(pages_of(n_pages, n)):
        while (i + 1) * update_ns > due:
            volume.checkpoint.append(sum(frame[2] for frame in frames))
            for frame in frames:
                frame[2] = False
            for column in (volume.updates, volume.images, volume.evicted):
                column.append(0)
            imaged.clear()
            due += every_ns
        if page in where:
            frame = frames[where[page]]
            frame[1] = min(MAX_USAGE, frame[1] + 1)
        elif len(frames) < n_frames:
            where[page] = len(frames)
            frames.append([page, 1, False])
        else:
            hand = (hand + 1) % n_frames
            while frames[hand][1]:
                frames[hand][1] -= 1
                hand = (hand + 1) % n_frames
            volume.evicted[-1] += frames[hand][2]
            del where[frames[hand][0]]
            where[page], frames[hand] = hand, [page, 1, False]
        frames[where[page]][2] = True
        volume.updates[-1] += 1
        volume.images[-1] += page not in imaged
        imaged.add(page)
    return volume


def differences(n_pages, n_frames, n):
    """What the model and the replay do not agree in: names."""
    counts, seen = by_model(n_pages, n_frames, n).counts, by_replay(n_pages, n_frames, n)
    pairs = {"images": sum(seen.images), "checkpoint_writes": sum(seen.checkpoint), "backend_writes": sum(seen.evicted),
             "checkpoints": len(seen.checkpoint)}
    return [name for name, value in pairs.items() if counts[name] != value]

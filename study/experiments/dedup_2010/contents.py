"""Real bytes with duplicates at known places, through SHA-256 and the model's table.

    contents.kinds(seed)                 what is stored, as bytes: name, list of files
    contents.ratio_of(files, 8192)       blocks over entries of the table

A file is cut into blocks from its beginning; the last block is as long as what is left. Two blocks are the same if their
check-sums are. The table has 63 bits of these as its key.
"""
import hashlib

import numpy as np
import pandas as pd

from model.events.streams import stream
from model.zfs.dedup.table import group, new_table, ratio
from model.zfs.dedup.zap import ZapParams

PAGE = 8192
SIZES = (8192, 131072)
TAR_HEADER = 512
MASK = 2**63 - 1


def keys_of(files: list[bytes], block_bytes: int) -> np.ndarray:
    """63 bits of the SHA-256 of each block."""
    digests = [hashlib.sha256(file[i:i + block_bytes]).digest() for file in files for i in range(0, len(file), block_bytes)]
    return np.array([int.from_bytes(digest[:8]) & MASK for digest in digests], np.int64)


def ratio_of(files: list[bytes], block_bytes: int) -> float:
    """Blocks over entries, by the model's table."""
    keys = keys_of(files, block_bytes)
    table = new_table(ZapParams(), max(1000, len(keys)))
    group(table, keys, 1)
    return ratio(table)


def unique_share(files: list[bytes], block_bytes: int) -> float:
    """The same by brute force: blocks over different ones, compared byte by byte."""
    blocks = [file[i:i + block_bytes] for file in files for i in range(0, len(file), block_bytes)]
    return len(blocks) / len(set(blocks))


def changed(database: bytes, pages: np.ndarray, seed: int, name: str) -> bytes:
    """A database some of whose pages have new contents."""
    made = np.frombuffer(database, np.uint8).reshape(-1, PAGE).copy()
    made[pages] = np.frombuffer(stream(seed, name).bytes(PAGE * len(pages)), np.uint8).reshape(-1, PAGE)
    return made.tobytes()


def _tar(objects: list[bytes], aligned: int) -> bytes:
    """A stream with a header before each object; each object begins at a multiple of `aligned`."""
    out = bytearray()
    for content in objects:
        out += b"h" * TAR_HEADER
        out += bytes(-len(out) % aligned)
        out += content
        out += bytes(-len(out) % TAR_HEADER)
    return bytes(out)


def kinds(seed: int, mib: int = 4) -> dict[str, list[bytes]]:
    """What the post of 2010 speaks of, in small. Numbers of copies and of changed pages are ours: they are for the
    mechanism, and no prediction."""
    draws, n_pages = stream(seed, "contents"), mib * 2**20 // PAGE
    database = draws.bytes(mib * 2**20)
    images = [changed(database, draws.choice(n_pages, n_pages // 50, replace=False), seed, f"desktop {i}") for i in range(4)]
    objects = [draws.bytes(int(n)) for n in draws.integers(1000, 60_000, 60 * mib)]
    later = [content for content in objects if draws.random() > 0.05]       # one in twenty was deleted between two streams
    backups = [database]
    for day in range(3):
        backups.append(changed(backups[-1], draws.choice(n_pages, n_pages // 30, replace=False), seed, f"day {day}"))
    return {"four copies of a database": [database] * 4,
            "four desktops from one image, 2 % of pages changed": images,
            "the same files twice, as files": objects + later,
            "two tar streams of them": [_tar(objects, TAR_HEADER), _tar(later, TAR_HEADER)],
            "two streams, objects at multiples of 8 KiB": [_tar(objects, PAGE), _tar(later, PAGE)],
            "four backups of a database, 3 % of pages changed": backups}


def table(seed: int) -> pd.DataFrame:
    """A row for each kind: what, ratio by 8K and by 128K, gain."""
    rows = []
    for name, files in kinds(seed).items():
        small, large = (ratio_of(files, size) for size in SIZES)
        rows.append((name, small, large, small / large))
    return pd.DataFrame(rows, columns=["what", "8K", "128K", "8K / 128K"])


def metrics(shown: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    return pd.DataFrame([(f"ratio.kind-{i}.{column.lower()}", row[column], "1")
                         for i, row in enumerate(shown.to_dict("records"), start=1) for column in ("8K", "128K")],
                        columns=["name", "value", "unit"])

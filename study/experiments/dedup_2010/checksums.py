"""SHA-256 of a block: by arithmetic on processors of 2009, and as `hashlib` had it once on one machine of today.

    of_2009()       how, MB/s, ms for 128 KiB, us for 8 KiB
    measure()       what data/measured/checksums.toml holds; benchmarks/checksum_rates.py makes it anew
    beside()        the file beside what the post prints; a measurement, which enters no result and no prediction
"""
import hashlib
import json
import platform
import ssl
import statistics
import time
from pathlib import Path
from typing import Any

import pandas as pd

from study import project
from study.documents import published
from study.experiments.dedup_2010.table_costs import UNITS

FILE = "measured/checksums.toml"
CYCLES = 17.8               # a byte, SHA-256 in OpenSSL 1.0.1, assembler (conditions 10.9: S. Gueron, V. Krasnov, 2012)
CLOCKS_GHZ = (2.66, 2.93)   # Intel's processors of 2009
PLAIN_C = (60e6, 90e6)      # B/s of a core of 1.9 GHz, plain C: below the 123 MB/s of SHA-1 there (conditions 10.10)
POST = {"128K": 1e-3, "8K": 64e-6}      # s at most: 128 MB/s, less than 1 ms, less than 64 us (the post of 2010)
ROUNDS, ROUND_BYTES = 15, 2**25         # of each block size; 32 MiB a round take 10 to 300 ms


def of_2009() -> pd.DataFrame:
    """On processors of 2009: how, MB/s, ms for 128 KiB, us for 8 KiB."""
    rates = [(f"assembler, {ghz} GHz", ghz * 1e9 / CYCLES) for ghz in CLOCKS_GHZ]
    rates += [(f"plain C, 1.9 GHz, {which}", rate) for which, rate in zip(("least", "most"), PLAIN_C, strict=True)]
    return pd.DataFrame([(how, rate / 1e6, 1e3 * UNITS["128K"] / rate, 1e6 * UNITS["8K"] / rate) for how, rate in rates],
                        columns=["how", "MB/s", "ms for 128K", "us for 8K"])


# --- one measurement --------------------------------------------------------------------------------------------------

def measure() -> dict[str, Any]:
    """Times of `hashlib.sha256` for one block on one thread, of ROUNDS rounds; and the machine."""
    return {"machine": {"processor": _processor(), "is_virtual": "hypervisor" in _flags(),
                        "has_sha_instructions": "sha_ni" in _flags(),
                        "python": platform.python_version(), "openssl": ssl.OPENSSL_VERSION,
                        "day": time.strftime("%Y-%m-%d")},
            "block": [_of_block(name, n_bytes) for name, n_bytes in UNITS.items()]}


def _of_block(name: str, n_bytes: int) -> dict[str, Any]:
    block, n, times = bytes(range(256)) * (n_bytes // 256), ROUND_BYTES // n_bytes, []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(n):
            hashlib.sha256(block).digest()
        times.append((time.perf_counter() - start) / n)
    return {"block": name, "bytes": n_bytes, "rounds": ROUNDS,
            **{f"{which}_us": round(1e6 * value, 3) for which, value in (
                ("least", min(times)), ("median", statistics.median(times)), ("most", max(times)))}}


def _lines_of_processor() -> dict[str, str]:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _processor() -> str:
    return _lines_of_processor().get("model name", platform.processor() or platform.machine())


def _flags() -> list[str]:
    return _lines_of_processor().get("flags", "").split()


def to_toml(measured: dict[str, Any]) -> str:
    """The file."""
    head = ("# SHA-256 of one block by Python's hashlib, on one thread of one machine. A measurement: it enters no result.\n"
            "# Made anew by: .venv/bin/python benchmarks/checksum_rates.py\n")
    parts = [f"\n[machine]\n{_pairs(measured['machine'])}"]
    return head + "".join(parts + [f"\n[[block]]\n{_pairs(each)}" for each in measured["block"]])


def _pairs(values: dict[str, Any]) -> str:
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())


def kept() -> dict[str, Any]:
    """The file that is kept."""
    return published.tomllib.loads(project.data_file(FILE).read_text())


def beside() -> pd.DataFrame:
    """A row for each size of block: what the post allows, what was measured (us, MB/s), and whether that is less."""
    rows = [(each["block"], 1e6 * POST[each["block"]], each["median_us"], each["bytes"] / each["median_us"],
             each["median_us"] < 1e6 * POST[each["block"]]) for each in kept()["block"]]
    return pd.DataFrame(rows, columns=["block", "post: us at most", "measured: us", "MB/s", "less than the post has"])


def machine_in_words() -> str:
    """Where it was measured."""
    machine = kept()["machine"]
    how = "with" if machine["has_sha_instructions"] else "without"
    kind = ", a virtual machine" if machine["is_virtual"] else ""
    return (f"{machine['processor']}{kind}, {how} instructions for SHA, {machine['openssl']}, Python {machine['python']}, "
            f"{machine['day']}")

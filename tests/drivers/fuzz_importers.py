"""A fuzzer led by coverage over the importers of text and JSON, and over the readers of traces, of what zdb and zpool print
and of partition tables: `make fuzz`, a minute each, or `SECONDS=600 make fuzz`.

It begins with the fixtures. What is no UserError, takes over ten seconds or two GiB ends it with exit code 1 and leaves the
input in .cache/fuzz. Logs of transactions are DuckDB's to read, and are left to Hypothesis.
"""
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

with atheris.instrument_imports(include=["study.ingest", "study.traces", "study.pools.zdb", "study.pools.ddt",
                                         "study.pools.partitions"]):
    from study.errors import UserError
    from study.ingest import clocks, given_runs, imports, mapped_csv
    from study.pools import ddt, partitions, zdb
    from study.traces import read as traces
    from support import zpool_text

FIXTURES = ROOT / "tests" / "study" / "ingest" / "fixtures"
TRACES = ROOT / "tests" / "study" / "traces" / "fixtures"
ZDB = ROOT / "tests" / "study" / "pools" / "zdb"
DDT = ROOT / "tests" / "study" / "pools" / "ddt"
TABLE = """Disk /dev/sda: 931.51 GiB, 1000204886016 bytes, 1953525168 sectors
Units: sectors of 1 * 512 = 512 bytes

Device     Boot   Start        End    Sectors   Size Id Type
/dev/sda1  *         63     208844     208782   102M 83 Linux
"""
CYLINDERS = """Disk /dev/sdb: 160.0 GB, 160041885696 bytes
Units = cylinders of 16065 * 512 = 8225280 bytes
   Device Boot      Start         End      Blocks   Id  System
/dev/sdb1   *           1          13      104391   83  Linux
"""
PARTED = "BYT;\n/dev/sda:1953525168s:scsi:512:4096:gpt:ATA X:;\n1:2048s:1050623s:1048576s:fat32:EFI:boot;\n"
SFDISK = '{"partitiontable": {"device": "/dev/sda", "unit": "sectors", "partitions": [{"node": "sda1", "start": 2048}]}}'
UNIX_IOSTAT = """                    extended device statistics
    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device
    1.5    0.0   12,0    0.0  0.0  0.0    0.0    4.7   0   1 c0t0d0
"""
SHORT_IOSTAT = """       ada0            cpu
  KB/t tps  MB/s  us ni sy in id
 27.11  12  0.32   1  0  1  0 98
"""
ROWS = {"tank": list(range(31)), "  mirror": list(range(31)), "logs": [None] * 31, "  sdb": [0] * 31}
SEEDS = {
    "pgbench": ("run.txt", [*FIXTURES.glob("pgbench/*/run.txt")]),
    "sysbench": ("run.txt", [*FIXTURES.glob("sysbench/*.txt")]),
    "fio": ("run.json", [*FIXTURES.glob("fio/*.json"), FIXTURES / "fio/one/one.json", FIXTURES / "fio/terse.txt"]),
    "zpool": ("zpool.txt", [zpool_text.table("2.2", "lq", [ROWS, ROWS], [1795221912, 1795221913]),
                            zpool_text.waits("2.2", "tank", [("1ns", [1] * 11), ("3ns", [2] * 11)])]),
    "iostat": ("iostat.txt", [*FIXTURES.glob("iostat/*"), UNIX_IOSTAT, SHORT_IOSTAT]),
    "filebench": ("run.txt", ["1: 2.0: Running...\n1: 4.0: Run took 2 seconds...\n1: 4.1: Per-Operation Breakdown\n"
                              "read 4255ops/s 33.2mb/s 45.7ms/op 67us/op-cpu\n1: 4.1:\n"
                              "IO Summary: 8510 ops 4255.0 ops/s, (4255/0 r/w) 33.2mb/s, 188us cpu/op, 45.7ms latency\n"]),
    "intervals": ("pgbench_log.1", [*FIXTURES.glob("pgbench/aggregate*/pgbench_log*")]),
    "fio-logs": ("x_bw.1.log", [*FIXTURES.glob("fio/*/*_bw.1.log"), *FIXTURES.glob("fio/*/*_clat.1.log")]),
    "fio-histograms": ("x_clat_hist.1.log", [*FIXTURES.glob("fio/*/*_hist.1.log")]),
    "benchbase": ("b.summary.json", ['{"Benchmark Type": "ycsb", "Final State": "EXIT", "Throughput (requests/second)": 1, '
                                     '"Latency Distribution": {"95th Percentile Latency (microseconds)": 7}}']),
    "benchbase-windows": ("b.samples.csv", ["Time (seconds),Requests,Throughput (requests/second),Minimum Latency "
                                            "(microseconds)\n0,40,40.0,157\n1,0,0.0,-1\n"]),
    "measured": ("measured.json", ['{"study measure": 1, "run": {"rung": "defaults"}, "series": {"disk": {"columns": '
                                   '["reads"], "units": ["1/s"], "rows": [[1795221912.5, "sda", 3.0]]}}}\n']),
    "csv": ("mine.csv", ["t,a\n1,2.5\n2,\n", 't,a\n"1","x"\n']),
    "iologs": ("trace", [*TRACES.glob("*.iolog")]),
    "blkparse": ("trace", [TRACES / "blkparse.txt"]),
    "msr": ("trace.csv", [TRACES / "msr.csv"]),
    "oracle": ("x.oracleGeneral.bin", ["\0" * 24, TRACES / "small.oracleGeneral.bin.zst"]),
    "zdb": ("zdb.txt", [*ZDB.glob("*.txt")]),
    "ddt": ("ddt.txt", [*DDT.glob("*.txt")]),
    "partitions": ("table.txt", [TABLE, CYLINDERS, PARTED, SFDISK])}

MAPPING = mapped_csv.Mapping.model_validate({
    "kind": "series", "series": "s", "time": {"column": "t", "unit": "s"}, "columns": {"a": {"name": "a", "unit": "1"}}})


def read_trace(content: bytes, path: Path) -> None:
    """To its end, as before it goes through the model."""
    path.write_bytes(content)
    with contextlib.suppress(UserError):
        traces.read(path)


def read_zdb(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with contextlib.suppress(UserError):
        zdb.read(path)


def read_ddt(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with contextlib.suppress(UserError):
        ddt.read(path)


def read_partitions(content: bytes, path: Path) -> None:
    with contextlib.suppress(UserError):
        partitions.read(content.decode("utf-8", "replace"))


def read_csv(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with contextlib.suppress(UserError):
        for series in imports._read(mapped_csv, [imports.Source(path, path.name, "")], path.parent,
                                    imports.Options(mapping=MAPPING)).series:
            series.table()


def read(content: bytes, path: Path) -> None:
    """As far as an import reads before it keeps."""
    path.write_bytes(content)
    try:
        for module, sources in imports.recognised(given_runs.Given("x", [(path, path.name)], []))[0].items():
            if sources[0].kind not in ("log", "raw"):
                for series in imports._read(module, sources, path.parent, imports.Options()).series:
                    series.table()
                    clocks.of_series(module.TOOL, series)
    except UserError:
        pass


READERS = {**dict.fromkeys(("iologs", "blkparse", "msr", "oracle"), read_trace), "zdb": read_zdb, "ddt": read_ddt,
           "partitions": read_partitions, "csv": read_csv}      # of others: read


def fuzz(tool: str, seconds: str) -> None:
    """In a process of its own, since atheris ends the one that it is in."""
    name, seeds = SEEDS[tool]
    reader = READERS.get(tool, read)
    left = ROOT / ".cache" / "fuzz"
    left.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for n, seed in enumerate(seeds):
            (corpus / str(n)).write_bytes(seed.read_bytes() if isinstance(seed, Path) else seed.encode())
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=8192", "-timeout=10", "-rss_limit_mb=2048",
                       f"-artifact_prefix={left}/{tool}-", str(corpus)],
                      lambda content: reader(content, Path(folder) / name))
        atheris.Fuzz()


def main() -> None:
    seconds = os.environ.get("SECONDS", "60")
    failed = [tool for tool in SEEDS
              if subprocess.run([sys.executable, __file__, tool, seconds], timeout=int(seconds) + 600).returncode]
    print("readers that an input broke:", ", ".join(failed) or "none")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        fuzz(*sys.argv[1:])
    else:
        main()

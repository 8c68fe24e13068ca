"""What names of claims, statistics and devices mean, for the labels of figures. Tables and the run store have the names."""
from collections.abc import Iterable

DEVICES = {"capacity-hdd": "large disk", "performance-hdd": "fast disk", "ssd-write": "SSD for writes",
           "ssd-read": "SSD for reads", "dram": "memory", "cloud": "cloud", "sata-1tb": "disk of 1 TB",
           "SSD, x25-e": "SSD, Intel X25-E", "SSD, sas-ssd-slc-200": "SSD, SAS, 200 GB",
           "SSD, sata-ssd-s3700": "SSD, Intel S3700"}

# Of a claim and a check, where the figures of its own document show something else.
AUDIT = {
    "oltp-gain-cr: gain": "OLTP's gain, change request", "seqread-loss: loss": "loss of readers",
    "seqread-loss: loss-reversed": "gain of readers, cache on", "seqread-on: quoted": "readers' rate, cache on",
    "oltp-response: summary-response": "OLTP's mean latency", "oltp-length: length": "length of OLTP runs",
    "seqread-length: length": "length of readers' runs",
    "oltp-prealloc: prealloc-clock": "time to write OLTP's files",
    "pgbench-first-said: slide-3": "pgbench, first rung", "sysbench-ro-last-said: slide-3": "sysbench read-only, last rung",
    "sysbench-rw-last-said: slide-3": "sysbench, last rung", "price-capacity-hdd: price": "price of a large disk",
    "price-performance-hdd: price": "price of a fast disk", "price-ssd-write: price": "price of an SSD for writes",
    "pg-burst: burst": "burst of a checkpoint"}

CLAIMS = {
    "pg-stable": "arrays steady from", "pg-reads-ufs-start": "UFS reads, start", "pg-reads-ufs-1500": "UFS reads, 1500 s",
    "pg-reads-ufs-2500": "UFS reads, 2500 s", "pg-phase": "length of write phase", "pg-bytes": "ZFS's bytes over UFS's",
    "pg-ios": "UFS's writes over ZFS's", "pg-split": "writes of five disks", "pg-parity": "ZFS's rate over UFS's",
    "pg-target-85": "rate at 85 % over 15 %", "pg-throughput": "rate of ZFS at 15 %", "pg-burst": "length of the burst",
    "pg-burst-rate": "writes in the burst", "pg-fall": "fall: line over step", "pg-array-throughput": "rate of seven arrays",
    "pg-no-zil": "rate without intent log", "pg-log-peak": "writes to log, 1800 s",
    "sha-rate": "rate of SHA-256", "sha-128k": "SHA-256 of 128K", "sha-8k": "SHA-256 of 8K",
    "disk-response": "a disk operation", "dedup-read-extra": "checksum in a read", "dedup-batch": "writes for a table block",
    "dedup-throttle": "time until writers wait", "ddt-share": "memory for metadata", "ddt-entry": "memory for an entry",
    "ddt-reach-128k": "reach of 32 GB, 128K", "ddt-reach-8k": "reach of 32 GB, 8K"}

STATISTICS = {
    "database.tps": "transactions", "database.misses": "misses", "database.misses_per_transaction": "misses, a transaction",
    "database.cpu": "processors busy", "nfs.reads": "NFS reads", "nfs.data_writes": "NFS writes of blocks",
    "nfs.log_writes": "NFS writes of redo", "nfs.read_bytes": "bytes read by NFS", "nfs.write_bytes": "bytes written by NFS",
    "appliance.io_size": "size of I/Os", "appliance.read_size": "size of reads", "appliance.write_size": "size of writes",
    "transaction.response": "time of a transaction", "os.read_time": "NFS read time", "os.write_time": "NFS write time",
    "os.log_write_time": "time to write redo", "disk.reads": "disk reads", "disk.writes": "disk writes",
    "disk.read_bytes": "bytes read by disks", "disk.write_bytes": "bytes written by disks",
    "disk.read_time": "disk read time", "disk.write_time": "disk write time", "disk.service_time": "disk service time",
    "disk.utilisation": "disks busy", "wait.read": "waiting to read", "wait.log_sync": "waiting for redo",
    "wait.free_buffer": "waiting for a buffer", "wait.cpu": "waiting to compute"}

SHADOW = {"shadowread": "reading a record", "shadowhog": "computing", "shadow-post-dbwr": "waking writers",
          "shadow-post-lg": "waking the log writer"}


def named(names: Iterable[str], words: dict[str, str]) -> list[str]:
    """The names in words; what has none, such as the series of a reader's own runs, keeps its name."""
    return [words.get(name, name) for name in names]

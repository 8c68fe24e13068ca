"""The notebooks of the study: what each may be given and what it reads. Defaults stand in the notebooks themselves."""
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from study import errors
from study.errors import UserError
from study.project import NOTEBOOKS
from study.runs.parameters import Parameter


class Notebook(BaseModel):
    """`reads` are patterns below `data/`: they are all a batch run gets, and they are part of a run's identity."""
    model_config = ConfigDict(frozen=True, extra="forbid")

    parameters: dict[str, Parameter] = {}
    reads: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()     # ensembles in data/ensembles, by name; they are read where they are there
    needs: tuple[str, ...] = ()     # notebooks whose records (runs of their defaults) it reads: they run before it
    experiment: str = ""            # module whose `drawn(**parameters)` says what its draws are made of: see study/sweeps
    imports: str = ""       # module whose `imports_read(**parameters)` says which imports of the run store it reads
    machine: str = ""               # module whose `check(**parameters)` refuses machines that cannot be
    minutes: float = 0.5            # about how much processor time a run takes, compilation included: see batch.py


ENGINE = Parameter(kind="str", choices=("fast", "exact"), help="engine of the allocator; both give the same")
SEED = Parameter(kind="int", low=0, high=2**31 - 1, help="seed of all random streams")

DRAWS = Parameter(kind="int", low=2, high=10_000, help="draws of all that is not known (data/priors.toml)")
READING_DRAWS = Parameter(kind="int", low=2, high=1000, help="draws of priors for every reading")
LOG_DEVICE = Parameter(kind="bool", help="an SSD as separate intent log where data are on disks")
HONEST = Parameter(kind="bool", help="caches are flushed when ZFS asks")
SEEDS = Parameter(kind="int", low=2, high=1000, help="seeds, for the part of chance in an interval")

PRICES = Parameter(kind="str", help="a file of data/prices, without its ending")

SHEETS = ("savvio-10k1", "savvio-10k2", "fc-10k-146", "sas-15k-300", "sata-7k2-1tb", "x25-e", "sata-ssd-850pro",
          "sata-ssd-s4500", "nvme-p4500", "nvme-desktop-2022", "nvme-server-2022", "cloud-gp3")    # of data/hardware

DISK_OF_2007 = Parameter(kind="str", choices=("of 2007", "savvio-10k1", "fc-10k-146", "sas-15k-300", "sata-7k2-1tb"),
                         help="model of the disks: as in data/priors.toml, or a sheet of data/hardware")

STUDY: dict[str, Notebook] = {
    "00_claims": Notebook(
        reads=("claims.toml", "published/*.toml"),
        parameters={"document": Parameter(
            kind="str", help="the document to audit, or all of them",
            choices=("all", "kustarz-2007", "lutz-2010", "vandenbogaard-2008", "bourbonnais-2010", "rajadurai-2009"))}),
    "01_vdev_cache_oltp": Notebook(
        keeps=("vdev-cache-oltp", "vdev-cache-oltp-nearest", "vdev-cache-oltp-what-if"),
        reads=("claims.toml", "published/*.toml", "odds.toml", "priors.toml", "hardware/*.toml", "trials/*/*",
               "nearest/01_vdev_cache_oltp.toml"), minutes=2.5,
        machine="study.experiments.vdev_cache_2007.filebench_oltp",
        experiment="study.experiments.vdev_cache_2007.filebench_oltp",
        parameters={
            "record_kib": Parameter(kind="int", unit="KiB", choices=(8, 16, 32, 64), help="record, and what is read of it"),
            "file_gib": Parameter(kind="float", unit="GiB", low=0.01, high=20, help="each of ten files"),
            "n_leaves": Parameter(kind="int", low=1, high=368, help="disks, striped"),
            "n_shadows": Parameter(kind="int", low=10, high=1000, help="processes that read"),
            "line_kib": Parameter(kind="int", unit="KiB", choices=(8, 16, 32, 64, 128),
                                  help="line of the vdev cache (zfs_vdev_cache_bshift)"),
            "cache_mib": Parameter(kind="int", unit="MiB", choices=(0, 1, 5, 10, 20, 50, 100),
                                   help="vdev cache of one disk (zfs_vdev_cache_size)"),
            "max_pending": Parameter(kind="int", choices=(4, 10, 20, 35, 70), help="I/Os on a disk (zfs_vdev_max_pending)"),
            "disk": DISK_OF_2007,
            "ncq": Parameter(kind="bool", help="the drive chooses among its commands"),
            "window": Parameter(kind="int", low=1, high=32, help="commands that a drive with NCQ chooses among"),
            "start": Parameter(kind="str", choices=("as preallocated", "empty"), help="what the ARC holds at the start"),
            "seconds": Parameter(kind="float", unit="s", low=1, high=1200, help="time simulated"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "02_vdev_cache_seqread": Notebook(
        keeps=("vdev-cache-seqread", "vdev-cache-seqread-nearest"),
        reads=("claims.toml", "published/*.toml", "odds.toml", "priors.toml", "hardware/*.toml", "trials/*/*",
               "nearest/02_vdev_cache_seqread.toml"), minutes=1.0,
        machine="study.experiments.vdev_cache_2007.sequential_reads",
        experiment="study.experiments.vdev_cache_2007.sequential_reads",
        parameters={
            "n_streams": Parameter(kind="int", low=1, high=16, help="readers, each of a file of its own"),
            "record_kib": Parameter(kind="int", unit="KiB", choices=(32, 64, 128), help="recordsize of the files"),
            "file_gib": Parameter(kind="float", unit="GiB", low=1, high=64, help="size of each file"),
            "n_leaves": Parameter(kind="int", low=1, high=96, help="disks, striped"),
            "line_kib": Parameter(kind="int", unit="KiB", choices=(16, 32, 64, 128),
                                  help="line of the vdev cache (zfs_vdev_cache_bshift)"),
            "cache_mib": Parameter(kind="int", unit="MiB", choices=(1, 2, 5, 10, 20, 50),
                                   help="vdev cache of one disk (zfs_vdev_cache_size)"),
            "max_pending": Parameter(kind="int", low=1, high=100, help="I/Os on a disk at most (zfs_vdev_max_pending)"),
            "disk": DISK_OF_2007,
            "sorts": Parameter(kind="bool", help="the disk driver sorts what the drive has not taken"),
            "segments": Parameter(kind="int", choices=(4, 8, 16, 32, 64, 128),
                                  help="parts of the drive's buffer, and so how far it reads ahead"),
            "reads_ahead": Parameter(kind="bool", help="the drive reads on after a read"),
            "seconds": Parameter(kind="float", unit="s", low=1, high=1200, help="time simulated"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "03_first_fit_best_fit": Notebook(
        keeps=("allocator-slabs",),
        reads=("claims.toml", "published/*.toml", "priors.toml", "traces/alloc/stats_l1.jsonl",
               "traces/alloc/contiguity.csv"), minutes=1.5,
        parameters={
            "occupancy": Parameter(kind="int", unit="%", low=5, high=97, help="of the one slab in the pictures"),
            "record_kib": Parameter(kind="int", unit="KiB", choices=(4, 8, 16, 32, 64), help="record that is rewritten"),
            "fill": Parameter(kind="float", low=0.02, high=0.9, help="share of the pool that is occupied"),
            "age": Parameter(kind="float", low=0, high=20, unit="turnovers", help="rewriting before anything is watched"),
            "txg_share": Parameter(kind="float", low=0.001, high=0.1, help="what a transaction group writes, in slabs"),
            "log_share": Parameter(kind="float", low=0, high=2, help="bytes of a log in the pool for a byte of records"),
            "n_slabs": Parameter(kind="int", low=4, high=200, help="slabs of the vdev"),
            "slab_mib": Parameter(kind="int", unit="MiB", choices=(16, 64, 256, 1024), help="size of a slab"),
            "threshold_pct": Parameter(kind="int", unit="%", low=0, high=100, help="best fit when less of a slab is free"),
            "bonus": Parameter(kind="float", low=0.5, high=3, help="weight of a used slab, against a fresh one"),
            "engine": ENGINE,
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "04_oltp_gain": Notebook(
        keeps=("order-entry", "order-entry-map", "order-entry-steps", "order-entry-scales", "order-entry-ages",
               "order-entry-pairs", "order-entry-nearest"),
        reads=("claims.toml", "published/*.toml", "odds.toml", "priors.toml", "full_scale/*",
               "hardware/*.toml", "trials/*/*", "nearest/04_oltp_gain.toml"), minutes=2.5,
        experiment="study.experiments.allocator_2010.order_entry_at_once",
        parameters={
            "n_users": Parameter(kind="int", low=1, high=1024, help="users of the database, in a closed loop"),
            "record_kib": Parameter(kind="int", unit="KiB", choices=(2, 4, 8, 16, 32),
                                    help="block of the database and record of its shares"),
            "scale": Parameter(kind="int", choices=(32, 64, 128, 256, 512, 1024),
                               help="how much smaller than the machine's the simulated pool is"),
            "n_disks": Parameter(kind="int", low=2, high=288, help="disks of 1 TB"),
            "pool_fill": Parameter(kind="float", low=0.0, high=1.0, help="share of the pool that is allocated"),
            "age": Parameter(kind="float", unit="turnovers", low=0.0, high=20.0,
                             help="how often the data were rewritten before the first run"),
            "n_runs": Parameter(kind="int", low=8, high=200, help="runs in a series"),
            "cycle_runs": Parameter(kind="int", low=8, high=200, help="runs in which a cycle is looked for"),
            "window_s": Parameter(kind="float", unit="s", low=0.5, high=600, help="of a run, measured"),
            "engine": ENGINE,
            "threshold_pct": Parameter(kind="int", unit="%", low=50, high=100, help="best fit from that occupancy on"),
            "bonus": Parameter(kind="float", low=0.5, high=3.0, help="weight of a used metaslab over that of a fresh one"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "05_io_size_correlation": Notebook(
        reads=("claims.toml", "published/*.toml", "priors.toml", "full_scale/*"), needs=("04_oltp_gain",), minutes=0.5,
        imports="study.store.series",
        parameters={
            "source": Parameter(kind="str", help="notebook whose runs are looked at, or label of imported or measured ones"),
            "label": Parameter(kind="str", help="which of its series"),
            "outcome": Parameter(kind="str", help="the statistic that is to be explained"),
            "statistic": Parameter(kind="str", help="the statistic that is claimed to explain it"),
            "n_runs": Parameter(kind="int", unit="runs", low=8, high=200, help="how many are looked at, from the first"),
            "block": Parameter(kind="int", unit="runs", low=0, high=20,
                               help="neighbours that the bootstrap keeps together; 0: by rule"),
            "engine": ENGINE, "seed": SEED,
        }),
    "06_exchange": Notebook(
        keeps=("exchange", "exchange-steps", "exchange-nearest"),
        reads=("claims.toml", "published/*.toml", "odds.toml", "priors.toml", "hardware/*.toml", "trials/*/*",
               "nearest/06_exchange.toml"), minutes=2.0,
        experiment="study.experiments.allocator_2010.exchange",
        parameters={
            "pool_fill": Parameter(kind="float", low=0.05, high=0.85,
                                   help="share of the pool that is allocated; a terabyte of mail at least"),
            "age": Parameter(kind="float", unit="turnovers", low=0, high=20, help="how often the LUN was rewritten before"),
            "cache_hits": Parameter(kind="float", low=0, high=0.99, help="share of the reads that do not come from disks"),
            "read_share": Parameter(kind="float", low=0.05, high=0.95, help="share of reads among the pages"),
            "layout": Parameter(kind="str", choices=("stripe", "mirror", "raidz1", "raidz2"),
                                help="top-level vdevs of the pool"),
            "seconds": Parameter(kind="float", unit="s", low=1, high=3600, help="time measured, after a warm-up"),
            "engine": ENGINE,
            "fill_percent": Parameter(kind="int", unit="%", low=5, high=95, help="your own pool: how full it is"),
            "record_kib": Parameter(kind="int", unit="KiB", choices=(4, 8, 16, 32, 64),
                                    help="your own pool: record, or volblocksize"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "07_pgbench_ladder": Notebook(
        keeps=("pgbench", "pgbench-readings", "pgbench-climb", "pgbench-nearest"),
        reads=("claims.toml", "published/*.toml", "priors.toml", "hardware/*.toml", "trials/*/*",
               "nearest/07_pgbench_ladder.toml"), minutes=1.5,
        experiment="study.experiments.ladders_2009.pgbench",
        parameters={
            "transactions": Parameter(kind="int", low=1000, high=1_000_000, help="of all clients of pgbench, in each run"),
            "reading_draws": READING_DRAWS,
            "disks": Parameter(kind="int", low=1, high=24, help="disks of 10 000 rpm, from the second rung on"),
            "log_device": LOG_DEVICE, "honest": HONEST,
            "clients": Parameter(kind="int", low=1, high=64, help="clients of pgbench (-c)"),
            "scale": Parameter(kind="int", choices=(1, 5, 10, 20, 50, 100), help="scale of pgbench (-s)"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "08_sysbench_ladders": Notebook(
        keeps=(*(f"sysbench-{kind}{of}" for kind in ("rw", "ro") for of in ("", "-readings", "-climb")), "sysbench-nearest"),
        reads=("claims.toml", "published/*.toml", "priors.toml", "hardware/*.toml", "trials/*/*",
               "nearest/08_sysbench_ladders.toml"), minutes=4.0,
        experiment="study.experiments.ladders_2009.sysbench",
        parameters={
            "seconds": Parameter(kind="float", unit="s", low=1, high=1200, help="--max-time of sysbench, of each run"),
            "reading_draws": READING_DRAWS,
            "disks": Parameter(kind="int", low=1, high=24, help="disks of 10 000 rpm, from the second rung on"),
            "log_device": LOG_DEVICE, "honest": HONEST,
            "clients": Parameter(kind="int", low=1, high=64, help="threads of sysbench (--num-threads)"),
            "rows": Parameter(kind="int", choices=(100_000, 1_000_000, 10_000_000), help="rows (--oltp-table-size)"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "09_postgres_checkpoints": Notebook(
        keeps=("postgres-tests", "postgres-memory", "postgres-loads", "postgres-checkpoints",
               "postgres-checkpoints-nearest"),
        reads=("claims.toml", "published/*.toml", "priors.toml", "hardware/*.toml", "trials/*/*",
               "nearest/09_postgres_checkpoints.toml"), minutes=2.5,
        experiment="study.experiments.postgres_2008.setups",
        parameters={
            "scale": Parameter(kind="int", low=1, high=64, help="how much smaller the machine is than the one of 2008"),
            "check": Parameter(kind="int", low=0, high=64, help="scale of a second run of one test; 0: none"),
            "target": Parameter(kind="int", unit="%", low=1, high=100, help="your own test: completion target"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "10_your_ladder": Notebook(
        keeps=("your-ladder-steps", *(f"your-ladder-steps-{trial}" for trial in range(1, 5))),
        reads=("priors.toml", "advice.toml", "hardware/*.toml", "trials/*/*"), minutes=3.0,
        parameters={
            "disk": Parameter(kind="str", choices=SHEETS, help="sheet of the disks of the pool, of data/hardware"),
            "n_disks": Parameter(kind="int", low=1, high=48, help="disks of the pool"),
            "layout": Parameter(kind="str", choices=("stripe", "mirror", "raidz1", "raidz2"),
                                help="of the pool; mirrors of two"),
            "log_device": Parameter(kind="str", choices=("none", *SHEETS), help="sheet of a separate intent log"),
            "cache_device": Parameter(kind="str", choices=("none", *SHEETS), help="sheet of a cache device (L2ARC)"),
            "spare": Parameter(kind="str", choices=("none", *SHEETS), help="sheet of a device that could be added"),
            "memory_gib": Parameter(kind="float", unit="GiB", low=1, high=256, help="memory of the host"),
            "record_kib": Parameter(kind="int", unit="KiB", choices=(4, 8, 16, 32, 64, 128), help="recordsize"),
            "durability": Parameter(kind="str", help="what has been traded for speed", choices=(
                "all safe", "no full pages in the log", "asynchronous commits", "no cache flushes", "no intent log")),
            "clients": Parameter(kind="int", low=1, high=256, help="of pgbench"),
            "scale": Parameter(kind="int", low=1, high=5000, help="of pgbench: 100 000 accounts, 15 MB, for each"),
            "draws": DRAWS,
            "run_transactions": Parameter(kind="int", low=500, high=200_000, help="transactions of a run at most"),
        }),
    "11_your_runs": Notebook(
        reads=("claims.toml", "published/*.toml", "examples/series/*/*/*"), minutes=0.5, imports="study.your_runs.chosen",
        parameters={
            "source": Parameter(kind="str",
                                help="'shipped', a label of imported runs (and of all below it), or a SELECT of run_id"),
            "run": Parameter(kind="str",
                             help="label and number of the run that is looked at; '' is the first with the outcome"),
            "outcome": Parameter(kind="str", help="the quantity over time to be explained; '' is transactions a second"),
            "statistic": Parameter(kind="str", help="the quantity over time that may explain it; '' is the size of an I/O"),
            "before": Parameter(kind="str", help="the label that is compared; '' is the one that began first"),
            "after": Parameter(kind="str", help="the label that it is compared with; '' is the one that began next"),
            "interval_s": Parameter(kind="float", unit="s", low=0, high=3600,
                                    help="of a row on one clock; 0: the longest of the series"),
            "max_lag": Parameter(kind="int", unit="intervals", low=1, high=200, help="lags looked at, to either side"),
            "seed": SEED,
        }),
    "12_measured_ladder": Notebook(
        reads=("measured/*/fio/*.json", "measured/*/runs/*/*", "measured/*/blind.json", "priors.toml", "hardware/*.toml"),
        minutes=1.0, imports="study.measure.sets",
        parameters={
            "measured": Parameter(kind="str", help="a set of data/measured, or the label of a ladder measured here"),
            "rung": Parameter(kind="str", help="the rung whose difference is to be explained"),
            "draws": DRAWS,
            "mechanism_draws": Parameter(kind="int", low=2, high=1000, help="draws for each mechanism"),
        }),
    "13_dedup": Notebook(
        keeps=("dedup-cliff", "dedup-paced", "dedup-2018", "dedup-costs"),
        reads=("claims.toml", "published/*.toml", "priors.toml", "hardware/*.toml", "measured/checksums.toml"), minutes=1.0,
        parameters={
            "n_disks": Parameter(kind="int", low=1, high=48, help="disks of the pool, striped"),
            "block_kib": Parameter(kind="int", unit="KiB", choices=(4, 8, 16, 32, 64, 128), help="block that is written"),
            "cached_percent": Parameter(kind="int", unit="%", low=1, high=200,
                                        help="cache device (L2ARC), in parts of the table"),
            "seconds": Parameter(kind="float", unit="s", low=6, high=600, help="time simulated of each run"),
            "n_backups": Parameter(kind="int", low=2, high=400, help="full backups that are kept"),
            "hot_percent": Parameter(kind="int", unit="%", low=20, high=95,
                                     help="of the changes: on the hottest fifth of the pages (order entry)"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "14_lun_alignment": Notebook(
        keeps=("lun-alignment",),
        reads=("claims.toml", "published/*.toml", "priors.toml", "hardware/*.toml"), minutes=1.0,
        parameters={
            "block_kib": Parameter(kind="int", unit="KiB", choices=(4, 8, 16, 32, 64, 128), help="blocks of the volume"),
            "request_kib": Parameter(kind="int", unit="KiB", choices=(4, 8, 16, 32, 64, 128), help="size of a request"),
            "start_sectors": Parameter(kind="int", unit="sectors", low=0, high=4096,
                                       help="of 512 B, in front of the partition that is misaligned"),
            "load": Parameter(kind="str", choices=("database", "backup"), help="at random, or a stream of writes"),
            "read_share": Parameter(kind="float", low=0, high=1, help="share of reads among a database's requests"),
            "cached": Parameter(kind="float", low=0.01, high=1, help="share of the LUN that the ARC has room for"),
            "in_flight": Parameter(kind="int", low=1, high=64, help="requests under way for each disk"),
            "synchronous": Parameter(kind="bool", help="each write is stable when it returns"),
            "log_device": Parameter(kind="bool", help="an SSD as separate intent log"),
            "layout": Parameter(kind="str", choices=("stripe", "mirror", "raidz1", "raidz2"), help="of the four disks"),
            "seconds": Parameter(kind="float", unit="s", low=1, high=600, help="time simulated in each test run"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "15_storage_tiers": Notebook(
        keeps=("hybrid-pools",),
        reads=("claims.toml", "published/*.toml", "priors.toml", "hardware/*.toml", "prices/*.toml"), minutes=1.0,
        parameters={
            "then": PRICES, "today": PRICES,
            "working_set_gib": Parameter(kind="float", unit="GiB", low=1, high=512, help="all tables of the database"),
            "read_share": Parameter(kind="float", low=0, high=1, help="of the blocks that a transaction wants"),
            "users": Parameter(kind="int", low=1, high=256, help="of the database, in a closed loop"),
            "seconds": Parameter(kind="float", unit="s", low=1, high=600, help="time simulated in each test run"),
            "disk_per_gb": Parameter(kind="float", unit="$/GB", low=0.01, high=10, help="your own price of disks"),
            "flash_per_gb": Parameter(kind="float", unit="$/GB", low=0.05, high=50, help="your own price of SSDs"),
            "memory_per_gb": Parameter(kind="float", unit="$/GB", low=1, high=100, help="your own price of memory"),
            "draws": DRAWS, "seeds": SEEDS, "seed": SEED,
        }),
    "90_model_vs_zfs": Notebook(
        reads=("traces/*/*", "disk_replays.toml"),
        parameters={
            "record_kib": Parameter(kind="int", unit="KiB", choices=(2, 4, 8, 16, 32), help="record of the database"),
            "line_kib": Parameter(kind="int", unit="KiB", choices=(8, 16, 32, 64, 128),
                                  help="line of the vdev cache (zfs_vdev_cache_bshift)"),
            "cache_mib": Parameter(kind="int", unit="MiB", choices=(0, 1, 2, 5, 10, 20, 50, 100),
                                   help="vdev cache of one disk (zfs_vdev_cache_size)"),
            "leaf_gib": Parameter(kind="float", unit="GiB", low=0.1, high=100, help="database on this disk"),
            "reads_per_s": Parameter(kind="float", unit="1/s", low=1, high=1000,
                                     help="reads of records that reach this disk"),
            "seconds": Parameter(kind="float", unit="s", low=1, high=1200, help="time simulated, from a cold start"),
            "l1_bytes": Parameter(kind="int", unit="B", low=512, high=16384, help="an indirect block, compressed"),
            "l1_place": Parameter(kind="str", choices=("L1_APART", "L1_BEHIND_RECORDS"),
                                  help="where indirect blocks lie: side by side, or each behind its records"),
            "fill_ticks": Parameter(kind="int", unit="ticks", low=0, high=100, help="how long a fill takes (10 ms each)"),
            "pool_fill": Parameter(kind="int", unit="%", low=1, high=99, help="your own pool: CAP of zpool list"),
            "pool_fragmentation": Parameter(kind="int", unit="%", low=0, high=100, help="and its FRAG of zpool list"),
            "seed": SEED,
        }),
    "91_published_setups": Notebook(
        reads=("priors.toml", "hardware/*.toml", "trials/*/*"), minutes=1.5,
        parameters={
            "setup": Parameter(kind="str", help="set-up of data/trials that is predicted again", choices=(
                "arvstedt-hdd2", "digoal-flash3", "dotmanila-hp6", "huxtable-nvme2", "kaist-nvme-pm1735", "nastradamus-i3",
                "nihr43-hdd12-32g", "nihr43-hdd12-8g", "nihr43-ssd2",
                "vondra-epyc4", "vondra-nvme-dc1500m",
                "vondra-nvme1", "vondra-sata6", "vondra-sata6-2023", "vondra-sata6-large")),
            "draws": DRAWS,
            "n_cells": Parameter(kind="int", low=1, high=20, help="how many of its cells"),
        }),
}


def books() -> list[Path]:
    """The notebooks of the study, in order. Neither `index.ipynb`, which shows them, nor a copy of one is one of them."""
    return sorted(path for path in NOTEBOOKS.glob("*.ipynb") if path.stem in STUDY)


def find(name: str) -> Path:
    """A notebook by name (`00_claims`), by the start of its name (`00`), or by path."""
    path = Path(name)
    if path.suffix == ".ipynb":
        if not path.is_file():
            raise UserError(f"there is no notebook {name}; check the path")
        path = path.resolve()
        if path == NOTEBOOKS / "index.ipynb":
            raise UserError(f"{name} shows the notebooks and is not run; open it with make lab, or give one such as 90")
        if path.parent == NOTEBOOKS and path.stem not in STUDY:     # what it reads would not be watched
            raise UserError(f"{name} is none of the notebooks that study/runs/catalogue.py lists. Move it to another "
                            "folder, where it is your own, or list it")
        return path
    if path.is_file():
        raise UserError(f"{name} is no .ipynb file; give one, such as jupytext --to ipynb makes of a notebook that is text")
    have = books()
    candidates = [path for path in have if path.stem.startswith(name)]
    exact = [path for path in candidates if path.stem == name]
    if len(exact or candidates) > 1:
        both = " and ".join(path.stem for path in candidates)
        raise UserError(f"'{name}' names {len(candidates)} notebooks, {both}; take one of them")
    if not candidates:
        stems = [path.stem for path in have]
        raise UserError(f"'{name}' names no notebook; " + errors.meant(
            name, stems, f"there are {', '.join(stems)}: take one, by its name or its number, or give the path of an "
            ".ipynb file"))
    return (exact or candidates)[0]


def entry(path: Path) -> Notebook | None:
    """What is listed for a notebook of the study; None for one of the user's own."""
    return STUDY.get(path.stem) if path.parent == NOTEBOOKS else None

"""Words that people of the field write into a scenario, and that are known but not simulated: each with what comes nearest.

    not_simulated.known("files", "dedup")       the end of a sentence about the entry, or ""
    not_simulated.of_kind("files", "ext4")      likewise of a kind
    not_simulated.of_value("layout", "raid10")  likewise of a value
    not_simulated.mariadb({"kind": "mariadb", "version": "10.6"})       as the InnoDB that it has
    not_simulated.own_defaults((10, 6))         where MariaDB's settings are not those of that release of MySQL
"""
import re

VERSION = re.compile(r"(\d{1,3})(?:\.(\d{1,3}))?")
OF_MYSQL = re.compile(r"(5\.[015-7]|8\.\d)(?:[.-].*)?$")      # as SELECT VERSION() says it: 5.7.44-log
NO_EFFECT = "is a property of ZFS that the model leaves out; leave it out here too, as if it had no effect"
ENTRIES: dict[str, dict[str, str]] = {
    "pool": {
        "special": "is a special vdev, which is not simulated; leave it out, and metadata lie on the data devices",
        "dedup": "is a dedup vdev, which is not simulated; leave it out, as data are never deduplicated here",
        **dict.fromkeys(("spare", "spares"), "is a hot spare, which does nothing until a disk fails; leave it out")},
    "files": {
        "dedup": "is not simulated; leave it out, and take the prediction as an upper bound",
        "recordsize": "is called record_kib here, in KiB; write record_kib = 8 for recordsize=8K",
        "compression": "is called compress_ratio here; give what `zfs get compressratio` says",
        "special_small_blocks": "is for a special vdev, which is not simulated; leave it out",
        "volblocksize": "is called volblocksize_kib here, in KiB; write kind = \"zvol\" and volblocksize_kib = 8 for "
                        "volblocksize=8K",
        "zvol": "is a kind here; write kind = \"zvol\"",
        "encryption": "is not simulated; leave it out, and take the prediction as an upper bound",
        "zfs_arc_max": "is called arc_max_mib here, in MiB",
        "zfs_prefetch_disable": "is called prefetch here, and the other way round: prefetch = false",
        "zfs_nocacheflush": "is called nocacheflush here; write nocacheflush = true",
        "copies": "is not simulated; leave it out, and take the prediction as an upper bound",
        "direct": "is not simulated; nearest is primarycache = \"metadata\"",
        **dict.fromkeys(("atime", "relatime", "xattr", "checksum", "redundant_metadata", "dnodesize", "acltype", "snapdir",
                         "quota", "reservation", "mountpoint"), NO_EFFECT)},
    "database": {
        **dict.fromkeys(("tables", "table_size", "oltp_table_size"), "is called rows here: of all tables together"),
        "num_threads": "is called clients here", "jobs": "is called threads here", "time": "is called seconds here"},
    "script": {"selects": "is called reads here", "deletes": "is not simulated; nearest are updates, one for each"},
    "": {**dict.fromkeys(("capacity", "cap"), "is called fill here, in [pool]; write fill = 0.8 for a CAP of 80 %"),
         "frag": "is called fragmentation here, in [pool]",
         "spare": "is of the files that `study advise --hardware` reads; leave it out"},
}
LAYOUTS = {
    **dict.fromkeys(("raidz", "raid5"), "nearest is raidz1"), "raid6": "nearest is raidz2",
    **dict.fromkeys(("raid10", "mirrors"), "write mirror with width = 2, the devices of each mirror"),
    "raid1": "write mirror",
    **dict.fromkeys(("raid0", "single", "disk", "none"), "write stripe"),
    **dict.fromkeys(("draid", "draid1", "draid2", "draid3"), "dRAID is not simulated; nearest is raidz of the same parity")}
VALUES = {"layout": LAYOUTS, "version": dict.fromkeys(("5.0", "5.1"), "nearest is 5.4.0"),
          "primarycache": {"none": "nearest is metadata, as none is not simulated"},
          "secondarycache": {"metadata": "nearest is none, by which tables stay out of the cache device, too"}}
OF_MODULE = ("zfs_", "l2arc_", "zil_", "spa_", "metaslab_", "dbuf_")
AS_BUILT = "is a parameter of ZFS's module that cannot be set here; leave it out, and `era` has it as its release set it"
NEAREST_FILES = 'nearest is kind = "zfs" with record_kib as large as the database\'s page'
KINDS = {
    "files": {name: f"{name} is not simulated; {NEAREST_FILES}; on a zvol it is kind = \"zvol\""
              for name in ("ext4", "ext3", "xfs", "btrfs", "ntfs")},
    "database": {name: f"{name} is not simulated; choose postgres, innodb or oracle"
                 for name in ("sqlite", "mongodb", "mssql", "db2", "cassandra", "redis", "rocksdb")},
}
# InnoDB of MariaDB: XtraDB of MySQL's release up to 10.1, MySQL 5.7's from 10.2 on, and its own since (mariadb.com/kb).
MARIADB = (((10, 2), "5.7"), ((10, 0), "5.6"), ((5, 5), "5.5"))
NEWEST_MARIADB = (12, 0)        # where no version is given
# Its defaults that are not those of the release of MySQL: its manual, "InnoDB System Variables"; MDEV-27734 of 10.6.7.
# Its reference (mariadb.com/docs, System Variables) has 100663296 B for innodb_log_file_size, and one file in a group. For
# innodb_lru_scan_depth it has 1536 from 10.5 on, 1024 in 10.4. By "InnoDB Buffer Pool" there is one instance from 10.5 on.
OF_MARIADB: tuple[tuple[tuple[int, int], dict[str, object]], ...] = (
    ((10, 2), {"sync_binlog": 0}),
    ((10, 5), {"innodb_log_file_size": "96M", "innodb_log_files_in_group": 1, "innodb_max_dirty_pages_pct": 90,
               "innodb_lru_scan_depth": 1536, "innodb_buffer_pool_instances": 1}),
    ((10, 6), {"innodb_change_buffering": "none"}))
IN_NO_VERSION = (1000, 0)
# What it takes and does not heed: from 10.5 on redo log and buffer pool are one. From 10.9 on nothing is buffered
# (MDEV-27735).
UNHEEDED = {"innodb_log_files_in_group": (10, 5), "innodb_buffer_pool_instances": (10, 5),
            "innodb_change_buffering": (10, 9)}


def known(section: str, word: str) -> str:
    """What comes nearest to a word that is known but not simulated, or "" for an unknown word."""
    nearest = ENTRIES.get(section, {}).get(word) or ENTRIES[""].get(word, "")
    return nearest or (AS_BUILT if word.startswith(OF_MODULE) else "")


def of_value(word: str, value: object) -> str:
    """The end of a sentence about a value of an entry, or ""."""
    return VALUES.get(word, {}).get(str(value).split(":")[0], "")


def of_kind(section: str, kind: str) -> str:
    """What comes nearest to a kind of `section` that is not simulated, or "" for an unknown kind."""
    return KINDS.get(section, {}).get(kind, "")


def mariadb(database: dict) -> dict:
    """The section `database` of MariaDB, or of MySQL by its own name, as that of InnoDB. Raises ValueError for a version
    that is none."""
    if database.get("kind") in ("mysql", "innodb"):
        of_mysql = OF_MYSQL.match(str(database.get("version", "")))
        return database | {"kind": "innodb"} | ({"version": of_mysql[1]} if of_mysql else {})
    if database.get("kind") != "mariadb":
        return database
    number = mariadb_version(database)
    release = next((mysql for first, mysql in MARIADB if number >= first), None)
    if release is None:
        raise ValueError(f"version is {database['version']}, but MariaDB is simulated from 5.5 on; choose one of these")
    taken, given = database | {"kind": "innodb", "version": release}, database.get("conf", {})
    if not isinstance(given, dict):
        return taken
    heeded = {name: value for name, value in given.items() if number < UNHEEDED.get(_variable(name), IN_NO_VERSION)}
    return taken | {"conf": own_defaults(number) | heeded}


def _variable(name: str) -> str:
    """An option of my.cnf by the name of its variable."""
    return name.lower().replace("-", "_").removeprefix("loose_")


def mariadb_version(database: dict) -> tuple[int, int]:
    """Of MariaDB; the newest if it is left out. ValueError for what is none, or what may be one of two."""
    if "version" not in database:
        return NEWEST_MARIADB
    version = database["version"]
    if version == 10.1 and isinstance(version, float):
        raise ValueError('version is 10.1 as a number, which 10.10 is too; write version = "10.1" or version = "10.10"')
    written = VERSION.match(str(version))
    if written is None:
        raise ValueError(f"version is {version!r}, which is no version of MariaDB; write it like \"10.6\"")
    return int(written[1]), int(written[2] or 0)


def own_defaults(version: tuple[int, int]) -> dict[str, object]:
    """Settings of that version of MariaDB where they are not those of the release of MySQL that stands for it."""
    return {name: value for first, settings in OF_MARIADB if version >= first for name, value in settings.items()}

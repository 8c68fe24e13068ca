"""What a power cut could cost under a scenario, in plain words: every step of tuning that trades safety for speed."""
from study.machines import conf
from study.machines.scenario import Scenario
from study.machines.storage import Devices, sheet


def dangers(machine: Scenario) -> tuple[str, ...]:
    """One sentence for each."""
    sentences = _of_files(machine) if machine.files.kind != "ufs" else []
    settings = conf.check(machine.database.kind, machine.database.conf)
    of_database = {"postgres": _of_postgres, "innodb": _of_innodb}.get(machine.database.kind)
    return tuple(sentences + (of_database(machine, settings) if of_database else []))


NO_ZIL = ("DANGER: without the intent log a power cut or a crash takes back the last seconds of commits that clients were "
          "told are safe. The file system itself stays whole.")
NO_FLUSH = ("DANGER: zfs_nocacheflush leaves commits in caches that devices lose with the power. A power cut can lose "
            "commits, and the whole pool.")
ASYNCHRONOUS = ("RISK: with synchronous_commit = off a crash loses the commits of the last three rounds of the WAL writer "
                "(0.6 s by default). The database stays consistent.")
NO_FSYNC = "DANGER: with fsync = off a power cut can leave a database that does not start, or starts and is wrong."
LAZY = "RISK: with innodb_flush_log_at_trx_commit other than 1 a crash loses about a second of commits."
WHOLE = ("NOTE: {setting} is safe here, because ZFS writes a record whole or not at all and a page lies within one. A copy "
         "of the database on another file system is not safe with it.")
TORN = ("DANGER: {setting} where the file system can write half a page: after a power cut pages can be torn, and nothing "
        "mends them.")


def _of_files(machine: Scenario) -> list[str]:
    flushes = not machine.zfs.nocacheflush or all(_survives(part) for part in _written(machine))
    return [NO_ZIL] * (not machine.zfs.has_zil) + [NO_FLUSH] * (not flushes)


def _of_postgres(machine: Scenario, settings: dict) -> list[str]:
    sentences = [ASYNCHRONOUS] * (settings.get("synchronous_commit") == "off")
    sentences += [NO_FSYNC] * (settings.get("fsync") is False)
    return sentences + [_torn_pages(machine, "full_page_writes = off", 8)] * (settings.get("full_page_writes") is False)


def _of_innodb(machine: Scenario, settings: dict) -> list[str]:
    sentences = [LAZY] * (settings.get("innodb_flush_log_at_trx_commit", "1") != "1")
    return sentences + [_torn_pages(machine, "innodb_doublewrite = 0", 16)] * (settings.get("innodb_doublewrite") is False)


def _torn_pages(machine: Scenario, setting: str, page_kib: int) -> str:
    is_whole = machine.files.kind == "zfs" and machine.files.record_kib >= page_kib      # a guest may write half a page
    return (WHOLE if is_whole else TORN).format(setting=setting)


def _written(machine: Scenario) -> list[Devices]:
    pools = [pool for pool in (machine.pool, machine.log_pool) if pool is not None]
    return [part for pool in pools for part in (pool.data, pool.log) if part is not None]


def _survives(part: Devices) -> bool:
    """Whether what the device has reported survives a power cut."""
    params = sheet(part.sheet).params
    caches = getattr(params, "buffers_writes", 0) if part.write_cache is None else part.write_cache
    return part.battery or not getattr(params, "is_volatile", caches)

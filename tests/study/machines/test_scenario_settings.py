"""Settings of databases in scenarios: units, spellings, and what has no effect."""
import re
from pathlib import Path

import pytest

from study.errors import UserError
from study.machines import conf, scenario, settings_without_effect, tool_output
from study.machines.database import Innodb
from support.plain_disk import DISK


@pytest.mark.parametrize(("database", "name", "why"), [
    ("innodb", "innodb_use_atomic_writes", "leaves it out"), ("innodb", "innodb_flush_method", "leaves it out"),
    ("innodb", "query_cache_size", "do not feel it"), ("postgres", "autovacuum_naptime", "leaves it out"),
    ("postgres", "work_mem", "do not feel it"), ("postgres", "shared_buffers", ""), ("postgres", "wal_buffer", "")])
def test_settings_without_effect_are_known_as_such(database, name, why):
    assert why in conf.unfelt(database, name)
    assert bool(why) == bool(conf.unfelt(database, name))


def test_no_setting_is_both_simulated_and_without_effect():
    for database, (_, known) in conf.KNOWN.items():
        assert not [name for name in known if conf.unfelt(database, name)]


def test_bare_numbers_have_the_unit_of_the_setting():
    settings = conf.check("postgres", {"shared_buffers": 4096, "checkpoint_timeout": 300, "commit_delay": 10,
                                       "max_wal_size": 64, "wal_writer_delay": 200, "full_page_writes": False,
                                       "fsync": "on"})
    assert settings == {"shared_buffers": 2**25, "checkpoint_timeout": 300, "commit_delay": pytest.approx(1e-5),
                        "wal_writer_delay": pytest.approx(0.2), "max_wal_size": 2**26, "full_page_writes": False,
                        "fsync": True}


def test_my_cnf_takes_a_hyphen_for_an_underscore():
    assert Innodb(conf={"innodb-doublewrite": "off", "skip-name-resolve": 1}).conf == {
        "innodb_doublewrite": "off", "skip_name_resolve": 1}


def conf_of(kind, settings):
    """What a database's section takes of such settings."""
    return scenario.of(DISK | {"host": {"memory_gib": 64}, "database": {"kind": kind, "conf": settings}}).database.conf


def test_every_setting_that_postgres_has_is_simulated_or_named():
    """SHOW ALL of PostgreSQL 15 whole, as recorded."""
    shown = tool_output.settings((Path(__file__).parent / "tools" / "postgres-15.show-all.txt").read_text())
    known = [name for name in shown if name.lower() in conf.POSTGRES or conf.unfelt("postgres", name.lower())
             or name in settings_without_effect.NEAREST]
    assert (len(shown) > 300, known) == (True, list(shown))


@pytest.mark.parametrize(("kind", "settings", "taken"), [
    ("postgres", {"wal_buffers": "-1"}, {}),
    ("postgres", {"synchronous_commit": "remote_apply", "synchronous_standby_names": ""},
     {"synchronous_commit": "on", "synchronous_standby_names": ""}),
    ("postgres", {"wal_segment_size": "16MB", "TimeZone": "UTC"}, {"wal_segment_size": "16MB", "timezone": "UTC"}),
    ("innodb", {"log-bin": "mysql-bin", "loose_innodb-flush-neighbors": 0}, {"log_bin": "on", "innodb_flush_neighbors": 0}),
    ("innodb", {"skip-log-bin": True, "skip_innodb_doublewrite": 1}, {"log_bin": "off", "innodb_doublewrite": "off"}),
    ("innodb", {"innodb_doublewrite": "DETECT_AND_RECOVER", "innodb_page_size": "16k"},
     {"innodb_doublewrite": "on", "innodb_page_size": "16k"})])
def test_settings_are_taken_as_real_files_spell_them(kind, settings, taken):
    assert conf_of(kind, settings) == taken


@pytest.mark.parametrize(("kind", "settings", "match"), [
    ("postgres", {"wal_segment_size": "64MB"}, "segments have 16 MB here"),
    ("postgres", {"synchronous_standby_names": "b"}, "there is no standby here"),
    ("innodb", {"innodb_page_size": "4k"}, "pages of 16 KiB"), ("innodb", {"wsrep_on": "ON"}, "Galera is not simulated"),
    ("innodb", {"innodb_doublewrite": "DETECT_ONLY"}, "legal but not simulated")])
def test_settings_that_matter_are_refused_with_what_comes_nearest(kind, settings, match):
    with pytest.raises(UserError, match=match):
        conf_of(kind, settings)


@pytest.mark.parametrize(("written", "version"), [("8.0.36", "8.0"), ("5.7.44-log", "5.7"), ("5.4.2", "5.4.2")])
def test_versions_of_mysql_are_read_as_it_says_them(written, version):
    content = DISK | {"database": {"kind": "mysql", "version": written}}
    assert scenario.of(content).database.version == version


def test_a_setting_without_quotes_is_told_how_to_write_it(tmp_path):
    (tmp_path / "mine.toml").write_text("[database.conf]\nshared_buffers = 2GB   # a quarter\n")
    with pytest.raises(UserError, match='stand in quotes: shared_buffers = "2GB"'):
        scenario.read(tmp_path / "mine.toml")


def test_a_capacity_of_the_redo_log_is_two_files_of_half_of_it():
    values = conf.check("innodb", {"innodb_redo_log_capacity": "8G", "innodb_log_file_size": "1G"})
    assert values == {"innodb_log_file_size": 4 * 2**30, "innodb_log_files_in_group": 2}


@pytest.mark.parametrize("written", ["1_0", "٠.٥", "0x1", "1e", "half"])
def test_a_number_of_a_setting_has_digits_as_a_server_reads_them(written):
    with pytest.raises(ValueError, match=r"which is no number; write it like 0\.5"):
        conf.check("postgres", {"checkpoint_completion_target": written})
    with pytest.raises(ValueError, match="which is no whole number"):
        conf.check("postgres", {"commit_siblings": written})


@pytest.mark.parametrize(("written", "message"), [
    ("1e-400", "has the number 1e-400, which is too small to be read; write 0 or a larger one"),
    ('"2.5e-999"', "checkpoint_completion_target is 2.5e-999, which is too small to be read; choose one from 0 to 1"),
    ("0e-400", None), ("1e-300", None)])
def test_a_number_that_would_become_0_is_refused(tmp_path, written, message):
    path = tmp_path / "s.toml"
    path.write_text(f"[database.conf]\ncheckpoint_completion_target = {written}\n")
    if message is None:
        value = scenario.toml(path)["database"]["conf"]["checkpoint_completion_target"]
        assert conf.check("postgres", {"checkpoint_completion_target": value}).popitem()[1] == float(written)
        return
    with pytest.raises((UserError, ValueError), match=re.escape(message)):
        conf.check("postgres", scenario.toml(path)["database"]["conf"])

"""Settings out of postgresql.conf, my.cnf and what servers show, as they stand in real files."""
from pathlib import Path

import pytest

from study.errors import UserError
from study.machines import conf_files, scenario

TOOLS = Path(__file__).parent / "tools"
POSTGRES = """\
# -----------------------------
# PostgreSQL configuration file
# -----------------------------
data_directory = '/var/lib/postgresql/16/main'\t\t# use data in another directory
listen_addresses = '*'
port 5432
shared_buffers = 4GB\t\t\t# min 128kB
#shared_buffers = 128MB
#huge_pages = try
#work_mem = 4MB
#fsync = off
#wal_level = replica
#synchronous_commit = off
#full_page_writes = off
#bgwriter_delay = 200ms
#wal_compression = off
#jit = on
#port = 5432
wal_buffers = -1
max_wal_size = 8GB
max_wal_size = 16GB
log_line_prefix = '%m [%p] %q%u@%d '\t\t# it's special
include_dir = 'conf.d'
pg_stat_statements.track = all
"""
MY = """\
[client]
port            = 3306
[mysqld_safe]
nice            = 0
[mysqld]
user            = mysql
skip-external-locking
innodb_buffer_pool_size = 4G   # half
innodb-flush-log-at-trx-commit=2
sql_mode="NO_ENGINE_SUBSTITUTION"
; innodb_doublewrite = 0
log-bin
[mysqld-8.4]
innodb_redo_log_capacity=4G
[mysqldump]
quick
!includedir /etc/mysql/conf.d/
"""
BOX = """\
mysql> SHOW VARIABLES;
+-------------------------+-----------+
| Variable_name           | Value     |
+-------------------------+-----------+
| innodb_buffer_pool_size | 134217728 |
| innodb_flush_method     |           |
| innodb_log_file_size    | 50331648  |
+-------------------------+-----------+
3 rows in set (0.00 sec)
"""
SHOWN = {"innodb_buffer_pool_size": "134217728", "innodb_flush_method": "", "innodb_log_file_size": "50331648"}


def read(tmp_path, text, name="file.conf"):
    (tmp_path / name).write_text(text)
    return conf_files.read(tmp_path / name)


def test_postgresql_conf_has_values_in_quotes_and_comments_that_are_none(tmp_path):
    assert read(tmp_path, POSTGRES) == {
        "data_directory": "/var/lib/postgresql/16/main", "listen_addresses": "*", "port": "5432", "shared_buffers": "4GB",
        "wal_buffers": "-1", "max_wal_size": "16GB", "log_line_prefix": "%m [%p] %q%u@%d ", "include_dir": "conf.d",
        "pg_stat_statements.track": "all"}


def test_of_my_cnf_only_what_the_server_reads_counts(tmp_path):
    assert read(tmp_path, MY) == {
        "user": "mysql", "skip-external-locking": "on", "innodb_buffer_pool_size": "4G",
        "innodb-flush-log-at-trx-commit": "2", "sql_mode": "NO_ENGINE_SUBSTITUTION", "log-bin": "on",
        "innodb_redo_log_capacity": "4G", "includedir": "!includedir /etc/mysql/conf.d/"}


@pytest.mark.parametrize("form", [
    str, lambda text: "\n".join(f"{name}\t{value}" for name, value in SHOWN.items()),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "\n".join(f"{name}|{value}|What it is." for name, value in SHOWN.items())])
def test_what_servers_show_is_a_table_of_names_and_values(tmp_path, form):
    assert read(tmp_path, form(BOX)) == SHOWN


def test_show_all_has_every_setting_of_the_server():
    assert len(conf_files.read(TOOLS / "postgres-15.show-all.txt")) == 354
    assert conf_files.read(TOOLS / "postgres-15.aligned.txt")["shared_buffers"] == "128MB"


@pytest.mark.parametrize(("text", "match"), [
    ("shared_buffers = 1GB\n<<<<<<< HEAD\nlog = 'x\n", "line 2 '<<<<<<< HEAD', line 3 'log = 'x'"), ("", "has no setting"),
    ("# fsync = off\n", "has no setting"), ("[mysqldump]\nquick\n", "has no setting")])
def test_what_is_no_such_file_is_one_sentence(tmp_path, text, match):
    with pytest.raises(UserError, match=match) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)


def scenario_with(tmp_path, database, own=""):
    (tmp_path / "mine.toml").write_text(
        f'[host]\nmemory_gib = 64\n[pool.data]\nsheet = "savvio-10k2"\n[database]\n{database}\n{own}')
    return scenario.read(tmp_path / "mine.toml")


def test_a_scenario_takes_the_settings_of_the_file_that_it_names(tmp_path):
    read(tmp_path, POSTGRES)
    taken = scenario_with(tmp_path, 'version = 16\nconf_file = "file.conf"',
                          '[database.conf]\nmax_wal_size = "2GB"\n').database
    assert (taken.conf["shared_buffers"], taken.conf["max_wal_size"], "wal_buffers" in taken.conf) == ("4GB", "2GB", False)
    read(tmp_path, MY)
    taken = scenario_with(tmp_path, 'kind = "mysql"\nversion = "8.4.3"\nconf_file = "file.conf"').database
    assert (taken.version, taken.conf["log_bin"], taken.conf["innodb_redo_log_capacity"]) == ("8.4", "on", "4G")


@pytest.mark.parametrize(("written", "match"), [
    ("3", "conf_file is 3, which is no path"), ('"none.conf"', "none.conf is not there")])
def test_a_file_of_settings_that_is_not_there_is_one_sentence(tmp_path, written, match):
    with pytest.raises(UserError, match=match):
        scenario_with(tmp_path, f"conf_file = {written}")

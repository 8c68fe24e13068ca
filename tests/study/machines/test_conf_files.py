"""Settings out of postgresql.conf, my.cnf and what servers show, as they stand in real files."""
from pathlib import Path

import pytest

from study.errors import UserError
from study.machines import conf, conf_files, scenario
from study.predictions import predict
from support.conf_files import read, scenario_with

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


def test_postgresql_conf_has_values_in_quotes_and_comments_that_are_none(tmp_path):
    assert read(tmp_path, POSTGRES) == {
        "data_directory": "/var/lib/postgresql/16/main", "listen_addresses": "*", "port": "5432", "shared_buffers": "4GB",
        "wal_buffers": "-1", "max_wal_size": "16GB", "log_line_prefix": "%m [%p] %q%u@%d ", "include_dir": "conf.d",
        "pg_stat_statements.track": "all"}


def test_of_my_cnf_only_what_the_server_reads_counts(tmp_path):
    assert read(tmp_path, MY, version="8.4") == {
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
    assert len(conf_files.read(TOOLS / "postgres-15.show-all.txt").values) == 354
    assert conf_files.read(TOOLS / "postgres-15.aligned.txt").values["shared_buffers"] == "128MB"


@pytest.mark.parametrize(("text", "settings"), [
    ("-- DB Version: 16\nALTER SYSTEM SET\n shared_buffers = '4GB';\nALTER SYSTEM SET max_wal_size TO '16GB';\n",
     {"shared_buffers": "4GB", "max_wal_size": "16GB"}),
    ("postgres=# alter system set fsync = off;\nALTER SYSTEM\n=> ALTER SYSTEM SET commit_delay TO 10; -- us\n=> \\q\n",
     {"fsync": "off", "commit_delay": "10"}),
    ("ALTER SYSTEM SET a = 1; ALTER SYSTEM SET b = 'x; y'; -- don't\nSELECT pg_reload_conf();\n", {"a": "1", "b": "x; y"}),
    ("ALTER SYSTEM SET a = 1;\npostgres=# ALTER SYSTEM RESET a;\nALTER SYSTEM SET b = 2;\nALTER SYSTEM SET c = 3;\n"
     "ALTER SYSTEM SET b TO DEFAULT;\n", {"c": "3"}),
    ("MariaDB [(none)]> SET GLOBAL a = 2, GLOBAL b = 0;\nQuery OK, 0 rows affected (0.00 sec)\nSET @old = 3;\nSHOW x;\n",
     {"a": "2", "b": "0"}),
    ("- -c\n- fsync=off\n- \"-c\"\n- 'work_mem=4MB'\n", {"fsync": "off", "work_mem": "4MB"}),
    ("mysql> SET GLOBAL innodb_io_capacity = 2000;\nset @@global.sync_binlog := 0;\nSET PERSIST log_bin='x';\n",
     {"innodb_io_capacity": "2000", "sync_binlog": "0", "log_bin": "x"}),
    ("-c shared_buffers=4GB \\\n-c 'log_line_prefix=%m' \\\n-c fsync=off\n",
     {"shared_buffers": "4GB", "log_line_prefix": "%m", "fsync": "off"}),
    ("- --innodb-buffer-pool-size=12G\n- \"--skip-log-bin\"\n",
     {"innodb-buffer-pool-size": "12G", "skip-log-bin": "on"})])
def test_statements_and_options_are_settings(tmp_path, text, settings):
    assert read(tmp_path, text) == settings


@pytest.mark.parametrize(("text", "match"), [
    ("a:\n  command: postgres -c fsync=off\nb:\n  command: mysqld --skip-log-bin\n", "a.command and b.command; give that"),
    ("command: postgres -c shared_buffers=${BUFFERS:-1GB}\n", "shared_buffers to .*, a variable whose value is not in it"),
    ('db:\n  command: ["postgres", "-c", "fsync", "-c", "jit=off"]\n', "with -c fsync, which is not read"),
    ("db:\n  command: postgres -c 'fsync=off\n", "a quotation that does not end"),
    ("command: postgres -B 1000 -c fsync=off\n", "with -B, 1000, which is not read"),
    ("  command: postgres -c fsync=off\n volumes:\n", "is no YAML from line 2 on"),
    ("options zfs zfs_arc_max=17179869184\n", "parameters of ZFS's module.*arc_max_mib for zfs_arc_max, in MiB"),
    ("NAME     PROPERTY    VALUE  SOURCE\ntank/pg  recordsize  8K     local\n", "record_kib for recordsize"),
    ("NAME   SIZE  ALLOC   FREE  FRAG  CAP\ntank  19.5G   360K  19.5G   0%   0%\n", r"\[pool\] has fill for CAP"),
    ("  pool: tank\n state: ONLINE\n", r"\[pool.data\], \[pool.log\]")])
def test_what_is_elsewhere_in_a_scenario_or_not_alone_is_one_sentence(tmp_path, text, match):
    with pytest.raises(UserError, match=match) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)


def test_a_unit_may_stand_in_the_cell_of_the_value(tmp_path):
    table = ("           Name |      Setting | Source\n shared_buffers | 2097152 8kB | file\n work_mem | -1 kB | default\n"
             " max_wal_size |    8192 MB | file\n")
    assert read(tmp_path, table) == {"shared_buffers": "16777216kB", "work_mem": "-1", "max_wal_size": "8192MB"}


@pytest.mark.parametrize(("text", "match"), [
    ("shared_buffers = 1GB\n<<<<<<< HEAD\nlog = 'x\n", "line 2 '<<<<<<< HEAD', line 3 'log = 'x'"), ("", "has no setting"),
    ("a = 1\nALTER DATABASE bench SET synchronous_commit = off;\n=> SET work_mem = '1GB';\nALTER ROLE r SET b = 1;\n",
     "line 2 'ALTER DATABASE .*' is of one database, role or session and not of the server, line 3 .*, line 4 "),
    ("postgres=# vacuum;\n", "line 1 'postgres=# vacuum;' is no statement that sets anything"),
    ("# fsync = off\n", "has no setting"), ("[mysqldump]\nquick\n", "has no setting")])
def test_what_is_no_such_file_is_one_sentence(tmp_path, text, match):
    with pytest.raises(UserError, match=match) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)


def test_a_scenario_takes_the_settings_of_the_file_that_it_names(tmp_path):
    read(tmp_path, POSTGRES)
    taken = scenario_with(tmp_path, 'version = 16\nconf_file = "file.conf"',
                          '[database.conf]\nmax_wal_size = "2GB"\n').database
    assert (taken.conf["shared_buffers"], taken.conf["max_wal_size"], "wal_buffers" in taken.conf) == ("4GB", "2GB", False)
    read(tmp_path, MY, version="8.4")
    taken = scenario_with(tmp_path, 'kind = "mysql"\nversion = "8.4.3"\nconf_file = "file.conf"').database
    assert (taken.version, taken.conf["log_bin"], taken.conf["innodb_redo_log_capacity"]) == ("8.4", "on", "4G")


@pytest.mark.parametrize(("written", "match"), [
    ("3", "conf_file is 3, which is no path"), ('"none.conf"', "none.conf is not there")])
def test_a_file_of_settings_that_is_not_there_is_one_sentence(tmp_path, written, match):
    with pytest.raises(UserError, match=match):
        scenario_with(tmp_path, f"conf_file = {written}")


def of_mysql(tmp_path, text):
    read(tmp_path, text)
    return scenario_with(tmp_path, 'kind = "mysql"\nversion = "5.7"\nconf_file = "file.conf"')


@pytest.mark.parametrize(("lines", "name", "value"), [
    ("innodb-io-capacity=100\ninnodb_io_capacity=200\ninnodb-io-capacity=300", "innodb_io_capacity", "300"),
    ("innodb_io_capacity=100\nINNODB_IO_CAPACITY=200", "innodb_io_capacity", "200"),
    ("log-bin\nskip-log-bin", "log_bin", "off"), ("log-bin\nskip-log-bin\nlog-bin=a-bin", "log_bin", "on"),
    ("skip-log-bin=0", "log_bin", "on"), ("skip-innodb-adaptive-flushing", "innodb_adaptive_flushing", "off"),
    ("loose-disable-innodb-doublewrite", "innodb_doublewrite", "off"),
    ("enable-innodb_doublewrite", "innodb_doublewrite", "on"), ("enable-innodb_doublewrite=0", "innodb_doublewrite", "off"),
    ("skip-name-resolve", "skip_name_resolve", "on"), ("disable-innodb-strict-mode", "innodb_strict_mode", "off"),
    ("disable-innodb-adaptive-hash-index=1", "innodb_adaptive_hash_index", "off")])
def test_the_last_line_counts_whatever_its_spelling(tmp_path, lines, name, value):
    assert of_mysql(tmp_path, f"[mysqld]\n{lines}\n").database.conf == {name: value}


def test_names_that_a_server_shows_are_genuine_and_counted(tmp_path):
    shown = BOX.replace("| innodb_flush_method     |           |",
                        "| have_ssl | YES |\n| hostname | db |\n| license | GPL |")
    machine = of_mysql(tmp_path, shown)
    assert "3 other names that the server shows: without effect here" in predict.notes(machine)
    assert machine.database.conf["innodb_log_file_size"] == "50331648"
    with pytest.raises(UserError, match="innodb_page_size"):
        of_mysql(tmp_path, shown.replace("| license | GPL |", "| innodb_page_size | 4096 |"))
    with pytest.raises(UserError, match="have_ssl"):
        of_mysql(tmp_path, "[mysqld]\nhave_ssl = YES\n")


@pytest.mark.parametrize("text", [
    "-[ RECORD 1 ]----\nname | shared_buffers\nsetting | 16384\nunit | 8kB\n-[ RECORD 2 ]--\nname | fsync\nsetting | off\n",
    "*** 1. row ***\nname: x\n".replace("***", "*****").replace("x", "shared_buffers\n   Value: 131072kB") +
    "***** 2. row *****\nVariable_name: fsync\n        Value: off\n",
    "  name  | unit | setting\n--------+------+-----\n shared_buffers | 8kB | 16384\n fsync | | off\n(2 rows)\n",
    "  name  | setting\n--------+------+-----\n shared_buffers | 131072kB\n fsync | off\n(2 rows)\n"])
def test_other_forms_of_what_a_server_shows(tmp_path, text):
    assert read(tmp_path, text) == {"shared_buffers": "131072kB", "fsync": "off"}


def test_a_value_that_psql_continues_is_joined(tmp_path):
    rows = ("name  | setting | description", "-----+----", "fsync | off | What+", "      |     | it is", "a     | aaa+| b",
            "      | bbb |", "c     | d   | e")
    text = "".join(f" {row}\n" for row in rows)
    assert read(tmp_path, text) == {"fsync": "off", "a": "aaa\nbbb", "c": "d"}


def test_a_table_without_values_is_named(tmp_path):
    with pytest.raises(UserError, match="name, unit, of which none is the value"):
        read(tmp_path, "name | unit\na | kB\nb | s\nc | s\n")


def test_a_backslash_in_quotes_takes_the_next_letter(tmp_path):
    assert read(tmp_path, "a = 'it\\\\'s' # b\nc = 'C:\\\\d'\nfsync = off\n".replace("\\\\", "\\")) == {
        "a": "it's", "c": "C:\\d", "fsync": "off"}


def test_bounds_without_a_unit_have_no_stray_blank(tmp_path):
    with pytest.raises(UserError, match="from 1 to 100; choose"):
        of_mysql(tmp_path, "[mysqld]\ninnodb_log_files_in_group = 101\n")


def test_a_single_log_file_is_taken_as_two_of_half(tmp_path):
    machine = of_mysql(tmp_path, "[mysqld]\ninnodb_log_files_in_group = 1\ninnodb_log_file_size = 96M\n")
    assert conf.check("innodb", machine.database.conf) == {
        "innodb_log_file_size": 48 * 2**20, "innodb_log_files_in_group": 2}
    assert "the single log file is taken as two of half its size" in predict.notes(machine)
    with pytest.raises(UserError, match="give innodb_log_file_size too"):
        of_mysql(tmp_path, "[mysqld]\ninnodb_log_files_in_group = 1\n")
    with pytest.raises(UserError, match="'inserts', which is legal but not simulated; simulated are all and none"):
        of_mysql(tmp_path, "[mysqld]\ninnodb_change_buffering = inserts\n")


def test_tabs_around_the_sign_of_equality_are_blanks(tmp_path):
    assert read(tmp_path, "shared_buffers\t= 4GB\nfsync\t=\toff\nport\t\t5432\n") == {
        "shared_buffers": "4GB", "fsync": "off", "port": "5432"}
    with pytest.raises(UserError, match="lines that are no settings"):
        read(tmp_path, "fsync,on\nshared_buffers,4GB\n")


def test_names_and_values_that_are_wrong_are_told_at_once():
    with pytest.raises(ValueError, match="has no setting") as refusal:
        conf.check("postgres", {"synchronous_commmit": "off", "max_wal_size": "lots", "checkpoint_timeout": "15x"})
    for wrong in ("'synchronous_commmit'", "max_wal_size is 'lots'", "checkpoint_timeout is '15x'"):
        assert wrong in str(refusal.value)


@pytest.mark.parametrize("name", ["loose-innodb_foo", "loose_galera_x"])
def test_a_loose_name_that_is_not_known_is_passed_over_as_the_server_does_and_named(name):
    written = conf.as_written("innodb", {name: "1", "innodb_io_capacity": "300"})
    assert conf.check("innodb", written) == {"innodb_io_capacity": 300}
    assert conf.unfelt("innodb", name.replace("-", "_")) == "a server that does not know it passes over it"


def test_a_script_with_other_counts_is_told_which_there_are():
    assert "a script is counts of reads, updates" in scenario._unknown("script", "rows_read")

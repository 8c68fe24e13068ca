"""Settings in shapes that are common on public pages and in repositories. All values are invented."""

import json

import pytest

from study.errors import UserError
from study.machines import conf, conf_command, conf_files, conf_rows, scenario

SAME = {"shared_buffers": "131072kB", "max_wal_size": "4096MB", "jit": "off"}
ROWS = [("shared_buffers", "16384", "8kB"), ("max_wal_size", "4096", "MB"), ("jit", "off", "")]


def read(tmp_path, text, version=None, name="file.conf"):
    (tmp_path / name).write_text(text)
    return conf_files.read(tmp_path / name, version)


@pytest.mark.parametrize("text", [
    "name,setting,unit\n" + "".join(f"{','.join(row)}\n" for row in ROWS),
    "name;setting;unit\n" + "".join(f"{';'.join(row)}\n" for row in ROWS),
    "name,setting,unit,short_desc\n" + "".join(f'{",".join(row)},"a, b"\n' for row in ROWS),
    json.dumps([{"name": name, "setting": value, "unit": unit or None} for name, value, unit in ROWS]),
    json.dumps({"version": "16.1", "settings": [dict(zip(("name", "setting", "unit"), row, strict=True)) for row in ROWS]}),
])
def test_exports_of_pg_settings_have_the_units_of_their_rows(tmp_path, text):
    assert read(tmp_path, text) == conf_files.Settings(SAME, True)


def test_json_of_show_variables_is_read(tmp_path):
    text = json.dumps([{"Variable_name": "innodb_buffer_pool_size", "Value": "134217728"}])
    assert read(tmp_path, text) == conf_files.Settings({"innodb_buffer_pool_size": "134217728"}, True)


def test_a_row_of_an_export_that_is_cut_is_refused(tmp_path):
    with pytest.raises(UserError, match="has 2 values in line 3, but 3 columns"):
        read(tmp_path, "name,setting,unit\nshared_buffers,16384,8kB\nmax_wal_size,4096\n")


TYPED = {"shared_buffers": "4GB", "fsync": "off"}


@pytest.mark.parametrize("text", [
    "```\nshared_buffers = 4GB\nfsync = off\n```\n",
    "# My server\n\nIt is slow:\n\n```ini\nshared_buffers = 4GB\nfsync = off\n```\n\nWhy?\n",
    "~~~ sql\nALTER SYSTEM SET shared_buffers = '4GB';\nALTER SYSTEM SET fsync TO off;\n~~~\n",
    "```\nshared_buffers = 4GB\nfsync = off\n",
    "| Parameter | Value |\n| --- | --- |\n| `shared_buffers` | 4GB |\n| **fsync** | off |\n",
    "| Setting | New |\n|:---|---:|\n| shared_buffers | 4GB |\n| fsync | off |\n",
    """psql -U postgres -c "ALTER SYSTEM SET shared_buffers = '4GB'"\nsudo psql -c 'ALTER SYSTEM SET fsync = off'\n""",
    "[Unit]\nDescription=x\n[Service]\nType=notify\nExecStart=/usr/bin/postgres -c shared_buffers=4GB -c fsync=off\n",
])
def test_settings_of_pages_and_commands(tmp_path, text):
    assert read(tmp_path, text) == conf_files.Settings(TYPED, False)


def test_what_single_shows_print(tmp_path):
    text = "".join(f"db=# show {name};\n {name} \n{'-' * 12}\n {value}\n(1 row)\n\n" for name, value in TYPED.items())
    assert read(tmp_path, text) == conf_files.Settings(TYPED, True)


def test_a_table_of_one_row_is_no_line_of_a_file(tmp_path):
    text = """mysql> SHOW VARIABLES LIKE 'sync_binlog';
+---------------+-------+
| Variable_name | Value |
+---------------+-------+
| sync_binlog   | 1     |
+---------------+-------+
1 row in set (0.00 sec)
"""
    assert read(tmp_path, text) == conf_files.Settings({"sync_binlog": "1"}, True)
    assert read(tmp_path, "name | current_setting | source\nfsync | off | configuration file\n").values == {"fsync": "off"}


@pytest.mark.parametrize(("text", "complaint"), [
    ("| parameter | default | tuned |\n|---|---|---|\n| shared_buffers | 128MB | 4GB |\n", "none is the value"),
    ("| old | value | why |\n|---|---|---|\n| fsync | off | x |\n", "none is the name"),
    ("```\nfsync = off\n```\nand\n```\nfsync = on\n```\n", "several blocks of code"),
    ("shared_buffers = 4GB\n```\nfsync = off\n```\n", "inside and outside"),
    ("{ config, pkgs, ... }:\n{\n  services.postgresql.settings = {\n    fsync = \"off\";\n  };\n}\n", "Nix"),
    ('resource "x" "y" {\n  parameter {\n    name = "fsync"\n    value = "off"\n  }\n}\n', "Terraform"),
    ("cat >> postgresql.conf <<EOF\nfsync = off\nEOF\n", "a script"),
    ("sed -i 's/#fsync = on/fsync = off/' postgresql.conf\n", "a script"),
    ("<table><tr><td>fsync</td><td>off</td></tr></table>\n", "HTML"),
    ("postgresql::server::config_entry { 'fsync': value => 'off' }\n", "Puppet"),
])
def test_what_is_not_read_is_refused_by_its_name(tmp_path, text, complaint):
    with pytest.raises(UserError, match=complaint):
        read(tmp_path, text)


@pytest.mark.parametrize("text", [
    "name,setting\nshared_buffers,4GB\nfsync,off\n(2 rows)\n",
    "name\tsetting\nshared_buffers\t4GB\nfsync\toff\n(2 rows)\n",
    "name\tsetting\tunit\nshared_buffers\t4GB\t\nfsync\toff\n",
    "Variable_name,Value\nshared_buffers,4GB\nfsync,off\n",
])
def test_rows_that_a_server_shows_have_a_count_and_lose_empty_units(tmp_path, text):
    assert read(tmp_path, text) == conf_files.Settings(TYPED, True)


def test_a_quotation_mark_in_a_cell_between_tabs_is_no_quotation(tmp_path):
    assert read(tmp_path, 'name\tsetting\nlc\t"C\nfsync\ton\n').values == {"lc": '"C', "fsync": "on"}
    with pytest.raises(UserError, match="is no CSV from line 3 on"):
        read(tmp_path, 'name,setting\nlc,"C\nfsync,on\n')


def test_a_row_of_a_single_value_is_told_in_the_singular(tmp_path):
    with pytest.raises(UserError, match="has 1 value in line 4, but 2 columns"):
        read(tmp_path, "(2 rows)\nname,setting\nshared_buffers,16384\nfsync\n")


def test_a_long_line_with_a_quotation_mark_is_no_csv():
    assert conf_rows.of_csv('"' + "x" * 200_000) is None


@pytest.mark.parametrize("text", [
    "parameter,value\nshared_bufers,2GB\n",
    "parameter\tvalue\nshared_bufers\t2GB\n",
    json.dumps([{"parameter": "shared_bufers", "value": "2GB"}]),
])
def test_names_below_a_head_that_no_server_writes_are_typed(tmp_path, text):
    assert read(tmp_path, text) == conf_files.Settings({"shared_bufers": "2GB"}, False)


@pytest.mark.parametrize("text", [
    "| Parameter | Value | Tuned |\n|---|---|---|\n| fsync | on | off |\n",
    "| Parameter | Default |\n|---|---|\n| fsync | on |\n",
    "| Parameter | Old value |\n|---|---|\n| fsync | on |\n",
    "| Parameter | Value | Recommended value |\n|---|---|---|\n| fsync | on | off |\n",
    "| Name | Setting | New |\n|---|---|---|\n| fsync | on | off |\n",
    "Parameter,Value,Tuned\nfsync,on,off\n",
    "Parameter\tValue\tTuned\nfsync\ton\toff\n",
    json.dumps([{"parameter": "fsync", "value": "on", "tuned": "off"}]),
])
def test_a_typed_table_says_which_of_its_columns_counts(tmp_path, text):
    with pytest.raises(UserError, match="leaves open which values count"):
        read(tmp_path, text)


@pytest.mark.parametrize(("line", "values"), [
    ("docker run --name mysql -e MYSQL_ROOT_PASSWORD=x -d mysql:8.0 --innodb-buffer-pool-size=2G",
     {"innodb-buffer-pool-size": "2G"}),
    ("sudo podman container create -e A=b --name=x mysql -e B=c --innodb-buffer-pool-size=2G", None),
    ("docker run -d --name psql -e POSTGRES_PASSWORD=x postgres:17 -c fsync=off", {"fsync": "off"}),
    ("docker exec -i db psql -U postgres -c 'ALTER SYSTEM SET fsync = off'", {"fsync": "off"}),
])
def test_a_container_may_have_the_name_of_a_client(tmp_path, line, values):
    if values is None:
        assert conf_command.statements(line) == []
    else:
        assert read(tmp_path, f"{line}\n").values == values


@pytest.mark.parametrize("line", [
    'docker run --rm postgres:17 psql -h db -c "ALTER SYSTEM SET fsync = off"',
    'docker run -it --rm --network host -e PGPASSWORD=x postgres:16 psql --command="ALTER SYSTEM SET fsync = off"',
    "docker compose run --rm db psql -U postgres -c 'ALTER SYSTEM SET fsync = off'",
    'docker run --rm --entrypoint psql postgres:17 -h db -c "ALTER SYSTEM SET fsync = off"',
    'podman run --entrypoint=/usr/bin/psql postgres -h db -c "ALTER SYSTEM SET fsync = off"',
    'docker run -d --name psql postgres:17 && docker run --rm postgres:17 psql -c "ALTER SYSTEM SET fsync = off"',
])
def test_a_container_may_run_a_client(tmp_path, line):
    assert read(tmp_path, f"{line}\n").values == {"fsync": "off"}


def test_a_container_may_run_a_client_of_mysql(tmp_path):
    line = 'docker run --rm -e A=b mysql:8.0 mysql -h db -e "SET GLOBAL innodb_io_capacity = 500"'
    assert read(tmp_path, f"{line}\n").values == {"innodb_io_capacity": "500"}


def test_what_a_client_in_a_container_asks_of_its_session_is_refused(tmp_path):
    with pytest.raises(UserError, match="is of one database, role or session"):
        read(tmp_path, 'docker run --rm postgres:17 psql -c "SET synchronous_commit = off"\n')


def test_a_container_and_a_client_in_a_line_are_refused(tmp_path):
    with pytest.raises(UserError, match="a server and that of a client"):
        read(tmp_path, "docker run -d postgres:17 -c jit=off && docker exec db psql -c 'ALTER SYSTEM SET fsync = off'\n")


OF_VERSIONS = """[mysqld]
innodb_io_capacity = 500
[mysqld-8.0]
innodb_flush_log_at_trx_commit = 2
[mysqld-5.7]
innodb_flush_log_at_trx_commit = 0
"""


def test_a_server_reads_the_section_of_its_own_version(tmp_path):
    def flushed(version):
        return read(tmp_path, OF_VERSIONS, version).values.get("innodb_flush_log_at_trx_commit")
    assert (flushed("8.0.36"), flushed(5.7), flushed("8.4")) == ("2", "0", None)
    with pytest.raises(UserError, match=r"several versions, 5\.7, 8\.0; give version"):
        flushed(None)


@pytest.mark.parametrize("section", ["mariadb-10.3", "mysqld-8.0"])
def test_a_section_of_a_version_wants_the_version(tmp_path, section):
    with pytest.raises(UserError, match=r"has sections for a version, .*; give version"):
        read(tmp_path, f"[{section}]\ninnodb_io_capacity = 500\n")


def test_a_block_of_yaml_is_read_as_the_version_has_it(tmp_path):
    text = "kind: ConfigMap\ndata:\n  my.cnf: |\n" + "".join(f"    {line}\n" for line in OF_VERSIONS.splitlines())
    assert read(tmp_path, text, "8.0").values == {"innodb_io_capacity": "500", "innodb_flush_log_at_trx_commit": "2"}


def test_the_version_of_a_scenario_decides_which_section_is_read(tmp_path):
    (tmp_path / "my.cnf").write_text(OF_VERSIONS)
    (tmp_path / "s.toml").write_text("""[pool.data]
sheet = "nvme-p4500"
[database]
kind = "mysql"
version = "5.7"
conf_file = "my.cnf"
""")
    assert scenario.read(tmp_path / "s.toml").innodb.conf["innodb_flush_log_at_trx_commit"] == "0"


def test_a_legal_value_that_is_not_simulated_is_not_said_to_be_none():
    with pytest.raises(ValueError, match="'DETECT_ONLY', which is legal but not simulated; simulated are on and off"):
        conf.check("innodb", {"innodb_doublewrite": "DETECT_ONLY"})

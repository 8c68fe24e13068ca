"""Settings of databases in files of containers, clusters, roles and charts."""
import itertools

import pytest

from study.errors import UserError
from support.conf_files import read, scenario_with


@pytest.mark.parametrize(("text", "settings"), [
    ("services:\n  db:\n    image: postgres:16\n    command: >-\n      postgres\n      -c shared_buffers=4GB\n"
     "      -c full_page_writes=off\n    volumes:\n      - /tank/pg:/data\n",
     {"shared_buffers": "4GB", "full_page_writes": "off"}),
    ("    command: postgres -D /data -c 'shared_buffers=4GB' -cfsync=on -c fsync=off\n",
     {"shared_buffers": "4GB", "fsync": "off"}),
    ("db:\n  command: --transaction-isolation=READ-COMMITTED --skip-log-bin\n",
     {"transaction-isolation": "READ-COMMITTED", "skip-log-bin": "on"}),
    ('db:\n  command: ["postgres", "-c", "search_path=\'$$user\', x"]\n', {"search_path": "'$$user', x"}),
    ('FROM postgres:17\nCMD ["postgres", "-c", "wal_compression=lz4"]\n', {"wal_compression": "lz4"}),
    ("kind: Service\n---\nspec:\n  postgresql:\n    parameters:\n      shared_buffers: 256MB\n      jit: off\n",
     {"shared_buffers": "256MB", "jit": "off"}),
    ("web:\n  command: gunicorn --workers=4\ncache:\n  command: redis-server --appendonly yes\n"
     "db:\n  command: mariadbd --innodb-buffer-pool-size 4G --skip-log-bin\n",
     {"innodb-buffer-pool-size": "4G", "skip-log-bin": "on"}),
    ("bootstrap:\n  dcs:\n    postgresql:\n      parameters:\n        shared_buffers: 1GB\n        jit: off\n"
     "postgresql:\n  parameters:\n    shared_buffers: 2GB\n", {"shared_buffers": "2GB", "jit": "off"}),
    ("x-db: &db\n  command: postgres -c fsync=off\nprimary:\n  <<: *db\nreplica:\n  <<: *db\n", {"fsync": "off"}),
    ('db:\n  command: ["-c", "shared_buffers = 2GB", "-c", "fsync=off"]\n', {"shared_buffers": "2GB", "fsync": "off"}),
    ("FROM postgres:17\nCMD postgres -c fsync=off \\\n  -c jit=off\n", {"fsync": "off", "jit": "off"}),
    ("volume:\n  pool: tank\ndb:\n  command: postgres -c fsync=off\n", {"fsync": "off"}),
    ("- skip-innodb_doublewrite\n- innodb_use_native_aio=0\n",
     {"skip-innodb_doublewrite": "on", "innodb_use_native_aio": "0"})])
def test_settings_of_containers_and_clusters_are_read(tmp_path, text, settings):
    assert read(tmp_path, text) == settings


ROLE = """- hosts: db
  vars:
    postgresql_version: "16"
    postgresql_users: [{name: app}]
    postgresql_global_config_options:
      - option: unix_socket_directories
        value: '{{ postgresql_unix_socket_directories | join(",") }}'
      - {option: fsync, state: absent}
      - option: shared_buffers
        value: 4GB
"""
CHART = """postgresql:
  image: {tag: 16.2.0}
  primary:
    extendedConfiguration: |-
      max_connections = 100
      shared_buffers = 1GB    # a quarter
    pgHbaConfiguration: |-
      local all all trust
    persistence: {size: 8Gi}
"""
POD = """spec:
  containers:
    - name: metrics
      image: prometheuscommunity/postgres-exporter:v0.15
      args: ["postgres_exporter", "--log.level=warn"]
    - name: proxy
      image: envoyproxy/envoy:v1.30
      args: ["--concurrency=2"]
    - name: db
      image: docker.io/timescale/timescaledb:2.15-pg16
      args: ["-c", "shared_buffers=1GB", "-c", "max_connections=200"]
"""


@pytest.mark.parametrize(("text", "settings"), [
    (ROLE, {"unix_socket_directories": '{{ postgresql_unix_socket_directories | join(",") }}', "shared_buffers": "4GB"}),
    ("---\npostgresql_conf:\n- key: max_connections\n  val: 80\n- key: shared_buffers\n  val: \"4GB\"\n",
     {"max_connections": "80", "shared_buffers": "4GB"}),
    ("postgresql_server_conf:\n  shared_buffers: 1GB\n  wal_level: \"'replica'\"\n",
     {"shared_buffers": "1GB", "wal_level": "replica"}),
    ("postgresql_version: 16\npostgresql_shared_buffers: 32GB\npostgresql_max_wal_size: 2GB\n",
     {"shared_buffers": "32GB", "max_wal_size": "2GB"}),
    ("mysql_innodb_buffer_pool_size: 4G\nmysql_sync_binlog: 0\n", {"innodb_buffer_pool_size": "4G", "sync_binlog": "0"}),
    ("- shared_buffers: 4GB\n- fsync: off\n", {"shared_buffers": "4GB", "fsync": "off"}),
    ("- name: Set it\n  community.postgresql.postgresql_set:\n    name: shared_buffers\n    value: 4GB\n- name: Restart\n"
     "  service: {name: postgresql, state: restarted}\n- postgresql_set: name=max_wal_size value=16GB\n",
     {"shared_buffers": "4GB", "max_wal_size": "16GB"}),
    ("- lineinfile:\n    path: '{{ conf }}'\n    line: '{{ item.line }}'\n  loop:\n"
     "    - {regexp: '^#?fsync =', line: fsync = off}\n    - {regexp: '^#?jit =', line: jit = off}\n",
     {"fsync": "off", "jit": "off"}),
    (CHART, {"max_connections": "100", "shared_buffers": "1GB"}),
    ("postgresqlExtendedConf:\n  sharedBuffers: 500MB\n  maxConnections: 500\n",
     {"shared_buffers": "500MB", "max_connections": "500"}),
    ("mysql:\n  primary:\n    configuration: |-\n      [mysqld]\n      innodb_io_capacity=200\n      [client]\n"
     "      port=3306\n", {"innodb_io_capacity": "200"}),
    (POD, {"shared_buffers": "1GB", "max_connections": "200"}),
    ("  command:\n    - postgres\n    - -c max_connections=80   # DOWN from 100\n    - -c shared_buffers=96MB\n",
     {"max_connections": "80", "shared_buffers": "96MB"}),
    ('command: ["postgres -c shared_buffers=1GB -c fsync=off"]\n', {"shared_buffers": "1GB", "fsync": "off"}),
    ('command: ["postgres", "-c shared_buffers=1GB -c fsync=off"]\n', {"shared_buffers": "1GB", "fsync": "off"}),
    ("command: sh -c 'exec postgres -c fsync=off'\n", {"fsync": "off"}),
    ("db:\n  command: postgres -c log_min_duration_statement=${MS:-100} -c fsync=off\n",
     {"log_min_duration_statement": "${MS:-100}", "fsync": "off"}),
    ('["-c", "shared_buffers=1GB", "-c", "fsync=off"]\n', {"shared_buffers": "1GB", "fsync": "off"}),
    ('{"Parameters": [{"ParameterName": "shared_buffers", "ParameterValue": "65536"}, {"ParameterName": "jit"}]}\n',
     {"shared_buffers": "65536"}),
    ('{"shared_buffers": "1GB",\n "fsync": "off"}\n', {"shared_buffers": "1GB", "fsync": "off"}),
    ('"shared_buffers = 1GB",\n"fsync = off",\n', {"shared_buffers": "1GB", "fsync": "off"}),
    ("- shared_buffers=1GB\n      - fsync=off\n", {"shared_buffers": "1GB", "fsync": "off"})])
def test_settings_of_roles_and_charts_are_read(tmp_path, text, settings):
    """As in READMEs of Ansible's roles, values of Bitnami's charts, compose files and manifests of Kubernetes."""
    assert read(tmp_path, text) == settings


@pytest.mark.parametrize("text", [
    "-c shared_buffers=1GB -c fsync=off\n", "'-c shared_buffers=1GB -c fsync=off'\n",
    '-c "shared_buffers=1GB" -c "fsync=off"\n', "POSTGRES_EXTRA_ARGS=\"-c 'shared_buffers=1GB' -c 'fsync=off'\"\n",
    "docker run -d --name postgres -e A=b -v /d:/d postgres:17-alpine -c shared_buffers=1GB \\\n -c fsync=off\n",
    "$ docker run --name db -e A=b postgis/postgis postgres -c shared_buffers=1GB -c fsync=off\n",
    'pg_ctl -D /data -o "-c shared_buffers=1GB -c fsync=off" start\n',
    "ExecStart=/usr/lib/postgresql/17/bin/postgres -D /data -c shared_buffers=1GB -c fsync=off\n",
    "pg_ctl -o '-c fsync=off' -D /data -o '-c shared_buffers=1GB' start\n",
    "sleep 5 && docker run -d postgres:17 -c fsync=off -c shared_buffers=1GB\n"])
def test_options_of_a_command_are_read(tmp_path, text):
    assert read(tmp_path, text) == {"shared_buffers": "1GB", "fsync": "off"}
    assert read(tmp_path, "docker run -d mysql:8.4 --skip-log-bin --innodb-io-capacity=200\n") == {
        "skip-log-bin": "on", "innodb-io-capacity": "200"}


@pytest.mark.parametrize(("text", "settings"), [
    ("Shared_Buffers = 4GB   # see --foo\n", {"Shared_Buffers": "4GB"}),
    ("shared_buffers 4GB  # was -c 1GB\n", {"shared_buffers": "4GB"}),
    ("skip-log-bin   # no --log-bin\n", {"skip-log-bin": "on"}),
    ("InnoDB_Flush_Log_At_Trx_Commit = 2  # or --other\n", {"InnoDB_Flush_Log_At_Trx_Commit": "2"}),
    ("# data on C:\\pg\\\nshared_buffers = 4GB\n", {"shared_buffers": "4GB"}),
    ("datadir=C:\\MySQL\\\ninnodb_io_capacity=200\n", {"datadir": "C:\\MySQL\\", "innodb_io_capacity": "200"}),
    ("apt install postgresql --yes\nfsync = off\n", {"apt": "install postgresql --yes", "fsync": "off"}),
    ("postgresql:\n  parameters:\n    # on C:\\pg\\\n    fsync: off\n", {"fsync": "off"}),
    ("data:\n  one.conf: |\n    shared_buffers 4GB\n    fsync off\n", {"shared_buffers": "4GB", "fsync": "off"}),
    ("- lineinfile: {path: /etc/sysctl.conf, line: vm.swappiness = 1}\n"
     "- lineinfile: {path: /etc/my.cnf, line: sync_binlog = 0}\n",
     {"sync_binlog": "0"})])
def test_no_setting_is_lost_beside_what_looks_like_a_command(tmp_path, text, settings):
    """Comments with options, paths that end in a backslash, lines of other programs and of other files."""
    assert read(tmp_path, text) == settings


@pytest.mark.parametrize(("text", "match"), [
    ("containers:\n- command: [postgres, -c, fsync=off]\n- command: [mysqld, --skip-log-bin]\n",
     r"in several places, containers.command and containers.command \(again\)"),
    ("command: postgres -c fsync=off\n---\ncommand: postgres -c fsync=on\n", "in several places, command and command"),
    ("c:\n- {option: shared_buffers, value: 4GB}\n- {option: jit, vaule: off}\n", "'vaule': 'off'} in a list of settings"),
    ("c:\n- {option: shared_buffers, value: '{{ mb }}MB'}\n", "shared_buffers to {{ mb }}MB, a variable whose value"),
    ("services:\n  db:\n    environment:\n      POSTGRES_INITDB_ARGS: --data-checksums\n", "is YAML without a command of"),
    ("data:\n  postgresql.conf: |\n    fsync = off\n    x y = = off 'x\n", "'x y = = off 'x'; mend"),
    ("docker run -d postgres:17 -c fsync=off sleep 5\n", "with sleep, 5, which is not read"),
    ("shared_buffers: 1GB\n---\nfsync: 'off'\n", r"in several places, the top level and the top level \(again\); give"),
    ("- fsync=off\n---\n- fsync=on\n---\n- jit=on\n", "in several places, the top level and"),
    ("docker run postgres:16 -c fsync=off\ndocker run postgres:17 -c fsync=on\n",
     "commands of several servers, in lines 1, 2"),
    ("postgres -c fsync=off && postgres -c fsync=on\n", "commands of several servers"),
    ("- postgresql_set: name=fsync value=off\n  when: big\n", r"sets fsync under a condition \(when: big\)"),
    ("c:\n- {name: fsync, value: off, state: '{{ s }}'}\n", r"sets fsync under a condition \(state: {{ s }}\)")])
def test_settings_that_are_not_whole_are_refused(tmp_path, text, match):
    with pytest.raises(UserError, match=match):
        read(tmp_path, text)


def test_a_role_that_computes_a_setting_is_refused(tmp_path):
    read(tmp_path, "postgresql_shared_buffers_percent: 25\npostgresql_max_wal_size: 4GB\n")
    with pytest.raises(UserError, match="'postgresql_shared_buffers_percent'"):
        scenario_with(tmp_path, 'version = 16\nconf_file = "file.conf"')


def test_aliases_of_aliases_are_read_once(tmp_path):
    """Nine to the power of nine, if each were a part of its own."""
    lines = "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in itertools.pairwise("abcdefghij"))
    assert read(tmp_path, f"a: &a [x]\n{lines}command: postgres -c fsync=off\n") == {"fsync": "off"}

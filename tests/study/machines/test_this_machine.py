"""What tools print of a machine, and the scenario that is made of it.

`tools/` holds outputs in the formats of lsblk 2.31 and 2.38, ZFS 0.7 and 2.2, and PostgreSQL 15; the last was recorded. The
machines are made up: two mirrors of NVMe drives, RAID-Z2 of SATA disks, a virtual machine, two SAS disks under md. Two pools
have spares at work: dRAID of OpenZFS 2.2, as in issue 16547 of openzfs/zfs, and mirrors of OpenSolaris b111.
"""
import tomllib
from pathlib import Path

import pytest
from conftest import one_sentence

from study.commands import scenario as verb
from study.errors import UserError
from study.machines import conf, nearest_sheet, scenario, this_machine, tool_output
from study.machines.this_machine import Seen
from study.machines.tool_output import Disk, Space, Vdev

TOOLS = Path(__file__).parent / "tools"
MISSING = {"zpool status": "zpool is not there", "SHOW ALL": "psql is not there"}


def printed(name):
    return (TOOLS / name).read_text()


MACHINES = {
    "mirrors": Seen({
        "lsblk": printed("mirrors.lsblk.json"), "zpool status": printed("mirrors.zpool-status.txt"),
        "zpool list": printed("mirrors.zpool-list.txt"), "zfs get": printed("mirrors.zfs-get.txt"),
        "/proc/cpuinfo": printed("mirrors.cpuinfo.txt"), "/proc/meminfo": printed("meminfo.txt"), "uname": "Linux",
        "/sys/module/zfs/version": "2.2.2-0ubuntu9.1\n", "/sys/module/zfs/parameters/zfs_arc_max": "34359738368\n",
        "/sys/module/zfs/parameters/zfs_prefetch_disable": "1\n", "SHOW ALL": printed("postgres-15.show-all.txt"),
        "databases": "412316860416\n", "pg_wal": "/var/lib/postgresql-wal/15"}, {}),
    "raidz2": Seen({
        "lsblk": printed("raidz2.lsblk.json"), "zpool status": printed("raidz2.zpool-status.txt"),
        "zpool list": printed("raidz2.zpool-list.txt"), "zfs get": printed("raidz2.zfs-get.txt"),
        "/proc/cpuinfo": printed("raidz2.cpuinfo.txt"), "/proc/meminfo": printed("meminfo.txt"), "uname": "Linux",
        "/sys/module/zfs/version": "0.8.3-1ubuntu12.18\n"}, {"SHOW ALL": "psql is not there"}),
    "virtual": Seen({"lsblk": printed("virtual.lsblk.json"), "/proc/cpuinfo": printed("arm.cpuinfo.txt"),
                     "SHOW ALL": "data_directory|/var/lib/postgresql/17/main|Sets the server's data directory.\n"
                                 "server_version|17.2|Shows the server version.\n"}, dict(MISSING)),
    "md-raid1": Seen({"lsblk": printed("md-raid1.lsblk.json")}, dict(MISSING)),
    "freebsd": Seen({"zpool status": printed("freebsd.zpool-status.txt"), "uname": "FreeBSD"}, {
        "lsblk": "lsblk is not there"}),
    "draid": Seen({"zpool status": printed("draid.zpool-status.txt"), "uname": "Linux"}, {"lsblk": "lsblk is not there"}),
}


def made(name, dataset=None):
    """The scenario, and its file."""
    seen = MACHINES[name]
    text = this_machine.text(this_machine.lines(Seen(dict(seen.texts), dict(seen.missing)), dataset))
    return this_machine.check(text), text


# --- what tools print -----------------------------------------------------------------------------------------------------

def test_disks_of_lsblk_are_those_that_hold_data():
    disks = tool_output.disks(printed("mirrors.lsblk.json"))
    assert [disk.path for disk in disks] == [f"/dev/nvme{i}n1" for i in range(6)]       # no loop device, no zvol
    assert (disks[0].model, disks[0].bytes, disks[0].rotates, disks[0].transport, disks[0].sector_bytes) == (
        "SAMSUNG MZQL23T8HCLS-00A07", 3840755982336, False, "nvme", 4096)
    (virtual,) = [disk for disk in tool_output.disks(printed("virtual.lsblk.json")) if disk.path == "/dev/vda"]
    assert virtual.mounts == {"/": "part", "/boot/efi": "part"}


def test_an_old_lsblk_prints_text_for_numbers_and_no_paths():
    disks = tool_output.disks(printed("md-raid1.lsblk.json"))
    assert [(disk.path, disk.bytes, disk.rotates, disk.mounts) for disk in disks] == [
        (f"/dev/sd{letter}", 300_000_000_000, True, {"/": "raid1"}) for letter in "ab"]


@pytest.mark.parametrize("text", ["", "NAME MAJ:MIN\nsda 8:0\n", "{}", "[]", '{"blockdevices": [{"name": "sda"}]}'])
def test_what_is_none_of_lsblk_is_refused(text):
    with pytest.raises(ValueError, match="lsblk -J -b -O"):
        tool_output.disks(text)


def test_pools_have_their_vdevs_by_role():
    pools = tool_output.pools(printed("mirrors.zpool-status.txt"))
    assert pools["bpool"] == [Vdev("data", "disk", ("/dev/sdz4",))]
    assert [(vdev.role, vdev.kind, len(vdev.devices)) for vdev in pools["tank"]] == [
        ("data", "mirror", 2), ("data", "mirror", 2), ("special", "mirror", 2), ("log", "mirror", 2), ("cache", "disk", 1),
        ("spare", "disk", 1)]


def test_a_disk_that_is_being_replaced_counts_once():
    data, log, cache = tool_output.pools(printed("raidz2.zpool-status.txt"))["big"]
    assert (data.kind, len(data.devices)) == ("raidz2", 6)
    assert data.devices[-1].endswith("wwn-0x5000cca25315a6ba-part1")
    assert (log.role, cache.role) == ("log", "cache")


def test_stand_ins_within_stand_ins_are_one_device():
    data, special, *spares = tool_output.pools(printed("draid.zpool-status.txt"))["tank20"]
    assert (data.kind, len(data.devices)) == ("draid2:4d:17c:2s", 17)
    assert data.devices[4:8] == ("/dev/sde1", "8342734123451", "/dev/sdg1", "/dev/sdh1")
    assert special == Vdev("special", "mirror", ("/dev/nvme0n1p1", "/dev/nvme1n1p1"))
    assert spares == [Vdev("spare", "disk", (name,)) for name in ("draid2-0-0", "draid2-0-1", "/dev/sdr1")]


def test_stand_ins_had_no_number_up_to_2010():
    assert tool_output.pools(printed("replacing.zpool-status.txt"))["old"] == [
        Vdev("data", "mirror", ("c0t0d0s0", "c0t1d0s0")), Vdev("data", "mirror", ("c0t2d0s0", "c0t3d0s0")),
        Vdev("spare", "disk", ("c0t7d0s0",))]


@pytest.mark.parametrize(("name", "path"), [
    ("/dev/nvme2n1p1", "/dev/nvme2n1"), ("nvme2n1", "/dev/nvme2n1"),
    ("/dev/disk/by-id/nvme-SAMSUNG_MZQL23T8HCLS-00A07_S64HNE0T502234-part1", "/dev/nvme2n1"),
    ("/dev/disk/by-id/nvme-eui.5cd2e42a81a50100-part2", "/dev/nvme5n1"),
    ("/dev/disk/by-partuuid/73d33ded-add4-ed4c-ad3f-3b2bb9241be3", "/dev/nvme4n1"), ("/dev/sdz4", None)])
def test_a_device_of_a_pool_is_found_by_any_of_its_names(name, path):
    disk = tool_output.disk_of(name, tool_output.disks(printed("mirrors.lsblk.json")))
    assert (disk.path if disk else None) == path


def test_a_partition_has_its_own_size():
    disks = tool_output.disks(printed("mirrors.lsblk.json"))
    by_id = "/dev/disk/by-id/nvme-eui.5cd2e42a81a40100-part1"
    assert tool_output.bytes_of(by_id, disks[4]) == tool_output.bytes_of("/dev/nvme4n1p1", disks[4]) == 2**34


def test_space_has_another_column_since_0_8():
    assert tool_output.space(printed("mirrors.zpool-list.txt"))["tank"] == Space(7679991054336, 4684794543104, 41)
    assert tool_output.space(printed("raidz2.zpool-list.txt")) == {"big": Space(47996163686400, 24629895069696, 18)}


def test_data_sets_have_properties_and_snapshots_are_none():
    sets = tool_output.datasets(printed("mirrors.zfs-get.txt"))
    assert set(sets) == {"bpool", "tank", "tank/pg", "tank/pg/wal", "tank/vol"}
    assert (sets["tank/pg"]["recordsize"], sets["tank/vol"]["volblocksize"]) == ("16384", "16384")


def test_processors_and_memory():
    count, model, flags = tool_output.processors(printed("mirrors.cpuinfo.txt"))
    assert (count, model, "vaes" in flags) == (4, "Intel(R) Xeon(R) Gold 5318Y CPU @ 2.10GHz", True)
    assert tool_output.processors(printed("arm.cpuinfo.txt"))[:2] == (2, "")
    assert tool_output.memory_bytes(printed("meminfo.txt")) == 131903128 * 1024
    assert tool_output.memory_bytes("") is None


def test_settings_are_read_aligned_or_not():
    plain, aligned = (tool_output.settings(printed(f"postgres-15.{form}.txt")) for form in ("show-all", "aligned"))
    assert len(plain) == 354
    assert set(conf.POSTGRES) - set(plain) == {"checkpoint_segments"}       # gone since 9.5
    assert (plain["shared_buffers"], plain["checkpoint_timeout"]) == ("32GB", "5min")
    assert (aligned["max_wal_size"], aligned["search_path"]) == ("1GB", '"$user", public')


# --- nearest sheets -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("model", "gb", "rotates", "transport", "path", "sheet"), [
    ("WD_BLACK SN850X 2000GB", 2000, False, "nvme", "/dev/nvme0n1", "nvme-desktop-2022"),
    ("CT500MX500SSD1", 500, False, "sata", "/dev/sda", "sata-ssd-850pro"),          # holds T500, which is another drive
    ("Samsung SSD 990 PRO 2TB", 2000, False, "nvme", "/dev/nvme0n1", "nvme-desktop-2022"),
    ("MTFDKCC3T8TFR", 3841, False, "nvme", "/dev/nvme0n1", "nvme-server-2022"),
    ("SAMSUNG MZ7LH960", 960, False, "sata", "/dev/sda", "sata-ssd-s4500"),
    ("ST9146802SS", 146, True, "sas", "/dev/sda", "savvio-10k2"),
    ("ST3300657SS", 300, True, "sas", "/dev/sda", "sas-15k-300"),
    ("ST600MM0006", 600, True, "sas", "/dev/sda", "savvio-10k2"),
    ("ST4000NM0023", 4000, True, "sas", "/dev/sda", "sata-7k2-1tb"),
    ("Amazon Elastic Block Store", 100, False, "nvme", "/dev/nvme0n1", "cloud-gp3"),
    ("Amazon EC2 NVMe Instance Storage", 1900, False, "nvme", "/dev/nvme1n1", "nvme-aws-i3"),
    ("QEMU HARDDISK", 40, True, "sata", "/dev/sda", "cloud-gp3"), ("", 40, True, "", "/dev/vda", "cloud-gp3")])
def test_the_nearest_sheet(model, gb, rotates, transport, path, sheet):
    disk = Disk(path, model.replace("_", " "), gb * 10**9, rotates, transport, 512, {}, {}, ())
    assert nearest_sheet.of(disk)[0] == sheet


# --- the scenario ---------------------------------------------------------------------------------------------------------

def test_mirrors_with_log_cache_and_a_log_data_set_of_its_own():
    machine, text = made("mirrors")
    pool = machine.pool
    assert (pool.data.sheet, pool.data.count, pool.data.layout, pool.data.width, pool.data.ashift) == (
        "nvme-server-2022", 4, "mirror", 2, 12)
    assert (pool.log.count, pool.log.layout, pool.log.use_gib) == (2, "mirror", 16)
    assert (pool.cache.count, pool.cache.layout, pool.cache.use_gib) == (1, "stripe", 200)
    files = machine.files
    assert (files.era, files.record_kib, files.log_record_kib, files.log_logbias, files.compress_ratio) == (
        "openzfs", 16, 1024, "throughput", 1.85)
    assert (files.arc_max_mib, files.prefetch, machine.host.cpus, machine.host.system) == (32768, False, 4, "linux")
    assert (machine.database.version, machine.database.conf["shared_buffers"]) == (15, "32GB")
    assert machine.database.conf["synchronous_commit"] == "on"      # remote_apply without a standby
    assert (pool.fill, pool.fragmentation) == (0.61, 41)
    for comment in ("'SAMSUNG MZQL23T8HCLS-00A07' of lsblk", 
                    "not simulated: 1 special in tank", "not simulated: special_small_blocks=8192"):
        assert comment in text
    assert "S64HNE0T50" not in text         # no serial number


def test_raidz2_without_a_database_takes_the_data_set_that_is_named():
    machine, text = made("raidz2", "big/db")
    assert (machine.pool.data.layout, machine.pool.data.count, machine.pool.data.width) == ("raidz2", 6, 6)
    assert (machine.pool.log.use_gib, machine.files.record_kib, machine.files.sync, machine.files.primarycache) == (
        14.9, 8, "disabled", "metadata")
    assert "zfs get says none, which is not simulated" in text
    assert "# not seen: SHOW ALL: psql is not there" in text
    assert made("raidz2")[0].files.record_kib == 128        # of the pool itself


def test_draid_is_as_many_groups_as_it_has_the_ios_of():
    """By zpoolconcepts(7): (children - spares) / (data + parity), rounded down."""
    machine, text = made("draid")
    data = machine.pool.data
    assert (data.layout, data.width, data.count) == ("raidz2", 6, (17 - 2) // (4 + 2) * 6)
    assert "1 x draid2:4d:17c:2s of 17" in text
    assert "draid2:4d:17c:2s, which is not simulated; nearest is 2 x raidz2 of 6" in text
    assert "not simulated: 3 spare in tank20" in text


def test_a_pool_is_as_full_as_zpool_list_says_if_free_space_can_be_so():
    """FRAG of 90 % with 5 % allocated is no random free space."""
    seen = MACHINES["mirrors"]
    listed = seen.texts["zpool list"].replace("\t41\t61\t", "\t90\t5\t").replace("4684794543104", "384000000000")
    text = this_machine.text(this_machine.lines(Seen(seen.texts | {"zpool list": listed}, {})))
    assert this_machine.check(text).pool.fill == 0
    assert "not simulated: fill = 0.05" in text
    assert "not simulated: fragmentation = 90" in text


def test_sync_of_the_data_set_is_taken_as_it_is():
    seen = MACHINES["mirrors"]
    properties = seen.texts["zfs get"].replace("sync\tstandard", "sync\talways")
    assert properties != seen.texts["zfs get"]
    text = this_machine.text(this_machine.lines(Seen(seen.texts | {"zfs get": properties}, {})))
    assert this_machine.check(text).files.sync == "always"


def test_a_standby_that_commits_wait_for_is_named():
    seen = MACHINES["mirrors"]
    waits = seen.texts["SHOW ALL"].replace("synchronous_standby_names||", "synchronous_standby_names|b|")
    assert waits != seen.texts["SHOW ALL"]
    text = this_machine.text(this_machine.lines(Seen(seen.texts | {"SHOW ALL": waits}, {})))
    assert "not simulated: synchronous_standby_names = b (there is no standby here" in text


def test_a_volume_that_is_named_is_a_zvol_with_its_block_size():
    machine, text = made("mirrors", "tank/vol")
    assert (machine.files.kind, machine.files.record_kib) == ("zvol", 16)
    assert "volblocksize_kib = 16    # zfs get: volblocksize" in text


def test_without_zfs_it_is_the_disk_below_the_database():
    machine, text = made("virtual")
    assert (machine.pool.data.sheet, machine.pool.data.use_gib, machine.database.version) == ("cloud-gp3", 200, 17)
    assert "not seen: no pool of ZFS" in text
    assert "lsblk: below /var/lib/postgresql/17/main" in text
    machine, text = made("md-raid1")
    assert (machine.pool.data.sheet, machine.pool.data.count, machine.pool.data.layout) == ("sas-15k-300", 2, "mirror")
    assert "a guess: no PostgreSQL was seen" in text


@pytest.mark.parametrize("name", MACHINES)
def test_every_line_says_where_it_is_from_and_predict_takes_the_file(name, study, tmp_path):
    _, text = made(name)
    for line in text.splitlines():
        assert not line or line.startswith(("[", "#")) or len(line.partition("    # ")[2]) > 3
    file = tmp_path / "mine.toml"
    file.write_text(text)
    done = study("predict", file, "--dry-run")
    assert done.returncode == 0
    assert "can be simulated: 24 runs" in done.stdout


def test_what_must_be_and_is_not_seen_is_a_guess():
    _, text = made("freebsd")
    guesses = {key: line for line in text.splitlines() for key in ("sheet", "version", "scale", "clients", "cpu")
               if line.startswith(f"{key} =")}
    assert all("# a guess" in line for line in guesses.values())
    assert set(guesses) == {"sheet", "version", "scale", "clients", "cpu"}


def test_a_database_that_does_not_go_on_the_sheets_drives_is_made_smaller():
    seen = MACHINES["virtual"]
    text = this_machine.text(this_machine.lines(Seen(seen.texts | {"databases": str(10**15)}, {})))
    assert this_machine.check(text).database.scale == this_machine.SCALE
    assert "a guess: with 66666667" in text


def test_without_a_disk_nothing_is_written():
    with pytest.raises(UserError, match="no disk and no pool"):
        this_machine.lines(Seen({}, {"lsblk": "lsblk is not there"}))
    with pytest.raises(UserError, match=r"no disk and no pool is to be seen .*lsblk -J -b -O"):
        this_machine.lines(Seen({"lsblk": "sda"}, {}))


# --- the verbs ------------------------------------------------------------------------------------------------------------

def test_a_file_is_written_once_and_never_over(study, tmp_path, monkeypatch):
    monkeypatch.setattr(verb, "look", lambda: MACHINES["mirrors"])
    file = tmp_path / "mine.toml"
    assert study("scenario", "--from-this-machine", "--to", file).returncode == 0
    written = file.read_text()
    assert scenario.of(tomllib.loads(written)).pool.data.count == 4
    assert "is not written over" in one_sentence(study("scenario", "--from-this-machine", "--to", file))
    assert file.read_text() == written
    assert study("scenario", "--from-this-machine").stdout == written
    assert "--dataset is tank/no" in one_sentence(study("scenario", "--from-this-machine", "--dataset", "tank/no"))
    assert "--from-this-machine is missing" in one_sentence(study("scenario"))


def test_a_tool_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    seen = verb.look()
    assert seen.missing["SHOW ALL"] == "psql is not there"
    assert "/proc/meminfo" in seen.texts


def test_sheets_are_listed_with_what_they_are(study):
    names = {path.stem for path in (scenario.DATA / "hardware").glob("*.toml")}
    listed = study("hardware").stdout
    assert all(name in listed for name in names)
    assert "10000 rpm" in listed
    assert "ocaholic.ch" in study("hardware", "x25-e").stdout
    assert "there is no sheet 'x25'" in one_sentence(study("hardware", "x25"))

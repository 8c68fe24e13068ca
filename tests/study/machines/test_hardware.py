"""Files of devices: complete, with sources, and each a device that the model takes."""

import pytest

from model.devices.data_sheet import sheet_disk
from model.devices.ssd import SsdParams, drain_ns, new_ssds
from study import project
from study.documents import priors
from study.errors import UserError
from study.experiments.ladders_2009 import readings as ladder_readings
from study.experiments.ladders_2009 import rungs as ladders_2009
from study.experiments.postgres_2008 import setups as checkpoints
from study.machines import devices as machine_devices
from study.machines import hardware, scenario
from study.machines import simulate as machines

NAMES = [path.stem for path in sorted((project.DATA / "hardware").glob("*.toml"))]
SSDS = [name for name in NAMES if hardware.read(name).kind == "ssd"]


@pytest.mark.parametrize("name", NAMES)
def test_every_device_is_one_and_stays_one_at_the_ends_of_its_ranges(name):
    device = hardware.read(name)
    assert set(device.table["name"]) == set(hardware.FIELDS[device.kind])
    for field, ends in device.ranges.items():
        assert ends[0] <= getattr(device.params, field) <= ends[1]
    assert (device.table["source"].str.len() > 5).all()


def test_numbers_come_in_the_units_of_the_model():
    ssd, disk = hardware.read("x25-e"), hardware.read("savvio-10k1")
    assert ssd.params.read_ns == 75_000
    assert ssd.params.write_rate == 170_000_000
    assert ssd.ranges["buffer_bytes"] == (2**18, 2**26)
    assert disk.params.average_seek_ns == 4_000_000
    assert disk.params.disk_bytes == 73_400_000_000


def test_a_disk_of_its_sheet_has_the_tracks_that_the_sheet_counts():
    """The manual of the Savvio 10K.1 prints 51052 tracks a surface; ours follow from capacity and rates."""
    layout = sheet_disk(hardware.read("savvio-10k1").params).layout
    assert layout.n_cylinders == pytest.approx(51_052, rel=0.02)


@pytest.mark.parametrize(("old", "new", "message"), [
    ('unit = "us"', 'unit = "parsec"', "entry value.2.unit is 'parsec'"),
    ("low = 25", "low = 95", "no range about 85"),
    ('name = "depth"', 'name = "random_rate"', "random_rate of a ssd is nothing"),
    ('name = "depth"', 'name = "colour"', "colour of a ssd is nothing"),
    ("value = 32\nunit = \"1\"", "value = 0\nunit = \"1\"", "depth of a device is 0"),
    ('source = "SATA', 'source = "" # "SATA', "the source is empty"),
    ("[device]", "[device", "not TOML"),
])
def test_a_file_that_is_not_right_is_one_sentence(tmp_path, monkeypatch, old, new, message):
    text = (project.DATA / "hardware" / "x25-e.toml").read_text()
    assert old in text
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "x25-e.toml").write_text(text.replace(old, new, 1))
    monkeypatch.setattr(project, "DATA", tmp_path)
    with pytest.raises(UserError, match=message) as error:
        hardware.read("x25-e")
    assert "\n" not in str(error.value)


def test_a_device_without_one_of_its_numbers_says_which(tmp_path, monkeypatch):
    text = (project.DATA / "hardware" / "x25-e.toml").read_text()
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "x25-e.toml").write_text(text[:text.rindex("[[value]]")])
    monkeypatch.setattr(project, "DATA", tmp_path)
    with pytest.raises(UserError, match="flush_ns of a ssd is missing; give it"):
        hardware.read("x25-e")


def devices_drawn(name, n=200):
    """An SSD as it is in a machine, by best guess and by `n` draws."""
    machine = scenario.of({"title": name, "host": {"cpus": 4, "memory_gib": 8}, "files": {"kind": "zfs", "era": "openzfs"},
                           "pool": {"data": {"sheet": name}}, "database": {"kind": "postgres", "scale": 10}}, name)
    known = machines.known([machine])
    rows = [known.central(), *priors.draws(known, n, seed=1).to_dict("records")]
    return [machine_devices.of_device(machine.pool.data, values) for values in rows], known


@pytest.mark.parametrize("name", SSDS)
def test_no_draw_writes_scattered_bytes_more_slowly_than_4_kib_or_faster_than_in_order(name):
    """Of 8 KiB at random places a drive writes at least half as many as of 4, and no more bytes than its bandwidth."""
    drawn, known = devices_drawn(name)
    collects = hardware.read(name).collects
    assert collects == ("scattered_share" in known.central())
    for ssd in drawn:
        state = new_ssds(ssd, 1)
        of_4, of_8 = (10**9 / drain_ns(ssd, state, 0, 2**20, n_bytes) for n_bytes in (4096, 8192))
        assert of_8 >= of_4 / 2 * (1 - 1e-3)        # whole ns
        assert of_8 * 8192 <= ssd.write_rate * (1 + 1e-3)
        assert (ssd.random_rate > 0) == collects


@pytest.mark.parametrize(("share", "rate"), [(0, 4096 * 30_000), (0.5, 256_000_000), (1, 520_000_000)])
def test_the_share_is_of_the_logarithm_between_both_rates_as_drawn(share, rate):
    ssd = machine_devices.scattered(SsdParams(write_iops=30_000, write_rate=520_000_000), share)
    assert ssd.random_rate == pytest.approx(rate, rel=0.02)


def test_drives_of_the_documents_take_scattered_bytes_at_their_bandwidth():
    """A switch that stays where it was when they were predicted."""
    assert {name for name in SSDS if not hardware.read(name).collects} == {
        "x25-e", "write-ssd-18", "cached-array", "cached-array-256", "cloud-gp3"}


@pytest.mark.slow
def test_no_machine_that_is_predicted_has_a_device_whose_figures_come_from_the_slides():
    """Slide 6 says what devices do, a condition and no result; but so it cannot even be suspected."""
    quoting = {name for name in NAMES if any("rajadurai-2009" in source for source in hardware.read(name).table.source)}
    ladders = [machine for ladder in ladder_readings.LADDERS.values() for reading in ladder_readings.readings(ladder)
               for machine in ladders_2009.rungs(ladder, reading)]
    values = checkpoints.known().central()
    tests = [checkpoints.of_test(name, values, 8) for name in checkpoints.TESTS]
    used = {devices.sheet for machine in (*ladders, *tests) for devices in machine_devices.devices_of(machine)}
    assert quoting == {"write-ssd-18"}
    assert len(used) > 3
    assert not used & quoting

"""Files of devices: complete, with sources, and each a device that the model takes."""

import pytest

from model.data_sheet import sheet_disk
from study import checkpoints_2008, hardware, ladder_readings, ladders_2009, machines, project
from study.errors import UserError

NAMES = [path.stem for path in sorted((project.DATA / "hardware").glob("*.toml"))]


@pytest.mark.parametrize("name", NAMES)
def test_every_device_is_one_and_stays_one_at_the_ends_of_its_ranges(name):
    device = hardware.read(name)
    assert set(device.table["name"]) == set(device.params._fields)
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


@pytest.mark.parametrize(("old", "new", "said"), [
    ('unit = "us"', 'unit = "parsec"', "entry value.2.unit is 'parsec'"),
    ("low = 25", "low = 95", "no range about 85"),
    ('name = "depth"', 'name = "colour"', "colour of a ssd is nothing"),
    ("value = 32\nunit = \"1\"", "value = 0\nunit = \"1\"", "depth of a device is 0"),
    ('source = "SATA', 'source = "" # "SATA', "the source is empty"),
    ("[device]", "[device", "not TOML"),
])
def test_a_file_that_is_not_right_is_one_sentence(tmp_path, monkeypatch, old, new, said):
    text = (project.DATA / "hardware" / "x25-e.toml").read_text()
    assert old in text
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "x25-e.toml").write_text(text.replace(old, new, 1))
    monkeypatch.setattr(project, "DATA", tmp_path)
    with pytest.raises(UserError, match=said) as error:
        hardware.read("x25-e")
    assert "\n" not in str(error.value)


def test_a_device_without_one_of_its_numbers_says_which(tmp_path, monkeypatch):
    text = (project.DATA / "hardware" / "x25-e.toml").read_text()
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "x25-e.toml").write_text(text[:text.rindex("[[value]]")])
    monkeypatch.setattr(project, "DATA", tmp_path)
    with pytest.raises(UserError, match="random_rate of a ssd is missing; give it"):
        hardware.read("x25-e")


def test_no_machine_that_is_predicted_has_a_device_whose_figures_come_from_the_slides():
    """Slide 6 says what devices do, a condition and no result; but so it cannot even be suspected."""
    quoting = {name for name in NAMES if any("rajadurai-2009" in source for source in hardware.read(name).table.source)}
    ladders = [one for ladder in ladder_readings.LADDERS.values() for reading in ladder_readings.readings(ladder)
               for one in ladders_2009.rungs(ladder, reading)]
    values = checkpoints_2008.known().central()
    tests = [checkpoints_2008.of_test(name, values, 8) for name in checkpoints_2008.TESTS]
    used = {devices.sheet for one in (*ladders, *tests) for devices in machines.devices_of(one)}
    assert quoting == {"write-ssd-18"}
    assert len(used) > 3
    assert not used & quoting

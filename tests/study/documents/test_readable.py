"""Values as people write them."""
import re
import tomllib

import pandas as pd
import pytest

from study.documents import priors, readable
from study.documents.priors import Prior, Switch
from study.machines import devices as machine_devices
from study.machines import hardware
from study.project import DATA

SWITCHES = [Switch(of="x", **entry) for entry in (
    {key: entry[key] for key in ("name", "choices", "central", "experiments", "source")}
    for entry in tomllib.loads((DATA / "priors.toml").read_text())["switch"])]
SHEETS = sorted(path.stem for path in (DATA / "hardware").glob("*.toml"))


def prior(unit, name="x", shape="log", value=1.0):
    return Prior(name=name, of="disk", experiments=(), low=value, central=value, high=value, unit=unit, shape=shape,
                 source="a")


@pytest.mark.parametrize(("unit", "name", "value", "words"), [
    ("ns", "x_ns", 1.1e7, "11 ms"), ("ns", "x_ns", 7e5, "0.7 ms"), ("B/s", "x", 1.06e8, "106 MB/s"),
    ("B/s", "x", 6.2e7, "62 MB/s"),
    ("B", "x", 17179869184, "16 GiB"), ("B", "x", 3022.5, "3.02 kB"), ("1", "x", 0.166, "0.166"), ("1", "x", 2752.5, "2752"),
    ("blocks", "x", 333920.0, "333,920 blocks"), ("commands", "x", 49.0, "49 commands"), ("ps/B", "x", 516.0, "0.516 ns/B"),
    ("", "drive.n_heads", 10.66, "11"), ("", "drive.average_seek_ns", 3.85e6, "3.85 ms"),
    ("", "drive.inner_rate", 8.1e7, "81 MB/s"),
    ("", "drive.buffer_bytes", 2.0**24, "16 MiB"), ("", "ssd.read_iops", 27125.8, "27,126 IOPS")])
def test_a_number_is_in_units_that_people_use_and_never_has_an_exponent(unit, name, value, words):
    assert readable.number(prior(unit, name, value=value), value) == words


@pytest.mark.parametrize(("name", "choices", "value", "words"), [
    ("memory_bytes", (2**34, 2**33), 2**34, "16 GiB"), ("innodb_buffer_pool_size", (2**30, 6 * 2**30), 6 * 2**30, "6 GiB"),
    ("wal_buffers_kib", (1024, 64), 1024, "1 MiB"), ("ncq", (True, False), False, "no"), ("sorts", (1, 0), 1, "yes"),
    ("finer", (1, 2), 1, "1"), ("first_load_pct", (100, 50), 50, "50 %"), ("pool", ("new", "half full"), "new", "new")])
def test_a_choice_is_in_words(name, choices, value, words):
    switch = Switch(name=name, of="x", experiments=(), source="a", choices=choices, central=value)
    assert readable.choice(switch, value) == words


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: f"{switch.name}-{switch.central}")
def test_choices_of_the_study_differ_in_words_and_none_is_a_long_number(switch):
    words = [readable.choice(switch, choice) for choice in switch.choices]
    assert len(set(words)) == len(switch.choices)
    assert not any(re.search(r"\d{5}|True|False", each) for each in words)


@pytest.mark.parametrize("sheet", SHEETS)
def test_no_number_of_a_sheet_has_an_exponent_or_a_long_number_and_times_have_a_unit(sheet):
    assert hardware.read(sheet)
    table = priors.table(priors.Known(tuple(machine_devices.of_sheet(sheet)), ()))
    for row in table.itertuples():
        assert not re.search(r"\de[+-]\d|\d{6}", f"{row.range} {row.central}"), row
        assert row.central.endswith("s") or not row.name.endswith("_ns"), row


def test_rows_of_a_table_are_in_the_unit_of_their_first_number_and_ratios_stay():
    frame = pd.DataFrame({"unit": ["B/s", "ms", "1/s"], "before": [3.3e6, 2.0, 1e7], "after": [9e5, 4.0, 2e7],
                          "ratio": [0.3, 2, 2]}, index=["a", "b", "c"])
    made = readable.scaled(frame, ["before", "after"])
    assert made.unit.tolist() == ["MB/s", "ms", "1/s"]
    assert made.before.tolist() == [3.3, 2.0, 1e7]
    assert made.after.tolist() == pytest.approx([0.9, 4.0, 2e7])
    assert made.ratio.tolist() == frame.ratio.tolist()

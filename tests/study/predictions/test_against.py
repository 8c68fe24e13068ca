"""Advice and prediction say the same of every step: one judgement of how long runs are, and how large machines."""
import json

import pytest
from conftest import one_sentence

from study.ensembles import intervals
from study.errors import UserError
from study.machines import run_length, scenario
from study.predictions import advise, against, ladder, predict, tuning_steps

SHORT = run_length.Budget(6000, 12_000)
# The field's example on which advice and prediction once had opposite signs.
TWELVE_DISKS = scenario.of({
    "title": "twelve disks in RAID-Z2", "host": {"cpus": 16, "memory_gib": 64, "cpu": 2.5, "system": "linux"},
    "files": {"kind": "zfs", "era": "openzfs_2017", "record_kib": 128},
    "pool": {"data": {"sheet": "sata-7k2-1tb", "count": 12, "layout": "raidz2", "ashift": 12}},
    "database": {"kind": "postgres", "version": 10, "scale": 500, "clients": 8}})
ONE_SSD = scenario.of({
    "title": "MySQL on an SSD", "host": {"cpus": 8, "memory_gib": 16, "cpu": 2.5, "system": "linux"},
    "files": {"kind": "zfs", "era": "openzfs", "record_kib": 128}, "pool": {"data": {"sheet": "sata-ssd-s4500"}},
    "database": {"kind": "innodb", "version": 8.0, "rows": 1_000_000, "clients": 8, "seconds": 10}})


@pytest.mark.slow
@pytest.mark.parametrize("machine", [TWELVE_DISKS, ONE_SSD], ids=lambda machine: machine.title)
def test_a_step_has_the_sign_in_advice_that_it_has_in_a_comparison_of_both_machines(machine):
    advice = advise.advise(machine, draws=2, budget=SHORT)
    tried = {step.name: step.after for step in tuning_steps.steps(advise.at_work(machine), ()) if step.after is not None}
    rows = advice.steps[advice.steps.why_not == ""]
    assert len(rows) == len(tried) > 5
    for row in rows.sort_values("step")[::2].itertuples():      # a comparison takes as long as its advice
        made = against.compare(machine, tried[row.step], 2, SHORT)
        assert tuple(made.gain) == pytest.approx((row.gain_low, row.gain, row.gain_high)), row.step
        assert made.sign == (row.gain_low > 1) - (row.gain_high < 1), row.step
        assert (made.sign < 0) == bool(row.why_slower), row.step


@pytest.mark.slow
def test_images_of_pages_cost_something_where_advice_once_said_the_opposite():
    made = against.compare(TWELVE_DISKS, scenario.changed(TWELVE_DISKS, {"database.conf.full_page_writes": "off"}), 2, SHORT)
    assert made.sign == 1
    assert against.sentence(made).startswith("the second is faster: +")


def test_machines_of_two_databases_are_not_compared():
    with pytest.raises(UserError, match=r"^the databases are postgres and innodb, .*; compare two of one kind$"):
        against.compare(TWELVE_DISKS, ONE_SSD, 2)


SMALL = ('title = "{}"\n[files]\nrecord_kib = {}\n[pool.data]\nsheet = "x25-e"\n'
         '[database]\nkind = "postgres"\nclients = 2\ntransactions = 200\n')


@pytest.fixture
def files(tmp_path):
    for name, record_kib in (("wide", 128), ("narrow", 8)):
        (tmp_path / f"{name}.toml").write_text(SMALL.format(name, record_kib))
    return tmp_path


def test_a_gain_comes_with_its_interval_and_both_machines(study, files):
    done = study("predict", files / "wide.toml", "--against", files / "narrow.toml", "--draws", 2, "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    low, middle, high = made["gain"].values()
    assert low <= middle <= high
    assert made["sign"] == (low > 1) - (high < 1)
    assert {"tps", "response p95"} <= {row["quantity"] for row in made["table"]}


def test_a_machine_against_itself_is_as_fast_in_every_draw(study, files):
    done = study("predict", files / "wide.toml", "--against", files / "wide.toml", "--draws", 2)
    assert f"the second is {against.EQUAL}: +0.0% TPS" in done.stdout


@pytest.mark.parametrize(("gain", "words"), [
    ((0.9996, 0.9997, 0.9999), f"is {against.ALIKE}: +0.0% TPS (+0.0% to +0.0%,"),
    ((1.0, 1.0, 1.0), f"is {against.EQUAL}: +0.0%"),
    ((0.9996, 1.0001, 1.02), "is open: "), ((0.998, 0.999, 0.9995), "is slower: -0.1% TPS (-0.2% to "),
    ((1.001, 1.002, 1.003), "is faster: +0.2%")])
def test_nothing_is_called_faster_or_slower_by_nothing(gain, words):
    made = against.Comparison("a", "b", intervals.Interval(*gain), ladder.sign(gain), None, 1.0, None, 8, True)
    assert words in against.sentence(made)


def test_what_must_be_known_of_either_machine_is_said_once(study, files):
    text = SMALL.format("guest", 8).replace("record_kib", 'kind = "zvol"\nvolblocksize_kib')
    (files / "guest.toml").write_text(text + '[database.conf]\nhuge_pages = "on"\n')
    done = study("predict", files / "wide.toml", "--against", files / "guest.toml", "--draws", 2)
    notes = {*predict.notes(scenario.read(files / "wide.toml")), *predict.notes(scenario.read(files / "guest.toml"))}
    assert predict.GUEST in notes
    assert "huge_pages: the model leaves it out" in notes
    assert all(done.stdout.count(f"- {note}\n") == 1 for note in notes)


@pytest.mark.parametrize("option", [["--out", "a.json"], ["--dry-run"], ["--seeds", 2]])
def test_what_is_of_one_machine_is_not_asked_of_two(study, files, option):
    done = study("predict", files / "wide.toml", "--against", files / "narrow.toml", *option)
    assert f"--against compares two machines and {option[0]} is of one; leave one of the two out" in one_sentence(done)

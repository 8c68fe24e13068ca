"""Steps below the database: dedup and the start of a partition. The simulations have tests of their own."""
import math

import pytest

from model.zfs.dmu import straddling
from study import project
from study.errors import UserError
from study.machines import appliance_lun, dedup_pool, scenario
from study.predictions import advice_page, advise, storage_steps
from study.predictions.storage_steps import DO, DONT, OPEN, Asked, Dedup, Lun

MACHINES = project.DATA / "machines"
GIB = 2**30


@pytest.fixture(scope="module")
def machine():
    return advise.read(MACHINES / "backups-on-a-lun.toml", "postgres")[0]


@pytest.fixture
def rates(monkeypatch):
    """MB/s with dedup and without; which machine was simulated."""
    machines = []
    monkeypatch.setattr(dedup_pool, "rates", lambda machine, seed=1: machines.append(machine) or (
        dedup_pool.Rate(90.0, "disks"), dedup_pool.Rate(100.0, "disks")))
    return machines


def of_dedup(machine, **asked):
    return storage_steps.of_dedup(machine, Dedup(**({"duplicates": 0.6, "data_gib": 100.0} | asked)))


# --- the file -------------------------------------------------------------------------------------------------------------

def test_an_example_asks_for_both_and_the_other_for_none():
    both, none = (storage_steps.read(MACHINES / name) for name in ("backups-on-a-lun.toml", "two-disks-and-an-ssd.toml"))
    assert None not in both
    assert storage_steps.not_asked(both) == ""
    assert none == Asked()
    assert storage_steps.not_asked(none) == (
        "Not asked: [dedup] with duplicates and data_gib or [lun] with start_sectors in the file would ask.")
    assert storage_steps.not_asked(both._replace(lun=None)) == "Not asked: [lun] with start_sectors in the file would ask."


POOL = '[pool.data]\nsheet = "sata-7k2-1tb"\n'


@pytest.mark.parametrize(("section", "words"), [
    ("dedup = 3", "mine.toml: dedup is 3, but it must be a section"),
    ("[dedup]\nduplicates = 0.5", "dedup.data_gib is missing"),
    ("[dedup]\nduplicates = 1\ndata_gib = 1", "dedup.duplicates is 1"),
    ("[dedup]\nduplicates = -0.1\ndata_gib = 1", "dedup.duplicates is -0.1"),
    ("[dedup]\nduplicates = nan\ndata_gib = 1", "dedup.duplicates is nan"),
    ("[dedup]\nduplicates = 0\ndata_gib = 0", "dedup.data_gib is 0"),
    ('[dedup]\nduplicates = "half"\ndata_gib = 1', "duplicates is 'half', which is text"),
    ("[dedup]\nduplicates = 0\ndata_gib = 1\nratio = 2", "dedup.ratio is nothing that a scenario has"),
    ("[lun]", "lun.start_sectors is missing"), ("[lun]\nstart_sectors = -1", "lun.start_sectors is -1"),
    ("[lun]\nstart_sectors = 6.5", "lun.start_sectors is 6.5"),
    ("[lun]\nstart_sectors = 63\nblock_kib = 0", "block_kib is 0, but it is a power of two"),
    ("[lun]\nstart_sectors = 63\nblock_kib = 12", "block_kib is 12, but it is a power of two"),
    ("[lun]\nstart_sectors = 63\nblock_kib = 256", "block_kib is 256, but it is a power of two"),
    ("[lun]\nstart_sectors = 63\nsector_bytes = 520", "sector_bytes is 520, but a sector is a power of two")])
def test_what_cannot_be_is_one_sentence(tmp_path, section, words):
    path = tmp_path / "mine.toml"
    path.write_text(f"{section}\n{POOL}")
    with pytest.raises(UserError) as error:
        storage_steps.read(path)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_mistakes_of_both_sections_are_told_at_once(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f"[dedup]\nduplicates = 2\ndata_gib = 1\n[lun]\nstart_sectors = -1\n{POOL}")
    with pytest.raises(UserError, match=r"duplicates is 2.*start_sectors is -1"):
        storage_steps.read(path)


# --- dedup ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("duplicates", [0.0, 0.3, 0.5, 0.9])
def test_the_table_has_an_entry_for_each_different_block_and_owners_for_all(duplicates):
    table = storage_steps.expected_table(Dedup(duplicates=duplicates, data_gib=8), 8192)
    written = 8 * GIB // 8192
    assert table.entries == table.total.blocks == pytest.approx(written * (1 - duplicates), abs=1)
    assert table.total.referenced_blocks == written
    assert table.ratio == pytest.approx(1 / (1 - duplicates), rel=1e-5)
    assert all(bucket.referenced_blocks >= bucket.references * bucket.blocks for bucket in table.buckets)


@pytest.mark.parametrize(("asked", "answer", "reason", "line"), [
    ({}, DO, "fit into", "zfs set dedup=on POOL/DATA"),
    ({"duplicates": 0.3}, DONT, "the ratio is 1.43", "zfs set dedup=off POOL/DATA"),
    ({"data_gib": 1e4, "block_kib": 8}, DONT, "but memory leaves", "zfs set dedup=off POOL/DATA")])
def test_dedup_has_an_answer_a_reason_and_a_line(machine, rates, asked, answer, reason, line):
    step = of_dedup(machine, **asked)
    assert (step.answer, step.lines[0], step.gain) == (answer, line, 0.9)
    assert reason in step.reason
    assert rates[0].n_disks == 4                        # of eight disks in mirrors of two
    assert rates[0].found_share == pytest.approx(asked.get("duplicates", 0.6), abs=1e-4)


def test_memory_is_what_the_machine_leaves_for_the_arc(machine, rates):
    """A quarter of it in 2010, three quarters in OpenZFS; zfs_arc_max counts."""
    of_2010 = scenario.changed(machine, {"files.arc_max_mib": 1024})
    today = scenario.changed(of_2010, {"files.era": "openzfs_2021"})
    for each, share in ((of_2010, 0.25), (today, 0.75)):
        of_dedup(each)
        assert rates[-1].limit_bytes == share * GIB


def test_dedup_on_what_is_no_disk_is_open_unless_size_or_ratio_say_no(machine, rates):
    flash = scenario.changed(machine, {"pool.data.sheet": "x25-e"})
    assert of_dedup(flash).answer == OPEN
    assert "x25-e with a dedup table are not simulated" in of_dedup(flash).reason
    assert of_dedup(flash, duplicates=0.1).answer == DONT
    assert of_dedup(flash, data_gib=1e4, block_kib=8).answer == DONT
    assert rates == []


# --- the LUN --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("start", "block", "request_kib"), [(64, 8, 8), (0, 128, 8), (2048, 128, 64), (16, 32, 8)])
def test_what_does_not_straddle_stays(machine, monkeypatch, start, block, request_kib):
    monkeypatch.setattr(appliance_lun, "run", None)
    step = storage_steps.of_lun(machine, Lun(start_sectors=start, block_kib=block, request_kib=request_kib), 2)
    assert (step.answer, step.lines) == (DONT, ())
    assert math.isnan(step.gain)


def lun_of(monkeypatch, machine, gains, **asked):
    """The step where aligned requests are so many times as many."""
    setups = []

    def run(setup, is_misaligned, seed):
        setups.append(setup)
        return 1.0 if is_misaligned else gains[seed - 1]
    monkeypatch.setattr(appliance_lun, "run", run)
    monkeypatch.setattr(appliance_lun, "quantities", lambda rate, setup: {"requests.rate": rate})
    return storage_steps.of_lun(machine, Lun(**({"start_sectors": 63} | asked)), len(gains)), setups


@pytest.mark.parametrize(("gains", "answer"), [
    ([1.5, 2.0, 3.0], DO), ([0.5, 2.0, 3.0], DONT), ([1.005, 1.01, 1.015], DONT), ([0.8, 0.85, 0.9], DONT)])
def test_a_partition_is_made_anew_only_if_that_surely_gains(monkeypatch, machine, gains, answer):
    step, _ = lun_of(monkeypatch, machine, gains)
    assert step.answer == answer
    assert bool(step.lines) == (answer == DO)
    assert step.low <= step.gain <= step.high


@pytest.mark.parametrize(("start", "sector_bytes", "block_kib"), [(63, 512, 8), (34, 512, 128), (7, 4096, 128)])
def test_the_line_names_the_next_place_that_is_aligned(monkeypatch, machine, start, sector_bytes, block_kib):
    step, setups = lun_of(monkeypatch, scenario.changed(machine, {"host.system": "linux"}), [2.0, 2.0], start_sectors=start,
                          sector_bytes=sector_bytes, block_kib=block_kib, request_kib=8)
    to = int(step.lines[1].split()[-2].removesuffix("s"))
    assert 0 <= to - start < block_kib * 1024 // sector_bytes
    assert not straddling.straddles(to * sector_bytes, 8192, block_kib * 1024)
    assert {setup.start_bytes for setup in setups} == {start * sector_bytes % (block_kib * 1024)}


def test_requests_are_the_databases_pages_and_draws_hold_what_the_file_leaves_open(monkeypatch, machine):
    _, setups = lun_of(monkeypatch, scenario.changed(machine, {"database": {"kind": "innodb", "seconds": 600}}), 6 * [2.0])
    assert {(setup.request_bytes, setup.disk, setup.layout) for setup in setups} == {(16384, "sata-7k2-1tb", "mirror")}
    assert len({setup.read_share for setup in setups}) == 6


@pytest.mark.slow
def test_a_misaligned_lun_of_disks_is_simulated(machine):
    step = storage_steps.of_lun(machine, Lun(start_sectors=63), 2)
    assert step.answer == DO
    assert step.gain > 1.1


# --- what is printed ------------------------------------------------------------------------------------------------------

def test_answers_stand_with_reason_numbers_and_lines(monkeypatch, machine, rates):
    steps = (of_dedup(machine, duplicates=0.1), lun_of(monkeypatch, machine, [1.5, 2.0, 3.0])[0])
    lines = advice_page.storage_lines(steps)
    printed = "\n".join(lines)
    assert "- Dedup of 100 GiB in blocks of 128 KiB: don't; the ratio is 1.11" in printed
    assert "  zfs set dedup=off POOL/DATA" in lines
    assert "in place of 63: do; requests of 8K straddle blocks of 8K" in printed
    assert "  requests, times as many: 1.55, 2.00, 2.90 (5, 50, 95 %)" in lines
    assert advice_page.storage_lines(()) == []



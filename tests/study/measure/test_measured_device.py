"""What fio's output must be like, and which outputs belong to a ladder that is in the store."""
import json

import pytest
import typer.testing

from study.commands.measure import measure as measure_verb
from study.errors import UserError
from study.ingest import given_runs, imports, measured
from study.ingest.given_runs import Given
from study.measure import device, sets
from study.project import DATA

NAME = sets.names()[0]
OUTPUTS = sorted((DATA / "measured" / NAME / "fio").glob("*.json"))


def with_options(**options):
    """The first output of the shipped set with other options of read-many."""
    of = sets.shipped(NAME)
    params, totals = of.fio[0]
    more = {f"read-many.{option}": value for option, value in options.items()}
    return of._replace(fio=[(params | more, totals)])


@pytest.mark.parametrize(("options", "complaint"), [
    ({"direct": "0"}, "direct=1 is lacking in read-many, so the page cache answers"),
    ({"rate_iops": "100"}, "job read-many is held back by rate_iops"),
    ({"thinktime": "1ms"}, "job read-many is held back by thinktime"),
    ({"iodepth": "many"}, "iodepth of fio's job read-many is 'many'"),
    ({"numjobs": "0"}, "numjobs of fio's job read-many is '0'"),
    ({"direct": "0", "rate": "1m"}, "direct=1 is lacking in read-many.*; job read-many is held back by rate")])
def test_a_job_that_does_not_tell_the_device_is_refused_by_its_option(options, complaint):
    with pytest.raises(UserError, match=complaint):
        device.numbers(with_options(**options))


def test_readers_see_the_device_in_units_that_people_use():
    of = sets.shipped(NAME)
    shown, numbers = device.table(of).set_index("field"), device.numbers(of)
    assert shown.loc["read_ns", "unit"] == "µs"
    assert shown.loc["read_ns", "middle"] == pytest.approx(numbers["read_ns"].middle / 1e3)
    assert shown.loc["write_rate", "unit"] in ("MB/s", "GB/s")
    assert shown.loc["channels", ["middle", "unit"]].tolist() == [numbers["channels"].middle, "1"]
    assert device.table(of._replace(fio=[])).empty


def test_all_jobs_that_are_not_direct_are_named():
    of = sets.shipped(NAME)
    params, totals = of.fio[0]
    with pytest.raises(UserError, match="direct=1 is lacking in read-one, read-many, write-one"):
        device.numbers(of._replace(fio=[(params | {"global.direct": "0"}, totals)]))


def test_two_jobs_of_a_kind_are_refused_by_name():
    of = sets.shipped(NAME)
    params, totals = of.fio[0]
    params = params | {name.replace("read-one", "again"): value for name, value in params.items() if "read-one." in name}
    totals = totals | {name.replace("read-one", "again"): value for name, value in totals.items() if "read-one." in name}
    with pytest.raises(UserError, match="jobs read-one and again are both read-one"):
        device.numbers(of._replace(fio=[(params, totals)]))


def test_jobs_side_by_side_are_taken_only_where_fio_added_them_up():
    grouped = with_options(numjobs="2", group_reporting="")
    assert device.numbers(grouped)["depth"].middle == 2 * device.numbers(with_options())["depth"].middle
    params, totals = grouped.fio[0]
    apart = totals | {name.replace("read-many", "read-many-2"): value for name, value in totals.items()}
    with pytest.raises(UserError, match="job read-many is there more than once"):
        device.numbers(grouped._replace(fio=[(params, apart)]))


def measure(*words):
    return typer.testing.CliRunner().invoke(measure_verb, ["pgbench", "--quick", "--dry-run", *map(str, words)])


def test_a_bad_output_and_the_label_of_a_shipped_set_are_refused_before_anything_starts(runs, tmp_path, programs_there):
    (tmp_path / "cut.json").write_text(OUTPUTS[0].read_text()[:5000])
    for words, complaint in ((("--fio", tmp_path / "none.json"), "is not there"),
                             (("--fio", tmp_path), "no files to import|is .*, a folder"),
                             (("--fio", tmp_path / "cut.json"), "cut off or damaged"),
                             (("--label", NAME), "the name of a set in data/measured")):
        made = measure(*words)
        assert isinstance(made.exception, UserError)
        with pytest.raises(UserError, match=complaint):
            raise made.exception
    assert measure("--fio", OUTPUTS[0]).exit_code == 0
    assert not list(imports.kept())


@pytest.fixture
def programs_there(monkeypatch, tmp_path):
    from study.measure import programs
    monkeypatch.setattr(programs, "packaged", lambda release: programs.Programs(tmp_path, release, f"{release}.0", None))


def keep(folder, label, rung, **params):
    """A run of a ladder, in the store without output of pgbench."""
    folder = folder / label / rung
    folder.mkdir(parents=True)
    measured.write(folder / measured.FILE, {"set": label, "rung": rung, "against": "", "order": 1, **params}, {
        "disk": {"columns": ["reads"], "units": ["1/s"], "rows": [[1.0, "sda", 1.0]]}})
    imports.imported(given_runs.given([folder])[0], imports.Options())


def test_a_ladder_has_the_outputs_it_was_given_and_no_others(runs, tmp_path):
    first, second = (imports.imported(Given(f"old/fio/{n}", [(path, path.name)], []), imports.Options()).run_id
                     for n, path in enumerate(OUTPUTS[:2], start=1))
    keep(tmp_path, "new", "defaults", fio=first)
    keep(tmp_path, "old", "defaults", fio=second)
    keep(tmp_path, "none", "defaults", fio="")
    shipped = sets.shipped(NAME)
    assert sets.labelled("new").fio == shipped.fio[:1]
    assert sets.labelled("old").fio == shipped.fio[1:2]
    assert sets.labelled("none").fio == []
    keep(tmp_path, "lost", "defaults", fio=f"{first} 0123")
    with pytest.raises(UserError, match=r"no longer imported \(0123\)"):
        sets.labelled("lost")


# --- a ladder that was stopped --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("names", [{"more-clients"}, {"defaults", "memory", "commit-delay"}, {"larger", "one-client"}])
def test_every_rung_of_a_stopped_ladder_is_shown_and_the_others_are_named(names):
    of = sets.shipped(NAME)
    everything = list(sets.rates(of).rung)
    kept = [run._replace(params=run.params | {"rungs": " ".join(everything)}) for run in of.runs
            if run.params["rung"] in names]
    part = of._replace(runs=kept)
    assert set(sets.rates(part).rung) == names
    assert set(sets.missing(part)) == set(everything) - names
    assert sets.missing(of) == []


def test_what_a_rung_changes_is_missing_though_the_plan_is_not_known():
    of = sets.shipped(NAME)
    part = of._replace(runs=[run for run in of.runs if run.params["rung"] == "more-clients"])
    assert sets.missing(part) == ["checkpoints"]


def test_a_ladder_without_a_measured_rung_is_refused():
    planned = sets.planned("mine", [json.loads('{"rung": "defaults", "against": ""}')], [])
    with pytest.raises(UserError, match="no rung of 'mine' was measured"):
        sets.rates(planned)

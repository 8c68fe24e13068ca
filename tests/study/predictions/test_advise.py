"""Advice: what is tried, what is not and why, and what a step costs in safety."""

import pandas as pd
import pytest
from conftest import one_sentence
from rich.console import Console

from study import project
from study.commands.advise import how_long
from study.ensembles import intervals
from study.errors import UserError
from study.machines import run_length, scenario
from study.machines import simulate as machines
from study.machines import storage as scenario_storage
from study.predictions import (
    advice_page,
    advise,
    against,
    bounds,
    configuration_lines,
    ladder,
    predict,
    recipes,
    sizes,
    tuning_steps,
)
from support.advised_machine import HERE, the

MACHINES = sorted((project.DATA / "machines").glob("*.toml"))


@pytest.fixture(scope="module")
def steps():
    return tuning_steps.steps(*advise.read(HERE, "postgres"))


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
@pytest.mark.parametrize("database", list(advise.DATABASES))
def test_every_recipe_is_tried_or_has_a_reason(path, database):
    all_steps = tuning_steps.steps(*advise.read(path, database))
    assert {step.recipe.id for step in all_steps} == {recipe.id for recipe in recipes.recipes(database)}
    assert all(bool(step.after) != bool(step.why_not) for step in all_steps)
    assert sum(step.after is not None for step in all_steps) >= 4


def test_a_step_is_tried_with_each_device_to_spare(steps):
    machine, spare = advise.read(HERE, "postgres")
    twice = tuning_steps.steps(machine, (*spare, scenario_storage.Devices(sheet="write-ssd-18")))
    assert len(the(twice, "log-device")) == 2
    assert len(the(steps, "log-device")) == 1
    assert "needs a device to spare" in the(tuning_steps.steps(machine, ()), "log-device")[0].why_not


def test_what_a_step_trades_is_said(steps):
    risky = the(steps, "synchronous-commit")[0]
    assert risky.trades[0].startswith("RISK")
    assert not tuning_steps.is_safe(risky)
    assert tuning_steps.is_safe(the(steps, "full-page-writes")[0])
    assert tuning_steps.is_safe(the(steps, "shared-buffers")[0])


@pytest.mark.parametrize("era", ["b111", "b141", "b141_df", "openzfs_2013", "openzfs"])
def test_the_newest_build_is_no_step_back(era):
    machine, spare = advise.read(HERE, "postgres")
    step = the(tuning_steps.steps(scenario.changed(machine, {"files.era": era}), spare), "newest-build")[0]
    assert (step.after is not None) == (era == "b111")


def test_a_step_that_is_taken_already_is_not_tried():
    machine, spare = advise.read(HERE, "postgres")
    done = scenario.changed(machine, the(tuning_steps.steps(machine, spare), "recordsize-8k")[0].changes)
    assert the(tuning_steps.steps(done, spare), "recordsize-8k")[0].why_not == "is so already"


def test_a_step_to_what_is_the_default_is_not_tried():
    """PostgreSQL's wal_sync_method is fdatasync on Linux, and open_datasync on Solaris."""
    machine, spare = advise.read(HERE, "postgres")
    of_systems = {system: the(tuning_steps.steps(scenario.changed(machine, {"host.system": system}), spare),
                              "wal-sync-method")[0] for system in ("linux", "solaris")}
    assert of_systems["linux"].why_not == "is so already, by default"
    assert of_systems["solaris"].after is not None


def test_advice_is_for_a_server_at_work_unless_the_file_says_otherwise():
    machine, _ = advise.read(HERE, "innodb")
    warm = advise.at_work(machine)
    assert (warm.files.warm, warm.files.cache_warm, warm.database.start) == (True, True, "warm")
    cold = scenario.changed(machine, {"files.warm": False, "database.start": "cold"})
    assert advise.at_work(cold) == scenario.changed(cold, {"files.cache_warm": False})


def test_what_is_said_fits_a_terminal_of_80_columns(capsys):
    advice = advise.Advice(None, pd.DataFrame([
        ("A step with a rather long name, longer than a column", 0.5, 1.2, 300.0, 1, 12_345.0, 2,
         "DANGER: " + 30 * "all is lost. ", "", "", "it trades safety", ("zfs set sync=disabled POOL/DATA",), True),
        ("A sure step", 1.1, 1.23, 1.4, 1, 2.0, 3, "", "", "", "", ("zfs set recordsize=8K POOL/DATA",), False),
        ("A step back", 0.7, 0.8, 0.9, 1, 2.0, 3, "", "One has to wait.", "", "", ("zfs set atime=on POOL/DATA",), True),
        ("Another one", *[float("nan")] * 6, "", "", "is so already", "", (), True)], columns=advise.STEP_COLUMNS),
        pd.DataFrame([("as it is", 1.0, 2.0, 3.0)], columns=["rung", "low", "tps", "high"]),
        intervals.Interval(1.0, 5.0, 25.0), [bounds.Share("processors", 0.4)], ("host: cpus = 8",))
    advice_page.say(advice, Console(width=80, highlight=False, markup=False))
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "DANGER [1]" in printed
    assert "[1] DANGER: all is lost." in printed
    assert "- Another one: is so already" in printed
    assert "A step back makes it slower here. What it does: One has to wait." in printed
    of_open = next(line for line in printed.splitlines() if "+29900%" in line)
    assert "open" in of_open        # no sign where the interval holds zero
    assert "+23%" in printed
    assert "+20%" not in printed
    assert advice_page.OPEN in printed
    assert " ".join(printed.split()).count(advice_page.MIDDLES) == 1        # 12 345 TPS are not 2 times 1.2
    assert "zfs set recordsize=8K POOL/DATA" in printed
    assert "sync=disabled" not in printed
    assert "atime" not in printed
    assert "it trades safety" in printed
    assert printed.index("Gains alone, but no rung:") < printed.index("it trades safety")
    after = printed[printed.index(advise.BEGINNING.split()[-1]):]
    assert after.split("\n- ")[1].startswith("A sure step")     # and nothing else
    assert "A sure step: " not in printed                      # it is no step that is no rung
    assert "bound by: processors 40%" in printed
    assert "- host: cpus = 8" in printed


@pytest.mark.parametrize(("tps", "times"), [(2.4, 0), (2.5, 0), (2.6, 1)])
def test_a_rate_that_is_not_the_gain_times_the_rate_as_it_is_has_a_reason(capsys, tps, times):
    advice = advise.Advice(None, pd.DataFrame([("A step", 1.1, 1.2, 1.3, 1, tps, 3, "", "", "", "", (), True)],
                                              columns=advise.STEP_COLUMNS),
                           pd.DataFrame([("as it is", 1.0, 2.0, 3.0)], columns=["rung", "low", "tps", "high"]),
                           intervals.Interval(1.0, 5.0, 25.0))
    advice_page.say(advice, Console(width=200, highlight=False, markup=False))
    assert capsys.readouterr().out.count(advice_page.MIDDLES) == times


def test_why_it_is_slower_stands_exactly_where_the_upper_end_is_below_1(monkeypatch):
    gains = [(0.5, 0.9), (0.5, 1.0), (0.999, 0.999), (1.0, 1.0), (0.5, 1.5), (1.2, 1.4)]

    def compared(scenarios, *_, **__):
        rates = [(1.0, 1.0), *(gains[i % len(gains)] for i in range(len(scenarios) - 1))]
        return pd.DataFrame([{"scenario": i, "draw": draw, "seed": 0, "tps": 100.0 * gain, "is_whole": i % 2 == 0}
                             for i, of_draws in enumerate(rates) for draw, gain in enumerate(of_draws)])

    monkeypatch.setattr(advise.predict, "compare", compared)
    monkeypatch.setattr(ladder, "of", lambda *_: ladder.Ladder(None, {}))
    monkeypatch.setattr(advise.predict, "alike", lambda *_: None)
    machine, spare = advise.read(HERE, "postgres")
    all_steps = advise.advise(machine, spare, draws=2).steps
    tried = all_steps[all_steps.why_not == ""]
    assert ((tried.why_slower != "") == (tried.gain_high < 1)).all()
    assert 0 < (tried.gain_high < 1).sum() < len(tried) - 1
    assert (all_steps[all_steps.why_not != ""].why_slower == "").all()
    words = {step.name: step.recipe.mechanism for step in tuning_steps.steps(advise.at_work(machine), spare)}
    slower = tried[tried.why_slower != ""]
    assert (slower.why_slower == slower.step.map(words)).all()
    assert len(advise.slower(all_steps)) == len(slower)
    assert (~tried.is_whole.astype(bool)).sum() == -(-len(tried) // 2)


def test_a_step_has_a_sign_only_if_its_interval_excludes_zero():
    gains = ((1.01, 1.2), (0.9, 0.99), (0.9, 1.2), (1.0, 1.0), (0.5, 1.5))
    assert [ladder.sign(gain) for gain in gains] == [1, -1, 0, 0, 0]


def test_what_is_the_same_in_every_draw_is_not_open():
    assert [advise.is_open(*ends) for ends in ((1, 1), (0.9, 1), (1, 1.1), (0.9, 1.1), (1.01, 1.2), (0.8, 0.9))] == [
        False, True, True, True, False, False]


def test_advice_and_prediction_judge_alike_how_long_a_run_must_be():
    """As many transactions; and what is compared is made smaller alike, as the differences would be of sizes."""
    machine, spare = advise.read(HERE, "postgres")
    machine = advise.at_work(scenario.changed(machine, {"database.clients": 1}))
    step = the(tuning_steps.steps(machine, spare), "checkpoint-segments")[0].after
    values = machines.known([machine, step]).central()
    apart = [run_length.of(each, values, budget=run_length.Budget(8000)).k for each in (machine, step)]
    by = predict.alike([machine, step], values, run_length.Budget(8000))
    alike = [run_length.of(each, values, budget=run_length.Budget(8000), smaller_by=by).k for each in (machine, step)]
    assert apart[0] != apart[1]
    assert alike[0] == alike[1] == by


@pytest.mark.slow
def test_what_a_machine_is_compared_with_does_not_change_its_rate():
    """The rate is that of its own size; of the gain advice says what a comparison of the two says."""
    machine, spare = advise.read(HERE, "postgres")
    machine = advise.at_work(scenario.changed(machine, {"database.clients": 1}))
    step = the(tuning_steps.steps(machine, spare), "checkpoint-segments")[0].after
    known, budget = machines.known([machine, step]), run_length.Budget(8000)
    base, (pair,) = advise._runs([machine, step], ladder.Common(known, 2, budget))
    alone = predict.compare([machine], 2, budget=budget, known=known)
    assert [*base.tps] == [*alone.tps] != [*pair.tps_before]
    made = against.compare(machine, step, 2, budget)
    assert tuple(made.gain) == tuple(intervals.interval(pair.tps_after / pair.tps_before))
    assert made.own_tps[0] == base.tps.median()
    assert tuple(against.compare(step, machine, 2, budget).gain) == pytest.approx(
        [1 / end for end in made.gain][::-1], rel=1e-3)     # quantiles are interpolated


def test_a_pair_is_made_smaller_by_a_power_of_two_where_both_allow_it():
    machine, _ = advise.read(HERE, "postgres")
    large = advise.at_work(scenario.changed(machine, {"database.scale": 2000, "database.clients": 1}))
    narrow = scenario.changed(large, {"database.scale": 30})
    values = machines.known([large]).central()
    assert sizes.own(large, values, run_length.Budget(10**9)) == 1.0
    assert sizes.of_pair(large, large, values, run_length.Budget(3000)) in (2.0, 4.0, 8.0)
    assert sizes.of_pair(large, narrow, values, run_length.Budget(3000)) == run_length.scaling(narrow, 8.0)


def test_what_is_taken_after_hours_is_said_where_the_file_leaves_it_open():
    machine, _ = advise.read(HERE, "postgres")
    (line,) = advise.taken_after_hours(machine)
    assert line.startswith("files.warm = true, files.cache_warm = true: ")
    assert advise.taken_after_hours(advise.at_work(machine)) == ()
    innodb = advise.read(HERE, "innodb")[0]
    assert 'database.start = "warm"' in advise.taken_after_hours(innodb)[0]


def test_several_steps_together_are_of_the_size_of_each():
    """Also where none by itself is made smaller: the faster machine of all would be, by itself."""
    machine, _ = advise.read(HERE, "postgres")
    machine = advise.at_work(scenario.changed(machine, {"database.clients": 1}))
    values = machines.known([machine]).central()
    assert predict.alike([machine], values, run_length.Budget(10**9)) == 1.0
    faster = (300.0, None), 1e5, run_length.BUDGET, 1.0
    alone, compared = (run_length._of_intervals(machine, *faster, smaller_by=by) for by in (None, 1.0))
    assert alone.k > compared.k == 1.0


@pytest.mark.slow
def test_advice_comes_with_intervals_best_first():
    machine, spare = advise.read(HERE, "postgres")
    small = scenario.changed(machine, {"database.scale": 20, "database.transactions": 1500})
    advice = advise.advise(small, spare, draws=2)
    tried = advice.steps[advice.steps.why_not == ""]
    assert tried.gain.is_monotonic_decreasing
    assert (tried.gain_low <= tried.gain).all()
    assert advice.ladder.rung[0] == "as it is"
    assert advice.ladder.tps.iloc[-1] >= advice.ladder.tps[0]


def test_what_cannot_be_is_one_sentence(study, tmp_path):
    assert "the choices are" in one_sentence(study("advise", "--hardware", HERE, "--database", "sybase"))
    text = HERE.read_text()
    for wrong, word in ((text.replace("count = 2", "count = 0"), "without a disk"),
                        (text.replace('sheet = "x25-e"', 'sheet = "x25"'), "no sheet 'x25'")):
        (tmp_path / "a.toml").write_text(wrong)
        assert word in one_sentence(study("advise", "--hardware", tmp_path / "a.toml"))


def test_a_database_of_another_kind_is_an_ordinary_one_and_a_line_says_so():
    machine, _ = advise.read(HERE, "innodb")
    assert machine.database.kind == "innodb"
    line, = advise.taken_instead(HERE, "innodb")
    assert "[database] of two-disks-and-an-ssd.toml is of postgres and is not used" in line
    assert not advise.taken_instead(HERE, "postgres")
    with pytest.raises(UserError):
        advise.read(HERE.with_name("nowhere.toml"), "postgres")


@pytest.mark.parametrize("kind", ["innodb", "mysql", "mariadb"])
@pytest.mark.parametrize("database", [None, "innodb"])
def test_the_database_of_the_file_is_the_one_that_is_asked_about(tmp_path, kind, database):
    file = tmp_path / "mine.toml"
    file.write_text(f'[pool.data]\nsheet = "savvio-10k2"\n[database]\nkind = "{kind}"\nrows = 123456\n')
    assert advise.read(file, database)[0].innodb.rows == 123_456
    assert not advise.taken_instead(file, database)


@pytest.fixture
def without_runs(monkeypatch):
    """Advice without a step, so that what else is printed is seen at once."""
    rung = pd.DataFrame([("as it is", 1.0, 2.0, 3.0)], columns=["rung", "low", "tps", "high"])
    made = advise.Advice(None, pd.DataFrame(columns=advise.STEP_COLUMNS), rung, intervals.Interval(1.0, 2.0, 3.0))
    monkeypatch.setattr(advise, "advise", lambda *_: made)
    monkeypatch.setattr(bounds, "of", lambda *_: [])


@pytest.mark.usefixtures("without_runs")
@pytest.mark.parametrize(("asked", "meant"), [("mysql", "innodb"), ("mariadb", "innodb"), ("postgresql", "postgres")])
def test_a_database_is_asked_about_by_its_usual_name(study, tmp_path, asked, meant):
    file = tmp_path / "mine.toml"
    file.write_text('[pool.data]\nsheet = "savvio-10k2"\n')
    done, same = (study("advise", "--hardware", str(file), "--database", name) for name in (asked, meant))
    assert (done.returncode, done.stdout) == (0, same.stdout)


@pytest.mark.usefixtures("without_runs")
def test_what_a_prediction_notes_of_a_machine_advice_says_too(study, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[files]\nkind = "zvol"\n[pool.data]\nsheet = "savvio-10k2"\n[database]\nkind = "mysql"\nrows = 123456\n'
                    '[database.conf]\ninnodb_flush_method = "O_DIRECT"\n')
    done = study("advise", "--hardware", file)
    assert done.returncode == 0, done.stderr
    notes = predict.notes(advise.read(file)[0])
    assert predict.GUEST in notes
    printed = " ".join(done.stdout.split())
    assert all(f"- {note}" in printed for note in notes)
    assert "era is left out" in done.stderr
    other = study("advise", "--hardware", file, "--database", "postgres")
    line, = advise.taken_instead(file, "postgres")
    assert line in other.stderr
    assert f"- {line}" in " ".join(other.stdout.split())
    assert "innodb_flush_method" not in other.stdout


@pytest.mark.usefixtures("without_runs")
@pytest.mark.parametrize("name", ["two-disks-and-an-ssd", "nvme-mirror", "nvme-mirror.toml"])
def test_a_machine_or_a_scenario_is_found_by_its_name(study, monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    assert study("advise", "--hardware", name).returncode == 0
    assert f"did you mean '{name.removesuffix('.toml')}'" in one_sentence(study("advise", "--hardware", f"my-{name}"))
    assert "is not there" in one_sentence(study("advise", "--hardware", f"elsewhere/{name}"))


def test_without_a_database_an_ordinary_postgres_is_taken(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[pool.data]\nsheet = "savvio-10k2"\n')
    assert advise.read(file)[0].postgres.scale == advise.DATABASES["postgres"]["scale"]
    assert not advise.taken_instead(file, "innodb")


# ---- what to type ----


def test_every_step_that_is_tried_says_what_to_type():
    for path in MACHINES:
        for database in advise.DATABASES:
            machine, spare = advise.read(path, database)
            steps = [step for step in tuning_steps.steps(machine, spare) if step.after is not None]
            assert all(configuration_lines.of(machine, step.changes) for step in steps)


@pytest.mark.parametrize(("system", "changes", "line"), [
    ("linux", {"files.record_kib": 8}, "zfs set recordsize=8K POOL/DATA"),
    ("linux", {"files.log_record_kib": 128}, "zfs set recordsize=128K POOL/LOG"),
    ("linux", {"files.log_logbias": "latency"}, "zfs set logbias=latency POOL/LOG"),
    ("linux", {"files.arc_max_mib": 1024}, "/etc/modprobe.d/zfs.conf: options zfs zfs_arc_max=1073741824"),
    ("linux", {"files.prefetch": False}, "/etc/modprobe.d/zfs.conf: options zfs zfs_prefetch_disable=1"),
    ("solaris", {"files.nocacheflush": True}, "/etc/system: set zfs:zfs_nocacheflush = 1"),
    ("freebsd", {"files.arc_max_mib": 1024}, '/boot/loader.conf: vfs.zfs.arc_max="1073741824"'),
    ("linux", {"pool.log": {"sheet": "x25-e"}}, "zpool add POOL log DEVICE"),
    ("linux", {"pool.cache": {"sheet": "x25-e", "count": 2}}, "zpool add POOL cache DEVICE1 DEVICE2"),
    ("linux", {"pool.log": {"sheet": "x25-e", "count": 4, "layout": "mirror", "width": 2}},
     "zpool add POOL log mirror DEVICE1 DEVICE2 mirror DEVICE3 DEVICE4"),
    ("linux", {"files.log_record_kib": 128, "log_pool.data": {"sheet": "x25-e"}},
     "zfs create -o recordsize=128K LOGPOOL/LOG"),
    ("linux", {"database.conf.full_page_writes": False}, "postgresql.conf: full_page_writes = off"),
    ("linux", {"database.conf.max_wal_size": "8GB"}, "postgresql.conf: max_wal_size = 8GB")])
def test_a_change_is_typed_as_its_system_has_it(system, changes, line):
    machine = scenario.changed(advise.read(HERE, "postgres")[0], {"host.system": system})
    assert configuration_lines.of(machine, changes)[0] == line


@pytest.mark.parametrize(("era", "names"), [
    ("openzfs_2017", ("arc_max", "prefetch_disable", "cache_flush_disable")),
    ("openzfs", ("arc.max", "prefetch.disable", "nocacheflush"))])
def test_openzfs_has_names_of_its_own_on_freebsd(era, names):
    machine = scenario.changed(advise.read(HERE, "postgres")[0], {"host.system": "freebsd", "files.era": era})
    typed = configuration_lines.of(machine, {"files.arc_max_mib": 1, "files.prefetch": False, "files.nocacheflush": True})
    assert [line.split("vfs.zfs.")[1].split("=")[0] for line in typed] == [*names]


def test_settings_of_innodb_stand_in_its_own_file():
    machine, _ = advise.read(HERE, "innodb")
    typed = configuration_lines.of(machine, {"database.conf.innodb_doublewrite": False})
    assert typed == ("my.cnf: innodb_doublewrite = off",)


def test_the_rate_as_blind_trials_calibrate_it_stands_first():
    own = pd.DataFrame([("tps", "TPS", 9.0, 10.0, 11.0), ("checkpoints", "1", 0, 1, 2)],
                       columns=["quantity", "unit", "low", "middle", "high"])
    shown = predict.named(own, intervals.Interval(2.0, 10.0, 50.0))
    assert shown.quantity.to_list() == [predict.CALIBRATED, predict.OWN, "checkpoints that ended in it"]
    assert shown.low.to_list() == [2.0, 9.0, 0.0]
    assert predict.named(own).quantity[0] == "tps"


@pytest.mark.slow
def test_the_ladder_of_a_slide_tries_what_is_safe_alone():
    machine, spare = advise.read(HERE, "postgres")
    small = scenario.changed(machine, {"database.scale": 20, "database.transactions": 500})
    advice = advise.advise(small, spare, draws=2, safe_only=True)
    assert not advice.steps.trades.str.contains("RISK|DANGER").any()
    assert (advice.steps.why_not == "").any()


def test_before_it_starts_it_says_what_is_simulated_and_what_takes_less():
    words = how_long(12, 8)
    assert words.startswith("simulating 12 machines, 8 draws of each")
    assert "--draws 4" in words
    assert "--draws 2," in how_long(12, 2)

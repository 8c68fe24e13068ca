"""What is advised: every step is a change that a scenario knows, and what is said of today has evidence."""
import re

import pytest

from model.zfs.eras import ERAS
from study.documents import published
from study.errors import UserError
from study.experiments.ladders_2009.readings import LADDERS
from study.machines import scenario
from study.machines.storage import Devices
from study.predictions import recipes

ALL = recipes.read().recipe
MACHINES = {
    "postgres": {"pool": {"data": {"sheet": "savvio-10k2", "count": 4, "layout": "raidz1"}}, "host": {"memory_gib": 12},
                 "database": {"kind": "postgres"}},
    "innodb": {"pool": {"data": {"sheet": "savvio-10k2", "count": 4, "layout": "raidz1"}}, "host": {"memory_gib": 12},
               "database": {"kind": "innodb"}},
    "oracle": {"pool": {"data": {"sheet": "savvio-10k2", "count": 4, "layout": "raidz1"}}, "host": {"memory_gib": 12},
               "database": {"kind": "oracle"}},
}


def machine(database, era="b117"):
    """Of 2009, with PostgreSQL 8.3, or later, with 16."""
    changes = {"files.kind": "zfs", "files.era": era}
    if database == "postgres":
        changes["database.version"] = 8.3 if era == "b117" else 16
    return scenario.changed(scenario.of(MACHINES[database]), changes)


CASES = [(recipe, database, era) for recipe in ALL for database in recipe.databases for era in ("b117", "b141")
         if database in MACHINES]


@pytest.mark.parametrize(("recipe", "database", "era"), CASES, ids=lambda case: getattr(case, "id", str(case)))
def test_a_step_changes_just_what_it_says_of_the_machines_it_is_for(recipe, database, era):
    before, spare = machine(database, era), Devices(sheet="x25-e")
    if recipes.misses(recipe, before) or recipe.not_simulated:
        return
    after = scenario.changed(before, recipes.changes(recipe, spare))
    changed = set(scenario.differences(before, after))
    assert changed or recipe.change == {"files.era": era}
    of_a_new_pool = {"log_pool.fill": (None, 0.0)}      # it is empty
    named_paths = {path for path in changed if any(path.startswith(named) for named in recipe.change)}
    others = {path: scenario.differences(before, after)[path] for path in changed - named_paths}
    assert others.items() <= of_a_new_pool.items()


def test_every_recipe_is_for_one_of_the_machines_here_or_says_why_not():
    spare = [recipe for recipe in ALL if not recipe.not_simulated and set(recipe.databases) & set(MACHINES)]
    met = {recipe.id for recipe, database, era in CASES if not recipes.misses(recipe, machine(database, era))}
    assert {recipe.id for recipe in spare} <= met


def test_ids_are_unique_and_each_database_has_its_recipes():
    assert len({recipe.id for recipe in ALL}) == len(ALL)
    assert all(len(recipes.recipes(database)) >= 4 for database in ("postgres", "innodb", "oracle"))


def test_the_page_names_every_step_and_every_news_with_its_evidence():
    text = recipes.page()
    for item in (*ALL, *recipes.read().new):
        assert item.words in text
        assert all(source in text for source in item.evidence)


def test_a_step_that_is_not_meant_for_a_machine_says_so():
    layout = next(recipe for recipe in ALL if recipe.id == "mirror-not-raidz")
    striped = scenario.changed(machine("innodb"), {"pool.data.layout": "stripe"})
    assert "not stripe" in recipes.misses(layout, striped)


def test_which_builds_a_step_is_for_follows_from_their_rules():
    old = ["onnv_69", "onnv_70", "onnv_79", "b89", "b103", "b111", "b117"]
    met = {recipe.id: [era for era in ERAS if not recipes.misses(recipe, machine("innodb", era))] for recipe in ALL}
    assert (met["newest-build"], met["logbias"]) == (old, [era for era in ERAS if era not in old])
    newest = next(recipe for recipe in ALL if recipe.id == "newest-build")
    assert recipes.misses(newest, machine("innodb", "b141")) == f"is for files.era of {', '.join(old)}, not b141"


def test_no_published_rung_stands_in_the_advice():
    """What a step is worth is for the model to say."""
    text = (recipes.data_file(recipes.FILE)).read_text()
    numbers = {float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)}
    rungs = {float(rate) for ladder in LADDERS.values() for rate in _published(ladder)}
    assert len(rungs) == 16
    assert not rungs & numbers
    assert "tps" not in text.lower()
    assert "%" not in text


def _published(ladder):
    runs = {run.run_id.partition("/")[2]: run.metrics for run in published.runs()}
    return [runs[rung.run].set_index("name").loc["transactions.rate", "value"] for rung in ladder.rungs]


@pytest.mark.parametrize(("written", "message"), [
    ("[[recipe]]\nid = ", "is not TOML"),
    ("new = []\n[[recipe]]\nid = 'a'\nwords = 'b'\nsource = 'c'\nmechanism = 'd'\ntoday = 'holds'\nnow = 'e'\n"
     "evidence = ['f']\ndatabases = ['postgres']", "needs a change or a reason"),
])
def test_advice_that_cannot_be_is_one_sentence(written, message, tmp_path, monkeypatch):
    file = tmp_path / "advice.toml"
    file.write_text(written)
    monkeypatch.setattr(recipes, "data_file", lambda name: file)
    with pytest.raises(UserError, match=message):
        recipes.read()


@pytest.mark.parametrize(("version", "is_there"), [(8.3, False), (9.5, True), (16, True), (17, True), (18, True)])
def test_the_size_of_the_log_is_set_in_bytes_since_9_5(version, is_there):
    settings = {"database.conf.max_wal_size": "8GB"}
    base = scenario.of(MACHINES["postgres"] | {"database": {"kind": "postgres", "version": version}})
    (recipe,) = (recipe for recipe in ALL if recipe.id == "max-wal-size")
    assert (recipes.misses(recipe, base) == "") is is_there
    if is_there:
        assert scenario.changed(base, settings).database.conf["max_wal_size"] == "8GB"
    else:
        with pytest.raises(UserError, match="has no such setting"):
            scenario.changed(base, settings)

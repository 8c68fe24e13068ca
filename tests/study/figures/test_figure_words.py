"""Labels of figures are words: whatever the study's own figures name has some."""
import inspect
import re

from study.documents import audit, claims
from study.experiments.alignment_2010 import cases
from study.experiments.allocator_2010 import order_entry_series
from study.experiments.tiers_2009 import devices
from study.figures import in_words
from study.store import store


def test_each_claim_that_differs_from_its_own_figures_has_words():
    with store.open() as run_store:
        findings = audit.run(run_store)
    own = findings[(findings.against == audit.OWN) & (findings.finding == audit.DIFFERS)]
    assert set(own.claim_id + ": " + own.check) == set(in_words.AUDIT)


def test_each_claim_of_a_figure_has_words():
    rows = claims.rows()
    graded = rows[rows.notebook.isin(["09_postgres_checkpoints", "13_dedup"]) & rows.to_be_predicted]
    of_figures = graded[graded.published != 0]
    assert len(of_figures) > 20
    assert set(of_figures.claim_id) - {"dedup-ratio"} <= set(in_words.CLAIMS)       # the ratio has a figure of its own


def test_each_device_of_a_figure_has_words():
    assert set(devices.TECHNOLOGIES) <= set(in_words.DEVICES)
    assert {f"SSD, {sheet}" for sheet in cases.SSDS} <= set(in_words.DEVICES)


def test_each_statistic_of_a_test_run_has_words():
    made = re.findall(r'"([a-z]+\.[a-z_]+)"', inspect.getsource(order_entry_series.statistics))
    assert set(made) == set(in_words.STATISTICS)


def test_what_has_no_words_keeps_its_name():
    names = in_words.named(["disk.reads", "pgbench.progress.tps"], in_words.STATISTICS)
    assert names == ["disk reads", "pgbench.progress.tps"]

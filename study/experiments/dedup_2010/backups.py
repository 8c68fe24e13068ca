"""How much better 8K blocks dedup than 128K ones: backups of a live database, one after the other, on one target.

Each backup is a full copy. Between two of them a load changes pages of 8 KiB, and what a page is changed to is like nothing
before. So each backup but the first adds its changed blocks, and nothing else:

    ratio(b) = n / (1 + (n - 1) c(b))       c(b): share of the blocks of b bytes in which a page was changed
    gain     = ratio(8K) / ratio(128K)      16 at most: all 16 pages of a record are stored for one that was changed

Pages are changed as the models of two databases change them, pgbench and order entry. In pgbench a transaction changes an
account, any, and a row at the end of the history (`model.databases.postgres.page_changes`). In order entry some pieces of
the database are hot (`model.simulations.order_entry.changes`).
"""
import numpy as np
import pandas as pd

from model.databases.postgres.page_changes import changed_pages as pages_of_pgbench
from model.events.streams import stream
from model.simulations.order_entry.changes import changed_records
from model.simulations.order_entry.state import Orders
from study.documents import priors
from study.ensembles import ensembles, intervals
from study.ensembles.effects import changed as what_changed
from study.ensembles.ensembles import AFTER

EXPERIMENT = "dedup"
N_PAGES = 2**15         # of the database: what counts are shares
WHOLE = 16              # pages of 8 KiB in a record of 128 KiB
INTERVALS = 3           # between backups that are drawn: all are alike
HOT_SHARE = 0.2         # "the hottest fifth" of the priors
QUANTITY = "ratio.gain_8k_over_128k"
PGBENCH, ORDER_ENTRY = LOADS = ("pgbench", "order entry")
LABELS = {("load", PGBENCH): "pages changed as by pgbench", ("load", ORDER_ENTRY): "pages changed as by order entry"}


def changed_pages(load: str, changes: float, hot_accesses: float, seed: int, interval: int) -> np.ndarray:
    """Pages that are changed at least once between two backups, by `changes` for each page of the database."""
    n, name = max(1, round(changes * N_PAGES)), f"{load} {interval}"
    if load == ORDER_ENTRY:
        orders = Orders(n_records=N_PAGES, hot_share=HOT_SHARE, hot_hits=hot_accesses)
        return np.unique(changed_records(orders, n, seed, name))
    return pages_of_pgbench(N_PAGES, stream(seed, name).random(n))


def shares(load: str, changes: float, hot_accesses: float, seed: int) -> tuple[float, float]:
    """Of blocks of 8K and of 128K: those with a changed page."""
    small = large = 0
    for interval in range(INTERVALS):
        pages = changed_pages(load, changes, hot_accesses, seed, interval)
        small, large = small + len(pages), large + len(np.unique(pages // WHOLE))
    return small / INTERVALS / N_PAGES, large / INTERVALS / (N_PAGES // WHOLE)


def ratio(n_backups: float, share: float) -> float:
    """Blocks over different ones."""
    return n_backups / (1 + (n_backups - 1) * share)


def gain(n_backups: float, load: str, changes: float, hot_accesses: float, seed: int) -> float:
    """How many times as well 8K blocks dedup as 128K ones, after `n_backups`."""
    small, large = shares(load, changes, hot_accesses, seed)
    return ratio(n_backups, small) / ratio(n_backups, large)


def in_runs(share: float, run_pages: int, seed: int) -> tuple[float, float]:
    """Likewise, if about `share` of all pages is changed, in runs of so many neighbours."""
    n = max(1, round(share * N_PAGES / run_pages))
    first = stream(seed, f"runs of {run_pages}").integers(0, N_PAGES // run_pages, n) * run_pages
    pages = np.unique((first[:, None] + np.arange(run_pages)).ravel())
    return len(pages) / N_PAGES, len(np.unique(pages // WHOLE)) / (N_PAGES // WHOLE)


def over_runs(n_backups: int, seed: int) -> pd.DataFrame:
    """The gain over how changed pages cluster: run (pages), share, gain."""
    changed = [(run, *in_runs(share, run, seed)) for run in (1, 2, 4, 16) for share in np.geomspace(0.001, 0.5, 25)]
    return pd.DataFrame([(run, small, ratio(n_backups, small) / ratio(n_backups, large)) for run, small, large in changed],
                        columns=["run", "share", "gain"])


def predict(draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """The ensemble: a row per case."""
    def simulate(values: dict, case_seed: int, variant: str) -> dict[str, float]:
        if variant != AFTER:
            return {}
        return {QUANTITY: gain(values["n_backups"], values["load"], values["changes"], values["hot_accesses"], case_seed)}
    return ensembles.run(ensembles.cases(priors.read(EXPERIMENT), draws, seeds, seed), simulate)


def over_changes(n_backups: list[int], hot_accesses: float, seed: int) -> pd.DataFrame:
    """The gain over how much is changed: load, backups, changes, share (changed pages), gain."""
    rows = []
    for load in LOADS:
        for changes in np.geomspace(0.001, 3, 13):
            small, large = shares(load, changes, hot_accesses, seed)
            rows += [(load, n, changes, small, ratio(n, small) / ratio(n, large)) for n in n_backups]
    return pd.DataFrame(rows, columns=["load", "backups", "changes", "share", "gain"])


def metrics(results: pd.DataFrame) -> pd.DataFrame:
    """For the run store: the gain by best guess and over all draws; name, value, unit."""
    column = f"{AFTER}/{QUANTITY}"
    rows = [("gain.best-guess", ensembles.unfitted(results, "central")[column].iloc[0], "1")]
    rows += [(f"gain-{end}", value, "1")
             for end, value in intervals.interval(ensembles.unfitted(results)[column])._asdict().items()]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def conditions(results: pd.DataFrame) -> pd.DataFrame:
    """The gain under the best guess and with one condition changed: what, gain."""
    known, column = priors.read(EXPERIMENT), f"{AFTER}/{QUANTITY}"
    rows = [("best guess", ensembles.unfitted(results, "central")[column].iloc[0])]
    rows += [(what_changed(case, known, LABELS), case[column])
             for _, case in ensembles.unfitted(results, "structure").iterrows()]
    return pd.DataFrame(rows, columns=["what", "gain"])


def not_modelled(quantity: str) -> str:
    """Why a published quantity has no simulated one."""
    return f"the model of backups has no {quantity}"


def verdict(scores: pd.DataFrame) -> str:
    """The grade of the claim in one sentence, with its interval and what was published."""
    score = scores.set_index("claim").loc["dedup-ratio"]
    return (f"{score['grade']}: 8K blocks dedup {score['unfitted 5 %']:.1f} to {score['unfitted 95 %']:.1f} times as well "
            f"as 128K, said: up to {score['published']:.0f}")

"""The table of machines that a search has found (`data/nearest`), for docs/grades.md. Nothing is run."""
import pandas as pd

from study.commands.documentation.committed_results import committed
from study.commands.documentation.markdown import table
from study.documents import odds
from study.ensembles import nearest_machine
from study.project import DATA

TESTS = {   # notebook: the test, its name in data/odds.toml, what the change does, its form, its unit, what was printed
    "01_vdev_cache_oltp": ("database, 2007", "oltp", "gain", ".0f", " %", "23 %"),
    "02_vdev_cache_seqread": ("readers, 2007", "seqread", "loss", ".0f", " %", "21 %"),
    "04_oltp_gain": ("order entry, 2010", "order_entry", "gain", ".0f", " %", "up to 50 %"),
    "06_exchange": ("Exchange, 2010", "exchange", "gain", ".0f", " %", "200 %"),
    "07_pgbench_ladder": ("pgbench, 2009", "pgbench", "sixth rung over first", ".0f", "", "69"),
    "08_sysbench_ladders": ("both ladders of sysbench, 2009", "sysbench-rw", "fifth rung over first, with writes", ".1f", "",
                            "4.3"),
    "09_postgres_checkpoints": ("PostgreSQL, 2008", "checkpoints", "ZFS over UFS", ".2f", "", "a little less, or alike"),
}


def machines() -> str:
    """Each machine found: its test, and how many draws were simulated. Then the factor of its farthest number, with seeds
    that chose it and with others. Then what the change does on it, what was printed, and the odds of its conditions
    (`data/odds.toml`) over equal odds."""
    n, rows = committed(), []
    for path in sorted((DATA / nearest_machine.FOLDER).glob("*.toml")):
        test, experiment, effect, form, unit, printed = TESTS[path.stem]
        machine, name = nearest_machine.read(path.stem), f"{path.stem}/nearest.effect"
        weight = odds.weights(odds.read(experiment), pd.DataFrame([machine.values])).iloc[0]
        rows.append((f"{test} ([{path.stem[:2]}](../notebooks/{path.stem}.ipynb))", str(machine.n_draws),
                     f"{machine.factor:.2f}", n(f"{path.stem}/nearest.factor", ".2f"),
                     f"{effect}: {n(f'{name}-least', form)} to {n(f'{name}-most', form)}{unit}",
                     printed, f"{weight:.2g}"))
    return table(("test", "draws", "when chosen", "off by", "on this machine", "printed", "odds"), rows)

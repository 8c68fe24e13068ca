"""The table of machines that a search has found (`data/nearest`), for docs/grades.md. Nothing is run."""
from study.commands.documentation.markdown import table
from study.commands.documentation.results_tables import committed
from study.ensembles import nearest_machine
from study.project import DATA

TESTS = {   # notebook: the test, what the change does, its form, its unit, what was printed of it
    "01_vdev_cache_oltp": ("database, 2007", "gain", ".0f", " %", "23 %"),
    "02_vdev_cache_seqread": ("readers, 2007", "loss", ".0f", " %", "21 %"),
    "04_oltp_gain": ("order entry, 2010", "gain", ".0f", " %", "up to 50 %"),
    "06_exchange": ("Exchange, 2010", "gain", ".0f", " %", "200 %"),
    "07_pgbench_ladder": ("pgbench, 2009", "sixth rung over first", ".0f", "", "69"),
    "08_sysbench_ladders": ("both ladders of sysbench, 2009", "fifth rung over first, with writes", ".1f", "", "4.3"),
    "09_postgres_checkpoints": ("PostgreSQL, 2008", "ZFS over UFS", ".2f", "", "0.9 to 1"),
}


def machines() -> str:
    """Each machine found: test, draws simulated, factor of its farthest number, what the change does on it, as printed."""
    n, rows = committed(), []
    for path in sorted((DATA / nearest_machine.FOLDER).glob("*.toml")):
        test, effect, form, unit, printed = TESTS[path.stem]
        machine, name = nearest_machine.read(path.stem), f"{path.stem}/nearest.effect"
        rows.append((f"{test} ([{path.stem[:2]}](../notebooks/{path.stem}.ipynb))", str(machine.n_draws),
                     f"{machine.factor:.2f}", f"{effect}: {n(f'{name}-least', form)} to {n(f'{name}-most', form)}{unit}",
                     printed))
    return table(("test", "draws", "farthest number off by", "on this machine", "printed"), rows)

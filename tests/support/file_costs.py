"""What files of tests take, so that workers end together: seconds in a fresh clone, of files of four and more.

The longest come first (`conftest.py`): Graham 1969, as in `study.runs.batch`. Order matters, so a table that is out of date
costs seconds, and no law. A file that is not here counts half a second for each test that is marked as slow. Written anew
from `pytest --durations=0`, when workers end far apart.
"""

SECONDS = {
    "slid_notebooks": 98, "exchange": 61, "whole_reproduction": 54, "runner": 46, "jit": 44, "jupyterlab": 41,
    "store": 34, "query": 33, "keeper": 33, "reproduction": 32, "cli": 29, "results_as_json": 26, "inputs": 30,
    "export": 29, "batch": 28, "audit": 26, "series": 25, "sequential_reads": 24, "correlation": 23, "free_runs": 23,
    "measured_server": 23, "calibration": 22, "project": 22, "sweep": 21, "against": 20, "innodb": 20, "forecast": 18,
    "order_entry_2010": 17, "postgres_at_work": 17, "vdevs_replay": 17, "order_entry": 15, "pool_fill": 15, "l2arc": 14,
    "zfs_files": 14, "arc": 13, "command_queue": 13, "zfetch": 13, "hostile_traces": 12, "innodb_releases": 12,
    "slid_figures": 12, "vdev_cache": 11, "vdev_queue": 11, "claim_predictions": 10, "ladders_as_runs": 10, "oracle": 10,
    "sliders": 10, "through": 10, "filebench_oltp": 9, "space_map_replay": 9, "group_commit": 8, "hostile": 8,
    "layers": 8, "pull": 8, "queue_compiled": 8, "remaining_draws": 8, "sources": 8, "ufs": 8, "disk_replay": 7,
    "leaves": 7, "shipped_runs": 7, "disk": 6, "each_tool": 6, "history_matching": 6, "ladders_2009": 6, "predict": 6,
    "processes": 6, "ssd": 6, "zvols": 6, "aged_pool": 5, "checkpoint_figures": 5, "documentation": 5,
    "filebench_oltp_2007": 5, "lent_memory": 5, "pool_replay": 5, "vdev_queue_replay": 5, "zil": 5, "measured_ladder": 4,
}


def seconds(name: str, n_slow: int) -> float:
    """Of the file `test_<name>.py`, which has so many tests marked as slow."""
    return SECONDS.get(name, n_slow / 2)

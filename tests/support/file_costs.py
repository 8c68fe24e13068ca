"""What files of tests take, so that workers end together: seconds in a fresh clone, of files of three and more.

The longest come first (`conftest.py`): Graham 1969, as in `study.runs.batch`. Order matters, so a table that is out of date
costs seconds, and no law. A file that is not here counts half a second for each test that is marked as slow. Written anew
from `pytest --durations=0`, when workers end far apart.
"""

SECONDS = {
    "slid_notebooks": 60, "batch": 50, "runner": 50, "whole_reproduction": 44, "jit": 43, "reproduction": 35, "series": 37,
    "free_runs": 34, "exchange": 35, "jupyterlab": 30, "keeper": 28, "results_as_json": 26, "vdev_queue": 26, "audit": 23,
    "query": 22, "l2arc": 20, "store": 20, "sweep": 20, "zfs_files": 20, "inputs": 19, "measured_server": 18,
    "sequential_reads": 18, "against": 15, "innodb": 15, "leaves": 15, "pool_fill": 15, "project": 15, "vdevs_replay": 14,
    "cli": 13, "export": 13, "calibration": 12, "correlation": 12, "order_entry": 12, "order_entry_2010": 11, "zfetch": 11,
    "arc": 10, "command_queue": 10, "postgres_at_work": 9, "through": 9, "forecast": 8, "layers": 8, "remaining_draws": 8,
    "claim_predictions": 7, "innodb_releases": 7, "ssd": 7, "vdev_cache": 7, "checkpoint_volume": 6, "oracle": 6, "pull": 6,
    "slid_figures": 6, "sources": 6, "space_map_replay": 6, "ufs": 6, "filebench_oltp": 5, "group_commit": 5,
    "pool_replay": 5, "sliders": 5, "zvols": 5, "aged_pool": 4, "disk": 4, "figures": 4, "hostile": 4, "ladders_2009": 4,
    "measured_ladder": 4, "processes": 4, "queue_classes": 4, "shipped_runs": 4, "disk_replay": 3, "each_tool": 3,
    "filebench_oltp_2007": 3, "lent_memory": 3, "postgres": 3, "predict": 3, "saving": 3, "vdev_queue_replay": 3,
}


def seconds(name: str, n_slow: int) -> float:
    """Of the file `test_<name>.py`, which has so many tests marked as slow."""
    return SECONDS.get(name, n_slow / 2)

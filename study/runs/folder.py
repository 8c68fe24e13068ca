"""The folder of a run: which files lie in it, and how they are read."""
import json
import re
from pathlib import Path

from study.project import digest

# in a run's folder
MANIFEST, METRICS, FIGURES, PREDICTIONS = "manifest.json", "metrics.jsonl", "figures.jsonl", "predictions.jsonl"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*")     # of a metric, a series, a statistic: subject.quantity
SAMPLES = "samples"         # a folder of one file a series


def manifest(folder: Path) -> dict | None:
    """What is said of a finished run; None for an unfinished one or a damaged manifest, which never count."""
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get("run_id") == folder.name else None


def is_whole(folder: Path) -> bool:
    """Whether every file of a finished run is still what its manifest says."""
    content = manifest(folder) or {}
    return all((folder / name).is_file() and digest([(folder / name).read_bytes()]) == value
               for name, value in content.get("files", {}).items())


def lines(path: Path) -> list[dict]:
    """A file of one JSON object a line, which is how a notebook says things while it runs; [] where there is none."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

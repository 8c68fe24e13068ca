"""Golden numbers by another path than the importers'."""

import subprocess


def awk(program, *files):
    """Numbers that awk prints."""
    done = subprocess.run(["awk", program, *map(str, files)], capture_output=True, text=True, timeout=60, check=True)
    return [float(word) for word in done.stdout.split()]

"""LaTeX, where it is installed: a document that an export brings along, and what its log complains of."""
import re
import shutil
import subprocess

import pytest

ENGINES = ("pdflatex", "lualatex", "tectonic")
ENGINE = next(filter(shutil.which, ENGINES), None)
PACKAGES = ("array", "booktabs", "geometry", "graphicx", "lmodern", "longtable", "textcomp")     # of example.tex


def _missing():
    """Why nothing can be typeset here; nothing if it can. Tectonic fetches its packages itself."""
    if ENGINE is None:
        return f"none of {', '.join(ENGINES)} is on PATH"
    without = [name for name in PACKAGES if shutil.which("kpsewhich") and
               not subprocess.run(["kpsewhich", f"{name}.sty"], capture_output=True, timeout=60).stdout]
    return f"{ENGINE} is here without {', '.join(without)}" if without and ENGINE != "tectonic" else ""


needs_tex = pytest.mark.skipif(bool(_missing()), reason=_missing())


def compiled(folder):
    """Typeset example.tex; its log."""
    words = [ENGINE, "example.tex"] if ENGINE == "tectonic" else [
        ENGINE, "-interaction=nonstopmode", "-halt-on-error", "example.tex"]
    for _ in range(2):      # longtable and floats settle
        done = subprocess.run([*words, *(["--keep-logs"] if ENGINE == "tectonic" else [])], cwd=folder,
                              capture_output=True, timeout=600)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    return (folder / "example.log").read_text(errors="replace")


def overfull(log):
    """Boxes that stick out by more than a point."""
    return [line for line in log.splitlines() if (box := re.search(r"Overfull \\[hv]box \(([\d.]+)pt", line)) and
            float(box[1]) > 1]

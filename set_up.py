"""Make `.venv` from the lock files; at once when it is already there. The Makefile calls this before everything else.

In a clone it also sets a filter of git's: what editors save in notebooks besides their text (outputs, counts, versions) is
no change to git and never committed. `make lab` does not save it at all (study/runs/saving.py).

    python3 set_up.py [bench]

Needs Python 3.11 or newer with `venv`, and the network only when something is missing. Installs with uv, itself taken
by hash from the same registry; where uv does not run, with plain pip (the same hashes, about two minutes).
"""
import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
OLDEST = (3, 11)
# What nbstripout takes out; .gitattributes says of which files. JupyterLab writes all it knows of the language.
EXTRA_KEYS = " ".join([
    *("metadata." + name for name in ("papermill", "vscode", "toc-autonumbering", "toc-showcode", "toc-showmarkdowntxt")),
    *("cell.metadata." + name for name in ("papermill", "vscode", "jupyter", "jp-MarkdownHeadingCollapsed", "editable",
                                           "deletable", "slideshow")),
    *("metadata.language_info." + name for name in ("codemirror_mode", "file_extension", "mimetype", "nbconvert_exporter",
                                                    "pygments_lexer", "version"))])
STRIP = f".venv/bin/nbstripout --keep-id --extra-keys '{EXTRA_KEYS}'"
CLEAN = f"if [ -x .venv/bin/nbstripout ]; then {STRIP}; else cat; fi"


def stop(sentence):
    print("set-up: " + sentence, file=sys.stderr)
    sys.exit(2)


def newer_python():
    """The first Python on PATH that is new enough, or None."""
    for minor in range(30, OLDEST[1] - 1, -1):
        python = shutil.which(f"python3.{minor}")
        if python and subprocess.run([python, "-c", "import venv, ensurepip"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


def fingerprint(lock):
    """What the environment was made from: the lock, the project file, the Python and the place (a venv cannot move)."""
    digest = hashlib.sha256(f"{sys.version} {HERE}".encode())
    for name in (lock, "pyproject.toml", "set_up.py"):
        with open(os.path.join(HERE, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def made_from(marker):
    try:
        with open(marker) as file:
            return file.read()
    except OSError:
        return None


def tried(*command):
    return subprocess.run(command, cwd=HERE, stdin=subprocess.DEVNULL).returncode == 0


def install(python, lock):
    """Packages of `lock` by hash, then this project itself, linked and without its dependencies."""
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--require-virtualenv")
    uv = os.path.join(os.path.dirname(python), "uv")
    here = ("--no-deps", "--no-build-isolation", "--editable", ".")
    if tried(*pip, "--require-hashes", "--requirement", "requirements-uv.lock"):
        # the system's certificates first: behind a proxy only they know the way
        for certificates in (["--system-certs"], []):
            by_uv = (uv, "pip", "install", "--quiet", "--python", python, *certificates)
            if tried(*by_uv, "--require-hashes", "--requirement", lock):
                return tried(*by_uv, "--offline", *here)
    print("set-up: uv cannot install here; going on with pip (about two minutes)", flush=True)
    return tried(*pip, "--require-hashes", "--requirement", lock) and tried(*pip, *here)


def set_filter():
    """In a clone with git at hand; elsewhere nothing is committed."""
    if os.path.exists(os.path.join(HERE, ".git")) and shutil.which("git"):
        for name, value in (("clean", CLEAN), ("smudge", "cat")):
            subprocess.run(["git", "config", "filter.notebooks." + name, value], cwd=HERE, stderr=subprocess.DEVNULL)
        refresh_index()


def refresh_index():
    """Git's index is as new as files of a fresh clone or a pull. Git would filter such notebooks at each look, for a second
    each, until the index is newer."""
    if os.path.exists(os.path.join(HERE, ".git")) and shutil.which("git"):
        subprocess.run(["git", "status", "--porcelain"], cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main(extra):
    lock = "requirements-bench.lock" if extra == "bench" else "requirements.lock"
    if sys.version_info < OLDEST:
        better = newer_python()
        if better is None:
            stop(f"Python {sys.version_info[0]}.{sys.version_info[1]} is too old and no newer one was found; install "
             "Python 3.11 or newer, or name it: make PYTHON=/path/to/python3.12")
        os.execv(better, [better, *sys.argv])
    try:
        import ensurepip  # noqa: F401  (what bare Debian and Ubuntu leave out)
        import venv
    except ImportError:
        stop("this Python has no venv module; install it (Debian, Ubuntu: apt-get install python3-venv) and try again")

    marker = os.path.join(VENV, "made-from-" + lock)
    wanted = fingerprint(lock)
    if made_from(marker) == wanted:
        refresh_index()
        return
    print(f"set-up: installing the packages of {lock} into .venv", flush=True)
    fresh = not os.path.exists(os.path.join(VENV, "made-from-requirements.lock"))
    try:
        venv.create(VENV, with_pip=True, clear=fresh, symlinks=os.name != "nt")
    except (OSError, subprocess.CalledProcessError) as error:
        stop(f"cannot make {VENV} ({error}); make the folder writable or clone elsewhere")
    python = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin", "python")
    if not install(python, lock):
        stop("the packages could not be installed (see above); this one step needs the network, "
             "so check it and run the same command again")
    set_filter()
    with open(marker, "w") as file:
        file.write(wanted)
    if extra != "bench":
        print("set-up: done. Next: make lab opens the notebooks, .venv/bin/study run 90 runs one, make reproduce all",
              flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "")
    except KeyboardInterrupt:
        print("\nset-up: stopped; run the same command again, it goes on where it can", file=sys.stderr)
        sys.exit(130)

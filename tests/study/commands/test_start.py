"""The command `study` as the shell calls it."""
import sys
import tomllib

from study.commands import start
from study.project import ROOT
from support.processes import run

INTERRUPTED = """
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from study.commands.start import main
main()
"""


def test_who_stops_it_while_it_is_imported_sees_no_traceback():
    done = run([sys.executable, "-c", INTERRUPTED], cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (start.STOPPED, "", "")


def test_it_is_what_the_shell_calls_and_ends_as_its_verb_does():
    with open(ROOT / "pyproject.toml", "rb") as file:
        module, _, name = tomllib.load(file)["project"]["scripts"]["study"].partition(":")
    assert (module, name) == (start.__name__, start.main.__name__)
    done = run([sys.executable, "-c", "from study.commands.start import main; main()", "query", "no such"], cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr.startswith("study: ")

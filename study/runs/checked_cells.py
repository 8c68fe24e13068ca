"""In JupyterLab the values of a notebook's parameters are held to their bounds and choices: an extension of its kernels.

After each cell the parameters are looked at, however it gave them their values. A value that a parameter may not have is
told in one sentence below its cell. Then no cell runs but one that gives it another value, so no picture is of such a value.
A cell that gives all parameters but one, and another name in the place of that one, is refused before it runs.

An error of ours is shown as its sentence, without the way there: a UserError, or what the simulator refuses. A batch run has
been checked by then, and keeps the whole way. Whether there can be a machine of such values is asked by the notebook itself.

`study lab` writes the setting that loads it. Notebooks of other names, copies too, are left alone.
"""
import ast
import json
import linecache
import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from IPython.core.error import InputRejected

from study import errors
from study.errors import UserError
from study.project import ROOT, write_atomically
from study.runs.notebook_names import in_own_names

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from study.runs.parameters import Parameter

SETTINGS = {"InteractiveShellApp": {"extensions": [__name__]}}
NOTEBOOK = "JPY_SESSION_NAME"       # Jupyter's own: the path of the notebook that a kernel is of


class Refused(InputRejected):
    """A cell that does not run; shown as one sentence."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Checked(ast.NodeTransformer):
    """Looks at each cell before it runs, and changes none; and at the parameters after it."""

    def __init__(self, values: Mapping[str, Any], known: "Mapping[str, Parameter]"):
        self.values, self.known = values, known     # all names of the kernel; the notebook's parameters
        self.told: dict[str, str] = {}              # what is wrong now, by parameter

    def visit(self, node: ast.AST) -> ast.AST:
        """The cell as it is. Raises Refused, one sentence, on one that must not run."""
        names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        refuse_misspelt(names, self.known)
        wrong = mistakes(self.values, self.known)
        if wrong and getattr(node, "body", []) and not names & wrong.keys():
            raise Refused(f"not run: {next(iter(wrong.values()))}. Run the cell of this parameter again when it is mended")
        return node

    def tell(self, *_: Any) -> None:
        """Print what a cell has made wrong."""
        before, self.told = self.told, mistakes(self.values, self.known)
        for name, sentence in self.told.items():
            if before.get(name) != sentence:
                print(sentence, file=sys.stderr)


def mistakes(values: Mapping[str, Any], known: "Mapping[str, Parameter]") -> dict[str, str]:
    """By parameter, why it may not have the value that it has. Parameters without a value are left out."""
    from study.runs.parameters import checked  # brings pydantic along
    wrong = {}
    for name in known.keys() & values.keys():
        try:
            checked(name, values[name], known[name])
            if isinstance(values[name], str) and known[name].kind != "str":
                raise UserError(f"parameter '{name}' is {values[name]!r}, which is text; write it without quotes")
        except UserError as error:
            wrong[name] = str(error)
    return wrong


def refuse_misspelt(names: Collection[str], known: Collection[str]) -> None:
    """Raises Refused if a cell gives `names` their values, which are all of `known` but one, and another in its place."""
    missing, others = [name for name in known if name not in names], [name for name in names if name not in known]
    if len(missing) == 1 and len(others) == 1 and len(known) > 1:
        raise Refused(f"the notebook has no parameter '{others[0]}'; "
                      + errors.meant(others[0], missing, f"missing here: {missing[0]}"))


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Called by IPython in each kernel of this environment."""
    from study.runs.record import folder
    if folder() is not None:
        return
    shell.set_custom_exc((UserError, ValueError), _told)
    name = Path(os.environ.get(NOTEBOOK, "")).stem
    from study.runs.catalogue import STUDY  # brings pydantic along
    if name in STUDY:
        cells = Checked(shell.user_ns, STUDY[name].parameters)
        shell.ast_transformers.append(cells)
        shell.events.register("post_run_cell", cells.tell)


def _told(shell: "InteractiveShell", kind: type, error: BaseException, way: TracebackType | None, tb_offset: Any = None,
          ) -> list[str]:
    parameters = next((cells.known for cells in shell.ast_transformers if isinstance(cells, Checked)), ())
    lines = [in_own_names(f"{error}", parameters)] if isinstance(error, UserError) or _is_refused(way) \
        else shell.InteractiveTB.structured_traceback(kind, error, way, tb_offset=tb_offset)
    shell._showtraceback(kind, error, lines)
    return lines


def _is_refused(way: TracebackType | None) -> bool:
    """Whether the simulator, or what sets it up, raised the error on purpose: it has no kind of error of its own."""
    while way and way.tb_next:
        way = way.tb_next
    file = way.tb_frame.f_code.co_filename if way else ""
    ours = any(Path(file).is_relative_to(ROOT / package) for package in ("model", "study"))
    return bool(ours and way and linecache.getline(file, way.tb_lineno).lstrip().startswith("raise "))


def write_settings(prefix: Path = Path(sys.prefix)) -> None:
    """For kernels of the Python that lies at `prefix`."""
    write_atomically(prefix / "etc/ipython/ipython_kernel_config.json", json.dumps(SETTINGS))

"""In JupyterLab the values of a parameters cell are checked as the runner checks them: an extension of its kernels.

Only cells that hold nothing but `name = value` lines are looked at. One is refused before it runs if it gives a parameter a
value beyond its bounds or choices. So is one with another name in the place of a parameter. An error of ours is shown as its
sentence, without the way there. A batch run has been checked by then, and keeps the whole way.

After a refusal no cell runs until the values are mended. A kernel drops the cells that wait behind an error. One or two have
been seen to slip through, and would show old values as new.

`study lab` writes the setting that loads it. Kernels of other notebooks are left alone.
"""
import ast
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import InputRejected

from study import errors
from study.errors import UserError
from study.project import write_atomically

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from study.runs.parameters import Parameter

SETTINGS = {"InteractiveShellApp": {"extensions": [__name__]}}
DERIVED = object()
NOTEBOOK = "JPY_SESSION_NAME"       # Jupyter's own: the path of the notebook that a kernel is of


class Refused(InputRejected):
    """A cell that does not run; shown as one sentence."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Checked(ast.NodeTransformer):
    """Looks at each cell before it runs, and changes none."""

    def __init__(self, known: "Mapping[str, Parameter]"):
        self.known = known
        self.wrong = ""     # what was refused last, until it is mended

    def visit(self, node: ast.AST) -> ast.AST:
        """The cell as it is. Raises Refused, one sentence, on the first value that a parameter may not have."""
        lines = _lines(node)
        if lines.keys() & self.known.keys():
            self.wrong = ""
            try:
                check(lines, self.known)
            except UserError as error:
                self.wrong = str(error)
                raise Refused(self.wrong) from None
        elif self.wrong:
            raise Refused(f"not run, since {self.wrong}")
        return node


def check(lines: Mapping[str, Any], known: "Mapping[str, Parameter]") -> None:
    """Values by name, as a cell sets them. Raises UserError."""
    from study.runs.parameters import checked  # brings pydantic along
    missing = [name for name in known if name not in lines]
    for name in lines:
        if name not in known and len(lines) >= len(known):
            raise UserError(f"the notebook has no parameter '{name}'; "
                            + errors.meant(name, missing, f"missing here: {', '.join(missing) or 'none'}"))
    for name, value in lines.items():
        if name in known and value is not DERIVED:
            checked(name, value, known[name])


def _lines(node: ast.AST) -> dict[str, Any]:
    """Names and values of a cell of nothing but `name = value`, DERIVED where it is not written out; empty of any other."""
    lines = {}
    for statement in getattr(node, "body", []):
        if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1
                and isinstance(statement.targets[0], ast.Name)):
            return {}
        try:
            lines[statement.targets[0].id] = ast.literal_eval(statement.value)
        except ValueError:
            lines[statement.targets[0].id] = DERIVED
    return lines


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Called by IPython in each kernel of this environment."""
    from study.runs.record import folder
    if folder() is not None:
        return
    shell.set_custom_exc((UserError,), _as_sentence)
    name = Path(os.environ.get(NOTEBOOK, "")).stem
    from study.runs.catalogue import STUDY  # brings pydantic along
    if name in STUDY:
        shell.ast_transformers.append(Checked(STUDY[name].parameters))


def _as_sentence(shell: "InteractiveShell", kind: type, error: BaseException, way: Any, tb_offset: Any = None) -> list[str]:
    sentence = [f"{error}"]
    shell._showtraceback(kind, error, sentence)
    return sentence


def write_settings(prefix: Path = Path(sys.prefix)) -> None:
    """For kernels of the Python that lies at `prefix`."""
    write_atomically(prefix / "etc/ipython/ipython_kernel_config.json", json.dumps(SETTINGS))

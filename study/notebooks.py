"""The notebooks of the study: what each may be given and what it reads. Defaults stand in the notebooks themselves."""
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from study.errors import UserError
from study.parameters import Parameter
from study.project import NOTEBOOKS


class Notebook(BaseModel):
    """`reads` are patterns below `data/`: they are all a batch run gets, and they are part of a run's identity."""
    model_config = ConfigDict(frozen=True, extra="forbid")

    parameters: dict[str, Parameter] = {}
    reads: tuple[str, ...] = ()
    minutes: float = 0.5            # about how long a run takes on two cores, compilation included


STUDY: dict[str, Notebook] = {}


def find(name: str) -> Path:
    """A notebook by name (`00_claims`), by the start of its name (`00`), or by path."""
    path = Path(name)
    if path.suffix == ".ipynb":
        if not path.is_file():
            raise UserError(f"there is no notebook {name}; check the path")
        return path.resolve()
    found = sorted(NOTEBOOKS.glob(f"{name}*.ipynb"))
    exact = [path for path in found if path.stem == name]
    if len(exact or found) != 1:
        have = ", ".join(path.stem for path in sorted(NOTEBOOKS.glob("*.ipynb")))
        raise UserError(f"'{name}' names {len(found) or 'no'} notebook{'s' if len(found) != 1 else ''}; take one of {have}")
    return (exact or found)[0]


def entry(path: Path) -> Notebook | None:
    """What is listed for a notebook of the study; None for one of the user's own."""
    return STUDY.get(path.stem) if path.parent == NOTEBOOKS else None

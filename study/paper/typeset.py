"""The paper: Typst source in `paper/`, typeset without network or system packages. Its numbers, claims and figures come
from the run store by way of `paper/generated/`, so that no value stands in two places."""
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typst

from study.errors import UserError
from study.paper import export, sources
from study.project import PAPER, write_atomically
from study.runs.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

GENERATED = PAPER / "generated"
SOURCE = PAPER / "paper.typ"
PDF = PAPER / "paper.pdf"
NAMES = {"number": "numbers.json", "unit": "numbers.json", "picture": "figures.json", "claim": "claims.json"}


def build(plans: list[Plan], board: "pd.DataFrame | None" = None) -> Path:
    """Export what the text needs and typeset it. The same store gives the same bytes. Raises UserError where the text says
    something of its own."""
    sources.refuse_wrong()
    export.export(plans, GENERATED, ["svg"], "column", board)
    known = _known(GENERATED)
    for source in sources.sources():
        for objection in sources.unknown(source, known):
            raise UserError(objection)
    try:
        content = typst.compile(str(SOURCE), root=str(PAPER), timestamp=0)
    except typst.TypstError as error:
        hint = f"; {error.hints[0]}" if error.hints else ""
        raise UserError(f"the paper cannot be typeset: {error.message}{hint}; mend it in {PAPER}") from None
    write_atomically(PDF, content)
    return PDF


def check(plans: list[Plan]) -> list[str]:
    """What in the text comes from nowhere. Only of a text in which nothing does, which needs the runs: references to what is
    not in the store, generated files that are stale."""
    if own := sources.wrong():
        return own
    with tempfile.TemporaryDirectory() as fresh:
        export.export(plans, Path(fresh), ["svg"], "column", place=GENERATED)
        known = _known(Path(fresh))
        stale = [f"paper/generated/{file.name} is not what the store says now; run: study paper" for file in
                 sorted(Path(fresh).iterdir()) if not _same(file, GENERATED / file.name)]
    return [objection for source in sources.sources() for objection in sources.unknown(source, known)] + stale


def _known(folder: Path) -> dict[str, set]:
    """The names of what was exported, by kind of reference."""
    return {kind: _names(folder / file) for kind, file in NAMES.items()}


def _names(file: Path) -> set:
    content = json.loads(file.read_text()) if file.exists() else {}
    return {row["claim_id"] for row in content} if isinstance(content, list) else set(content)


def _same(a: Path, b: Path) -> bool:
    return b.exists() and a.read_bytes() == b.read_bytes()

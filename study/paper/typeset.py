"""The paper: Typst source in `paper/`, typeset without network or system packages. Its numbers, claims and figures come
from the run store by way of `paper/generated/`, so that no value stands in two places."""
import json
import re
import tempfile
from pathlib import Path

import typst

from study.errors import UserError
from study.paper import export
from study.project import PAPER, write_atomically
from study.runs.plan import Plan

GENERATED = PAPER / "generated"
SOURCE = PAPER / "paper.typ"
PDF = PAPER / "paper.pdf"
LAYOUT = ("paper.typ", "template.typ")      # no prose

REFERENCE = re.compile(r'#(number|unit|claim|picture)\("([^"]+)"')
# What may stand as digits in the text: what is quoted from a document or is no result (years, build names, sections).
GIVEN = re.compile(r"#given\[[^\]]*\]|#(?:number|unit|claim|picture)\([^()]*\)|#import \"[^\"]*\"|`[^`]*`|//[^\n]*"
                   r"|@[\w-]+|<[\w-]+>")
DIGITS = re.compile(r"(?<![\w-])\d[\d  ,.]*\d|(?<![\w-])\d")


def build(plans: list[Plan], board=None) -> Path:
    """Export what the text needs and typeset it. The same store gives the same bytes."""
    export.export(plans, GENERATED, ["svg"], "column", board)
    try:
        content = typst.compile(str(SOURCE), root=str(PAPER), timestamp=0)
    except typst.TypstError as error:
        hint = f"; {error.hints[0]}" if error.hints else ""
        raise UserError(f"the paper cannot be typeset: {error.message}{hint}; mend it in {PAPER}") from None
    write_atomically(PDF, content)
    return PDF


def check(plans: list[Plan]) -> list[str]:
    """What in the text is not the store's: unknown references, digits typed by hand, generated files that are stale."""
    with tempfile.TemporaryDirectory() as fresh:
        export.export(plans, Path(fresh), ["svg"], "column")
        files = {"number": "numbers.json", "unit": "numbers.json", "picture": "figures.json", "claim": "claims.json"}
        known = {kind: _names(Path(fresh) / file) for kind, file in files.items()}
        stale = [f"paper/generated/{file.name} is not what the store says now; run: study paper" for file in
                 sorted(Path(fresh).iterdir()) if not _same(file, GENERATED / file.name)]
    return [objection for source in sources() for objection in unknown(source, known) + typed_by_hand(source)] + stale


def sources() -> list[Path]:
    return sorted(PAPER.glob("**/*.typ"))


def unknown(source: Path, known: dict[str, set]) -> list[str]:
    """References to what is not there; `known`: names by kind (number, unit, claim, picture)."""
    return [f"{source.name}: #{kind}(\"{key}\") is not in the store" for kind, key in REFERENCE.findall(source.read_text())
            if kind in known and key not in known[kind]]


def typed_by_hand(source: Path) -> list[str]:
    """Digits in prose that come from nowhere. Needs no run."""
    if source.name in LAYOUT:
        return []
    return [f"{source.name}, line {number}: '{digits}' is typed by hand; take it from the store with #number, "
            "or mark what is quoted or no result with #given[…]"
            for number, line in enumerate(source.read_text().splitlines(), start=1)
            for digits in DIGITS.findall(GIVEN.sub("", line))]


def _names(file: Path) -> set:
    content = json.loads(file.read_text())
    return {row["claim_id"] for row in content} if isinstance(content, list) else set(content)


def _same(a: Path, b: Path) -> bool:
    return b.exists() and a.read_bytes() == b.read_bytes()

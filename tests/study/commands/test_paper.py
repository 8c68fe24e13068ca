"""What the paper's sources say, held against what is committed: without a run."""
import json
import shutil

import pandas as pd
import pytest
import typst

from study.documents import claims
from study.paper import export, typeset
from study.store import results

SOURCES = typeset.sources()


def test_a_number_typed_by_hand_is_objected_to(tmp_path):
    source = tmp_path / "try.typ"
    source.write_text('It is #number("no/such") of 17.5 things, in #given[2007], or #strong("17.5").\n')
    assert ["'17.5'" in line for line in typeset.typed_by_hand(source)] == [True, True]
    objections = typeset.unknown(source, {kind: set() for kind in ("number", "unit", "claim", "picture")})
    assert ["no/such" in line for line in objections] == [True]
    assert typeset.unknown(source, {"number": {"no/such"}}) == []


def test_there_is_prose_to_look_at():
    assert sum(source.name not in typeset.LAYOUT for source in SOURCES) >= 4


@pytest.mark.parametrize("source", [source for source in SOURCES if source.name not in typeset.LAYOUT],
                         ids=lambda path: path.name)
def test_no_number_is_typed_by_hand(source):
    assert typeset.typed_by_hand(source) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_what_is_referred_to_is_there(source):
    """Numbers among the committed ones, claims in their file. Figures only a run draws."""
    numbers = set(results.committed()["numbers"])
    known = {"number": numbers, "unit": numbers, "claim": {claim.id for claim in claims.read()}}
    assert typeset.unknown(source, known) == []


BOARD = pd.DataFrame([("a", "predicted", None), ("b", "consistent", None), ("c", "consistent", "b"),
                      ("d", "not identified", None), ("e", "not reproduced", None), ("f", "not reproduced", "e"),
                      ("g", "not modelled", None)], columns=["claim_id", "grade", "follows_from"])


@pytest.mark.parametrize(("expression", "count"), [("simulated()", 4), ('graded("consistent")', 1),
                                             ('graded("not reproduced")', 1), ('graded("predicted")', 1)])
def test_the_paper_counts_claims_that_follow_from_no_other(expression, count, tmp_path):
    """In its own words, from the file that is exported."""
    shutil.copy(typeset.PAPER / "template.typ", tmp_path)
    (tmp_path / "generated").mkdir()
    for name, content in {"numbers": {}, "figures": {}, "claims": export._claims(BOARD)}.items():
        (tmp_path / "generated" / f"{name}.json").write_text(json.dumps(content))
    source = tmp_path / "count.typ"
    source.write_text(f'#import "template.typ": *\n#metadata({expression}) <count>\n')
    assert json.loads(typst.query(str(source), "<count>", field="value", one=True, root=str(tmp_path))) == count

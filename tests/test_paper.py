"""What the paper's sources say, held against what is committed: without a run."""
import pytest

from study import claims, paper, results

SOURCES = paper.sources()


def test_a_number_typed_by_hand_is_objected_to(tmp_path):
    source = tmp_path / "try.typ"
    source.write_text('It is #number("no/such") of 17.5 things, in #given[2007], or #strong("17.5").\n')
    assert ["'17.5'" in line for line in paper.typed_by_hand(source)] == [True, True]
    found = paper.unknown(source, {kind: set() for kind in ("number", "unit", "claim", "picture")})
    assert ["no/such" in line for line in found] == [True]
    assert paper.unknown(source, {"number": {"no/such"}}) == []


def test_there_is_prose_to_look_at():
    assert sum(source.name not in paper.LAYOUT for source in SOURCES) >= 4


@pytest.mark.parametrize("source", [one for one in SOURCES if one.name not in paper.LAYOUT], ids=lambda path: path.name)
def test_no_number_is_typed_by_hand(source):
    assert paper.typed_by_hand(source) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_what_is_referred_to_is_there(source):
    """Numbers among the committed ones, claims in their file. Figures only a run draws."""
    numbers = set(results.committed()["numbers"])
    known = {"number": numbers, "unit": numbers, "claim": {claim.id for claim in claims.read()}}
    assert paper.unknown(source, known) == []

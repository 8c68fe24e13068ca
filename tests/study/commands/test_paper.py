"""What the paper's sources say, held against what is committed: without a run."""
import io
import json
import shutil
import tomllib
from decimal import Decimal

import pandas as pd
import pytest
import typst
from conftest import one_sentence
from rich.console import Console

from study.commands import reproduction
from study.documents import claims
from study.paper import export, sources
from study.project import PAPER
from study.store import results

SOURCES = sources.sources()


def test_a_number_typed_by_hand_is_objected_to(tmp_path):
    source = tmp_path / "try.typ"
    source.write_text('It is #number("no/such") of 17.5 things, in #given[2007], or #strong("17.5").\n')
    assert ["'17.5'" in line for line in sources.typed_by_hand(source)] == [True, True]
    objections = sources.unknown(source, {kind: set() for kind in ("number", "unit", "claim", "picture")})
    assert ["no/such" in line for line in objections] == [True]
    assert sources.unknown(source, {"number": {"no/such"}}) == []


@pytest.mark.parametrize(("text", "is_typed"), [
    ("It gains -23 %.", True), ("It gains −23 %.", True), ("It gains $23 %$.", True), ("It gains `23` %.", True),
    ("It gains ½ more.", True), ("It gains twenty-three %.", True), ("It gains One per cent.", True),
    ("It gains ²³ %.", True), ("It takes forty-two of them.", True), ("It gains Seventyfold.", True),
    ("It gains ② or Ⅻ more.", True), ("It gains `17 %`.", True), ("It gains #once[twenty-three %].", True),
    ("It gains #given[²³ %].", True), ("See issue \\#n, and #given[five] more.", False),
    ("It is ten-fold.", True), ("R² of four folders.", False),
    ("See https://host/a and 23 of them.", True), ("#let gain = 23", True), ("RAID-5 with `fsync2` and SHA-256.", False),
    ("Each of two disks, one of ten.", False), ("// 23", False)])
def test_a_number_is_typed_by_hand_however_it_is_written(tmp_path, text, is_typed):
    source = tmp_path / "try.typ"
    source.write_text(text + "\n")
    assert bool(sources.typed_by_hand(source)) == is_typed


def test_there_is_prose_to_look_at():
    assert sum(source.name not in sources.LAYOUT for source in SOURCES) >= 4


@pytest.mark.parametrize("source", [source for source in SOURCES if source.name not in sources.LAYOUT],
                         ids=lambda path: path.name)
def test_no_number_is_typed_by_hand(source):
    assert sources.typed_by_hand(source) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_what_is_referred_to_is_there(source):
    """Numbers among the committed ones, claims in their file. Figures only a run draws."""
    numbers = set(results.committed()["numbers"])
    known = {"number": numbers, "unit": numbers, "claim": {claim.id for claim in claims.read()}}
    assert sources.unknown(source, known) == []


@pytest.mark.parametrize("source", [source for source in SOURCES if source.name not in sources.LAYOUT],
                         ids=lambda path: path.name)
def test_what_is_given_is_in_data_and_what_came_out_once_in_the_ledger(source):
    assert sources.not_in_data(source) == []
    assert sources.not_in_ledger(source) == []


HEAD = "// given of: kustarz-2007\n// given besides: 31\n"


@pytest.mark.parametrize(("text", "wrong"), [
    ("#given[8543.3] and #given[10~520.9] of #given[July 2007]", []), ("#given[8543.4]", ["8543.4"]),
    ("#given[31], #given[31 to 33]", ["31 to 33"]), ("#given[five] of #given[\"over 20%\"]", []),
    ("#given[\"over 21%\"]", ["\"over 21%\""])])
def test_a_given_value_that_is_not_in_data_is_objected_to(tmp_path, text, wrong):
    source = tmp_path / "try.typ"
    source.write_text(f"{HEAD}\n{text}\n")
    objections = sources.not_in_data(source)
    assert len(objections) == len(wrong)
    for objection, given in zip(objections, wrong, strict=True):
        assert objection.startswith(f"try.typ, line 4: #given[{given}] is not in data/ (kustarz-2007)")


LEDGER = """
[[change]]
before = [-1.9, 20.04]
after = [3.4]
[[tried]]
values = [229, 286]
"""


@pytest.mark.parametrize(("text", "wrong"), [
    ("from #once[−1.9 to 20.0]~% to #once[3.4]", []), ("#once[286] of #once[229 to 286]", []), ("#once[20.1]", ["20.1"]),
    ("#once[229 to 20]", ["229 to 20"]), ("#once[229 to 286], #once[230]", ["230"]), ("#once[five]", ["five"])])
def test_what_came_out_once_is_in_one_row_of_the_ledger(tmp_path, monkeypatch, text, wrong):
    monkeypatch.setattr(sources, "_content", lambda name: tomllib.loads(LEDGER, parse_float=Decimal))
    sources._ledger.cache_clear()
    source = tmp_path / "try.typ"
    source.write_text(f"In {text}.\n")
    objections = sources.not_in_ledger(source)
    sources._ledger.cache_clear()
    assert sources.typed_by_hand(source) == []
    assert [objection.split("#once[")[1].split("]")[0] for objection in objections] == wrong
    assert all(objection.startswith("try.typ, line 1: ") for objection in objections)


def test_a_section_that_names_no_file_may_give_no_number(tmp_path):
    source = tmp_path / "try.typ"
    source.write_text("In #given[2007].\n")
    assert "the head of the section names no file" in sources.not_in_data(source)[0]


@pytest.mark.parametrize("prose", [
    "It gains 17.5 %.", "*17.5 %* more", "- 17.5 % more", "  #block(width: 9pt)[#set align(left); *17.5*]",
    "  place(top)[\n\n#v(9pt) of #h(9pt) 17.5\n]", '  title: "17.5 % more"', "[[17.5] of #text(size: 9pt)[9]]"])
def test_prose_in_the_frame_of_the_paper_is_looked_at_too(tmp_path, prose):
    """Code of the frame may have lengths and settings, and a title years."""
    source = tmp_path / "paper.typ"
    source.write_text(f'#set text(9pt)\n  title: "made in 2007", size: "9pt", columns: (1fr, 2pt)\n{prose}\n')
    objections = sources.typed_by_hand(source)
    assert {objection.partition("'")[2].partition("'")[0] for objection in objections} in ({"17.5"}, {"17.5", "9"})
    line = 5 if "place" in prose else 3
    assert all(objection.startswith(f"paper.typ, line {line}: ") for objection in objections)


@pytest.mark.parametrize("code", [
    "#let n = 17", '#let n = "17"', "#let n() = 17", "#let n = (a: 17)", "#let n = 17; what now", '#show "N": "17"', "#(17)",
    "#str(17)", "#context 17", "  17 more", '  title: "17"', "#h(1pt)17"])
def test_a_number_in_code_of_the_frame_is_objected_to(tmp_path, code):
    """A section could print it by its name."""
    source = tmp_path / "template.typ"
    source.write_text(f"#set text(9pt)\n{code}\n")
    objections = sources.typed_by_hand(source)
    assert [objection.partition(" is ")[0] for objection in objections] == ["template.typ, line 2: '17'"]


@pytest.mark.parametrize("source", [source for source in SOURCES if source.name in sources.LAYOUT],
                         ids=lambda path: path.name)
def test_no_number_is_typed_into_the_frame(source):
    assert sources.typed_by_hand(source) == []


@pytest.mark.parametrize(("code", "call"), [
    ('#read("mine.txt")', "#read"), ('#include "mine.md"', "#include"), ('#import "mine.typ": n', "#import"),
    ("It gains #n %.", "#n"), ("It gains #calc.pi %.", "#calc.pi"), ('#"ab".len()', "#"),
    ('#numbers.at("x").value', "#numbers.at"), ('"so #n %"', "#n"),
    ('#strong(read("mine.txt"))', "read("), ('#footnote[#n]', "#n"), ("#number.x", "#number.x"),
    ('#link("https://host/a")[here], #emph[there]', None), ("`#n` // #n", None), ("#show: wide", None)])
def test_a_section_calls_nothing_that_may_print_a_number_from_elsewhere(tmp_path, code, call):
    source = tmp_path / "try.typ"
    source.write_text(f'#import "../template.typ": *\n{code}\n')
    objections = sources.typed_by_hand(source)
    assert [objection.partition(" may ")[0] for objection in objections[:1]] == [f"try.typ, line 2: '{call}'"] * bool(call)


@pytest.mark.parametrize("code", ['#let n = read("mine.txt")', '#include "mine.md"', '#let all = json("mine.json")'])
def test_the_frame_reads_only_what_a_run_has_written(tmp_path, code):
    source = tmp_path / "paper.typ"
    source.write_text(f'#let numbers = json("generated/numbers.json")\n#include "sections/a.typ"\n{code}\n')
    assert ["line 3: " in line for line in sources.typed_by_hand(source)] == [True]


@pytest.fixture
def one_source(monkeypatch, tmp_path):
    """A paper of one section: one_source("text")."""
    def make(text):
        source = tmp_path / "try.typ"
        source.write_text(f"= Try\n\n{text}\n")
        monkeypatch.setattr(sources, "sources", lambda: [source])
    return make


@pytest.mark.parametrize("verb", ["paper", "reproduce"])
@pytest.mark.parametrize(("text", "message"), [
    ("It gains 17.5 %.", "try.typ, line 3: '17.5' is typed by hand"),
    ("It gains #given[17.5] %.", "try.typ, line 3: #given[17.5] is not in data/"),
    ("17 and 18", "(1 more: study check paper)")])
def test_a_number_of_the_paper_s_own_is_refused_before_anything_is_run(study, one_source, monkeypatch, verb, text, message):
    monkeypatch.setattr(reproduction, "run_plans", lambda *all: pytest.fail("runs"))
    one_source(text)
    assert message in one_sentence(study(verb))


def test_check_paper_lists_all_of_them_without_a_run(study, one_source):
    one_source("17 of #given[18.5] things")
    done = study("check", "paper")
    assert (done.returncode, done.stdout.count("try.typ, line 3: "), "2 objections" in done.stdout) == (1, 2, True)


def test_what_uses_a_changed_result_is_named():
    number = "01_vdev_cache_oltp/unfitted.gain-low"
    *sentences, figures = sources.uses(number, "01_vdev_cache_oltp", {"oltp_conditions", "not_in_the_paper"})
    assert figures == "figures of 01_vdev_cache_oltp in the paper: oltp_conditions"
    assert any(sentence.startswith("paper/sections/abstract.typ, line ") and f"We predict [{number}] to" in sentence
               for sentence in sentences)
    for sentence in sentences:
        place, line = sentence.partition(": ")[0].split(", line ")
        paragraph = (PAPER.parent / place).read_text().splitlines()[int(line) - 1:]
        assert number in " ".join(paragraph[:paragraph.index("") if "" in paragraph else None])
    assert sources.uses("91_published_setups/second.within", "", ())      # summed up in the template
    assert sources.uses("no/such", "", ()) == []


def test_a_change_is_printed_with_what_uses_it():
    out = Console(file=io.StringIO(), width=200, markup=False)
    used = reproduction.uses(["oltp-gain: audit agrees, grade consistent -> audit agrees, grade predicted"], [])
    assert reproduction._verdict(used, False, out) == 1
    change, sentence, *_ = out.file.getvalue().splitlines()
    assert change.startswith("  oltp-gain: ")
    assert sentence.startswith("      paper/sections/")
    assert "[oltp-gain]" in sentence


def test_figures_of_a_notebook_are_named_once():
    out = Console(file=io.StringIO(), width=200, markup=False)
    figures = f"{sources.FIGURES_OF} 04_oltp_gain in the paper: a_figure"
    reproduction._verdict({"a: 1 -> 2": ["a sentence", figures], "b: 1 -> 2": ["a sentence", figures]}, False, out)
    assert [line.strip() for line in out.file.getvalue().splitlines()[:-1]] == [
        "a: 1 -> 2", "a sentence", figures, "b: 1 -> 2", "a sentence"]


BOARD = pd.DataFrame([("a", "predicted", None), ("b", "consistent", None), ("c", "consistent", "b"),
                      ("d", "not identified", None), ("e", "not reproduced", None), ("f", "not reproduced", "e"),
                      ("g", "not modelled", None)], columns=["claim_id", "grade", "follows_from"])


@pytest.mark.parametrize(("expression", "count"), [("simulated()", 4), ('graded("consistent")', 1),
                                             ('graded("not reproduced")', 1), ('graded("predicted")', 1)])
def test_the_paper_counts_claims_that_follow_from_no_other(expression, count, tmp_path):
    """In its own words, from the file that is exported."""
    shutil.copy(PAPER / "template.typ", tmp_path)
    (tmp_path / "generated").mkdir()
    for name, content in {"numbers": {}, "figures": {}, "claims": export._claims(BOARD)}.items():
        (tmp_path / "generated" / f"{name}.json").write_text(json.dumps(content))
    source = tmp_path / "count.typ"
    source.write_text(f'#import "template.typ": *\n#metadata({expression}) <count>\n')
    assert json.loads(typst.query(str(source), "<count>", field="value", one=True, root=str(tmp_path))) == count

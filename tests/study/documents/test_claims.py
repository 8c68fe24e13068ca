"""The claims: complete, consistent with the published figures, split into what may be fitted and what is predicted."""
import math
import re
from decimal import Decimal

import pytest
from test_published import FILES, dump

from study.documents import claims, published
from study.errors import UserError
from study.project import DATA, NOTEBOOKS

NUMBER = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?")
IN_WORDS = {"four": "4", "three": "3", "seven": "7", "nine": "9", "five": "5", "half": "50", "doubling": "100"}
GRADING = {"01_vdev_cache_oltp", "02_vdev_cache_seqread", "03_first_fit_best_fit", "04_oltp_gain", "05_io_size_correlation",
           "06_exchange", "07_pgbench_ladder", "08_sysbench_ladders", "09_postgres_checkpoints", "13_dedup",
           "14_lun_alignment", "15_storage_tiers"}
CLAIMS = claims.read()
TABLE = claims._Published(published.runs())
ENTRY = """
[[claim]]
id = "a"
document = "somebody-2007"
place = "p"
kind = "measurement"
text = "t"
printed = "20"
said = { relation = "over", value = 20, unit = "%" }
baseline = ["one disk.rate"]
predict = "two disk.rate"
before = "one disk.rate"
effect_none = 1
"""


# --- the file ------------------------------------------------------------------------------------------------------------

def test_every_document_has_its_claims_and_the_data_page_counts_them():
    documents = [path.stem for path in FILES]
    assert sorted({claim.document for claim in CLAIMS}) == documents
    page = (DATA / "README.md").read_text()
    for name in documents:
        count = sum(claim.document == name for claim in CLAIMS)
        assert re.search(rf"^\| `{name}` \|.*\| {count} \|$", page, re.M)


def test_notebooks_are_those_of_the_study():
    assert {claim.notebook for claim in CLAIMS} - {None} == GRADING
    assert not any(path.stem[:2] in {name[:2] for name in GRADING} and path.stem not in GRADING
                   for path in NOTEBOOKS.glob("*.ipynb"))


def spoken(claim) -> set[Decimal]:
    """The numbers of `printed`, in digits or words; K, and the units of the latency scale, included."""
    digits = [token.replace(",", "") for token in NUMBER.findall(claim.printed)]
    words = [IN_WORDS[word] for word in re.findall(r"[a-z]+", claim.printed.lower()) if word in IN_WORDS]
    return {Decimal(token) * scale for token in digits + words for scale in (1, 1000, 10**9)}


def referred(claim) -> set[Decimal]:
    """The numbers that the claim says, predicts and compares with. A rung is compared with the one below, which has an entry
    of its own."""
    printed = claim.said.value if claim.said else ()
    elsewhere = claim.id.rstrip("0123456789") in ("pgbench-", "sysbench-rw-", "sysbench-ro-")
    references = (claim.predict, None if elsewhere else claim.before)
    figures = [TABLE[claim.at(reference)][0] for reference in references if reference]
    return {*(printed if isinstance(printed, tuple) else (printed,)), *(Decimal(str(figure)) for figure in figures)}


# Digits scattered over a slide; ours for "very close", "several", "a little less", "not optimal", "a linear reduction".
OURS = {"differential", "pg-no-zil", "lutz-cycle", "pg-parity", "pg-target-85", "pg-fall"}


def test_figures_that_a_claim_refers_to_are_among_its_printed_numbers():
    """Two entries made separately from one document: the claim's and the published table's."""
    others = {claim.id: referred(claim) - spoken(claim) - ({Decimal(0)} if "no reads" in claim.printed else set())
              for claim in CLAIMS if claim.id not in OURS}
    assert len(others) > 200
    assert {claim: figures for claim, figures in others.items() if figures} == {}


def test_said_ranges_follow_the_digits():
    def interval(relation, *value):
        value = tuple(map(Decimal, value)) if len(value) > 1 else Decimal(value[0])
        return claims.Statement(relation=relation, value=value, unit="1").interval()
    assert interval("=", "20") == (19.5, 20.5)
    assert interval("about", "2e2") == (150, 250)
    assert interval("up to", "0.20") == pytest.approx((0.195, 0.205))
    assert interval("=", "1", "2") == (0.5, 2.5)
    assert interval("over", "20") == interval("at least", "20") == (20, None)
    assert interval("below", "20") == interval("at most", "20") == (None, 20)


def test_digits_are_written_as_the_data_page_says():
    """Trailing zeros are an exponent exactly where the text says *about* or *up to*."""
    for claim in CLAIMS:
        for number in () if claim.said is None else claim.said.value if isinstance(claim.said.value, tuple) else (
                claim.said.value,):
            if claim.said.relation in ("about", "up to"):
                assert number.as_tuple().exponent > 0 or number % 10, claim.id
            else:
                assert number.as_tuple().exponent <= 0 or claim.printed == "Doubling", claim.id


# --- fitted or predicted ----------------------------------------------------------------------------------------------

def spoilt(folder):
    """A copy of the data in which every published number that is no baseline, and every number that is said, is nonsense:
    (claims, runs)."""
    fitted = {str(claim.at(reference)) for claim in CLAIMS for reference in claim.baseline}
    raw = published.parse((DATA / "claims.toml").read_text())
    for number, entry in enumerate(raw["claim"]):
        entry["printed"] = "nonsense"
        if "said" in entry:
            entry["said"]["value"] = Decimal(7777 + number)
    (folder / "claims.toml").write_text(dump(raw))
    paths = []
    for file in FILES:
        raw = published.parse(file.read_text())
        for run in raw["run"]:
            _spoil(run, f"{raw['document']['id']}/{run['id']}", fitted)
        shared = {f"shared.{name}": table for name, table in raw.get("shared", {}).items()}
        paths.append(folder / file.name)
        paths[-1].write_text(dump({"document": raw["document"], **shared, "run": raw["run"]}))
    return claims.read(folder / "claims.toml"), published.runs(paths)


def _spoil(run, run_id, fitted):
    """Other numbers in place of all but the fitted ones, no two changed alike."""
    cells = [(figure, 1, figure[0]) for figure in run.get("figures", [])]
    cells += [(point, 2, f"{point[0]}@{point[1]:g}") for point in run.get("series", [])]
    cells += [(row, place, f"{row[0]}.{quantity}") for row in run.get("rows", [])
              for place, (quantity, _) in enumerate(run["columns"], start=1)]
    for turn, (cell, place, name) in enumerate(cells):
        if f"{run_id} {name}" not in fitted:
            cell[place] = cell[place] * 7 + 1234567 + 8910 * turn + len(run_id)


def test_nonsense_in_every_predicted_figure_leaves_the_baselines_as_they_are(tmp_path):
    """This shows only that the two kinds of number are kept apart in the files. Until a notebook predicts something, there
    is no fit and no prior that it could catch looking."""
    entries, runs = spoilt(tmp_path)
    assert claims.baselines(entries, runs).equals(claims.baselines())
    ours, theirs = claims.targets(), claims.targets(entries, runs)
    assert (ours["value"] != theirs["value"]).all()


def test_no_published_number_is_both_fitted_and_predicted():
    fitted = {str(claim.at(reference)) for claim in CLAIMS for reference in claim.baseline}
    predicted = {str(claim.at(claim.predict)) for claim in CLAIMS if claim.predict}
    assert fitted
    assert predicted
    assert not fitted & predicted


def test_only_the_first_rung_of_a_ladder_may_be_fitted():
    rungs = claims.baselines().query("name == 'transactions.rate'")
    assert set(rungs["run_id"]) == {f"rajadurai-2009/{ladder}-1" for ladder in ("pgbench", "sysbench-rw", "sysbench-ro")}


def test_a_ratio_is_of_the_figures_it_names():
    gain = claims.targets().set_index("claim_id").loc["oltp-gain"]
    assert gain["value"] == pytest.approx(10520.9 / 8543.3)
    assert gain["low"] < gain["value"] < gain["high"]
    assert (gain["unit"], gain["effect_none"]) == ("1", 1)


@pytest.mark.parametrize(("claim", "low", "high"), [
    ("aggregation-good", 8, math.inf),          # 8 blocks or more
    ("aggregation-bad", 0.5, 2.5),              # 1 or 2, each to its last digit
    ("alignment-loss", 1.5, 4.5),               # 2-4X
    ("pg-reads-ufs-2500", 0, 40),               # less than 40 KB/s
    ("pg-reads-zfs", -0.5, 0.5),                # none
    ("lutz-gain", 45, 55),                      # as much as 50 %: the largest is 50
    ("roch-gain", 49.5, 50.5),                  # 50 %
    ("oltp-gain", 10520.85 / 8543.35, 10520.95 / 8543.25),      # over 20 %, but the figures are there
])
def test_a_prediction_is_held_against_what_the_claim_allows(claim, low, high):
    target = claims.targets().set_index("claim_id").loc[claim]
    assert target[["low", "high"]].tolist() == pytest.approx([low, high])


def test_every_published_number_lies_in_what_its_claim_allows():
    targets = claims.targets()
    assert (targets["low"] <= targets["value"]).all()
    assert (targets["value"] <= targets["high"]).all()


def test_what_follows_from_another_claim_is_no_independent_prediction():
    predicted = {claim.id for claim in CLAIMS if claim.predict}
    following = {claim.id: claim.follows_from for claim in CLAIMS if claim.follows_from}
    assert set(claims.independent()) == predicted - set(following)
    assert {"oltp-response", "oltp-wake-rate", "seqread-response1", "roch-gain"} <= set(following)
    for claim in following:
        while claim in following:
            claim = following[claim]
        assert claim in claims.independent()


@pytest.mark.parametrize(("old", "new", "expected"), [
    ('relation = "over"', 'relation = "roughly"', ["'roughly'", "'about'"]),
    ('unit = "%"', 'unit = "percent"', ["'percent'", "use one of"]),
    ('kind = "measurement"', 'kind = "rumour"', ["'rumour'", "'estimate'"]),
    ("value = 20", "value = [3, 2]", ["3 to 2", "smaller number first"]),
    ('predict = "two disk.rate"', 'predict = "two"', ["'two'", "<run> <metric>"]),
    ('predict = "two disk.rate"\n', "", ["before", "predict"]),
    ("effect_none", 'follows_from = "b"\neffect_none', ["'a'", "'b'", "with predict", "further up"]),
    ("effect_none", 'follows_from = "a"\neffect_none', ["'a'", "further up"]),
    ('predict = "two disk.rate"\nbefore = "one disk.rate"\neffect_none = 1\n', 'follows_from = "b"', ["predict"]),
    ('predict = "two disk.rate"', 'predict = "one disk.rate"', ["'a'", "fitted or predicted"]),
    ('text = "t"', 'text = "t"\ncolour = "red"', ["colour", "not known here"]),
    ("\n[[claim]]", "\n[[claim]", ["not TOML"]),
])
def test_a_wrong_claim_is_one_sentence(tmp_path, old, new, expected):
    assert old in ENTRY
    path = tmp_path / "claims.toml"
    path.write_text(ENTRY.replace(old, new, 1))
    with pytest.raises(UserError) as error:
        claims.read(path)
    message = str(error.value)
    assert message.startswith("claims.toml")
    assert "\n" not in message
    for part in expected:
        assert part.lower() in message.lower()


def test_a_claim_that_stands_there_twice_and_a_figure_that_does_not_exist_are_refused(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(ENTRY + ENTRY)
    with pytest.raises(UserError, match="claim 'a' stands there 2 times"):
        claims.read(path)
    path.write_text(ENTRY)
    with pytest.raises(UserError, match="somebody-2007/one disk"):
        claims.baselines(claims.read(path), [])

"""What is answered to each main claim: every number comes from the results, and what is typed is printed or a size."""
import re

import pytest

from study.documents import answers, claims
from study.errors import UserError
from study.store import results

NUMBERS = results.committed()["numbers"]
TYPED = {"oltp-gain": {"64"}, "seqread-loss": {"1.4"}, "pg-bytes": {"128", "8"}, "pgbench-2": {"69", "8"},
         "sysbench-rw-2": {"4.3", "16"}, "lutz-gain": {"50"}, "exchange-gain": {"200"}}     # sizes, factors, as published


@pytest.mark.parametrize("answer", answers.read(), ids=lambda answer: answer.claim)
def test_a_result_is_never_typed(answer):
    without = answers.NUMBER.sub("", answer.text)
    assert "{" not in without
    assert set(re.findall(r"\d+(?:\.\d+)?", without)) == TYPED[answer.claim]


def test_all_are_filled_from_the_committed_results():
    filled = answers.filled(NUMBERS)
    assert [answer.claim for answer in filled] == [answer.claim for answer in answers.read()]
    assert not any("{" in answer.text for answer in filled)


def test_sentences_are_short():
    sentences = [sentence for answer in answers.filled(NUMBERS) for sentence in re.split(r"(?<=[.]) (?=[A-Z])", answer.text)]
    assert max(len(sentence.split()) for sentence in sentences) <= 25


def test_an_answer_whose_numbers_are_not_there_is_left_out():
    name = answers.NUMBER.search(answers.read()[0].text)[1]
    without = {other: value for other, value in NUMBERS.items() if other != name}
    assert len(answers.filled(without)) == len(answers.read()) - 1
    assert "gains −3 %" in answers.filled(NUMBERS | {name: -3.1})[0].text


def test_each_document_with_a_search_has_its_answers():
    documents = {claim.id: claim.document for claim in claims.read()}
    assert {documents[answer.claim] for answer in answers.read()} == set(documents.values())


@pytest.mark.parametrize(("claim", "parts"), [("nobody", answers.PARTS), ("oltp-gain", answers.PARTS[:2])])
def test_an_answer_to_no_claim_or_without_its_parts_is_refused(tmp_path, monkeypatch, claim, parts):
    file = tmp_path / "answers.toml"
    file.write_text("\n".join(["[[answer]]", f'claim = "{claim}"', *(f'{part} = "words"' for part in parts)]))
    monkeypatch.setattr(answers, "data_file", lambda name: file)
    with pytest.raises(UserError, match="mend that of"):
        answers.read()

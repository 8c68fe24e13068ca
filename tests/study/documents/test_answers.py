"""What is answered to each main claim: every number comes from the results, and what is typed is printed or a size."""
import re

import pytest

from study.documents import answers
from study.errors import UserError
from study.project import data_files
from study.store import results

NUMBERS = results.committed()["numbers"]
# Sizes, factors, and what was published; then words for numbers, which the notebooks have.
TYPED = {"oltp-gain": "30 1.4 64", "seqread-loss": "1.4", "pg-bytes": "128 8", "pgbench-2": "69 1.4 8",
         "sysbench-rw-2": "4.3 16", "lutz-gain": "50", "exchange-gain": "200"}
IN_WORDS = {"oltp-gain": "half", "seqread-loss": "half thousand first", "pg-bytes": "twice",
            "pgbench-2": "third first third Two second first sixth fifth",
            "sysbench-rw-2": "ten half first second third first", "lutz-gain": "five", "exchange-gain": "fifth five"}
WORD = re.compile(r"\b(?:half|twice|thousand|two|three|four|five|six|seven|eight|nine|ten|first|second|third|fourth|fifth|"
                  r"sixth)\b", re.IGNORECASE)


@pytest.mark.parametrize("answer", answers.read(), ids=lambda answer: answer.claim)
def test_a_result_is_never_typed(answer):
    without = answers.NUMBER.sub("", answer.text)
    assert "{" not in without
    assert set(re.findall(r"\d+(?:\.\d+)?", without)) == set(TYPED[answer.claim].split())
    assert WORD.findall(without) == IN_WORDS[answer.claim].split()


def test_all_are_filled_from_the_committed_results():
    filled = answers.filled(NUMBERS)
    assert [answer.claim for answer in filled] == [answer.claim for answer in answers.read()]
    assert not any("{" in answer.text for answer in filled)


def test_sentences_are_short():
    sentences = [sentence for answer in answers.filled(NUMBERS) for sentence in re.split(r"(?<=[.]) (?=[A-Z])", answer.text)]
    assert max(len(sentence.split()) for sentence in sentences) <= 25


def test_an_answer_whose_notebook_has_not_run_is_left_out_and_a_wrong_name_is_refused():
    name = answers.NUMBER.search(answers.read()[0].text)[1]
    assert "gains −3 %" in answers.filled(NUMBERS | {name: -3.1})[0].text
    notebook = name.partition("/")[0]
    others = {number: value for number, value in NUMBERS.items() if not number.startswith(notebook)}
    assert [answer.claim for answer in answers.filled(others)] == [answer.claim for answer in answers.read()[1:]]
    with pytest.raises(UserError, match=f"asks for '{name}', which its notebook does not record"):
        answers.filled({number: value for number, value in NUMBERS.items() if number != name})


def test_each_notebook_with_a_search_has_its_answers():
    assert {answer.notebook for answer in answers.read()} == {path.stem for path in data_files("nearest/*.toml")}


@pytest.mark.parametrize(("claim", "parts"), [("nobody", answers.PARTS), ("oltp-gain", answers.PARTS[:2])])
def test_an_answer_to_no_claim_or_without_its_parts_is_refused(tmp_path, monkeypatch, claim, parts):
    file = tmp_path / "answers.toml"
    file.write_text("\n".join(["[[answer]]", f'claim = "{claim}"', *(f'{part} = "words"' for part in parts)]))
    monkeypatch.setattr(answers, "data_file", lambda name: file)
    with pytest.raises(UserError, match="mend that of"):
        answers.read()

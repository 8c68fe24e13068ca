"""What a user is told has sentences of at most 25 words, as pages have."""
import pytest

from study.project import ROOT
from support import prose

MAX_WORDS = 25


def long_sentences(source):
    return [f"{line}: {sentence}" for line, text in prose.messages(source) for sentence in prose.sentences(text)
            if prose.n_words(sentence) > MAX_WORDS]


def test_sentences_of_messages_are_short():
    paths = sorted(path for package in ("model", "study") for path in (ROOT / package).rglob("*.py"))
    long = {path.relative_to(ROOT).as_posix(): long_sentences(path.read_text()) for path in paths}
    assert len(long) > 500
    assert {path: sentences for path, sentences in long.items() if sentences} == {}


HALF = " ".join(["word"] * 13)


@pytest.mark.parametrize("source", [
    f"raise ValueError('{HALF}; {HALF}')", f"raise ValueError('{HALF}: '\n'{HALF}')", f"warn(f'{HALF} {{n}} {HALF[5:]}')",
    f"warn('{HALF} ' + '{HALF}')", f"HALF = '{HALF}'\nraise ValueError(f'{HALF}; {{HALF}}')",
    f"def f(n):\n    return f'{HALF}, {{n}}; {HALF}'"])
def test_a_long_sentence_of_a_message_is_seen(source):
    assert len(long_sentences(source)) == 1


@pytest.mark.parametrize("source", [
    f"raise ValueError('{HALF}. {HALF}')", f"raise ValueError(f'{HALF}. {{n}} {HALF[5:]}')", f"warn('{HALF}')",
    f"query('SELECT {HALF} {HALF}')", f"names = '''\n{HALF}\n{HALF}'''", f"'{HALF} {HALF}'.split()",
    f"def f():\n    '''{HALF} {HALF}'''", f"style = 'p {{ {HALF} {HALF} }}'"])
def test_what_is_no_long_sentence_of_a_message_is_passed(source):
    assert long_sentences(source) == []
